// Elementwise operations on CPUs; tensor/elementwise.h has the operations and the defines.
//
// A work-group is one work-item and takes `chunk` elements (flat) or rows, vector by vector, then the tail. STREAMED: the tensors are
// larger than caches, so what is written goes past them.
#include "tensor/elementwise.h"

#define RUN_VALUES(p, ROW, i) VSPLAT(LOAD(p, i))

// stores past the caches save reading what they overwrite; what is read anyway is there
#ifdef STREAMED
#define STREAMS(p) PD_CAT(STREAMS_, N_INPUTS)(p)
#define STREAMS_0(p) (!READS_PRIOR && VSTREAM_TAKES(p))
#define STREAMS_1(p) (!READS_PRIOR && in0 != out && VSTREAM_TAKES(p))
#define STREAMS_2(p) (!READS_PRIOR && in0 != out && in1 != out && VSTREAM_TAKES(p))
#else
#define STREAMS(p) 0
#endif

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
KERNEL WG_SIZE(1, 1, 1) elementwise(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const size_t first = (size_t)GRP(0) * chunk;
    const size_t count = first >= n ? 0 : n - first < chunk ? n - first : chunk;
    RUN(first, 1, first, 1, first, 1, count)
}
#else
KERNEL WG_SIZE(1, 1, 1) elementwise(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const idx_t rows = n / INNER, first = (idx_t)GRP(0) * chunk;
    const idx_t last = first >= rows ? first : rows - first < chunk ? rows : first + chunk;
    for (idx_t row = first; row < last; ++row) {
        const size_t o = ROW_OUT(row), i0 = ROW_IN0(row), i1 = ROW_IN1(row);
        RUN(o, STEP_OUT, i0, STEP_IN0, i1, STEP_IN1, INNER)
    }
}
#endif
