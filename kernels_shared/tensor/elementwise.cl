// Elementwise operations: out = f(in0, in1; s0, s1) [+ beta * out].
//
// Host defines
//   OP_*                 which f (below)             N_INPUTS (0..2), N_SCALARS (1..3), BETA (s1, s2 or absent)
//   DTYPE_*, VW          see common/types.h                 ITEMS   vectors that a work-item has in flight
//   LAYOUT_FLAT          all tensors are one run of n elements; with RUN (GPU) some inputs have one value for each RUN of them
//                        instead: STEP_IN0 or STEP_IN1 is 0, and ROW_IN0(r) or ROW_IN1(r) the place of that of run r
//   otherwise            rows of INNER elements: ROW_OUT(r), ROW_IN0(r), ROW_IN1(r) give a row's first element, and
//                        STEP_OUT, STEP_IN0, STEP_IN1 the distance between neighbours in it (0 repeats one value).
//                        With VW > 1 a step is 1 or 0.
//   STREAMED             CPU: the tensors are larger than caches, so what is written goes past them
//
//   GPU, flat:      work-item l of group g takes vectors  g*ITEMS*WG + l + {0, WG, 2*WG, ...}   (coalesced, all loads first)
//   GPU, rows:      work-item i takes vector i of rows*INNER/VW
//   CPU:            a work-group is one work-item and takes `chunk` elements (flat) or rows, vector by vector, then the tail
#include "common/types.h"
#include "common/activation.h"

#if N_INPUTS == 0
#define INPUTS
#define BIND_INPUTS
#elif N_INPUTS == 1
#define INPUTS TENSOR(const T, in0),
#define BIND_INPUTS BIND(const T, in0)
#else
#define INPUTS TENSOR(const T, in0), TENSOR(const T, in1),
#define BIND_INPUTS                                                                                        \
    BIND(const T, in0);                                                                                    \
    BIND(const T, in1)
#endif
#if N_SCALARS == 1
#define SCALARS const real s0
#elif N_SCALARS == 2
#define SCALARS const real s0, const real s1
#else
#define SCALARS const real s0, const real s1, const real s2
#endif

#ifdef PROPAGATE_NAN  // a comparison with NaN is false, so the branch that a NaN takes is the "no" one
#define LESSER(a, b) PICK((a) < (b), a, PICK((b) <= (a), b, (a) + (b)))
#define GREATER(a, b) PICK((a) > (b), a, PICK((b) >= (a), b, (a) + (b)))
#else
#define LESSER(a, b) fmin(a, b)
#define GREATER(a, b) fmax(a, b)
#endif

#if defined(OP_SET)
#define RESULT(a, b) VSPLAT(s0)
#elif defined(OP_COPY)
#define RESULT(a, b) ((a) * s0)
#elif defined(OP_ADD)
#define RESULT(a, b) ((a) * s0 + (b) * s1)
#elif defined(OP_MUL)
#define RESULT(a, b) (((a) * s0) * ((b) * s1))
#elif defined(OP_MIN)
#define RESULT(a, b) LESSER((a) * s0, (b) * s1)
#elif defined(OP_MAX)
#define RESULT(a, b) GREATER((a) * s0, (b) * s1)
#elif defined(OP_SQRT)
#define RESULT(a, b) sqrt((a) * s0)
#elif defined(OP_NOT)
#define RESULT(a, b) (VSPLAT(1) - (a) * s0)
#elif defined(OP_ACTIVATION)
#define RESULT(a, b) (VACTIVATE(a) * s0)
#elif defined(OP_EPILOGUE)  // out = activation(out + s1 * in0 + in1), where in0 is not read with s1 == 0
#define RESULT(a, b) ((a) * s1 + (b))
// backward: in0 is dy, in1 is y (sigmoid, tanh, elu) or x (relu, clipped relu, swish)
#elif defined(OP_SIGMOID_BACKWARD)
#define RESULT(a, b) ((a) * s0 * ((b) * (VSPLAT(1) - (b))))
#elif defined(OP_TANH_BACKWARD)
#define RESULT(a, b) ((a) * s0 * (VSPLAT(1) - (b) * (b)))
#elif defined(OP_ELU_BACKWARD)
#define RESULT(a, b) PICK((b) > (real)0, (a) * s0, (a) * s0 * ((b) + (real)COEF))
#elif defined(OP_SWISH_BACKWARD)
#define RESULT(a, b) swish_backward((a) * s0, b)
DEVICE vreal swish_backward(vreal dy, vreal x) {
    const vreal gate = PD_VGATE(x);
    return dy * (gate + x * (real)COEF * gate * (VSPLAT(1) - gate));
}
#elif defined(OP_RELU_BACKWARD)
#define RESULT(a, b) PICK((b) > (real)0, (a) * s0, VSPLAT(0))
#elif defined(OP_CLIPPED_RELU_BACKWARD)
#define RESULT(a, b) PICK((b) > (real)0, PICK((b) <= (real)CEILING, (a) * s0, VSPLAT(0)), VSPLAT(0))
#endif

#if defined(OP_EPILOGUE)
#define READS_PRIOR 1
#define READS_IN0 (s1 != (real)0)
#define ADD_PRIOR(r, prior) VACTIVATE((prior) + (r))
#elif defined(BETA)
#define READS_PRIOR (BETA != (real)0)
#define ADD_PRIOR(r, prior) ((prior) * BETA + (r))
#else
#define READS_PRIOR 0
#define ADD_PRIOR(r, prior) (r)
#endif
#ifndef READS_IN0
#define READS_IN0 1
#endif

// one scalar element at the given places
#if N_INPUTS == 0
#define SCALAR_IN(p, i) ((real)0)
#define IN0(i) ((real)0)
#define IN1(i) ((real)0)
#elif N_INPUTS == 1
#define IN0(i) (READS_IN0 ? LOAD(in0, i) : (real)0)
#define IN1(i) ((real)0)
#else
#define IN0(i) (READS_IN0 ? LOAD(in0, i) : (real)0)
#define IN1(i) LOAD(in1, i)
#endif

#ifdef RUN
#include "common/runs.h"
#define RUN_VALUES(p, ROW, i) run_values(LOAD(p, ROW(RUN_OF(i))), LOAD(p, ROW(RUN_OF((i) + VW - 1))), i)
#define FLAT_STEP(step) step
#define FLAT_IN(IN, ROW, step, i) ((step) ? IN(i) : IN(ROW(RUN_OF(i))))
#else
#define RUN_VALUES(p, ROW, i) VSPLAT(LOAD(p, i))
#define FLAT_STEP(step) 1
#define FLAT_IN(IN, ROW, step, i) IN(i)
#endif

#if N_INPUTS > 0
#define VIN0(i, step) (!READS_IN0 ? VSPLAT(0) : (step) ? VLOAD(in0, i) : RUN_VALUES(in0, ROW_IN0, i))
#else
#define VIN0(i, step) VSPLAT(0)
#endif
#if N_INPUTS > 1
#define VIN1(i, step) ((step) ? VLOAD(in1, i) : RUN_VALUES(in1, ROW_IN1, i))
#else
#define VIN1(i, step) VSPLAT(0)
#endif

// stores past the caches save reading what they overwrite; what is read anyway is there
#ifndef STREAMED
#define STREAMS(p) 0
#elif N_INPUTS == 0
#define STREAMS(p) (!READS_PRIOR && VSTREAM_TAKES(p))
#elif N_INPUTS == 1
#define STREAMS(p) (!READS_PRIOR && in0 != out && VSTREAM_TAKES(p))
#else
#define STREAMS(p) (!READS_PRIOR && in0 != out && in1 != out && VSTREAM_TAKES(p))
#endif

#ifdef SCHEDULE_GPU
#ifdef LAYOUT_FLAT
KERNEL WG_SIZE(WG, 1, 1) elementwise(INPUTS TENSOR(T, out), SCALARS, const idx_t n) {
    GRID_WAIT();
    BIND_INPUTS;
    BIND(T, out);
    const idx_t first = ((idx_t)GRP(0) * (ITEMS * WG) + (idx_t)LID(0)) * VW;
    vreal a[ITEMS], b[ITEMS], prior[ITEMS];
    UNROLL for (int j = 0; j < ITEMS; ++j) {
        const idx_t i = first + j * (WG * VW);
        a[j] = b[j] = prior[j] = VSPLAT(0);
        if (i + VW <= n) {
            a[j] = VIN0(i, FLAT_STEP(STEP_IN0));
            b[j] = VIN1(i, FLAT_STEP(STEP_IN1));
            if (READS_PRIOR) prior[j] = VLOAD(out, i);
        }
    }
    UNROLL for (int j = 0; j < ITEMS; ++j) {
        const idx_t i = first + j * (WG * VW);
        if (i + VW <= n) {
            VSTORE(out, i, ADD_PRIOR(RESULT(a[j], b[j]), prior[j]));
        } else if (i < n) {  // the last, partial vector: one work-item fills lanes of zeros
            vreal va = VSPLAT(0), vb = VSPLAT(0), vp = VSPLAT(0);
            UNROLL for (int l = 0; l < VW; ++l) {
                if (i + l < n) {
                    LANE(va, l) = FLAT_IN(IN0, ROW_IN0, STEP_IN0, i + l);
                    LANE(vb, l) = FLAT_IN(IN1, ROW_IN1, STEP_IN1, i + l);
                    if (READS_PRIOR) LANE(vp, l) = LOAD(out, i + l);
                }
            }
            vreal result = ADD_PRIOR(RESULT(va, vb), vp);
            UNROLL for (int l = 0; l < VW; ++l)
                if (i + l < n) STORE(out, i + l, LANE(result, l));
        }
    }
}
#else
KERNEL WG_SIZE(WG, 1, 1) elementwise(INPUTS TENSOR(T, out), SCALARS, const idx_t n) {
    GRID_WAIT();
    BIND_INPUTS;
    BIND(T, out);
    const idx_t first = (idx_t)GRP(0) * (ITEMS * WG) + (idx_t)LID(0);
    UNROLL for (int j = 0; j < ITEMS; ++j) {
        const idx_t v = first + j * WG;
        if (v >= n / VW) continue;
        const idx_t row = v / (INNER / VW), column = v % (INNER / VW) * VW;
        const idx_t o = ROW_OUT(row) + column * STEP_OUT;
        const vreal a = VIN0(ROW_IN0(row) + column * STEP_IN0, STEP_IN0);
        const vreal b = VIN1(ROW_IN1(row) + column * STEP_IN1, STEP_IN1);
        vreal result = RESULT(a, b);
        if (READS_PRIOR) result = ADD_PRIOR(result, VLOAD(out, o));
        VSTORE(out, o, result);
    }
}
#endif
#else  // CPU

// `many` vectors from element k of a run on, all loads first.
#define VECTORS(o, i0, step0, i1, step1, many)                                                             \
    {                                                                                                      \
        vreal a[many], b[many], prior[many];                                                               \
        UNROLL for (int j = 0; j < many; ++j) {                                                            \
            a[j] = VIN0((i0) + (k + j * VW) * (step0), step0);                                             \
            b[j] = VIN1((i1) + (k + j * VW) * (step1), step1);                                             \
            if (READS_PRIOR) prior[j] = VLOAD(out, (o) + k + j * VW);                                      \
        }                                                                                                  \
        UNROLL for (int j = 0; j < many; ++j) {                                                            \
            vreal result = RESULT(a[j], b[j]);                                                             \
            if (READS_PRIOR) result = ADD_PRIOR(result, prior[j]);                                         \
            if (streams) VSTREAM(out, (o) + k + j * VW, result);                                           \
            else VSTORE(out, (o) + k + j * VW, result);                                                    \
        }                                                                                                  \
    }

// One run of `count` elements from the given places; VECTOR_* say which steps are 1 or 0.
#define RUN(o, step_o, i0, step0, i1, step1, count)                                                        \
    {                                                                                                      \
        size_t k = 0;                                                                                      \
        if (VW > 1) {                                                                                      \
            const bool streams = STREAMS(out + (o));                                                       \
            if (ITEMS > 1)                                                                                 \
                for (; k + ITEMS * VW <= (count); k += ITEMS * VW) VECTORS(o, i0, step0, i1, step1, ITEMS) \
            for (; k + VW <= (count); k += VW) VECTORS(o, i0, step0, i1, step1, 1)                         \
        }                                                                                                  \
        for (; k < (count); ++k) {                                                                         \
            const vreal a = VSPLAT(IN0((i0) + k * (step0))), b = VSPLAT(IN1((i1) + k * (step1)));          \
            vreal result = RESULT(a, b);                                                                   \
            if (READS_PRIOR) result = ADD_PRIOR(result, VSPLAT(LOAD(out, (o) + k * (step_o))));            \
            STORE(out, (o) + k * (step_o), LANE(result, 0));                                               \
        }                                                                                                  \
    }

#ifdef LAYOUT_FLAT
KERNEL WG_SIZE(1, 1, 1) elementwise(INPUTS TENSOR(T, out), SCALARS, const idx_t n, const idx_t chunk) {
    GRID_WAIT();
    BIND_INPUTS;
    BIND(T, out);
    const size_t first = (size_t)GRP(0) * chunk;
    const size_t count = first >= n ? 0 : n - first < chunk ? n - first : chunk;
    RUN(first, 1, first, 1, first, 1, count)
}
#else
KERNEL WG_SIZE(1, 1, 1) elementwise(INPUTS TENSOR(T, out), SCALARS, const idx_t n, const idx_t chunk) {
    GRID_WAIT();
    BIND_INPUTS;
    BIND(T, out);
    const idx_t rows = n / INNER, first = (idx_t)GRP(0) * chunk;
    const idx_t last = first >= rows ? first : rows - first < chunk ? rows : first + chunk;
    for (idx_t row = first; row < last; ++row) {
        const size_t o = ROW_OUT(row), i0 = ROW_IN0(row), i1 = ROW_IN1(row);
        RUN(o, STEP_OUT, i0, STEP_IN0, i1, STEP_IN1, INNER)
    }
}
#endif
#endif
