// Softmax over the "reduce" dimensions (c, or c and all spatial ones); common/reduce.h draws the tiles.
//
//   forward    y  = exp(x - max) / sum(exp(x - max)), or its logarithm (LOG); FAST subtracts no maximum
//   backward   dx = y * (dy - sum(y * dy)), or dy - exp(y) * sum(dy) for LOG
//
// The host defines the ALGORITHM. softmax_forward and softmax_backward keep what they read in registers, K vectors a work-item, so
// memory is touched once (forward.cl, backward.cl). Longer rows take two launches over slices of a row (*_sliced.cl): *_partial leaves each slice's
// maximum and sum in the workspace, *_finish combines them and writes; the host runs both on as many rows at a time as caches hold.
// Where there are as many rows as a GPU has work-groups, softmax_rows (rows.cl) does without a second launch.
// The maximum starts at the lowest finite number: a row of -inf then gives 0 / 0 = NaN, as the formula does.
// Pointers are not restrict, because y may be x and dx may be dy.

#include "common/types.h"
#include "common/reduce.h"

#define ROUNDS 4  // loads in flight of the kernels that do not keep rows
#define OUTSIDE VSPLAT(-INFINITY_OF(real))
#define IS_LOG PD_CAT(IS_LOG_, ALGORITHM)
#define IS_LOG_ACCURATE 0
#define IS_LOG_FAST 0
#define IS_LOG_LOG 1
#define IS_FAST PD_CAT(IS_FAST_, ALGORITHM)
#define IS_FAST_ACCURATE 0
#define IS_FAST_FAST 1
#define IS_FAST_LOG 0
#define FIRST_TOP (IS_FAST ? (real)0 : LOWEST_REAL)

// value of the result from v = x - max (ACCURATE: exp of it in the kernels that keep it) and the row's sum
#define FINISH_FACTOR(sum) PD_CAT(FINISH_FACTOR_, ALGORITHM)(sum)
#define FINISH_FACTOR_ACCURATE(sum) ((real)1 / (sum))
#define FINISH_FACTOR_FAST(sum) (sum)  // may be so small that its reciprocal overflows
#define FINISH_FACTOR_LOG(sum) log(sum)
#define FINISH(v, factor) PD_CAT(FINISH_, ALGORITHM)(v, factor)
#define FINISH_ACCURATE(v, factor) ((v) * (factor))
#define FINISH_FAST(v, factor) ((v) / (factor))
#define FINISH_LOG(v, factor) ((v) - (factor))
#define FINISH_X(v, factor) PD_CAT(FINISH_X_, ALGORITHM)(v, factor)
#define FINISH_X_ACCURATE(v, factor) FINISH_ACCURATE(exp(v), factor)
#define FINISH_X_FAST(v, factor) FINISH_FAST(exp(v), factor)
#define FINISH_X_LOG(v, factor) FINISH_LOG(v, factor)
#define GRADIENT(y, dy, sum) PD_CAT(GRADIENT_, ALGORITHM)(y, dy, sum)
#define GRADIENT_ACCURATE(y, dy, sum) ((y) * ((dy) - (sum)))
#define GRADIENT_FAST(y, dy, sum) GRADIENT_ACCURATE(y, dy, sum)
#define GRADIENT_LOG(y, dy, sum) ((dy) - exp(y) * (sum))
#define TERM(y, dy) PD_CAT(TERM_, ALGORITHM)(y, dy)  // of the sum
#define TERM_ACCURATE(y, dy) ((y) * (dy))
#define TERM_FAST(y, dy) TERM_ACCURATE(y, dy)
#define TERM_LOG(y, dy) (dy)
