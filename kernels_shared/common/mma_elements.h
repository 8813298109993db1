// Elements of products on AMD's matrix cores (common/mma_fragment.h). kernels_cuda/common/mma.h has those of NVIDIA's.
//
//   E       element in local memory: 2 bytes (half, bfloat16), or float
//   VE      elements of a chunk of 16 bytes, the unit of all loads and stores
//   ALIGNED(bytes)      of a struct

#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#ifdef DTYPE_FLOAT
typedef float E;
#define VE 4
#else
typedef unsigned short E;
#define VE 8
#endif
#define tf32_bits(v) as_uint(v)  // nothing is rounded in memory
