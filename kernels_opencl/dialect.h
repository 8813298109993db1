// The OpenCL C 1.2 side of the kernel dialect; kernels_cuda/dialect.h is its twin. docs/kernels.md lists every macro.

#define PD_OPENCL 1

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Clang cuts vectors of 64 bytes in two for processors with AVX-512, most of which it is told to prefer 32 for, unless a
// function asks for them: tiles made for 32 registers then need 64.
#if defined(__x86_64__) && defined(__clang__)
#define PD_WHOLE_VECTORS __attribute__((min_vector_width(512)))
#pragma clang diagnostic ignored "-Wpsabi"  // of vectors that the processor lacks as arguments: all is one program
#else
#define PD_WHOLE_VECTORS
#endif
#define KERNEL __kernel PD_WHOLE_VECTORS void
#define DEVICE static inline PD_WHOLE_VECTORS
#define NOINLINE PD_WHOLE_VECTORS __attribute__((noinline)) static
#define GLOBAL __global
#define LOCAL __local      // declares an array in local memory; kernel scope only
#define LOCAL_ARG __local  // a helper's pointer into local memory
#define CONSTANT __constant
#define RESTRICT restrict
#define WG_SIZE(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))
#define WG_RESIDENT(size, groups) WG_SIZE(size, 1, 1)

#define LID(d) ((int)get_local_id(d))
#define GRP(d) ((int)get_group_id(d))
#define LSZ(d) ((int)get_local_size(d))
#define NGRP(d) ((int)get_num_groups(d))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GLOBAL_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define UNROLL _Pragma("unroll")
#ifdef __AMDGCN__  // whose compiler unrolls loops until registers spill
#define PD_PRAGMA(words) _Pragma(#words)
#define UNROLL_AT_MOST(times) PD_PRAGMA(unroll times)
#else
#define UNROLL_AT_MOST(times)
#endif

#define GRID_WAIT()  // the first statement of every kernel; a launch begins when the one before it has ended

#ifdef __AMDGCN__  // butterflies stay within 32 lanes, of which a wave has one or two
#define WARP 32
DEVICE int pd_exchange(int word, int step) {
    const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    return __builtin_amdgcn_ds_bpermute((lane ^ step) * 4, word);
}
DEVICE __attribute__((overloadable)) float exchange(float v, int step) { return as_float(pd_exchange(as_int(v), step)); }
DEVICE __attribute__((overloadable)) double exchange(double v, int step) {
    const int2 words = as_int2(v);
    return as_double((int2)(pd_exchange(words.x, step), pd_exchange(words.y, step)));
}
#endif

#ifdef __NV_CL_C_VERSION  // OpenCL 1.2 has no such function, but NVIDIA's compiler takes the instruction
#define WARP 32
DEVICE __attribute__((overloadable)) float exchange(float v, int step) {
    float other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=f"(other) : "f"(v), "r"(step));
    return other;
}
DEVICE __attribute__((overloadable)) double exchange(double v, int step) {
    double other;
    asm volatile("{ .reg .b32 lo, hi; mov.b64 {lo, hi}, %1; shfl.sync.bfly.b32 lo, lo, %2, 0x1f, 0xffffffff; "
                 "shfl.sync.bfly.b32 hi, hi, %2, 0x1f, 0xffffffff; mov.b64 %0, {lo, hi}; }"
                 : "=d"(other)
                 : "d"(v), "r"(step));
    return other;
}
#endif

#define ATOMIC_INC(p) atomic_inc(p)
#define ATOMIC_TAKE(p, count) atomic_add(p, count)

typedef long i64;
typedef ulong u64;
typedef uint u32;

// A tensor argument is a buffer and an element offset, because OpenCL has no pointers on the host.
#define TENSOR(type, name) __global type *name##_buffer, const i64 name##_first
#define BIND(type, name) __global type *name = name##_buffer + name##_first
#define TENSOR_RESTRICT(type, name) __global type *restrict name##_buffer, const i64 name##_first
#define BIND_RESTRICT(type, name) __global type *restrict name = name##_buffer + name##_first

#define INFINITY_OF(real) ((real)INFINITY)
#define NAN_OF(real) ((real)NAN)
#define PICK(mask, yes, no) ((mask) ? (yes) : (no))

// PoCL does not inline its functions on processors that its built-in library was not compiled for
#if defined(__x86_64__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_abs)
#define fabs(v) __builtin_elementwise_abs(v)
#define fmax(v, w) __builtin_elementwise_max(v, w)
#define fmin(v, w) __builtin_elementwise_min(v, w)
#endif
#endif

typedef half f16_t;
DEVICE float f16_load(const GLOBAL half *p, i64 i) { return vload_half(i, p); }
DEVICE void f16_store(GLOBAL half *p, i64 i, float v) { vstore_half_rte(v, i, p); }

typedef ushort bf16_t;  // common/bfloat16.h

#define PD_CAT_(a, b) a##b
#define PD_CAT(a, b) PD_CAT_(a, b)
