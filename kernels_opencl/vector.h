// vreal for OpenCL: the built-in vector types. LANE needs a constant or a variable index; the latter goes through memory.
typedef PD_CAT(PD_REAL, VW) vreal;
#define VSPLAT(s) ((vreal)((real)(s)))
#define LANE(v, j) (((real *)&(v))[j])
// Aligned accesses need addresses that are multiples of the whole vector; the host promises 16 bytes.
#if defined(DTYPE_DOUBLE)
#define PD_MOST_ALIGNED 2
#elif defined(DTYPE_HALF)
#define PD_MOST_ALIGNED 8
#else
#define PD_MOST_ALIGNED 4
#endif
#if defined(VECTOR_ALIGNED) && VW <= PD_MOST_ALIGNED
#define PD_ALIGNED
#endif
#ifdef DTYPE_HALF
#ifdef PD_ALIGNED
#define VLOAD(p, i) PD_CAT(vloada_half, VW)(0, (p) + (i))
#define VSTORE(p, i, v) PD_CAT(PD_CAT(vstorea_half, VW), _rte)(v, 0, (p) + (i))
#elif defined(__x86_64__)
// PoCL 5 takes the pointers of vload_half and vstore_half for aligned ones and crashes where they are not
typedef PD_CAT(ushort, VW) pd_halves;
typedef pd_halves pd_unaligned_halves __attribute__((aligned(2)));
DEVICE vreal pd_vload_half(const GLOBAL half *p) {
    pd_halves bits = *(const GLOBAL pd_unaligned_halves *)p;
    return PD_CAT(vloada_half, VW)(0, (const half *)&bits);
}
DEVICE void pd_vstore_half(GLOBAL half *p, vreal v) {
    pd_halves bits;
    PD_CAT(PD_CAT(vstorea_half, VW), _rte)(v, 0, (half *)&bits);
    *(GLOBAL pd_unaligned_halves *)p = bits;
}
#define VLOAD(p, i) pd_vload_half((p) + (i))
#define VSTORE(p, i, v) pd_vstore_half((p) + (i), v)
#else
#define VLOAD(p, i) PD_CAT(vload_half, VW)(0, (p) + (i))
#define VSTORE(p, i, v) PD_CAT(PD_CAT(vstore_half, VW), _rte)(v, 0, (p) + (i))
#endif
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
