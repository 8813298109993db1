// ATOMIC_ADD(p, v): *p += v in one piece, for float and double. In what order several such sums happen is anybody's guess.
// ADDS_ALONE(i): i, the number that tells work-items apart which add. Intel's compiler for CPUs (2026.2) has all work-items of a group
// execute an atomic function whose operands are the same in all of them, also where a condition lets a few of them get there.
// OpenCL 1.2 has no such function: NVIDIA's compiler takes the instruction, others exchange the bits until nobody came between.
#ifdef __INTEL_LLVM_COMPILER
DEVICE u32 pd_apart(u32 i) {
    volatile u32 own = i;
    return own;
}
#define ADDS_ALONE(i) pd_apart(i)
#else
#define ADDS_ALONE(i) (i)
#endif
#if defined(__NV_CL_C_VERSION) && defined(DTYPE_DOUBLE)
DEVICE void ATOMIC_ADD(GLOBAL real *p, real v) {
    real old;
    asm volatile("atom.global.add.f64 %0, [%1], %2;" : "=d"(old) : "l"(p), "d"(v) : "memory");
}
#elif defined(__NV_CL_C_VERSION)
DEVICE void ATOMIC_ADD(GLOBAL real *p, real v) {
    real old;
    asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(old) : "l"(p), "f"(v) : "memory");
}
#else
#ifdef DTYPE_DOUBLE
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
typedef ulong pd_word;
#define pd_exchange atom_cmpxchg
#define pd_number as_double
#define pd_bits_of as_ulong
#else
typedef uint pd_word;
#define pd_exchange atomic_cmpxchg
#define pd_number as_float
#define pd_bits_of as_uint
#endif
DEVICE void ATOMIC_ADD(GLOBAL real *p, real v) {
    volatile GLOBAL pd_word *word = (volatile GLOBAL pd_word *)p;
    pd_word seen = 0, expected;  // the first exchange reads, and often is the last: most sums begin at zero
    do {
        expected = seen;
        seen = pd_exchange(word, expected, pd_bits_of(pd_number(expected) + v));
    } while (seen != expected);
}
#endif
