// The beginning of a convolution: what an operand is where it lies in no memory. Include after common/types.h.
//
// With PROLOGUE_IMAGE or PROLOGUE_FILTER the operand is computed by text written for a graph (backends/fusion/before.py),
// which is handed places in the operand as if it lay in memory, without gaps; the tensor in its place is not read.
// Of a filter's gradient the image is x, and what is called the filter is dy, the rows of its product.
// Padding stays zero: kernels ask for places inside of the operand only.
//
//   IMAGE_TENSORS, IMAGE_BIND        a kernel's parameters for it, and their BIND
//   IMAGE_PARAMS, IMAGE_ARGS         a helper's parameters, and what passes them on
//   IMAGE_LOAD(p, i, j)              the operand at i + j; p[i + j] without text
//   IMAGE_VLOAD(p, i, n)             VW neighbours in memory, of which n count (CPUs)
//   IMAGE_FILL(made, i)              made[0 .. PROLOGUE_RUN) = neighbours in memory, which a kernel defines (GPUs)
//
// and FILTER_... likewise.

#if defined(PROLOGUE_IMAGE) || defined(PROLOGUE_FILTER)
#include "fusion/written.h"
#if LANES == 1
#define PROLOGUE_FIRST(v) (v)
#else
#define PROLOGUE_FIRST(v) ((v)[0])
#endif
#endif

#ifdef PROLOGUE_IMAGE
#define IMAGE_LOAD(p, i, j) PROLOGUE_FIRST(prologue_image((idx_t)((i) + (j)), 1 IMAGE_ARGS))
#define IMAGE_VLOAD(p, i, n) prologue_image((idx_t)(i), n IMAGE_ARGS)
#ifdef IMAGE_RUN
#define IMAGE_FILL(made, i) IMAGE_RUN(made, (idx_t)(i));
#else
#define IMAGE_FILL(made, i)                                                                                \
    { UNROLL for (int pd_e = 0; pd_e < PROLOGUE_RUN; ++pd_e) (made)[pd_e] = IMAGE_LOAD(0, i, pd_e); }
#endif
#else
#define IMAGE_TENSORS
#define IMAGE_BIND
#define IMAGE_PARAMS
#define IMAGE_ARGS
#define IMAGE_LOAD(p, i, j) LOAD((p) + (i), j)
#define IMAGE_VLOAD(p, i, n) VLOAD(p, i)
#endif

#ifdef PROLOGUE_FILTER
#define FILTER_LOAD(p, i, j) PROLOGUE_FIRST(prologue_filter((idx_t)((i) + (j)), 1 FILTER_ARGS))
#define FILTER_VLOAD(p, i, n) prologue_filter((idx_t)(i), n FILTER_ARGS)
#else
#define FILTER_TENSORS
#define FILTER_BIND
#define FILTER_PARAMS
#define FILTER_ARGS
#define FILTER_LOAD(p, i, j) LOAD((p) + (i), j)
#define FILTER_VLOAD(p, i, n) VLOAD(p, i)
#endif
