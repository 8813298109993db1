// Attention's gradients to keys (DK_T), to values (DV_T) or to both on AMD's matrix cores (attention/backward_matrix.h): own rows are
// keys, the others queries, whose statistics lie in local memory as well

#define QUERY(own, other) (other)
#define KEY(own, other) (own)
#define FIRST_OTHER(own) first_row(at, of, own)
#define END_OTHER(own) end_row(at, of, own)
#define LOAD_STATISTICS                                         \
    const int there = item < BC && item < count;                \
    step->log = there ? from->logs[j + item] * LOG2E : 0.0f;    \
    step->dot = there ? from->dots[j + item] : 0.0f;
#define STORE_STATISTICS                     \
    if (item < BC) {                         \
        statistics[item] = step->log;        \
        statistics[BC + item] = step->dot;   \
    }
#define LOGS(place) statistics[place]
#define DOTS(place) statistics[BC / SUMS + (place)]
#include "attention/backward_matrix.h"
#include "attention/keys.h"

#ifdef DK_T
#define PUT_KEYS PUT_SUMS(DK_T, dk, g, own.out_first, D, scale)
#else
#define PUT_KEYS
#endif
#ifdef DV_T
#define PUT_VALUES PUT_SUMS(DV_T, dv, g, own.out_second, DV, 1.0f)
#else
#define PUT_VALUES
#endif

KERNEL WG_SIZE(ITEMS, 1, 1)
attention_backward_keys(INPUTS DK_ARGUMENT DV_ARGUMENT, const int k_heads, const int row_pitch, ATTENTION) {
    GRID_WAIT();
    BIND_INPUTS
    DK_BIND DV_BIND
    ATTENTION_BIND(at)
    LOCAL Chunk tile[TILE_CHUNKS];
    LOCAL Sums statistics[2 * BC / SUMS];
    const int item = LID(0), lane = item % WAVE, sharing = heads / k_heads;
    const int row_blocks = (skv + BR - 1) / BR, r0 = GRP(0) % row_blocks * BR, z = GRP(0) / row_blocks, b = z / k_heads, g = z % k_heads;
    const sequence any = the_sequence(&at, b, g * sharing);
    const int row = r0 + item / WAVE * FRAG + lane % FRAG, alive = least(any.columns - r0, BR), there = row < r0 + alive;
    const float scale = numbers[ATTN_SCALE];
    Own own;
    const int from_row = there ? row : 0;
    begin_own(&own, OF(k, b, g) + from_row * k_s, k_d, OF(v, b, g) + from_row * v_s, v_d, scale, lane, there);
    own.row = row;
    Others from;
    from.first_s = q_s;
    from.first_d = q_d;
    from.second_s = grad_s;
    from.second_d = grad_d;
    for (int h = g * sharing; alive > 0 && h < (g + 1) * sharing; ++h) {
        const sequence of = the_sequence(&at, b, h);
        const i64 statistics_of = ((i64)b * heads + h) * row_pitch;
        from.first = OF(q, b, h);
        from.second = OF(grad, b, h);
        from.logs = logs + statistics_of;
        from.dots = dot + statistics_of;
        attend_head(&own, tile, statistics, &from, &at, &of, item, r0, alive);
    }
    if (row >= skv) return;
    PUT_KEYS
    PUT_VALUES
}
