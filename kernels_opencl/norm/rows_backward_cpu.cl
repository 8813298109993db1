// The gradients of normalisation on a CPU where what is normalised together lies in lines; norm/rows_cpu.cl draws them, and
// norm/backward.cl has the formulas.
//
//   WHOLE, PARTIAL, APPLY   which kernels. Without saved statistics a row's are made again: by norm_rows_backward itself, or of
//                           the parts that norm_rows_partial left (FROM_PARTS).
//   PARAMETER_ROWS          the sums of dy and dy * z along the row are parts of the parameters' gradients: they join those in
//                           the slots from SLOT_BASE + SLOT_OUTER(o) + SLOT_LINE(line) on, or begin them if FRESH

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/backward.h"
#include "norm/rows_cpu.h"

#ifdef FROM_PARTS
#define PARTS_ARGS TENSOR(real, means), TENSOR(real, squares),
#define BIND_PARTS                                                                                         \
    BIND(real, means);                                                                                     \
    BIND(real, squares);
#else
#define PARTS_ARGS
#define BIND_PARTS
#endif

#if defined(HAS_SAVED)
#define STATISTICS LOAD_STATS
#elif defined(FROM_PARTS)
#define STATISTICS                                                                                         \
    MERGED(m, means, squares, o)                                                                           \
    pivot = means[OUTER * SLICES + o];                                                                     \
    rest = m.mean;                                                                                         \
    inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
#elif defined(RMS)
#define STATISTICS                                                                                         \
    const sample m = row_moments(x, from, begin, end, 0);                                                  \
    inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
#else
#define STATISTICS                                                                                         \
    pivot = PIVOT(x, from);                                                                                \
    const sample m = row_moments(x, from, begin, end, pivot);                                              \
    rest = m.mean;                                                                                         \
    inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
#endif

// dy times scale, where that changes along the row
#if defined(PER_REDUCE) && LINE_STEP == 0
#define LINE_PARAMETERS const real weight = scale[SCALE_OUTER(o) + SCALE_LINE(line)];
#define LINE_VECTOR(v, j) ((v) * weight)
#define LINE_NUMBER(v, j) ((v) * weight)
#define SUM_VECTOR(v, j) (v)  // a line's sums are weighted as a whole
#define SUM_NUMBER(v, j) (v)
#define WEIGHT weight
#elif defined(PER_REDUCE)
#define LINE_PARAMETERS const GLOBAL real *scales = scale + (SCALE_OUTER(o) + SCALE_LINE(line) + i0);
#define LINE_VECTOR(v, j) ((v) * NUMBERS_AT(scales, j))
#define LINE_NUMBER(v, j) ((v) * scales[j])
#else
#define LINE_PARAMETERS
#define LINE_VECTOR(v, j) (v)
#define LINE_NUMBER(v, j) (v)
#endif

#ifndef WEIGHT
#define SUM_VECTOR(v, j) LINE_VECTOR(v, j)
#define SUM_NUMBER(v, j) LINE_NUMBER(v, j)
#define WEIGHT (real)1
#endif

#ifdef PARAMETER_ROWS
#define SLOT_ARGS TENSOR(real, part_dscale), TENSOR(real, part_dbias),
#define BIND_SLOTS                                                                                         \
    BIND(real, part_dscale);                                                                               \
    BIND(real, part_dbias);
#define SLOT_AT (SLOT_BASE + SLOT_OUTER(o) + SLOT_LINE(line) + i0 * LINE_STEP)
#else
#define SLOT_ARGS
#define BIND_SLOTS
#endif
#if defined(PARAMETER_ROWS) && LINE_STEP == 1
#define SLOTS                                                                                              \
    GLOBAL real *by_scale = part_dscale + SLOT_AT, *by_bias = part_dbias + SLOT_AT;                        \
    if (FRESH)                                                                                             \
        for (u32 i_ = 0; i_ < count; ++i_) by_scale[i_] = by_bias[i_] = 0;
#define KEEP_VECTOR(j, d, t)                                                                               \
    PUT_NUMBERS(by_scale, j, NUMBERS_AT(by_scale, j) + (t) * inverse);                                     \
    PUT_NUMBERS(by_bias, j, NUMBERS_AT(by_bias, j) + (d));
#define KEEP_NUMBER(j, d, t)                                                                               \
    by_scale[j] += (t) * inverse;                                                                          \
    by_bias[j] += (d);
#define KEEP_LINE(d, t)
#else
#define SLOTS
#define KEEP_VECTOR(j, d, t)
#define KEEP_NUMBER(j, d, t)
#ifdef PARAMETER_ROWS
#define KEEP_LINE(d, t)                                                                                    \
    part_dscale[SLOT_AT] = (t) * inverse;                                                                  \
    part_dbias[SLOT_AT] = (d);
#else
#define KEEP_LINE(d, t)
#endif
#endif

#define LINES_OF_BOTH                                                                                      \
    const GLOBAL T *p = x + (from + X_LINE(line) + i0);                                                    \
    const GLOBAL T *q = dy + (DY_OUTER(o) + DY_LINE(line) + i0);                                           \
    LINE_PARAMETERS

// one vector's share of the sums s of g and t of g * a
#define SUM_STEP(s, t, j)                                                                                  \
    {                                                                                                      \
        const vreal d_ = VLOAD(q, j), a_ = CENTRED(VLOAD(p, j)), g_ = SUM_VECTOR(d_, j);                   \
        s = s + g_;                                                                                        \
        t = t + g_ * a_;                                                                                   \
        KEEP_VECTOR(j, d_, d_ * a_)                                                                        \
    }
// sum and product: those of g and of g * a over numbers begin .. end; each line's before they join the others'
#define SUM_ROW                                                                                            \
    vreal sums = VSPLAT(0), products = VSPLAT(0);                                                          \
    real sum = 0, product = 0;                                                                             \
    WALK(begin, end) {                                                                                     \
        LINES_OF_BOTH                                                                                      \
        SLOTS                                                                                              \
        vreal s0 = VSPLAT(0), s1 = VSPLAT(0), t0 = VSPLAT(0), t1 = VSPLAT(0);                              \
        u32 j = 0;                                                                                         \
        for (; j + 2 * VW <= count; j += 2 * VW) {                                                         \
            SUM_STEP(s0, t0, j)                                                                            \
            SUM_STEP(s1, t1, j + VW)                                                                       \
        }                                                                                                  \
        for (; j + VW <= count; j += VW) SUM_STEP(s0, t0, j)                                               \
        real rest_sum = 0, rest_product = 0;                                                               \
        for (; j < count; ++j) {                                                                           \
            const real d_ = LOAD(q, j), a_ = CENTRED(LOAD(p, j)), g_ = SUM_NUMBER(d_, j);                  \
            rest_sum += g_;                                                                                \
            rest_product += g_ * a_;                                                                       \
            KEEP_NUMBER(j, d_, d_ * a_)                                                                    \
        }                                                                                                  \
        s0 = s0 + s1;                                                                                      \
        t0 = t0 + t1;                                                                                      \
        KEEP_LINE(FOLD(s0) + rest_sum, FOLD(t0) + rest_product)                                            \
        sums = sums + s0 * WEIGHT;                                                                         \
        products = products + t0 * WEIGHT;                                                                 \
        sum += rest_sum * WEIGHT;                                                                          \
        product += rest_product * WEIGHT;                                                                  \
    }                                                                                                      \
    sum += FOLD(sums);                                                                                     \
    product += FOLD(products);

#define DX(g, a) ((WITHOUT_MEAN(g, shift) - CENTRED(a) * slope) * gain)
#define APPLY_ROW                                                                                          \
    const real shift = sum / (real)COUNT, slope = inverse * inverse * product / (real)COUNT;               \
    const real gain = GAIN(inverse);                                                                       \
    WALK(begin, end) {                                                                                     \
        LINES_OF_BOTH                                                                                      \
        GLOBAL T *to = dx + (DX_OUTER(o) + DX_LINE(line) + i0);                                            \
        u32 j = 0;                                                                                         \
        if (beta == (real)0) {                                                                             \
            for (; j + VW <= count; j += VW)                                                               \
                VSTORE(to, j, DX(LINE_VECTOR(VLOAD(q, j), j), VLOAD(p, j)) * alpha);                       \
        } else {                                                                                           \
            for (; j + VW <= count; j += VW)                                                               \
                VSTORE(to, j, DX(LINE_VECTOR(VLOAD(q, j), j), VLOAD(p, j)) * alpha + VLOAD(to, j) * beta); \
        }                                                                                                  \
        for (; j < count; ++j)                                                                             \
            BLEND(to, j, alpha, DX(LINE_NUMBER(LOAD(q, j), j), LOAD(p, j)), beta);                         \
    }

#ifdef WHOLE
KERNEL WG_SIZE(1, 1, 1)
norm_rows_backward(TENSOR(T, x), TENSOR(T, dy), SCALE_ARG STATS_ARGS TENSOR(T, dx), GRADIENT_ARGS SLOT_ARGS
                   const real alpha, const real beta GRADIENT_NUMBERS, const real epsilon) {
    BIND(T, x);
    BIND(T, dy);
    BIND_SCALE
    BIND_STATS
    BIND(T, dx);
    BIND_GRADIENTS
    BIND_SLOTS
    FOR_ROWS {
        const u32 from = X_OUTER(o);
        real pivot = 0, rest = 0, inverse = 0;
        STATISTICS
        SUM_ROW
        STORE_GRADIENTS(product * inverse, sum)
        APPLY_ROW
    }
}
#endif

#ifdef PARTIAL
KERNEL WG_SIZE(1, 1, 1)
norm_rows_backward_partial(TENSOR(T, x), TENSOR(T, dy), SCALE_ARG STATS_ARGS PARTS_ARGS SLOT_ARGS
                           TENSOR(real, part_sums), TENSOR(real, part_products), const real epsilon) {
    BIND(T, x);
    BIND(T, dy);
    BIND_SCALE
    BIND_STATS
    BIND_PARTS
    BIND_SLOTS
    BIND(real, part_sums);
    BIND(real, part_products);
    SLICE_OF((u32)GRP(0))
    const u32 from = X_OUTER(o), first = o;
    real pivot = 0, rest = 0, inverse = 0;
    STATISTICS
    SUM_ROW
    part_sums[o * SLICES + slice] = sum;
    part_products[o * SLICES + slice] = product;
}
#endif

#ifdef APPLY
KERNEL WG_SIZE(1, 1, 1)
norm_rows_backward_apply(TENSOR(T, x), TENSOR(T, dy), SCALE_ARG STATS_ARGS TENSOR(T, dx), GRADIENT_ARGS PARTS_ARGS
                         TENSOR(real, part_sums), TENSOR(real, part_products), const real alpha,
                         const real beta GRADIENT_NUMBERS, const real epsilon) {
    BIND(T, x);
    BIND(T, dy);
    BIND_SCALE
    BIND_STATS
    BIND(T, dx);
    BIND_GRADIENTS
    BIND_PARTS
    BIND(real, part_sums);
    BIND(real, part_products);
    SLICE_OF((u32)GRP(0))
    const u32 from = X_OUTER(o);
    real pivot = 0, rest = 0, inverse = 0, sum = 0, product = 0;
    STATISTICS
    for (u32 k = 0; k < SLICES; ++k) {
        sum += part_sums[o * SLICES + k];
        product += part_products[o * SLICES + k];
    }
    if (slice == 0) STORE_GRADIENTS(product * inverse, sum)
    APPLY_ROW
}
#endif
