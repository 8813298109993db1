// The HIP C++ (hiprtc or clang, no headers) side of the kernel dialect; a twin of kernels_cuda/dialect.h, whose other headers
// it shares: what is missing in kernels_hip/ is taken from kernels_cuda/. docs/kernels.md lists every macro.
// Machine words come from clang's builtins, which hiprtc and clang have alike; a wave has 32 lanes (RDNA) or 64 (CDNA).

#define PD_CUDA 1  // C++: what shared texts say to CUDA's compiler
#define PD_HIP 1

#define PD_DEVICE __attribute__((device))
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static inline PD_DEVICE __attribute__((always_inline))
#define NOINLINE static PD_DEVICE __attribute__((noinline))
#define GLOBAL
#define LOCAL __attribute__((shared))
#define LOCAL_ARG
#define CONSTANT static PD_DEVICE const
#define RESTRICT __restrict__
#define WG_SIZE(x, y, z) __attribute__((amdgpu_flat_work_group_size((x) * (y) * (z), (x) * (y) * (z))))
#define WG_RESIDENT(size, groups) WG_SIZE(size, 1, 1)

DEVICE int pd_pick(int d, int x, int y, int z) { return d == 0 ? x : d == 1 ? y : z; }
#define PD_OF_AXES(d, name) pd_pick(d, name##_x(), name##_y(), name##_z())
DEVICE int LID(int d) { return PD_OF_AXES(d, __builtin_amdgcn_workitem_id); }
DEVICE int GRP(int d) { return PD_OF_AXES(d, __builtin_amdgcn_workgroup_id); }
DEVICE int LSZ(int d) { return PD_OF_AXES(d, __builtin_amdgcn_workgroup_size); }
// block counts come first among the hidden arguments (code objects of version 5 and later)
DEVICE int NGRP(int d) { return ((const __attribute__((address_space(4))) int *)__builtin_amdgcn_implicitarg_ptr())[d]; }
#define PD_FENCE(order) __builtin_amdgcn_fence(order, "workgroup")
DEVICE void BARRIER() {
    PD_FENCE(__ATOMIC_RELEASE);
    __builtin_amdgcn_s_barrier();
    PD_FENCE(__ATOMIC_ACQUIRE);
}
#define GLOBAL_BARRIER() BARRIER()
#define UNROLL _Pragma("unroll")
#define PD_PRAGMA(words) _Pragma(#words)
#define UNROLL_AT_MOST(times) PD_PRAGMA(unroll times)

#define GRID_WAIT()  // a launch begins when the one before it has ended

// Butterflies stay within 32 lanes, of which a wave has one or two.
#define WARP 32
DEVICE int pd_lane() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }
DEVICE int pd_exchange(int word, int step) { return __builtin_amdgcn_ds_bpermute((pd_lane() ^ step) * 4, word); }
DEVICE float exchange(float v, int step) {
    return __builtin_bit_cast(float, pd_exchange(__builtin_bit_cast(int, v), step));
}
DEVICE double exchange(double v, int step) {
    struct Words {
        int low, high;
    };
    const Words words = __builtin_bit_cast(Words, v);
    const Words other = {pd_exchange(words.low, step), pd_exchange(words.high, step)};
    return __builtin_bit_cast(double, other);
}
#define __shfl_xor_sync(mask, v, step) exchange(v, step)  // of generated texts

#define ATOMIC_TAKE(p, count) __hip_atomic_fetch_add(p, count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define ATOMIC_INC(p) ATOMIC_TAKE(p, 1)

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned int uint;

#define TENSOR(type, name) type *name
#define BIND(type, name)
#define TENSOR_RESTRICT(type, name) type *__restrict__ name
#define BIND_RESTRICT(type, name)

#define INFINITY_OF(real) ((real)__builtin_inff())
#define NAN_OF(real) ((real)__builtin_nanf(""))
DEVICE float PICK(bool mask, float yes, float no) { return mask ? yes : no; }
DEVICE double PICK(bool mask, double yes, double no) { return mask ? yes : no; }
DEVICE int PICK(bool mask, int yes, int no) { return mask ? yes : no; }

typedef unsigned short f16_t;
DEVICE float f16_to_float(unsigned short bits) { return (float)__builtin_bit_cast(_Float16, bits); }
DEVICE unsigned short f16_from_float(float v) { return __builtin_bit_cast(unsigned short, (_Float16)v); }
DEVICE float f16_load(const unsigned short *p, i64 i) { return f16_to_float(p[i]); }
DEVICE void f16_store(unsigned short *p, i64 i, float v) { p[i] = f16_from_float(v); }

typedef unsigned short bf16_t;  // common/bfloat16.h
DEVICE float as_float(u32 bits) { return __builtin_bit_cast(float, bits); }
DEVICE u32 as_uint(float v) { return __builtin_bit_cast(u32, v); }

#define PD_CAT_(a, b) a##b
#define PD_CAT(a, b) PD_CAT_(a, b)
