// Softmax forward as a CPU likes it: exponentials are computed once and kept in y, and vectors run along what is contiguous.
//
//   softmax_rows      a row of LENGTH neighbours, in blocks that caches hold: each block's maximum, exp(x - maximum) to y, and
//                     the sum; then y is scaled by exp(the block's maximum - the row's) / the row's sum
//   softmax_columns   up to COLUMNS neighbouring columns of REDUCE numbers, REDUCE apart: their maxima, exp(x - maximum) to y and
//                     the sums, then y is scaled
//
// Where y cannot keep them (RECOMPUTE: the logarithm, 16-bit storage; or beta is not 0) x is read and raised again instead.
// The maximum starts at the lowest finite number: a row of -inf then gives 0 / 0 = NaN, as the formula does.
//
// Host defines: X_OUTER(i), Y_OUTER(i) (first element of row, or of the columns' row, i); LENGTH; BLOCK (of a row, in vectors);
// REDUCE, X_REDUCE(r), Y_REDUCE(r), COLUMNS, BLOCKS (of COLUMNS in a row); ALGORITHM; RECOMPUTE, 0 or 1.

#include "common/types.h"

#define IS_FAST PD_CAT(IS_FAST_, ALGORITHM)
#define IS_FAST_ACCURATE 0
#define IS_FAST_FAST 1
#define IS_FAST_LOG 0
#define IS_LOG PD_CAT(IS_LOG_, ALGORITHM)
#define IS_LOG_ACCURATE 0
#define IS_LOG_FAST 0
#define IS_LOG_LOG 1
#define FIRST_TOP (IS_FAST ? (real)0 : LOWEST_REAL)
#define HIGHER(top, v) PD_CAT(HIGHER_, ALGORITHM)(top, v)
#define HIGHER_ACCURATE(top, v) ((v) > (top) ? (v) : (top))
#define HIGHER_FAST(top, v) (top)
#define HIGHER_LOG(top, v) HIGHER_ACCURATE(top, v)
#define KEEPS_TERMS (!RECOMPUTE && beta == (real)0)
#define SCALED(e, alpha, factor) PD_CAT(SCALED_, ALGORITHM)(e, alpha, factor)
#define SCALED_ACCURATE(e, alpha, factor) ((e) * (factor))
#define SCALED_FAST(e, alpha, sum) ((e) / (sum) * (alpha))  // the sum may be so small that its reciprocal overflows
#define SCALED_LOG(e, alpha, factor) ((e) * (factor))
#define RESULT(v, sum, EXP) PD_CAT(RESULT_, ALGORITHM)(v, sum, EXP)
#define RESULT_ACCURATE(v, sum, EXP) (EXP(v) / (sum))
#define RESULT_FAST(v, sum, EXP) (EXP(v) / (sum))
#define RESULT_LOG(v, log_sum, EXP) ((v) - (log_sum))

#ifdef ROWS
DEVICE real fold_lanes(vreal v) {
    real sum = 0;
    UNROLL for (int j = 0; j < VW; ++j) sum += LANE(v, j);
    return sum;
}
DEVICE real highest_lane(vreal v) {
    real top = FIRST_TOP;
    UNROLL for (int j = 0; j < VW; ++j) top = HIGHER(top, LANE(v, j));
    return top;
}

KERNEL WG_SIZE(1, 1, 1) softmax_rows(TENSOR(const T, x), TENSOR(T, y), const real alpha, const real beta) {
    BIND(const T, x);
    BIND(T, y);
    const GLOBAL T *from = x + X_OUTER((idx_t)GRP(0));
    GLOBAL T *to = y + Y_OUTER((idx_t)GRP(0));
    real tops[(LENGTH + BLOCK * VW - 1) / (BLOCK * VW)], top = FIRST_TOP, sum = 0;
    idx_t i = 0;

    for (int b = 0; i < LENGTH; ++b) {
        const idx_t first = i, end = LENGTH - first < BLOCK * VW ? LENGTH : first + BLOCK * VW;
        vreal high = VSPLAT(FIRST_TOP), total = VSPLAT(0);
        for (; i + VW <= end; i += VW) high = HIGHER(high, VLOAD(from, i));
        real block_top = highest_lane(high), block_sum = 0;
        for (; i < end; ++i) block_top = HIGHER(block_top, LOAD(from, i));
        for (i = first; i + VW <= end; i += VW) {
            const vreal e = VEXP(VLOAD(from, i) - block_top);
            if (KEEPS_TERMS) VSTORE(to, i, e);
            total = total + e;
        }
        for (; i < end; ++i) {
            const real e = exp(LOAD(from, i) - block_top);
            if (KEEPS_TERMS) STORE(to, i, e);
            block_sum += e;
        }
        const real higher = HIGHER(top, block_top);
        sum = sum * exp(top - higher) + (block_sum + fold_lanes(total)) * exp(block_top - higher);
        top = higher;
        tops[b] = block_top;
    }
    if (IS_LOG) sum = log(sum);
    i = 0;
    for (int b = 0; i < LENGTH; ++b) {
        const idx_t end = LENGTH - i < BLOCK * VW ? LENGTH : i + BLOCK * VW;
        if (KEEPS_TERMS) {
            const real factor = IS_FAST ? sum : exp(tops[b] - top) / sum * alpha;
            for (; i + VW <= end; i += VW) VSTORE(to, i, SCALED(VLOAD(to, i), alpha, factor));
            for (; i < end; ++i) STORE(to, i, SCALED(LOAD(to, i), alpha, factor));
        } else {
            for (; i + VW <= end; i += VW) VBLEND(to, i, alpha, RESULT(VLOAD(from, i) - top, sum, VEXP), beta);
            for (; i < end; ++i) BLEND(to, i, alpha, RESULT(LOAD(from, i) - top, sum, exp), beta);
        }
    }
}
#endif

#ifdef COLUMNS
// one pass over all rows of the columns: vectors first, then what is left of a line
#define EACH(VECTOR, SCALAR)                                                                               \
    for (idx_t r = 0; r < REDUCE; ++r) {                                                                   \
        const GLOBAL T *in = from + X_REDUCE(r);                                                           \
        GLOBAL T *out = to + Y_REDUCE(r);                                                                  \
        int j = 0;                                                                                         \
        for (; j + VW <= count; j += VW) { VECTOR }                                                        \
        for (; j < count; ++j) { SCALAR }                                                                  \
    }
typedef vreal vreal_at __attribute__((aligned(sizeof(real))));
#define LANES(p) (*(vreal_at *)(p))

KERNEL WG_SIZE(1, 1, 1) softmax_columns(TENSOR(const T, x), TENSOR(T, y), const real alpha, const real beta) {
    BIND(const T, x);
    BIND(T, y);
    const idx_t row = (idx_t)GRP(0) / BLOCKS, first = (idx_t)GRP(0) % BLOCKS * COLUMNS;
    const int count = LENGTH - first < COLUMNS ? LENGTH - first : COLUMNS;
    const GLOBAL T *from = x + X_OUTER(row) + first;
    GLOBAL T *to = y + Y_OUTER(row) + first;
    real top[COLUMNS], sum[COLUMNS];

    for (int j = 0; j < COLUMNS; ++j) {
        top[j] = FIRST_TOP;
        sum[j] = 0;
    }
#if !IS_FAST
    EACH(LANES(top + j) = HIGHER(LANES(top + j), VLOAD(in, j));, top[j] = HIGHER(top[j], LOAD(in, j));)
#endif
    EACH(const vreal e = VEXP(VLOAD(in, j) - LANES(top + j)); if (KEEPS_TERMS) VSTORE(out, j, e);
         LANES(sum + j) += e;, const real e = exp(LOAD(in, j) - top[j]); if (KEEPS_TERMS) STORE(out, j, e);
         sum[j] += e;)
    if (IS_LOG)
        for (int j = 0; j < COLUMNS; ++j) sum[j] = log(sum[j]);  // PoCL 3.0 crashes on log of 16 floats
    if (KEEPS_TERMS) {
        if (!IS_FAST)
            for (int j = 0; j < COLUMNS; ++j) sum[j] = alpha / sum[j];
        EACH(VSTORE(out, j, SCALED(VLOAD(out, j), alpha, LANES(sum + j)));
             , STORE(out, j, SCALED(LOAD(out, j), alpha, sum[j]));)
    } else {
        EACH(VBLEND(out, j, alpha, RESULT(VLOAD(in, j) - LANES(top + j), LANES(sum + j), VEXP), beta);
             , BLEND(out, j, alpha, RESULT(LOAD(in, j) - top[j], sum[j], exp), beta);)
    }
}
#endif
