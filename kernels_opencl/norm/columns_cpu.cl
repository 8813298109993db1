// Normalisation on a CPU where neighbouring numbers are normalised apart: NHWC's channels, and activations.
//
//            panel 0 (PANEL vectors)     panel 1 ..
//   row 0    [vw][vw][vw] .. [vw]        [vw] .. [vw][vw      at x + X_OUTER(b) + X_REDUCE(0), COLUMNS contiguous numbers
//   row 1    [vw][vw][vw] .. [vw]        [vw] .. [vw][vw      the last vector overlaps the one before
//   ..
//
// Moments are kept in arrays of a panel's vectors, so that memory is read row by row. Where panels are few the rows are cut
// into SLICES between work-groups: *_partial leaves parts in the workspace, *_apply merges them all in order.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/forward.h"
#include "norm/columns_cpu.h"

// y of rows begin .. end: alpha is in gains and shifts. One row after the other: of several at once, each would be a run of
// memory of its own, and loads would wait for stores to the same place of another page. Unrolled: 8 vectors are a row of 64
// channels, 1.3 times as fast so.
#define APPLY_COLUMNS                                                                                      \
    {                                                                                                      \
        const real alpha = 1;                                                                              \
        if (beta == (real)0)                                                                               \
            APPLY_COLUMNS_WITH((real)0)                                                                    \
        else                                                                                               \
            APPLY_COLUMNS_WITH(beta)                                                                       \
    }
#define APPLY_COLUMNS_WITH(beta)                                                                           \
    for (u32 r = begin; r < end; ++r) {                                                                    \
        const GLOBAL T *in = x + (from + X_REDUCE(r));                                                     \
        GLOBAL T *out = y + (Y_OUTER(b) + Y_REDUCE(r));                                                    \
        _Pragma("unroll 8") for (int v = 0; v < vectors; ++v) {                                            \
            const u32 at = COLUMN(v);                                                                      \
            const vreal result = (VLOAD(in, at) - pivots[v]) * gains[v] + shifts[v];                       \
            COLUMN_STORE(out, at, v, result, beta)                                                         \
        }                                                                                                  \
    }

#ifdef HAS_SCALE
#define GAIN_OF(inverse, v) ((inverse) * COLUMN_READ(scale, SCALE, v))
#else
#define GAIN_OF(inverse, v) (inverse)
#endif
#ifdef HAS_BIAS
#define SHIFT_OF(v) COLUMN_READ(bias, BIAS, v)
#else
#define SHIFT_OF(v) VSPLAT(0)
#endif
#ifdef HAS_RUNNING
#define RUNNING(v, mean, squares)                                                                          \
    COLUMN_BLEND(running_mean, RUNNING_MEAN, v, factor, mean, (real)1 - factor);                           \
    COLUMN_BLEND(running_variance, RUNNING_VARIANCE, v, factor, (squares) / (real)(COUNT ? COUNT - 1 : 0),       \
                 (real)1 - factor);
#else
#define RUNNING(v, mean, squares)
#endif
#if defined(HAS_SAVED) && defined(RMS)
#define SAVED(v, mean, inverse) COLUMN_WRITE(saved_inv_variance, SAVED_INV_VARIANCE, v, inverse);
#elif defined(HAS_SAVED)
#define SAVED(v, mean, inverse)                                                                            \
    COLUMN_WRITE(saved_mean, SAVED_MEAN, v, mean);                                                         \
    COLUMN_WRITE(saved_inv_variance, SAVED_INV_VARIANCE, v, inverse);
#else
#define SAVED(v, mean, inverse)
#endif
// from moments to what APPLY_COLUMNS needs
#define FINISH_COLUMN(v, squares_)                                                                         \
    {                                                                                                      \
        const vreal inverse = (real)1 / sqrt((squares_) / (real)COUNT + epsilon);                          \
        if (slice == 0) {                                                                                  \
            const vreal mean_ = pivots[v] + means[v], all_squares = squares_;                              \
            RUNNING(v, mean_, all_squares)                                                                 \
            SAVED(v, mean_, inverse)                                                                       \
        }                                                                                                  \
        const vreal gain_ = GAIN_OF(inverse, v);                                                           \
        shifts[v] = (SHIFT_OF(v) - means[v] * gain_) * alpha;                                              \
        gains[v] = gain_ * alpha;                                                                          \
    }

#ifdef RMS
#define PIVOTS(x)                                                                                          \
    for (int v = 0; v < vectors; ++v) pivots[v] = VSPLAT(0);
#else
#define PIVOTS(x)                                                                                          \
    for (int v = 0; v < vectors; ++v) pivots[v] = VLOAD(x, from + X_REDUCE(0) + COLUMN(v));
#endif

#ifdef WHOLE
KERNEL WG_SIZE(1, 1, 1)
norm_columns(TENSOR(T, x), SCALE_ARG BIAS_ARG TENSOR(T, y), RUNNING_ARGS SAVED_ARGS const real alpha, const real beta,
             const real epsilon FACTOR_ARG) {
    BIND(T, x);
    BIND_SCALE;
    BIND_BIAS;
    BIND(T, y);
    BIND_RUNNING;
    BIND_SAVED;
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    vreal pivots[PANEL], means[PANEL], squares[PANEL], gains[PANEL], shifts[PANEL];
    PIVOTS(x)
    column_moments(x, from, panel, vectors, begin, end, pivots, means, squares);
    for (int v = 0; v < vectors; ++v) FINISH_COLUMN(v, squares[v])
    APPLY_COLUMNS
}
#endif

#ifdef PARTIAL
KERNEL WG_SIZE(1, 1, 1)
norm_columns_partial(TENSOR(T, x), TENSOR(real, part_means), TENSOR(real, part_squares)) {
    BIND(T, x);
    BIND(real, part_means);
    BIND(real, part_squares);
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    vreal pivots[PANEL], means[PANEL], squares[PANEL];
    PIVOTS(x)
    column_moments(x, from, panel, vectors, begin, end, pivots, means, squares);
    for (int v = 0; v < vectors; ++v) {
        const u32 at = PART_AT(v);
        PUT_NUMBERS(part_means, slice * (BLOCKS * COLUMNS) + at, means[v]);
        PUT_NUMBERS(part_squares, slice * (BLOCKS * COLUMNS) + at, squares[v]);
        if (slice == 0) PUT_NUMBERS(part_means, SLICES * (BLOCKS * COLUMNS) + at, pivots[v]);  // x may be y
    }
}
#endif

#ifdef APPLY
KERNEL WG_SIZE(1, 1, 1)
norm_columns_apply(TENSOR(T, x), SCALE_ARG BIAS_ARG TENSOR(T, y), RUNNING_ARGS SAVED_ARGS TENSOR(real, part_means),
                   TENSOR(real, part_squares), const real alpha, const real beta, const real epsilon FACTOR_ARG) {
    BIND(T, x);
    BIND_SCALE;
    BIND_BIAS;
    BIND(T, y);
    BIND_RUNNING;
    BIND_SAVED;
    BIND(real, part_means);
    BIND(real, part_squares);
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    vreal pivots[PANEL], means[PANEL], gains[PANEL], shifts[PANEL];
    for (int v = 0; v < vectors; ++v) {
        vreal squares;
        pivots[v] = NUMBERS_AT(part_means, SLICES * (BLOCKS * COLUMNS) + PART_AT(v));
        merged_moments(part_means, part_squares, PART_AT(v), &means[v], &squares);
        FINISH_COLUMN(v, squares)
    }
    APPLY_COLUMNS
}
#endif

#ifdef INFERENCE
KERNEL WG_SIZE(1, 1, 1)
norm_columns_inference(TENSOR(T, x), GIVEN_ARGS TENSOR(T, y), const real alpha, const real beta, const real epsilon) {
    BIND(T, x);
    BIND_GIVEN;
    BIND(T, y);
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    vreal pivots[PANEL], gains[PANEL], shifts[PANEL];
    for (int v = 0; v < vectors; ++v) {
        pivots[v] = COLUMN_READ(estimated_mean, ESTIMATED_MEAN, v);
        gains[v] = GAIN_OF(alpha / sqrt(COLUMN_READ(estimated_variance, ESTIMATED_VARIANCE, v) + epsilon), v);
        shifts[v] = SHIFT_OF(v) * alpha;
    }
    APPLY_COLUMNS
}
#endif

#ifdef GIVEN
KERNEL WG_SIZE(1, 1, 1)
norm_columns_given(TENSOR(T, x), TENSOR(T, y), TENSOR(real, all_pivots), TENSOR(real, all_gains),
                   TENSOR(real, all_shifts), const real alpha, const real beta) {
    BIND(T, x);
    BIND(T, y);
    BIND(real, all_pivots);
    BIND(real, all_gains);
    BIND(real, all_shifts);
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    vreal pivots[PANEL], gains[PANEL], shifts[PANEL];
    for (int v = 0; v < vectors; ++v) {
        pivots[v] = NUMBERS_AT(all_pivots, PART_AT(v));
        gains[v] = NUMBERS_AT(all_gains, PART_AT(v)) * alpha;
        shifts[v] = NUMBERS_AT(all_shifts, PART_AT(v)) * alpha;
    }
    APPLY_COLUMNS
}
#endif
