// The end of a convolution: what becomes of a sum when it is stored. Include after common/types.h.
//
//                     out = alpha * sum + beta * out
//   with EPILOGUE     out = activation(alpha * sum + beta * z + bias)     (common/activation.h)
//
// With beta == 0 neither the prior value nor z is read. z has the dims of out and may be out itself; it has the strides
// of out as well unless Z_STRIDES is defined. bias has one element per channel, BIAS_C elements apart.
//
//   EPILOGUE_TENSORS, EPILOGUE_BIND    a kernel's parameters after those that it has anyway, and their BIND
//   EPILOGUE_PARAMS, EPILOGUE_PASS     parameters of a helper (addend, which is z, and bias), and what passes them on
//   FINISH(out, i, j, k, alpha, v, beta)      one element: i its place in out, j in z, k in bias
//   VFINISH(out, i, j, alpha, v, beta, b)     VW neighbours in memory; b is the vreal of their biases
//   EPILOGUE_SHIFT(z_first, bias_first)       in a kernel: j and k count from there on
//
// With EPILOGUE_LANES the end is text written for a graph (backends/fusion/product/kernels.py): LANES of the sums, a vector of VW on
// CPUs and 1 on GPUs, go to   epilogue(sums, place, count EPILOGUE_ARGS)   with the place of the first in out, of which
// strides are those of memory without gaps, and the number of lanes that count. It stores all results; out is not written.
//
//   EPILOGUE_TENSORS, EPILOGUE_ARGS           the text's parameters, and what passes them on
//   EPILOGUE_RUN(sums, place)                 where there is one, VW neighbours in memory at once (LANES == 1)
//   EPILOGUE_FEW(j, v, n)                     n of a vreal's lanes, neighbours in memory from z's place j on (LANES > 1)

#ifdef EPILOGUE
#include "common/activation.h"
#define EPILOGUE_TENSORS , TENSOR(const T, addend), TENSOR_RESTRICT(const T, bias)
#define EPILOGUE_BIND                                                                                      \
    BIND(const T, addend);                                                                                 \
    BIND_RESTRICT(const T, bias);
#define EPILOGUE_PARAMS , const GLOBAL T *addend, const GLOBAL T *bias
#define EPILOGUE_PASS(z_first, bias_first) , addend + (z_first), bias + (bias_first)
#define EPILOGUE_SHIFT(z_first, bias_first)                                                                \
    addend += (z_first);                                                                                   \
    bias += (bias_first);
#define FINISH(out, i, j, k, alpha, v, beta)                                                               \
    {                                                                                                      \
        real pd_sum = (alpha) * (v) + LOAD(bias, k);                                                       \
        if ((beta) != (real)0) pd_sum += (beta) * LOAD(addend, j);                                         \
        STORE(out, i, ACTIVATE(pd_sum));                                                                   \
    }
#define VFINISH(out, i, j, alpha, v, beta, b)                                                              \
    {                                                                                                      \
        vreal pd_sum = (v) * (alpha) + (b);                                                                \
        if ((beta) != (real)0) pd_sum = pd_sum + VLOAD(addend, j) * (beta);                                \
        VSTORE(out, i, VACTIVATE(pd_sum));                                                                 \
    }
#elif defined(EPILOGUE_LANES)
#include "fusion/written.h"
#define EPILOGUE_PASS(z_first, bias_first) EPILOGUE_ARGS, epilogue_first + (z_first)
#define EPILOGUE_SHIFT(z_first, bias_first) epilogue_first += (z_first);
#define EPILOGUE_FEW(j, v, n) epilogue(v, (idx_t)(epilogue_first + (j)), n EPILOGUE_ARGS)
#define FINISH(out, i, j, k, alpha, v, beta) EPILOGUE_FEW(j, (F)(v), 1)
#ifdef EPILOGUE_RUN
#define VFINISH(out, i, j, alpha, v, beta, b)                                                              \
    {                                                                                                      \
        F pd_sums[VW];                                                                                     \
        UNROLL for (int pd_e = 0; pd_e < VW; ++pd_e) pd_sums[pd_e] = LANE(v, pd_e);                        \
        EPILOGUE_RUN(pd_sums, (idx_t)(epilogue_first + (j)));                                              \
    }
#elif LANES == 1
#define VFINISH(out, i, j, alpha, v, beta, b)                                                              \
    { UNROLL for (int pd_e = 0; pd_e < VW; ++pd_e) EPILOGUE_FEW((j) + pd_e, LANE(v, pd_e), 1); }
#else
#define VFINISH(out, i, j, alpha, v, beta, b) EPILOGUE_FEW(j, v, LANES)
#endif
#else
#define EPILOGUE_TENSORS
#define EPILOGUE_BIND
#define EPILOGUE_PARAMS
#define EPILOGUE_PASS(z_first, bias_first)
#define EPILOGUE_SHIFT(z_first, bias_first)
#define FINISH(out, i, j, k, alpha, v, beta) BLEND(out, i, alpha, v, beta)
#define VFINISH(out, i, j, alpha, v, beta, b) VBLEND(out, i, alpha, v, beta)
#endif
