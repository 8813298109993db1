// Attention's gradient to queries on AMD's matrix cores (attention/backward_matrix.h): own rows are queries, the others keys

#define QUERY(own, other) (own)
#define KEY(own, other) (other)
#define FIRST_OTHER(own) first_column(at, of, own)
#define END_OTHER(own) end_column(at, of, own)
#define LOAD_STATISTICS
#define STORE_STATISTICS
#define LOGS(place) (Sums)(own->log)
#define DOTS(place) (Sums)(own->dot)
#include "attention/backward_matrix.h"

KERNEL WG_SIZE(ITEMS, 1, 1)
attention_backward_queries(INPUTS, PLACED(ELEMENT(DQ_T), dq), const int k_heads, const int row_pitch, ATTENTION) {
    GRID_WAIT();
    BIND_INPUTS
    BIND(ELEMENT(DQ_T), dq);
    ATTENTION_BIND(at)
    LOCAL Chunk tile[TILE_CHUNKS];
    const int item = LID(0), lane = item % WAVE;
    // the last rows first, which see most in a triangle
    const int row_blocks = (sq + BR - 1) / BR, r0 = (row_blocks - 1 - GRP(0) % row_blocks) * BR, z = GRP(0) / row_blocks;
    const int b = z / heads, h = z % heads, g = h / (heads / k_heads);
    const sequence of = the_sequence(&at, b, h);
    const int row = r0 + item / WAVE * FRAG + lane % FRAG, alive = least(of.rows - r0, BR), there = row < r0 + alive;
    const float scale = numbers[ATTN_SCALE];
    Own own;
    const int from_row = there ? row : 0;
    begin_own(&own, OF(q, b, h) + from_row * q_s, q_d, OF(grad, b, h) + from_row * grad_s, grad_d, scale, lane, there);
    own.row = row;
    own.log = there ? logs[(i64)z * row_pitch + row] * LOG2E : 0.0f;
    own.dot = there ? dot[(i64)z * row_pitch + row] : 0.0f;
    Others from;
    from.first = OF(k, b, g);
    from.first_s = k_s;
    from.first_d = k_d;
    from.second = OF(v, b, g);
    from.second_s = v_s;
    from.second_d = v_d;
    if (alive > 0) attend_head(&own, tile, (LOCAL_ARG Sums *)tile, &from, &at, &of, item, r0, alive);
    if (row >= sq) return;
    PUT_SUMS(DQ_T, dq, h, own.out_first, D, scale)
}
