// Attention's gradients on AMD's matrix cores: half and bfloat16, of which queries, keys, values and dO all are (T)
//
//   p = exp(scale * s + ... - logs)      w = p * dropout      ds = p * (dp * dropout - dot),   dp: products of dO and values
//
//                FRAG own rows              own rows: queries      dq = scale * ds k          over the keys
//              +---------------+                      keys         dv = w^T dO, dk = scale * ds^T q
//    BC rows   | s, dp: a lane |                                   over the queries of all heads that share them
//    of the    | has one own   |
//    others    | row           |            scores are the others times the own rows, the lane's weights and gradients, rounded,
//              +---------------+            its operand of the products with the others turned over (attention/matrix.h)
//
// Both operands of the own rows (queries and dO, or keys and values) stay in registers, as do the sums. Local memory has a step of
// the others', row by row and turned over as far as they are needed: a kernel for dv alone has no dp. Steps whose scores all
// count come first, in a loop without masks.
//
// gfx11 wants whole operands in both halves of a wave. For long rows there are registers for halves alone, and a half is made
// whole each time (HALVED); for others the scheduler is kept from loading too many fragments ahead (APART).
//
// Host defines: those of attention/matrix.h and of attention/attention.h; SCORED: ds is wanted, and its product with the others'
// first operand, of D numbers; WEIGHED: that of w with their second operand, of DV numbers; ADDS: something is added to scores;
// ALL_COUNT: there are steps whose scores all count; HALVED for long rows.
//
// backward_queries.cl and backward_keys.cl define, before this: QUERY(own, other) and KEY(own, other), which of two rows is which;
// FIRST_OTHER(own) and END_OTHER(own), the others whose scores count; LOAD_STATISTICS, STORE_STATISTICS, LOGS and DOTS.

#if FRAG == 16 && !(defined(__GFX11__) && HALVED && BC > 16)
#define APART __builtin_amdgcn_sched_barrier(0)
#else
#define APART
#endif
#if FRAG == 16  // else the places of all that is loaded and stored stay in registers
#define FORGET(item) __asm__ volatile("" : "+v"(item))
#else
#define FORGET(item)
#endif
#include "attention/matrix.h"

#ifdef MASKED
#define IN_MASK(i, j) in_mask(at, of, i, j)
#else
#define IN_MASK(i, j) 1
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

#if HALVED && defined(FRAG_BOTH)
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
    LOAD_STATISTICS
}

DEVICE void store_step(Step *step, LOCAL_ARG Chunk *tile, LOCAL_ARG float *statistics, int item, int count, const int whole) {
    store_pairs(step->first, tile, ROW_PITCH(D), tile + FIRST_TURNED, SCORED, item, count, D, whole);
    store_pairs(step->second, tile + SECOND_ROWS, SCORED ? ROW_PITCH(DV) : 0, tile + SECOND_TURNED, WEIGHED, item, count, DV, whole);
    STORE_STATISTICS
}

// Scores of a tile become weights, and their gradients those of the scores; `column`: the other row of the first
DEVICE void differentiate(const Own *own, Sums *s, Sums *dp, const Sums logs, const Sums dots, const attention *at,
                          const sequence *of, int column, const int masked) {
    UNROLL for (int e = 0; e < SUMS; ++e) {
        const int i = QUERY(own->row, column + e), j = KEY(own->row, column + e);
        const int seen = !masked || ((u32)(column + e - own->begin) < own->count && IN_MASK(i, j));
        float score = (*s)[e] * own->scale;
        if (ADDS && seen) score += added(at, of, i, j) * LOG2E;
        const float p = __builtin_amdgcn_exp2f(score - logs[e]);
        const float kept = seen && p != 0 ? drop_factor(at, of, i, j) : 1.0f;
        (*s)[e] = seen ? p * kept : 0.0f;
        (*dp)[e] = seen ? p * ((*dp)[e] * kept - dots[e]) : 0.0f;
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
    const int row = i * FRAG + lane % FRAG, at_sums = i * (FRAG / SUMS) + lane / FRAG;
    Sums s = (Sums)(0.0f), dp = (Sums)(0.0f);
    multiply_rows(&s, tile + row * ROW_PITCH(D), own->first, STEPS(D), lane);
    APART;
    if (SCORED) multiply_rows(&dp, tile + SECOND_ROWS + row * ROW_PITCH(DV), own->second, STEPS(DV), lane);
    const Sums logs = LOGS(at_sums), dots = DOTS(at_sums);
    APART;
    differentiate(own, &s, &dp, logs, dots, at, of, j + i * FRAG + lane / FRAG * SUMS, masked);
    APART;
    if (SCORED) add_turned(own->out_first, tile + FIRST_TURNED, TILES(D), dp, i, lane);
    APART;
    if (WEIGHED) add_turned(own->out_second, tile + SECOND_TURNED, TILES(DV), s, i, lane);
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
        FORGET(item);
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

// All others of a head, for a work-group's rows from r0 on, of which `alive` are there, at least one
DEVICE void attend_head(Own *own, LOCAL_ARG Chunk *tile, LOCAL_ARG Sums *statistics, const Others *from, const attention *at,
                        const sequence *of, int item, int r0, int alive) {
    const int last = r0 + alive - 1, own_end = END_OTHER(own->row);
    own->begin = FIRST_OTHER(own->row);
    own->count = own_end > own->begin ? (u32)(own_end - own->begin) : 0u;
    const int begin = FIRST_OTHER(r0) / BC * BC, end = END_OTHER(last);
    int skip = (FIRST_OTHER(last) + BC - 1) / BC * BC, skip_end = END_OTHER(r0) / BC * BC;
    if (!ALL_COUNT || skip >= skip_end) skip = skip_end = -1;
    if (ALL_COUNT) attend(own, tile, statistics, from, at, of, item, skip, skip_end, 0, 0, 0);
    attend(own, tile, statistics, from, at, of, item, begin, end, skip, skip_end, 1);
}

// A lane's own rows and no sums yet; first and second: the rows' operands
DEVICE void begin_own(Own *own, const GLOBAL T *first, i64 first_d, const GLOBAL T *second, i64 second_d, float scale, int lane, int there) {
    Chunk halves[STEPS(D)], others[STEPS(DV)];
    load_own(halves, first, first_d, lane, there, D);
    load_own(others, second, second_d, lane, there, DV);
    UNROLL for (int s = 0; s < STEPS(D); ++s) own->first[s] = KEPT(halves[s]);
    UNROLL for (int s = 0; s < STEPS(DV); ++s) own->second[s] = KEPT(others[s]);
    UNROLL for (int n = 0; n < TILES(D); ++n) own->out_first[n] = (Sums)(0.0f);
    UNROLL for (int n = 0; n < TILES(DV); ++n) own->out_second[n] = (Sums)(0.0f);
    own->scale = scale * LOG2E;
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
#define INPUTS                                                                                                           \
    PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(const T, grad), TENSOR(const real, logs), TENSOR(const real, dot)
#define BIND_INPUTS         \
    BIND(const T, q);       \
    BIND(const T, k);       \
    BIND(const T, v);       \
    BIND(const T, grad);    \
    BIND(const real, logs); \
    BIND(const real, dot);
