// Tensor cores and asynchronous copies of sm_80 and later, by PTX; no headers.
//
//   E       element in local memory: 2 bytes (half, bfloat16), or float rounded to TF32
//   VE      elements of a chunk of 16 bytes, the unit of all copies and of ldmatrix
//   ALIGNED(bytes)      of a struct
//   A 16 x (2 * VE) product step: a is rows x K, b columns x K, both with K in chunks; acc += a * b
//
//      lane l holds of a: rows l/4, l/4 + 8, K elements of word l%4 of both chunks; of b: column l/4, the same words;
//      of acc: rows l/4, l/4 + 8, columns 2 * (l%4), + 1.  (PTX ISA, mma.m16n8k16 and mma.m16n8k8)

#define ALIGNED(bytes) __align__(bytes)
#ifdef DTYPE_FLOAT
typedef float E;
#define VE 4
#else
typedef unsigned short E;
#define VE 8
#endif

struct alignas(16) Four {
    float v[4];
};
struct alignas(8) Two {
    float v[2];
};
// To global memory at once: compilers take a struct's store apart
DEVICE void store_two(float *to, Two two) {
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(two.v[0]), "f"(two.v[1]) : "memory");
}
DEVICE void store_four(float *to, Four four) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(four.v[0]), "f"(four.v[1]), "f"(four.v[2]), "f"(four.v[3])
                 : "memory");
}

// A number that all lanes of a sub-group have alike, for the compiler to know it
DEVICE int of_all_lanes(int v) { return __shfl_sync(0xffffffffu, v, 0); }

DEVICE u32 local_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

// 16 bytes from global to local memory; zeros where not `in`, when nothing is read. COPY_CACHED: by way of the first-level cache.
#ifdef COPY_CACHED
#define PD_COPY "cp.async.ca"
#else
#define PD_COPY "cp.async.cg"
#endif
DEVICE void copy_chunk(u32 to, const E *from, bool in) {
    asm volatile(PD_COPY ".shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(in ? 16 : 0));
}
// the same by way of the first-level cache
DEVICE void copy_kept(u32 to, const E *from, bool in) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(in ? 16 : 0));
}
// `bytes` of a chunk, 8 or 16; 8 always go by way of the first-level cache
template <int BYTES> DEVICE void copy_bytes(u32 to, const E *from, bool in) {
    if (BYTES == 16) copy_chunk(to, from, in);
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(in ? 8 : 0));
}
DEVICE void copies_issued() { asm volatile("cp.async.commit_group;"); }
template <int PENDING> DEVICE void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING)); }

// four 8-row matrices of chunks; lane l gives the address of row l % 8 of matrix l / 8
DEVICE void load_matrices(u32 *v, u32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at));
}
DEVICE void load_matrices_transposed(u32 *v, u32 at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(at));
}
DEVICE void load_chunk(u32 *v, u32 at) {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at));
}

DEVICE void load_half_chunk(u32 *v, u32 at) { asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at)); }

// 16 bytes of global memory past the first-level cache, which does not see what other multiprocessors write during a launch
DEVICE void load_fresh(u32 *v, const void *from) {
    asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "l"(from)
                 : "memory");
}
DEVICE void store_chunk(u32 at, const u32 *v) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
}

// float rounded to TF32, to nearest: the tensor cores would cut off
DEVICE u32 tf32_bits(float v) {
    u32 bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return bits;
}

// MMA_BYTES: elements are pairs of bytes (of a IMAGE_UNSIGNED), and sums are integers: m16n8k32, whose words lie as those above
#ifdef MMA_BYTES
typedef int MmaSum;
#ifdef IMAGE_UNSIGNED
#define PD_MMA "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32"
#else
#define PD_MMA "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
#endif
#define PD_SUM "+r"
#else
typedef float MmaSum;
#define PD_SUM "+f"
#ifdef DTYPE_FLOAT
#define PD_MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif defined(DTYPE_BFLOAT16)
#define PD_MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#else
#define PD_MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#endif
#endif
DEVICE void multiply(MmaSum *acc, const u32 *a, u32 b0, u32 b1) {
    asm(PD_MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : PD_SUM(acc[0]), PD_SUM(acc[1]), PD_SUM(acc[2]), PD_SUM(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
