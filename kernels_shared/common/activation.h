// Activations of a number and of a vector; include after common/types.h.
//
//   ACTIVATE(v), VACTIVATE(v)    f(v) of a real and of a vreal, for the ACTIVATION whose name the host defines (below)
//   CEILING                      upper bound of the clipped relu
//   COEF                         the alpha of ELU, the beta of SWISH
//   *_NAN                        keep NaN, which otherwise becomes 0
//
// A comparison with NaN is false, so the branch that a NaN takes is the "no" one.

#include "common/exponentials.h"

#define PD_SCALAR(s) ((real)(s))
#define ACTIVATE(v) PD_CAT(ACTIVATE_, ACTIVATION)(v)
#define VACTIVATE(v) PD_CAT(VACTIVATE_, ACTIVATION)(v)

#define ACTIVATE_IDENTITY(v) (v)
#define VACTIVATE_IDENTITY(v) (v)
#define ACTIVATE_SIGMOID(v) (PD_SCALAR(1) / (exp(-(v)) + (real)1))
#define VACTIVATE_SIGMOID(v) VSIGMOID(v)
#define ACTIVATE_TANH(v) tanh(v)
#define VACTIVATE_TANH(v) pd_tanh(v)
#define ACTIVATE_ELU(v) PICK((v) >= (real)0, v, expm1(v) * (real)COEF)
#define VACTIVATE_ELU(v) PICK((v) >= (real)0, v, pd_expm1(v) * (real)COEF)
#define PD_GATE(v) (PD_SCALAR(1) / (exp((v) * (real) - COEF) + (real)1))
#define PD_VGATE(v) VSIGMOID((v) * (real)COEF)
#define ACTIVATE_SWISH(v) ((v) * PD_GATE(v))
#define VACTIVATE_SWISH(v) ((v) * PD_VGATE(v))

#define PD_RELU(v, SPLAT) PICK((v) > (real)0, v, SPLAT(0))
#define ACTIVATE_RELU(v) PD_RELU(v, PD_SCALAR)
#define VACTIVATE_RELU(v) PD_RELU(v, VSPLAT)
#define PD_RELU_NAN(v, SPLAT) PICK((v) <= (real)0, SPLAT(0), v)
#define ACTIVATE_RELU_NAN(v) PD_RELU_NAN(v, PD_SCALAR)
#define VACTIVATE_RELU_NAN(v) PD_RELU_NAN(v, VSPLAT)
#define PD_LEAST ((real)CEILING < (real)0 ? (real)CEILING : (real)0) // of the clipped relu
#define PD_CLIPPED(v, SPLAT) PICK((v) > (real)0, PICK((v) > (real)CEILING, SPLAT(CEILING), v), SPLAT(PD_LEAST))
#define ACTIVATE_CLIPPED_RELU(v) PD_CLIPPED(v, PD_SCALAR)
#define VACTIVATE_CLIPPED_RELU(v) PD_CLIPPED(v, VSPLAT)
#define PD_CLIPPED_NAN(v, SPLAT) PICK((v) <= (real)0, SPLAT(PD_LEAST), PICK((v) > (real)CEILING, SPLAT(CEILING), v))
#define ACTIVATE_CLIPPED_RELU_NAN(v) PD_CLIPPED_NAN(v, PD_SCALAR)
#define VACTIVATE_CLIPPED_RELU_NAN(v) PD_CLIPPED_NAN(v, VSPLAT)
