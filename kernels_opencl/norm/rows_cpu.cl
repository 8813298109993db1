// Normalisation on a CPU where what is normalised together lies in lines of contiguous numbers: NCHW's channels and images.
//
//   row o:   line 0  [vw][vw][vw][vw] .. [vw] tail      at x + X_OUTER(o) + X_LINE(0), LINE numbers
//            line 1  [vw][vw][vw][vw] .. [vw] tail      blocks of BLOCK vectors, then single ones, then what is left
//            ..
//
// A work-group makes a whole row, so that what it reads twice is in its cache; or, where there are few rows, one of SLICES
// slices of LENGTH numbers: *_partial leaves parts in the workspace, *_apply merges them all in order.
//
//   WHOLE, PARTIAL, APPLY   which kernels; INFERENCE: APPLY with given statistics
//   SCALE_LINE(l), SCALE_STEP, ..   with PER_REDUCE: where the parameters of a line start, and 1 or 0 from number to number

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/forward.h"
#include "norm/rows_cpu.h"

// Scale and bias of a line, and of a vector or a number in it, as PARAMETERS_OF says: NUMBERS have their own each, LINES or ROWS.
#define LINE_PARAMETERS(o) PD_CAT(LINE_PARAMETERS_, PARAMETERS_OF)(o)
#define LINE_PARAMETERS_ROWS(o)
#define LINE_PARAMETERS_LINES(o)                                                                              \
    const real gain = inverse * scale[SCALE_OUTER(o) + SCALE_LINE(line)], shift = LINE_SHIFT(o);
#define LINE_PARAMETERS_NUMBERS(o)                                                                            \
    const GLOBAL real *scales = scale + (SCALE_OUTER(o) + SCALE_LINE(line) + i0);                          \
    const GLOBAL real *shifts = LINE_SHIFTS(o);
#define LINE_SHIFT(o) PD_CAT(LINE_SHIFT_, HAS_BIAS)(o)
#define LINE_SHIFT_0(o) 0
#define LINE_SHIFT_1(o) bias[BIAS_OUTER(o) + BIAS_LINE(line)]
#define LINE_SHIFTS(o) PD_CAT(LINE_SHIFTS_, HAS_BIAS)(o)
#define LINE_SHIFTS_0(o) 0
#define LINE_SHIFTS_1(o) bias + (BIAS_OUTER(o) + BIAS_LINE(line) + i0)
#define LINE_VECTOR(v, j) PD_CAT(LINE_VECTOR_, PARAMETERS_OF)(v, j)
#define LINE_VECTOR_ROWS(v, j) AFFINE(v, j)
#define LINE_VECTOR_LINES(v, j) PLUS_BIAS((v) * gain, shift)
#define LINE_VECTOR_NUMBERS(v, j) PLUS_BIAS((v) * inverse * NUMBERS_AT(scales, j), NUMBERS_AT(shifts, j))
#define LINE_NUMBER(v, j) PD_CAT(LINE_NUMBER_, PARAMETERS_OF)(v, j)
#define LINE_NUMBER_ROWS(v, j) AFFINE(v, j)
#define LINE_NUMBER_LINES(v, j) PLUS_BIAS((v) * gain, shift)
#define LINE_NUMBER_NUMBERS(v, j) PLUS_BIAS((v) * inverse * scales[j], shifts[j])
#define ROW_PARAMETERS(inverse) PD_CAT(ROW_PARAMETERS_, PER_REDUCE)(inverse)
#define ROW_PARAMETERS_0(inverse) GAIN_AND_SHIFT(inverse)
#define ROW_PARAMETERS_1(inverse)

// y of numbers begin .. end of the row
#define APPLY_ROW                                                                                          \
    WALK(begin, end) {                                                                                     \
        const GLOBAL T *p = x + (from + X_LINE(line) + i0);                                                \
        GLOBAL T *q = y + (Y_OUTER(o) + Y_LINE(line) + i0);                                                \
        LINE_PARAMETERS(o)                                                                                 \
        u32 j = 0;                                                                                         \
        if (beta == (real)0) {                                                                             \
            for (; j + VW <= count; j += VW)                                                               \
                VSTORE(q, j, LINE_VECTOR(VLOAD(p, j) - pivot - mean, j) * alpha);                          \
        } else {                                                                                           \
            for (; j + VW <= count; j += VW)                                                               \
                VSTORE(q, j, LINE_VECTOR(VLOAD(p, j) - pivot - mean, j) * alpha + VLOAD(q, j) * beta);     \
        }                                                                                                  \
        for (; j < count; ++j) BLEND(q, j, alpha, LINE_NUMBER(LOAD(p, j) - pivot - mean, j), beta);        \
    }

#ifdef WHOLE
KERNEL WG_SIZE(1, 1, 1) norm_rows(PARAMETER_LIST) {
    BIND_PARAMETERS;
    FOR_ROWS {
        const u32 from = X_OUTER(o);
        const real pivot = RMS ? (real)0 : PIVOT(x, from);
        const sample m = row_moments(x, from, begin, end, pivot);
        const real mean = m.mean;
        const real inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
        STORE_RUNNING(pivot + mean, m.squares)
        STORE_SAVED(pivot + mean, inverse)
        ROW_PARAMETERS(inverse)
        APPLY_ROW
    }
}
#endif

#ifdef PARTIAL
KERNEL WG_SIZE(1, 1, 1) norm_rows_partial(PARAMETER_LIST) {
    BIND_PARAMETERS;
    SLICE_OF((u32)GRP(0))
    const u32 from = X_OUTER(o);
    const real pivot = RMS ? (real)0 : PIVOT(x, from);
    const sample m = row_moments(x, from, begin, end, pivot);
    if (slice == 0) means[OUTER * SLICES + o] = pivot;  // x may be y: it is gone when the next kernel runs
    means[o * SLICES + slice] = m.mean;
    squares[o * SLICES + slice] = m.squares;
}
#endif

#ifdef APPLY
KERNEL WG_SIZE(1, 1, 1) norm_rows_apply(PARAMETER_LIST) {
    BIND_PARAMETERS;
    SLICE_OF((u32)GRP(0))
    const u32 from = X_OUTER(o);
    MERGED(m, means, squares, o)
    const real pivot = means[OUTER * SLICES + o], mean = m.mean;
    const real inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
    if (slice == 0) {
        STORE_RUNNING(pivot + mean, m.squares)
        STORE_SAVED(pivot + mean, inverse)
    }
    ROW_PARAMETERS(inverse)
    APPLY_ROW
}
#endif

#ifdef INFERENCE
// Rows are lines here, in the order in which they lie in memory: SHARE of them to a work-group.
KERNEL WG_SIZE(1, 1, 1) norm_rows_inference(PARAMETER_LIST) {
    BIND_PARAMETERS;
    const u32 first = (u32)GRP(0) / SLICES * SHARE, last = OUTER - first < SHARE ? OUTER : first + SHARE;
    const u32 begin = (u32)GRP(0) % SLICES * LENGTH;
    const u32 end = (u32)GRP(0) % SLICES == SLICES - 1 ? REDUCE : begin + LENGTH;
    const bool inside = true;
    for (u32 o = first; o < last; ++o) {
        const u32 from = X_OUTER(o);
        const real pivot = READ(estimated_mean, ESTIMATED_MEAN, o), mean = 0;
        const real inverse = (real)1 / sqrt(READ(estimated_variance, ESTIMATED_VARIANCE, o) + epsilon);
        ROW_PARAMETERS(inverse)
        APPLY_ROW
    }
}
#endif
