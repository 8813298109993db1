// ATOMIC_ADD(p, v): *p += v in one piece, for float and double. In what order several such sums happen is anybody's guess.
// ADDS_ALONE(i): i, the number that tells work-items apart which add; see kernels_opencl/common/atomic.h.
#define ADDS_ALONE(i) (i)
DEVICE void ATOMIC_ADD(real *p, real v) { atomicAdd(p, v); }
