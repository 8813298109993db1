// Activations of a number and of a vector; include after common/types.h.
//
//   ACTIVATE(v), VACTIVATE(v)    f(v) of a real and of a vreal, for one of the defines ACTIVATION_SIGMOID,
//                                ACTIVATION_TANH, ACTIVATION_RELU, ACTIVATION_CLIPPED_RELU, ACTIVATION_ELU and
//                                ACTIVATION_SWISH; v itself without one
//   CEILING                      upper bound of the clipped relu
//   COEF                         the alpha of ELU, the beta of SWISH
//   PROPAGATE_NAN                relu and clipped relu keep NaN, which otherwise becomes 0
//
// A comparison with NaN is false, so the branch that a NaN takes is the "no" one.

#define PD_SCALAR(s) ((real)(s))

#ifdef PD_EXP_IN_LANES
#include "common/expm1.h"
#include "common/tanh.h"
#define PD_RECIPROCAL(v) (1.0f / (v))
#define pd_exp(v) VEXP(v)
EXPM1(pd_expm1, vreal, fabs, VEXP, PICK)
TANH(pd_tanh, vreal, fabs, VEXP, PD_RECIPROCAL, PICK)
#elif defined(PD_OPENCL) && VW == 8 && defined(DTYPE_DOUBLE)
// PoCL 3.0 crashes on exp and tanh of vectors of 64 bytes
DEVICE vreal pd_exp(vreal v) { return (vreal)(exp(v.lo), exp(v.hi)); }
DEVICE vreal pd_expm1(vreal v) { return (vreal)(expm1(v.lo), expm1(v.hi)); }
DEVICE vreal pd_tanh(vreal v) { return (vreal)(tanh(v.lo), tanh(v.hi)); }
#else
#define pd_exp(v) VEXP(v)
#define pd_expm1(v) expm1(v)
#if defined(__NV_CL_C_VERSION) && !defined(DTYPE_DOUBLE)
#include "common/tanh.h"
#define PD_NEAR_EXP(v) native_exp2((v) * 1.44269504f)  // its error grows with v, while its part in tanh falls
TANH(pd_tanh, vreal, fabs, PD_NEAR_EXP, native_recip, PICK)  // NVIDIA's own takes nearly twice CUDA's time
#else
#define pd_tanh(v) tanh(v)
#endif
#endif
#ifndef VSIGMOID
#define VSIGMOID(v) (VSPLAT(1) / (pd_exp(-(v)) + (real)1))
#endif

#if defined(ACTIVATION_SIGMOID)
#define ACTIVATE(v) (PD_SCALAR(1) / (exp(-(v)) + (real)1))
#define VACTIVATE(v) VSIGMOID(v)
#elif defined(ACTIVATION_TANH)
#define ACTIVATE(v) tanh(v)
#define VACTIVATE(v) pd_tanh(v)
#elif defined(ACTIVATION_ELU)
#define ACTIVATE(v) PICK((v) > (real)0, v, expm1(v) * (real)COEF)
#define VACTIVATE(v) PICK((v) > (real)0, v, pd_expm1(v) * (real)COEF)
#elif defined(ACTIVATION_SWISH)
#define PD_GATE(v) (PD_SCALAR(1) / (exp((v) * (real) - COEF) + (real)1))
#define PD_VGATE(v) VSIGMOID((v) * (real)COEF)
#define ACTIVATE(v) ((v) * PD_GATE(v))
#define VACTIVATE(v) ((v) * PD_VGATE(v))
#elif defined(ACTIVATION_RELU) && defined(PROPAGATE_NAN)
#define PD_RELU(v, SPLAT) PICK((v) <= (real)0, SPLAT(0), v)
#elif defined(ACTIVATION_RELU)
#define PD_RELU(v, SPLAT) PICK((v) > (real)0, v, SPLAT(0))
#elif defined(ACTIVATION_CLIPPED_RELU) && defined(PROPAGATE_NAN)
#define PD_RELU(v, SPLAT) PICK((v) <= (real)0, SPLAT(0), PICK((v) > (real)CEILING, SPLAT(CEILING), v))
#elif defined(ACTIVATION_CLIPPED_RELU)
#define PD_RELU(v, SPLAT) PICK((v) > (real)0, PICK((v) > (real)CEILING, SPLAT(CEILING), v), SPLAT(0))
#else
#define ACTIVATE(v) (v)
#define VACTIVATE(v) (v)
#endif
#ifdef PD_RELU
#define ACTIVATE(v) PD_RELU(v, PD_SCALAR)
#define VACTIVATE(v) PD_RELU(v, VSPLAT)
#endif
