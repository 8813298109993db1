// The gradients of normalisation on a CPU where what is normalised together lies in lines; norm/rows_cpu.cl draws them, and
// norm/backward.cl has the formulas.
//
//   WHOLE, PARTIAL, APPLY   which kernels. Without saved statistics a row's are made again: by norm_rows_backward itself, or of
//                           the parts that norm_rows_partial left (STATS is PARTS).
//   KEPT_SUMS               the sums of dy and dy * z along the row are parts of the parameters' gradients: they join those in
//                           the slots from SLOT_BASE + SLOT_OUTER(o) + SLOT_LINE(line) on, or begin them if FRESH

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/backward.h"
#include "norm/rows_cpu.h"

#define ROW_STATS PD_CAT(ROW_STATS_, STATS)
#define ROW_STATS_SAVED LOAD_STATS_SAVED
#define ROW_STATS_SAVED_INVERSE LOAD_STATS_SAVED_INVERSE
#define ROW_STATS_PARTS                                                                                    \
    MERGED(m, means, squares, o)                                                                           \
    pivot = means[OUTER * SLICES + o];                                                                     \
    rest = m.mean;                                                                                         \
    inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
#define ROW_STATS_OWN                                                                                      \
    pivot = RMS ? (real)0 : PIVOT(x, from);                                                                \
    const sample m = row_moments(x, from, begin, end, pivot);                                              \
    rest = m.mean;                                                                                         \
    inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);

// dy times scale, where that changes along the row (PARAMETERS_OF, as in norm/rows_cpu.cl)
#define LINE_PARAMETERS PD_CAT(LINE_PARAMETERS_, PARAMETERS_OF)
#define LINE_PARAMETERS_ROWS
#define LINE_PARAMETERS_LINES const real weight = scale[SCALE_OUTER(o) + SCALE_LINE(line)];
#define LINE_PARAMETERS_NUMBERS const GLOBAL real *scales = scale + (SCALE_OUTER(o) + SCALE_LINE(line) + i0);
#define LINE_VECTOR(v, j) PD_CAT(LINE_VECTOR_, PARAMETERS_OF)(v, j)
#define LINE_VECTOR_ROWS(v, j) (v)
#define LINE_VECTOR_LINES(v, j) ((v) * weight)
#define LINE_VECTOR_NUMBERS(v, j) ((v) * NUMBERS_AT(scales, j))
#define LINE_NUMBER(v, j) PD_CAT(LINE_NUMBER_, PARAMETERS_OF)(v, j)
#define LINE_NUMBER_ROWS(v, j) (v)
#define LINE_NUMBER_LINES(v, j) ((v) * weight)
#define LINE_NUMBER_NUMBERS(v, j) ((v) * scales[j])
// a line's sums are weighted as a whole where LINES have a scale
#define SUM_VECTOR(v, j) PD_CAT(SUM_VECTOR_, PARAMETERS_OF)(v, j)
#define SUM_VECTOR_ROWS(v, j) (v)
#define SUM_VECTOR_LINES(v, j) (v)
#define SUM_VECTOR_NUMBERS(v, j) LINE_VECTOR_NUMBERS(v, j)
#define SUM_NUMBER(v, j) PD_CAT(SUM_NUMBER_, PARAMETERS_OF)(v, j)
#define SUM_NUMBER_ROWS(v, j) (v)
#define SUM_NUMBER_LINES(v, j) (v)
#define SUM_NUMBER_NUMBERS(v, j) LINE_NUMBER_NUMBERS(v, j)
#define WEIGHT PD_CAT(WEIGHT_, PARAMETERS_OF)
#define WEIGHT_ROWS (real)1
#define WEIGHT_LINES weight
#define WEIGHT_NUMBERS (real)1

// what a row leaves of the parameters' gradients (KEPT_SUMS): those of its NUMBERS, of its LINES, or NONE
#define SLOT_AT (SLOT_BASE + SLOT_OUTER(o) + SLOT_LINE(line) + i0 * LINE_STEP)
#define SLOTS PD_CAT(SLOTS_, KEPT_SUMS)
#define SLOTS_NONE
#define SLOTS_LINES
#define SLOTS_NUMBERS                                                                                      \
    GLOBAL real *by_scale = part_dscale + SLOT_AT, *by_bias = part_dbias + SLOT_AT;                        \
    if (FRESH)                                                                                             \
        for (u32 i_ = 0; i_ < count; ++i_) by_scale[i_] = by_bias[i_] = 0;
#define KEEP_VECTOR(j, d, t) PD_CAT(KEEP_VECTOR_, KEPT_SUMS)(j, d, t)
#define KEEP_VECTOR_NONE(j, d, t)
#define KEEP_VECTOR_LINES(j, d, t)
#define KEEP_VECTOR_NUMBERS(j, d, t)                                                                       \
    PUT_NUMBERS(by_scale, j, NUMBERS_AT(by_scale, j) + (t) * inverse);                                     \
    PUT_NUMBERS(by_bias, j, NUMBERS_AT(by_bias, j) + (d));
#define KEEP_NUMBER(j, d, t) PD_CAT(KEEP_NUMBER_, KEPT_SUMS)(j, d, t)
#define KEEP_NUMBER_NONE(j, d, t)
#define KEEP_NUMBER_LINES(j, d, t)
#define KEEP_NUMBER_NUMBERS(j, d, t)                                                                       \
    by_scale[j] += (t) * inverse;                                                                          \
    by_bias[j] += (d);
#define KEEP_LINE(d, t) PD_CAT(KEEP_LINE_, KEPT_SUMS)(d, t)
#define KEEP_LINE_NONE(d, t)
#define KEEP_LINE_NUMBERS(d, t)
#define KEEP_LINE_LINES(d, t)                                                                              \
    part_dscale[SLOT_AT] = (t) * inverse;                                                                  \
    part_dbias[SLOT_AT] = (d);

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
KERNEL WG_SIZE(1, 1, 1) norm_rows_backward(PARAMETER_LIST) {
    BIND_PARAMETERS;
    FOR_ROWS {
        const u32 from = X_OUTER(o);
        real pivot = 0, rest = 0, inverse = 0;
        ROW_STATS
        SUM_ROW
        STORE_GRADIENTS(product * inverse, sum)
        APPLY_ROW
    }
}
#endif

#ifdef PARTIAL
KERNEL WG_SIZE(1, 1, 1) norm_rows_backward_partial(PARAMETER_LIST) {
    BIND_PARAMETERS;
    SLICE_OF((u32)GRP(0))
    const u32 from = X_OUTER(o), first = o;
    real pivot = 0, rest = 0, inverse = 0;
    ROW_STATS
    SUM_ROW
    part_sums[o * SLICES + slice] = sum;
    part_products[o * SLICES + slice] = product;
}
#endif

#ifdef APPLY
KERNEL WG_SIZE(1, 1, 1) norm_rows_backward_apply(PARAMETER_LIST) {
    BIND_PARAMETERS;
    SLICE_OF((u32)GRP(0))
    const u32 from = X_OUTER(o);
    real pivot = 0, rest = 0, inverse = 0, sum = 0, product = 0;
    ROW_STATS
    for (u32 k = 0; k < SLICES; ++k) {
        sum += part_sums[o * SLICES + k];
        product += part_products[o * SLICES + k];
    }
    if (slice == 0) STORE_GRADIENTS(product * inverse, sum)
    APPLY_ROW
}
#endif
