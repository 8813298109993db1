// vreal for OpenCL: the built-in vector types. LANE needs a constant or a variable index; the latter goes through memory.
typedef PD_CAT(PD_REAL, VW) vreal;
#define VSPLAT(s) ((vreal)((real)(s)))
#define LANE(v, j) (((real *)&(v))[j])
// Aligned accesses need addresses that are multiples of the whole vector; the host promises 16 bytes.
#if defined(DTYPE_DOUBLE)
#define PD_MOST_ALIGNED 2
#elif defined(DTYPE_HALF) || defined(DTYPE_BFLOAT16)
#define PD_MOST_ALIGNED 8
#else
#define PD_MOST_ALIGNED 4
#endif
#if defined(VECTOR_ALIGNED) && VW <= PD_MOST_ALIGNED
#define PD_ALIGNED
#endif
#ifdef DTYPE_HALF
#if defined(PD_ALIGNED) || defined(__x86_64__)
// NVIDIA's vloada_half and vstorea_half go half by half, and PoCL 5 takes the pointers of vload_half and vstore_half for
// aligned ones and crashes where they are not
#ifdef PD_ALIGNED
#define PD_HALVES_2 uint
#define PD_HALVES_4 uint2
#define PD_HALVES_8 uint4
typedef PD_CAT(PD_HALVES_, VW) pd_halves;
typedef pd_halves pd_halves_at;
#else
typedef PD_CAT(ushort, VW) pd_halves;
typedef pd_halves pd_halves_at __attribute__((aligned(2)));
#endif
DEVICE vreal pd_vload_half(const GLOBAL half *p) {
    pd_halves bits = *(const GLOBAL pd_halves_at *)p;
    return PD_CAT(vloada_half, VW)(0, (const half *)&bits);
}
DEVICE void pd_vstore_half(GLOBAL half *p, vreal v) {
    pd_halves bits;
    PD_CAT(PD_CAT(vstorea_half, VW), _rte)(v, 0, (half *)&bits);
    *(GLOBAL pd_halves_at *)p = bits;
}
#define VLOAD(p, i) pd_vload_half((p) + (i))
#define VSTORE(p, i, v) pd_vstore_half((p) + (i), v)
#else
#define VLOAD(p, i) PD_CAT(vload_half, VW)(0, (p) + (i))
#define VSTORE(p, i, v) PD_CAT(PD_CAT(vstore_half, VW), _rte)(v, 0, (p) + (i))
#endif
#elif defined(DTYPE_BFLOAT16)
typedef PD_CAT(ushort, VW) pd_shorts;
typedef PD_CAT(uint, VW) pd_words;
#ifdef __x86_64__
// neither PoCL's vload and vstore nor its conversions are inlined on processors that its library was not compiled for
typedef pd_shorts pd_shorts_at __attribute__((aligned(2)));
#define PD_CONVERT(v, type) __builtin_convertvector(v, type)
#define PD_SHORTS_AT(p) (*(const GLOBAL pd_shorts_at *)(p))
#define PD_PUT_SHORTS(p, v) (*(GLOBAL pd_shorts_at *)(p) = (v))
#else
#define PD_CONVERT(v, type) PD_CAT(convert_, type)(v)
#ifdef PD_ALIGNED
#define PD_SHORTS_AT(p) (*(const GLOBAL pd_shorts *)(p))
#define PD_PUT_SHORTS(p, v) (*(GLOBAL pd_shorts *)(p) = (v))
#else
#define PD_SHORTS_AT(p) PD_CAT(vload, VW)(0, p)
#define PD_PUT_SHORTS(p, v) PD_CAT(vstore, VW)(v, 0, p)
#endif
#endif
DEVICE vreal pd_vload_bf16(const GLOBAL bf16_t *p) {
    return PD_CAT(as_float, VW)(PD_CONVERT(PD_SHORTS_AT(p), PD_CAT(uint, VW)) << 16);
}
DEVICE void pd_vstore_bf16(GLOBAL bf16_t *p, vreal v) {
    const pd_words bits = PD_CAT(as_uint, VW)(v);
    const pd_words stored = v != v ? BF16_NAN(bits) : BF16_ROUNDED(bits);
    PD_PUT_SHORTS(p, PD_CONVERT(stored, PD_CAT(ushort, VW)));
}
#define VLOAD(p, i) pd_vload_bf16((p) + (i))
#define VSTORE(p, i, v) pd_vstore_bf16((p) + (i), v)
#elif defined(PD_ALIGNED)
#define VLOAD(p, i) (*(const GLOBAL vreal *)((p) + (i)))
#define VSTORE(p, i, v) (*(GLOBAL vreal *)((p) + (i)) = (v))
#elif defined(__x86_64__)
// PoCL calls vload and vstore as functions on processors that its built-in library was not compiled for (9 times slower)
typedef vreal pd_unaligned __attribute__((aligned(sizeof(real))));
#define VLOAD(p, i) (*(const GLOBAL pd_unaligned *)((p) + (i)))
#define VSTORE(p, i, v) (*(GLOBAL pd_unaligned *)((p) + (i)) = (v))
#else
#define VLOAD(p, i) PD_CAT(vload, VW)(0, (p) + (i))
#define VSTORE(p, i, v) PD_CAT(vstore, VW)(v, 0, (p) + (i))
#endif

#if defined(__x86_64__) && defined(__clang__) && !defined(DTYPE_HALF) && !defined(DTYPE_BFLOAT16)
#define PD_VECTORS_STREAM
#define VSTREAM_TAKES(p) ((u64)(p) % sizeof(vreal) == 0)
#define VSTREAM(p, i, v) __builtin_nontemporal_store(v, (GLOBAL vreal *)((p) + (i)))
#else
#define VSTREAM_TAKES(p) 0
#define VSTREAM(p, i, v) VSTORE(p, i, v)
#endif

#ifdef __x86_64__
#include "common/exp_cpu.h"
#else
#define VEXP(v) exp(v)
#endif
