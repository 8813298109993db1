// The instructions of common/mma_fragment.h, which says what they do, by target.

#ifdef PD_OPENCL
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define PD_AS(type, v) __builtin_astype(v, type)
typedef half Half4 __attribute__((ext_vector_type(4)));
typedef half Half8 __attribute__((ext_vector_type(8)));
typedef half Half16 __attribute__((ext_vector_type(16)));
#else
// by value: clang 22 takes the first elements of a vector for those that a swizzle names
template <class To, class From> DEVICE To pd_as(From v) { return __builtin_bit_cast(To, v); }
#define PD_AS(type, v) pd_as<type>(v)
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));
#endif
typedef short Short2 __attribute__((ext_vector_type(2)));
typedef short Short4 __attribute__((ext_vector_type(4)));
typedef short Short8 __attribute__((ext_vector_type(8)));
typedef short Short16 __attribute__((ext_vector_type(16)));
typedef float Float2 __attribute__((ext_vector_type(2)));

#if FRAG == 32
typedef Chunk Fragment;
DEVICE Fragment load_fragment(const LOCAL_ARG Chunk *tile, int at) { return tile[at]; }

#if defined(DTYPE_FLOAT) && defined(XF32)
#define PD_STEP(a, b) __builtin_amdgcn_mfma_f32_32x32x4_xf32(PD_AS(Float2, a), PD_AS(Float2, b), acc, 0, 0, 0)
#elif defined(DTYPE_FLOAT)
#define PD_STEP1(a, b) __builtin_amdgcn_mfma_f32_32x32x2f32(PD_AS(float, a), PD_AS(float, b), acc, 0, 0, 0)
#elif defined(DTYPE_HALF)
#define PD_STEP(a, b) __builtin_amdgcn_mfma_f32_32x32x8f16(PD_AS(Half4, a), PD_AS(Half4, b), acc, 0, 0, 0)
#elif defined(__gfx908__)
#define PD_STEP1(a, b) __builtin_amdgcn_mfma_f32_32x32x4bf16(PD_AS(Short2, a), PD_AS(Short2, b), acc, 0, 0, 0)
#else
#define PD_STEP(a, b) __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(PD_AS(Short4, a), PD_AS(Short4, b), acc, 0, 0, 0)
#endif
DEVICE Sums multiply(Fragment a, Fragment b, Sums acc) {
#ifdef PD_STEP
    acc = PD_STEP(a.xy, b.xy);
    return PD_STEP(a.zw, b.zw);
#else
    acc = PD_STEP1(a.x, b.x);
    acc = PD_STEP1(a.y, b.y);
    acc = PD_STEP1(a.z, b.z);
    return PD_STEP1(a.w, b.w);
#endif
}

#elif defined(__GFX11__)
#define FRAG_BOTH 1
typedef u32 Fragment __attribute__((ext_vector_type(8)));
DEVICE Fragment load_fragment(const LOCAL_ARG Chunk *tile, int at) {  // both chunks, which PLACE puts side by side
    Fragment v;
    v.lo = tile[at];
    v.hi = tile[at ^ 1];
    return v;
}
DEVICE Sums multiply(Fragment a, Fragment b, Sums acc) {
#ifdef DTYPE_HALF
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(PD_AS(Half16, a), PD_AS(Half16, b), acc);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(PD_AS(Short16, a), PD_AS(Short16, b), acc);
#endif
}

#else
typedef Chunk Fragment;
DEVICE Fragment load_fragment(const LOCAL_ARG Chunk *tile, int at) { return tile[at]; }
DEVICE Sums multiply(Fragment a, Fragment b, Sums acc) {
#ifdef DTYPE_HALF
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(PD_AS(Half8, a), PD_AS(Half8, b), acc);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(PD_AS(Short8, a), PD_AS(Short8, b), acc);
#endif
}
#endif
