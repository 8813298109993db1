// exp, expm1, tanh and the logistic function of vectors, by whatever way is fastest; include after common/types.h.

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
