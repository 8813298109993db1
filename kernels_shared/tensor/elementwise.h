// What elementwise kernels share: out = f(in0, in1; s0, s1) [+ beta * out]. A kernel's parameters are the inputs, out, the scalars
// and n, the number of elements (engines/elementwise.py).
//
// Host defines
//   OP                   the name of f (RESULT_* below)      N_INPUTS (0..2)
//   PRIOR                what becomes of out's value before: NONE, BLENDED with the scalar BETA, or EPILOGUE
//   DTYPE_*, VW          see common/types.h                  ITEMS   vectors that a work-item has in flight
//   LAYOUT_FLAT          all tensors are one run of n elements; with RUN (GPU) some inputs have one value for each RUN of them
//                        instead: STEP_IN0 or STEP_IN1 is 0, and ROW_IN0(r) or ROW_IN1(r) the place of that of run r
//   otherwise            rows of INNER elements: ROW_OUT(r), ROW_IN0(r), ROW_IN1(r) give a row's first element, and
//                        STEP_OUT, STEP_IN0, STEP_IN1 the distance between neighbours in it (0 repeats one value).
//                        With VW > 1 a step is 1 or 0.
#include "common/types.h"
#include "common/activation.h"

#define RESULT(a, b) PD_CAT(RESULT_, OP)(a, b)
#define RESULT_SET(a, b) VSPLAT(s0)
#define RESULT_COPY(a, b) ((a) * s0)
#define RESULT_ADD(a, b) ((a) * s0 + (b) * s1)
#define RESULT_MUL(a, b) (((a) * s0) * ((b) * s1))
#define RESULT_MIN(a, b) fmin((a) * s0, (b) * s1)
#define RESULT_MAX(a, b) fmax((a) * s0, (b) * s1)
// a comparison with NaN is false, so the branch that a NaN takes is the "no" one
#define LESSER(a, b) PICK((a) < (b), a, PICK((b) <= (a), b, (a) + (b)))
#define GREATER(a, b) PICK((a) > (b), a, PICK((b) >= (a), b, (a) + (b)))
#define RESULT_MIN_NAN(a, b) LESSER((a) * s0, (b) * s1)
#define RESULT_MAX_NAN(a, b) GREATER((a) * s0, (b) * s1)
#define RESULT_SQRT(a, b) sqrt((a) * s0)
#define RESULT_NOT(a, b) (VSPLAT(1) - (a) * s0)
#define RESULT_ACTIVATED(a, b) (VACTIVATE(a) * s0)
#define RESULT_EPILOGUE(a, b) ((a) * s1 + (b))
// backward: in0 is dy, in1 is y (sigmoid, tanh, elu) or x (relu, clipped relu, swish)
#define RESULT_SIGMOID_BACKWARD(a, b) ((a) * s0 * ((b) * (VSPLAT(1) - (b))))
#define RESULT_TANH_BACKWARD(a, b) ((a) * s0 * (VSPLAT(1) - (b) * (b)))
#define RESULT_ELU_BACKWARD(a, b) PICK((b) >= (real)0, (a) * s0, (a) * s0 * ((b) + (real)COEF))
#define RESULT_SWISH_BACKWARD(a, b) swish_backward((a) * s0, b)
#define RESULT_RELU_BACKWARD(a, b) PICK((b) > (real)0, (a) * s0, VSPLAT(0))
#define RESULT_CLIPPED_RELU_BACKWARD(a, b)                                                                 \
    PICK((b) > (real)0, PICK((b) <= (real)CEILING, (a) * s0, VSPLAT(0)), VSPLAT(0))
#ifdef COEF
DEVICE vreal swish_backward(vreal dy, vreal x) {
    const vreal gate = PD_VGATE(x);
    return dy * (gate + x * (real)COEF * gate * (VSPLAT(1) - gate));
}
#endif

#define READS_PRIOR PD_CAT(READS_PRIOR_, PRIOR)
#define READS_PRIOR_NONE 0
#define READS_PRIOR_BLENDED (BETA != (real)0)
#define READS_PRIOR_EPILOGUE 1
#define ADD_PRIOR(r, prior) PD_CAT(ADD_PRIOR_, PRIOR)(r, prior)
#define ADD_PRIOR_NONE(r, prior) (r)
#define ADD_PRIOR_BLENDED(r, prior) ((prior) * BETA + (r))
#define ADD_PRIOR_EPILOGUE(r, prior) VACTIVATE((prior) + (r))  // activation(out + s1 * in0 + in1)
#define READS_IN0 PD_CAT(READS_IN0_, PRIOR)
#define READS_IN0_NONE 1
#define READS_IN0_BLENDED 1
#define READS_IN0_EPILOGUE (s1 != (real)0)

// the inputs' elements, and their vectors, at the given places
#define IN0(i) PD_CAT(IN0_OF_, N_INPUTS)(i)
#define IN0_OF_0(i) ((real)0)
#define IN0_OF_1(i) (READS_IN0 ? LOAD(in0, i) : (real)0)
#define IN0_OF_2(i) IN0_OF_1(i)
#define IN1(i) PD_CAT(IN1_OF_, N_INPUTS)(i)
#define IN1_OF_0(i) ((real)0)
#define IN1_OF_1(i) ((real)0)
#define IN1_OF_2(i) LOAD(in1, i)
#define VIN0(i, step) PD_CAT(VIN0_OF_, N_INPUTS)(i, step)
#define VIN0_OF_0(i, step) VSPLAT(0)
#define VIN0_OF_1(i, step) (!READS_IN0 ? VSPLAT(0) : (step) ? VLOAD(in0, i) : RUN_VALUES(in0, ROW_IN0, i))
#define VIN0_OF_2(i, step) VIN0_OF_1(i, step)
#define VIN1(i, step) PD_CAT(VIN1_OF_, N_INPUTS)(i, step)
#define VIN1_OF_0(i, step) VSPLAT(0)
#define VIN1_OF_1(i, step) VSPLAT(0)
#define VIN1_OF_2(i, step) ((step) ? VLOAD(in1, i) : RUN_VALUES(in1, ROW_IN1, i))
