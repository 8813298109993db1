// The CUDA C++ (NVRTC, no headers) side of the kernel dialect; kernels_opencl/dialect.h is its twin.
// docs/kernels.md lists every macro.

#define PD_CUDA 1

#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define NOINLINE static __device__ __noinline__
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_ARG
#define CONSTANT static __device__ const
#define RESTRICT __restrict__
#define WG_SIZE(x, y, z) __launch_bounds__((x) * (y) * (z))
#define WG_RESIDENT(size, groups) __launch_bounds__(size, groups)

DEVICE int LID(int d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }
DEVICE int GRP(int d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z; }
DEVICE int LSZ(int d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }
DEVICE int NGRP(int d) { return d == 0 ? gridDim.x : d == 1 ? gridDim.y : gridDim.z; }
#define BARRIER() __syncthreads()
#define GLOBAL_BARRIER() __syncthreads()
#define UNROLL _Pragma("unroll")
#define UNROLL_AT_MOST(times)

// The first statement of every kernel: launches on sm_90 and later begin while the one before them ends
// (backends/cuda/launch.py), and wait here until what it wrote is there. They are not let in any earlier: work-groups that
// wait beside working ones leave multiprocessors unevenly filled (an LSTM's steps took 1.2 to 1.3 times as long).
#if __CUDA_ARCH__ >= 900
#define GRID_WAIT() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define GRID_WAIT()
#endif

#define WARP 32
DEVICE float exchange(float v, int step) { return __shfl_xor_sync(0xffffffffu, v, step); }
DEVICE double exchange(double v, int step) { return __shfl_xor_sync(0xffffffffu, v, step); }

#define ATOMIC_INC(p) atomicAdd(p, 1)
#define ATOMIC_TAKE(p, count) atomicAdd(p, count)

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned int uint;

#define TENSOR(type, name) type *name
#define BIND(type, name)
#define TENSOR_RESTRICT(type, name) type *__restrict__ name
#define BIND_RESTRICT(type, name)

DEVICE float pd_bits(unsigned int u) { return __uint_as_float(u); }
#define INFINITY_OF(real) ((real)__uint_as_float(0x7f800000u))
#define NAN_OF(real) ((real)__uint_as_float(0x7fc00000u))
DEVICE float PICK(bool mask, float yes, float no) { return mask ? yes : no; }
DEVICE double PICK(bool mask, double yes, double no) { return mask ? yes : no; }
DEVICE int PICK(bool mask, int yes, int no) { return mask ? yes : no; }

// half storage without cuda_fp16.h: the conversions are one instruction each
typedef unsigned short f16_t;
DEVICE float f16_to_float(unsigned short bits) {
    float v;
    asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(bits));
    return v;
}
DEVICE unsigned short f16_from_float(float v) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}
DEVICE float f16_load(const unsigned short *p, i64 i) { return f16_to_float(p[i]); }
DEVICE void f16_store(unsigned short *p, i64 i, float v) { p[i] = f16_from_float(v); }

typedef unsigned short bf16_t;  // common/bfloat16.h
DEVICE float as_float(u32 bits) { return __uint_as_float(bits); }
DEVICE u32 as_uint(float v) { return __float_as_uint(v); }
#if __CUDA_ARCH__ >= 800
DEVICE unsigned short pd_bf16_from_float(float v) {
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(v));
    return bits;
}
#define PD_BF16_FROM_FLOAT(v) pd_bf16_from_float(v)
#endif

#define PD_CAT_(a, b) a##b
#define PD_CAT(a, b) PD_CAT_(a, b)
