// Storage and arithmetic types of a kernel, chosen by defines from the host:
//   DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_HALF or DTYPE_BFLOAT16   how tensors are stored
//   VW                                        lanes of a vector (1 where a kernel has no vectors)
//   VECTOR_ALIGNED                            vector addresses are multiples of the vector's bytes (at most 16)
//   WIDE_PLACES                               a tensor has more elements than 32-bit places reach
//
//   idx_t         a place in a tensor, or a number of elements: u32, or u64 with WIDE_PLACES
//   T             storage type            real          arithmetic type (float for half and bfloat16)
//   LOWEST_REAL, LOWEST_STORED   the lowest finite numbers of both
//   LOAD(p, i)    real from p[i]          STORE(p, i, v)
//   vreal         VW lanes of real, with + - * / between vectors and with real, fma, exp, ..., PICK(a > b, c, d);
//                 VEXP(v) is exp(v), by whatever way is fastest
//   VLOAD(p, i)   vreal from p[i] .. p[i + VW - 1]      VSTORE(p, i, v)      VSPLAT(s)     LANE(v, j)
//   VSTREAM(p, i, v)   VSTORE past the caches, for results larger than they are, where VSTREAM_TAKES(p + i): on CPUs that can, at
//                 multiples of a vector's bytes

#ifdef WIDE_PLACES
typedef u64 idx_t;
#else
typedef u32 idx_t;
#endif

#ifdef DTYPE_DOUBLE
typedef double T;
typedef double real;
#define PD_REAL double
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#define LOWEST_REAL ((real) - 1.7976931348623157e308)
#define LOWEST_STORED LOWEST_REAL
#else
#if defined(DTYPE_HALF)
typedef f16_t T;
#define LOAD(p, i) f16_load(p, i)
#define STORE(p, i, v) f16_store(p, i, v)
#define LOWEST_STORED ((real) - 65504.0f)
#elif defined(DTYPE_BFLOAT16)
#include "common/bfloat16.h"
typedef bf16_t T;
#define LOAD(p, i) bf16_load(p, i)
#define STORE(p, i, v) bf16_store(p, i, v)
#define LOWEST_STORED ((real) - 3.3895313892515355e38f)
#else
typedef float T;
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#define LOWEST_STORED LOWEST_REAL
#endif
typedef float real;
#define PD_REAL float
#define LOWEST_REAL ((real) - 3.402823466e38f)
#endif

// dst = alpha * value + beta * prior; with beta == 0 the prior value is never read
#define BLEND(p, i, alpha, value, beta)                                                                    \
    STORE(p, i, (beta) == (real)0 ? (alpha) * (value) : (alpha) * (value) + (beta) * LOAD(p, i))

#ifndef VW
#define VW 1
#endif

#if VW == 1
typedef real vreal;
#define VLOAD(p, i) LOAD(p, i)
#define VSTORE(p, i, v) STORE(p, i, v)
#define VSTREAM_TAKES(p) 0
#define VSTREAM(p, i, v) STORE(p, i, v)
#define VSPLAT(s) ((real)(s))
#define VEXP(v) exp(v)
#define LANE(v, j) (v)
#else
#include "common/vector.h"
#endif

#define VBLEND(p, i, alpha, value, beta)                                                                   \
    VSTORE(p, i, (beta) == (real)0 ? (value) * (alpha) : (value) * (alpha) + VLOAD(p, i) * (beta))
