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

// scale and bias of a line, and of a vector or a number in it
#if defined(PER_REDUCE) && LINE_STEP == 0
#define LINE_PARAMETERS                                                                                    \
    const real gain = inverse * scale[SCALE_OUTER(o) + SCALE_LINE(line)];                                  \
    LINE_SHIFT
#define LINE_VECTOR(v, j) ((v) * gain SHIFT)
#define LINE_NUMBER(v, j) ((v) * gain SHIFT)
#ifdef HAS_BIAS
#define LINE_SHIFT const real shift = bias[BIAS_OUTER(o) + BIAS_LINE(line)];
#define SHIFT +shift
#else
#define LINE_SHIFT
#define SHIFT
#endif
#elif defined(PER_REDUCE)
#define LINE_PARAMETERS                                                                                    \
    const GLOBAL real *scales = scale + (SCALE_OUTER(o) + SCALE_LINE(line) + i0);                          \
    LINE_SHIFT
#ifdef HAS_BIAS
#define LINE_SHIFT const GLOBAL real *shifts = bias + (BIAS_OUTER(o) + BIAS_LINE(line) + i0);
#define LINE_VECTOR(v, j) ((v) * inverse * NUMBERS_AT(scales, j) + NUMBERS_AT(shifts, j))
#define LINE_NUMBER(v, j) ((v) * inverse * scales[j] + shifts[j])
#else
#define LINE_SHIFT
#define LINE_VECTOR(v, j) ((v) * inverse * NUMBERS_AT(scales, j))
#define LINE_NUMBER(v, j) ((v) * inverse * scales[j])
#endif
#else
#define LINE_PARAMETERS
#define LINE_VECTOR(v, j) AFFINE(v, j)
#define LINE_NUMBER(v, j) AFFINE(v, j)
#endif
#ifdef PER_REDUCE
#define ROW_PARAMETERS(inverse)
#else
#define ROW_PARAMETERS(inverse) GAIN_AND_SHIFT(inverse)
#endif

// y of numbers begin .. end of the row
#define APPLY_ROW                                                                                          \
    WALK(begin, end) {                                                                                     \
        const GLOBAL T *p = x + (from + X_LINE(line) + i0);                                                \
        GLOBAL T *q = y + (Y_OUTER(o) + Y_LINE(line) + i0);                                                \
        LINE_PARAMETERS                                                                                    \
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
KERNEL WG_SIZE(1, 1, 1)
norm_rows(TENSOR(T, x), SCALE_ARG BIAS_ARG TENSOR(T, y), RUNNING_ARGS SAVED_ARGS const real alpha, const real beta,
          const real epsilon FACTOR_ARG) {
    BIND(T, x);
    BIND_SCALE;
    BIND_BIAS;
    BIND(T, y);
    BIND_RUNNING;
    BIND_SAVED;
    FOR_ROWS {
        const u32 from = X_OUTER(o);
#ifdef RMS
        const real pivot = 0, mean = 0;
        const sample m = row_moments(x, from, begin, end, 0);
#else
        const real pivot = PIVOT(x, from);
        const sample m = row_moments(x, from, begin, end, pivot);
        const real mean = m.mean;
#endif
        const real inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
        STORE_RUNNING(pivot + mean, m.squares)
        STORE_SAVED(pivot + mean, inverse)
        ROW_PARAMETERS(inverse)
        APPLY_ROW
    }
}
#endif

#ifdef PARTIAL
KERNEL WG_SIZE(1, 1, 1)
norm_rows_partial(TENSOR(T, x), TENSOR(real, means), TENSOR(real, squares)) {
    BIND(T, x);
    BIND(real, means);
    BIND(real, squares);
    SLICE_OF((u32)GRP(0))
    const u32 from = X_OUTER(o);
#ifdef RMS
    const real pivot = 0;
#else
    const real pivot = PIVOT(x, from);
#endif
    const sample m = row_moments(x, from, begin, end, pivot);
    if (slice == 0) means[OUTER * SLICES + o] = pivot;  // x may be y: it is gone when the next kernel runs
    means[o * SLICES + slice] = m.mean;
    squares[o * SLICES + slice] = m.squares;
}
#endif

#ifdef APPLY
KERNEL WG_SIZE(1, 1, 1)
norm_rows_apply(TENSOR(T, x), SCALE_ARG BIAS_ARG TENSOR(T, y), RUNNING_ARGS SAVED_ARGS TENSOR(real, means),
                TENSOR(real, squares), const real alpha, const real beta, const real epsilon FACTOR_ARG) {
    BIND(T, x);
    BIND_SCALE;
    BIND_BIAS;
    BIND(T, y);
    BIND_RUNNING;
    BIND_SAVED;
    BIND(real, means);
    BIND(real, squares);
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
KERNEL WG_SIZE(1, 1, 1)
norm_rows_inference(TENSOR(T, x), GIVEN_ARGS TENSOR(T, y), const real alpha, const real beta, const real epsilon) {
    BIND(T, x);
    BIND_GIVEN;
    BIND(T, y);
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
