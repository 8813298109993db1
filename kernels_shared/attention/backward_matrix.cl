// Attention's gradients on AMD's matrix cores: half and bfloat16, of which queries, keys, values and dO all are (T)
//
//   p = exp(scale * s + ... - logs)      w = p * dropout      ds = p * (dp * dropout - dot),   dp: products of dO and values
//
//                FRAG own rows              own rows: queries (DQ_T)     dq = scale * ds k          over the keys
//              +---------------+                      keys               dv = w^T dO, dk = scale * ds^T q
//    BC rows   | s, dp: a lane |                                         over the queries of all heads that share them
//    of the    | has one own   |
//    others    | row           |            scores are the others times the own rows, the lane's weights and gradients, rounded,
//              +---------------+            its operand of the products with the others turned over (attention/matrix.h)
//
// Both operands of the own rows (queries and dO, or keys and values) stay in registers, as do the sums. Local memory has a step of
// the others', row by row and turned over as far as they are needed: a kernel for dv alone has no dp. Steps whose scores all
// count come first, in a loop without masks.
//
// gfx11 wants whole operands in both halves of a wave. For long rows there are registers for halves alone, and a half is made
// whole each time; for others the scheduler is kept from loading too many fragments ahead.
//
// Host defines: those of attention/matrix.h and of attention/attention.h; DQ_T, or DK_T, DV_T or both (attention/keys.h); HALVED
// for long rows.

#if FRAG == 16 && !(defined(__GFX11__) && defined(HALVED) && BC > 16)
#define APART __builtin_amdgcn_sched_barrier(0)
#endif
#include "attention/matrix.h"
#include "attention/keys.h"

#if defined(DQ_T) || defined(DK_T)
#define SCORED 1  // ds is wanted, and its product with the others' first operand, of D numbers
#else
#define SCORED 0
#endif
#ifdef DV_T
#define WEIGHED 1  // and that of w with their second operand, of DV numbers
#else
#define WEIGHED 0
#endif
#if defined(BIAS_T) || defined(ALIBI)
#define ADDS 1
#else
#define ADDS 0
#endif
#if ADDS || defined(BLOCK_MASK)
#define ALL_COUNT 0  // nowhere is that known
#else
#define ALL_COUNT 1
#endif
#ifdef BLOCK_MASK
#define IN_BLOCK(i, j) in_block(at, of, i, j)
#else
#define IN_BLOCK(i, j) 1
#endif
#ifdef OF_KEYS
#define QUERY(own, other) (other)
#define KEY(own, other) (own)
#define OUTPUTS DK_ARGUMENT DV_ARGUMENT
#else
#define QUERY(own, other) (own)
#define KEY(own, other) (other)
#define OUTPUTS , PLACED(ELEMENT(DQ_T), dq)
#endif

#define ROW_PITCH(length) (WIDE(length) / VE + 1)
#define FIRST_TURNED (BC * ROW_PITCH(D))  // in chunks of local memory, behind the first operand's rows
#define SECOND_ROWS (FIRST_TURNED + SCORED * WIDE(D) * TURNED_PITCH)
#define SECOND_TURNED (SECOND_ROWS + SCORED * BC * ROW_PITCH(DV))
#define TILE_CHUNKS (SECOND_TURNED + WEIGHED * WIDE(DV) * TURNED_PITCH)

typedef struct {
    const GLOBAL T *first, *second;
    const GLOBAL real *logs, *dots;
    i64 first_s, first_d, second_s, second_d;
} Others;  // of a head

typedef struct {
    Chunk first[PAIRS_EACH(D)][2], second[PAIRS_EACH(DV)][2];
    float log, dot;  // of one query
} Step;

#if defined(HALVED) && defined(FRAG_BOTH)
typedef Chunk Operand;
#define KEPT(half) (half)
#define WHOLE(operand) operand_of(operand, lane)
#else
typedef Fragment Operand;
#define KEPT(half) operand_of(half, lane)
#define WHOLE(operand) (operand)
#endif

typedef struct {
    Operand first[STEPS(D)], second[STEPS(DV)];
    Sums out_first[TILES(D)], out_second[TILES(DV)];
    float scale, log, dot;
    int row, begin;  // of the others, those from `begin` on count
    u32 count;
} Own;  // of a lane

// The others' rows from row j on, of which `count` are there: at least BC where it is `whole`
DEVICE void load_step(Step *step, const Others *from, int item, int j, int count, const int whole) {
    load_pairs(step->first, from->first + j * from->first_s, from->first_s, from->first_d, item, count, D, whole);
    load_pairs(step->second, from->second + j * from->second_s, from->second_s, from->second_d, item, count, DV, whole);
#ifdef OF_KEYS
    const int there = item < BC && item < count;
    step->log = there ? from->logs[j + item] * LOG2E : 0.0f;
    step->dot = there ? from->dots[j + item] : 0.0f;
#endif
}

DEVICE void store_step(Step *step, LOCAL_ARG Chunk *tile, LOCAL_ARG float *statistics, int item, int count, const int whole) {
    store_pairs(step->first, tile, ROW_PITCH(D), tile + FIRST_TURNED, SCORED, item, count, D, whole);
    store_pairs(step->second, tile + SECOND_ROWS, SCORED ? ROW_PITCH(DV) : 0, tile + SECOND_TURNED, WEIGHED, item, count, DV, whole);
#ifdef OF_KEYS
    if (item < BC) {
        statistics[item] = step->log;
        statistics[BC + item] = step->dot;
    }
#endif
}

// Scores of a tile become weights, and their gradients those of the scores; `column`: the other row of the first
DEVICE void differentiate(const Own *own, Sums *s, Sums *dp, const Sums logs, const Sums dots, const attention *at,
                          const sequence *of, int column, const int masked) {
    UNROLL for (int e = 0; e < SUMS; ++e) {
        const int i = QUERY(own->row, column + e), j = KEY(own->row, column + e);
        const int seen = !masked || ((u32)(column + e - own->begin) < own->count && IN_BLOCK(i, j));
        float score = (*s)[e] * own->scale;
#if ADDS
        if (seen) score += added(at, of, i, j) * LOG2E;
#endif
        const float p = __builtin_amdgcn_exp2f(score - logs[e]);
#ifdef DROPS
        const float kept = seen && p != 0 ? drop_factor(at, of, i, j) : 0.0f;
        const float w = p * kept, ds = p * ((*dp)[e] * kept - dots[e]);
#else
        const float w = p, ds = p * ((*dp)[e] - dots[e]);
#endif
        (*s)[e] = seen ? w : 0.0f;
        (*dp)[e] = seen ? ds : 0.0f;
    }
}

// sums += one of the others' rows times the lane's own one
DEVICE void multiply_rows(Sums *sums, const LOCAL_ARG Chunk *row, const Operand *own, const int steps, int lane) {
    UNROLL for (int q = 0; q < steps; ++q) {
        *sums = multiply(fragment_at(row + 2 * q, lane), WHOLE(own[q]), *sums);
        if (q % 2 == 1) APART;
    }
}

// Tile `i` of the step from row j on
DEVICE void attend_tile(Own *own, const LOCAL_ARG Chunk *tile, const LOCAL_ARG Sums *statistics, const attention *at, const sequence *of,
                        int lane, int j, int i, const int masked) {
    APART;
    const int row = i * FRAG + lane % FRAG;
    Sums s = (Sums)(0.0f), dp = (Sums)(0.0f);
    multiply_rows(&s, tile + row * ROW_PITCH(D), own->first, STEPS(D), lane);
#if SCORED
    APART;
    multiply_rows(&dp, tile + SECOND_ROWS + row * ROW_PITCH(DV), own->second, STEPS(DV), lane);
#endif
#ifdef OF_KEYS
    const int at_sums = i * (FRAG / SUMS) + lane / FRAG;
    const Sums logs = statistics[at_sums], dots = statistics[BC / SUMS + at_sums];
#else
    const Sums logs = (Sums)(own->log), dots = (Sums)(own->dot);
#endif
    APART;
    differentiate(own, &s, &dp, logs, dots, at, of, j + i * FRAG + lane / FRAG * SUMS, masked);
    APART;
#if SCORED
    add_turned(own->out_first, tile + FIRST_TURNED, TILES(D), dp, i, lane);
#endif
    APART;
#if WEIGHED
    add_turned(own->out_second, tile + SECOND_TURNED, TILES(DV), s, i, lane);
#endif
}

// Steps from row j of the others to `end`, without those from `skip` to `skip_end`; `masked`: not all scores count
DEVICE void attend(Own *own, LOCAL_ARG Chunk *tile, LOCAL_ARG Sums *statistics, const Others *from, const attention *at,
                   const sequence *of, int item, int j, int end, int skip, int skip_end, const int masked) {
    const int lane = item % WAVE;
    if (masked && j == skip) j = skip_end;
    if (j >= end) return;
    Step step;
    load_step(&step, from, item, j, end - j, !masked);
    UNROLL_AT_MOST(1)
    while (j < end) {
#if FRAG == 16
        __asm__ volatile("" : "+v"(item));  // or the places of all that is loaded and stored stay in registers
#endif
        BARRIER();  // the step before has been used
        store_step(&step, tile, (LOCAL_ARG float *)statistics, item, end - j, !masked);
        BARRIER();
        const int next = masked && j + BC == skip ? skip_end : j + BC;
        if (next < end) load_step(&step, from, item, next, end - next, !masked);
        if (masked) {  // one after the other: together they need more registers than there are
            UNROLL_AT_MOST(1)
            for (int i = 0; i < BC / FRAG; ++i) attend_tile(own, tile, statistics, at, of, lane, j, i, 1);
        } else {
            UNROLL for (int i = 0; i < BC / FRAG; ++i) attend_tile(own, tile, statistics, at, of, lane, j, i, 0);
        }
        j = next;
    }
}

// Row `row` of a gradient from a lane's sums times `factor`
#define PUT_SUMS(type, x, h, out, length, factor)                                                                        \
    UNROLL for (int n = 0; n < TILES(length); ++n) {                                                                     \
        UNROLL for (int e = 0; e < SUMS; ++e) {                                                                          \
            const int column = n * FRAG + lane / FRAG * SUMS + e;                                                        \
            if (column < (length) && HAS_ROW(x, b, row))                                                                 \
                PUT(type, OF(x, b, h), row * x##_s + column * x##_d, there ? out[n][e] * (factor) : 0.0f);               \
        }                                                                                                                \
    }

KERNEL WG_SIZE(ITEMS, 1, 1)
attention_backward_matrix(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(const T, grad),
                          TENSOR(const real, logs), TENSOR(const real, dot) OUTPUTS, const int k_heads, const int row_pitch,
                          ATTENTION) {
    GRID_WAIT();
    BIND(const T, q);
    BIND(const T, k);
    BIND(const T, v);
    BIND(const T, grad);
    BIND(const real, logs);
    BIND(const real, dot);
    ATTENTION_BIND(at)
    LOCAL Chunk tile[TILE_CHUNKS];
    LOCAL Sums statistics[2 * BC / SUMS];
    const int item = LID(0), lane = item % WAVE, sharing = heads / k_heads;
#ifdef OF_KEYS
    DK_BIND DV_BIND
    const int row_blocks = (skv + BR - 1) / BR, r0 = GRP(0) % row_blocks * BR, z = GRP(0) / row_blocks, b = z / k_heads;
    const int g = z % k_heads, h_first = g * sharing, h_end = h_first + sharing;
#else
    BIND(ELEMENT(DQ_T), dq);
    // the last rows first, which see most in a triangle
    const int row_blocks = (sq + BR - 1) / BR, r0 = (row_blocks - 1 - GRP(0) % row_blocks) * BR, z = GRP(0) / row_blocks, b = z / heads;
    const int h_first = z % heads, h_end = h_first + 1, g = h_first / sharing;
#endif
    Own own;
    own.row = r0 + item / WAVE * FRAG + lane % FRAG;
    own.scale = numbers[ATTN_SCALE] * LOG2E;
    UNROLL for (int n = 0; n < TILES(D); ++n) own.out_first[n] = (Sums)(0.0f);
    UNROLL for (int n = 0; n < TILES(DV); ++n) own.out_second[n] = (Sums)(0.0f);
    const sequence any = the_sequence(&at, b, h_first);
    const int row = own.row, alive = least((KEY(any.columns, any.rows)) - r0, BR), there = row < r0 + alive, from_row = there ? row : 0;
    Others from;
    Chunk first[STEPS(D)], second[STEPS(DV)];
#ifdef OF_KEYS
    load_own(first, OF(k, b, g) + from_row * k_s, k_d, lane, there, D);
    load_own(second, OF(v, b, g) + from_row * v_s, v_d, lane, there, DV);
    from.first_s = q_s;
    from.first_d = q_d;
    from.second_s = grad_s;
    from.second_d = grad_d;
#else
    load_own(first, OF(q, b, h_first) + from_row * q_s, q_d, lane, there, D);
    load_own(second, OF(grad, b, h_first) + from_row * grad_s, grad_d, lane, there, DV);
    from.first = OF(k, b, g);
    from.second = OF(v, b, g);
    from.first_s = k_s;
    from.first_d = k_d;
    from.second_s = v_s;
    from.second_d = v_d;
    own.log = there ? logs[(i64)z * row_pitch + row] * LOG2E : 0.0f;
    own.dot = there ? dot[(i64)z * row_pitch + row] : 0.0f;
#endif
    UNROLL for (int s = 0; s < STEPS(D); ++s) own.first[s] = KEPT(first[s]);
    UNROLL for (int s = 0; s < STEPS(DV); ++s) own.second[s] = KEPT(second[s]);
    for (int h = h_first; alive > 0 && h < h_end; ++h) {
        const sequence of = the_sequence(&at, b, h);
        const int last = r0 + alive - 1;
#ifdef OF_KEYS
        from.first = OF(q, b, h);
        from.second = OF(grad, b, h);
        from.logs = logs + ((i64)b * heads + h) * row_pitch;
        from.dots = dot + ((i64)b * heads + h) * row_pitch;
        const int own_end = end_row(&at, &of, row);
        own.begin = first_row(&at, &of, row);
        const int begin = first_row(&at, &of, r0) / BC * BC, end = end_row(&at, &of, last);
        int skip = (first_row(&at, &of, last) + BC - 1) / BC * BC, skip_end = end_row(&at, &of, r0) / BC * BC;
#else
        const int own_end = end_column(&at, &of, row);
        own.begin = first_column(&at, &of, row);
        const int begin = first_column(&at, &of, r0) / BC * BC, end = end_column(&at, &of, last);
        int skip = (first_column(&at, &of, last) + BC - 1) / BC * BC, skip_end = end_column(&at, &of, r0) / BC * BC;
#endif
        own.count = own_end > own.begin ? (u32)(own_end - own.begin) : 0u;
        if (!ALL_COUNT || skip >= skip_end) skip = skip_end = -1;
        if (ALL_COUNT) attend(&own, tile, statistics, &from, &at, &of, item, skip, skip_end, 0, 0, 0);
        attend(&own, tile, statistics, &from, &at, &of, item, begin, end, skip, skip_end, 1);
    }
    const float scale = numbers[ATTN_SCALE];
#ifdef DQ_T
    if (row < sq) {
        PUT_SUMS(DQ_T, dq, h_first, own.out_first, D, scale)
    }
#else
    if (row >= skv) return;
#ifdef DK_T
    PUT_SUMS(DK_T, dk, g, own.out_first, D, scale)
#endif
#ifdef DV_T
    PUT_SUMS(DV_T, dv, g, own.out_second, DV, 1.0f)
#endif
#endif
}
