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

#define COLUMN_GAIN(inverse, v) PD_CAT(COLUMN_GAIN_, HAS_SCALE)(inverse, v)
#define COLUMN_GAIN_0(inverse, v) (inverse)
#define COLUMN_GAIN_1(inverse, v) ((inverse) * COLUMN_READ(scale, SCALE, v))
#define COLUMN_SHIFT(v) PD_CAT(COLUMN_SHIFT_, HAS_BIAS)(v)
#define COLUMN_SHIFT_0(v) VSPLAT(0)
#define COLUMN_SHIFT_1(v) COLUMN_READ(bias, BIAS, v)
#define STORE_RUNNING_COLUMN(v, mean, squares) PD_CAT(RUNNING_COLUMN_, RUNNING)(v, mean, squares)
#define RUNNING_COLUMN_NONE(v, mean, squares)
#define RUNNING_COLUMN_UPDATED(v, mean, squares)                                                           \
    COLUMN_BLEND(running_mean, RUNNING_MEAN, v, factor, mean, (real)1 - factor);                           \
    COLUMN_BLEND(running_variance, RUNNING_VARIANCE, v, factor, (squares) / (real)(COUNT ? COUNT - 1 : 0), \
                 (real)1 - factor);
#define STORE_SAVED_COLUMN(v, mean, inverse) PD_CAT(SAVED_COLUMN_, SAVED)(v, mean, inverse)
#define SAVED_COLUMN_NONE(v, mean, inverse)
#define SAVED_COLUMN_INVERSE(v, mean, inverse) COLUMN_WRITE(saved_inv_variance, SAVED_INV_VARIANCE, v, inverse);
#define SAVED_COLUMN_BOTH(v, mean, inverse)                                                                \
    COLUMN_WRITE(saved_mean, SAVED_MEAN, v, mean);                                                         \
    SAVED_COLUMN_INVERSE(v, mean, inverse)
// from moments to what APPLY_COLUMNS needs
#define FINISH_COLUMN(v, squares_)                                                                         \
    {                                                                                                      \
        const vreal inverse = (real)1 / sqrt((squares_) / (real)COUNT + epsilon);                          \
        if (slice == 0) {                                                                                  \
            const vreal mean_ = pivots[v] + means[v], all_squares = squares_;                              \
            STORE_RUNNING_COLUMN(v, mean_, all_squares)                                                    \
            STORE_SAVED_COLUMN(v, mean_, inverse)                                                          \
        }                                                                                                  \
        const vreal gain_ = COLUMN_GAIN(inverse, v);                                                       \
        shifts[v] = (COLUMN_SHIFT(v) - means[v] * gain_) * alpha;                                          \
        gains[v] = gain_ * alpha;                                                                          \
    }

#define PIVOTS(x)                                                                                          \
    for (int v = 0; v < vectors; ++v) pivots[v] = RMS ? VSPLAT(0) : VLOAD(x, from + X_REDUCE(0) + COLUMN(v));

#ifdef WHOLE
KERNEL WG_SIZE(1, 1, 1) norm_columns(PARAMETER_LIST) {
    BIND_PARAMETERS;
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
KERNEL WG_SIZE(1, 1, 1) norm_columns_partial(PARAMETER_LIST) {
    BIND_PARAMETERS;
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
KERNEL WG_SIZE(1, 1, 1) norm_columns_apply(PARAMETER_LIST) {
    BIND_PARAMETERS;
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
KERNEL WG_SIZE(1, 1, 1) norm_columns_inference(PARAMETER_LIST) {
    BIND_PARAMETERS;
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    vreal pivots[PANEL], gains[PANEL], shifts[PANEL];
    for (int v = 0; v < vectors; ++v) {
        pivots[v] = COLUMN_READ(estimated_mean, ESTIMATED_MEAN, v);
        gains[v] = COLUMN_GAIN(alpha / sqrt(COLUMN_READ(estimated_variance, ESTIMATED_VARIANCE, v) + epsilon), v);
        shifts[v] = COLUMN_SHIFT(v) * alpha;
    }
    APPLY_COLUMNS
}
#endif

#ifdef GIVEN
KERNEL WG_SIZE(1, 1, 1) norm_columns_given(PARAMETER_LIST) {
    BIND_PARAMETERS;
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
