// Tensor cores of Hopper (sm_90a) by PTX, and what orders them: after common/mma.h. A warpgroup is four sub-groups of 32, of
// which the first has a number that four divides.
//
// Operands in local memory lie in panels of 64 columns: a row has 128 bytes, chunk c of row r (16 bytes) is at place c ^ r % 8, and a
// panel begins at a multiple of 1024 bytes. Panels of one matrix lie `apart` bytes apart. (PTX ISA, "Shared Memory Matrix
// Layout" of wgmma: 128-byte swizzle)
//
// Of floats, which are TF32 (DTYPE_FLOAT), a panel has 32 columns, a product takes 8 elements of K, and nothing is turned.
//
//   panels_of(at, apart)          the descriptor of a matrix that begins at byte `at`; IN_PANELS(bytes) added to it moves it on
//   multiply_first<LEFT_TURNED, TURNED>(columns<N>(), sums, a, b)
//   multiply_local<LEFT_TURNED, TURNED>(columns<N>(), sums, a, b)
//   multiply_after<LEFT_TURNED, TURNED>(columns<N>(), sums, a, b, adds)
//                                 = or, if `adds`, +=
//   multiply_held<TURNED>(columns<N>(), sums, a, b)
//                                 sums[N / 2] = (the first) or += 64 rows of 16 elements times 16 elements of N columns: a in
//                                 local memory or in registers (four words, as for `multiply`), b in local memory; TURNED:
//                                 of an operand that lies along what is not summed over
//   a lane's sums                 as those of `multiply`, tile after tile of 8 columns; sub-group w has rows 16 w .. 16 w + 15
//
// Products are issued between products_begin() and products_issued(), and done after products_wait<n>() for all but the last n
// issues; until then neither their sums nor their left operands in registers may be touched. What ordinary instructions
// wrote to local memory reaches them after local_written() of the writer and a barrier.

#ifdef DTYPE_FLOAT
#define PD_PAIR "k8.f32.tf32.tf32"
#define PD_TURNED(...) ""
#else
#ifdef DTYPE_BFLOAT16
#define PD_PAIR "k16.f32.bf16.bf16"
#else
#define PD_PAIR "k16.f32.f16.f16"
#endif
#define PD_TURNED(...) __VA_ARGS__
#endif
template <int N> struct columns {};

#define IN_PANELS(bytes) ((u64)((bytes) >> 4))
DEVICE u64 panels_of(u32 at, u32 apart) {
    return IN_PANELS(at & 0x3ffff) | IN_PANELS(apart) << 16 | IN_PANELS(1024) << 32 | (u64)1 << 62;
}
DEVICE u32 in_panel(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }

#define PD_R32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15" \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define PD_R40 PD_R32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define PD_R48 PD_R40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define PD_R64 PD_R48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define PD_R96 PD_R64 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define PD_R128 PD_R96 \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define PD_F8(H, d, i) H(d[i]), H(d[i + 1]), H(d[i + 2]), H(d[i + 3]), H(d[i + 4]), H(d[i + 5]), H(d[i + 6]), H(d[i + 7])
#define PD_BOTH(v) "+f"(v)
#define PD_OUT(v) "=f"(v)
#define PD_F32(H, d) PD_F8(H, d, 0), PD_F8(H, d, 8), PD_F8(H, d, 16), PD_F8(H, d, 24)
#define PD_F40(H, d) PD_F32(H, d), PD_F8(H, d, 32)
#define PD_F48(H, d) PD_F40(H, d), PD_F8(H, d, 40)
#define PD_F64(H, d) PD_F48(H, d), PD_F8(H, d, 48), PD_F8(H, d, 56)
#define PD_F96(H, d) PD_F64(H, d), PD_F8(H, d, 64), PD_F8(H, d, 72), PD_F8(H, d, 80), PD_F8(H, d, 88)
#define PD_F128(H, d) PD_F96(H, d), PD_F8(H, d, 96), PD_F8(H, d, 104), PD_F8(H, d, 112), PD_F8(H, d, 120)
#define PD_WGMMA(N, COUNT, SET) "{\n.reg .pred p;\n" SET "wgmma.mma_async.sync.aligned.m64n" #N PD_PAIR " {" PD_R##COUNT "}, "
#define PD_PRODUCTS(N, COUNT, I0, I1, I2, I3, I4, I5)                                                                      \
    template <int LEFT_TURNED, int TURNED> DEVICE void multiply_first(columns<N>, float *d, u64 a, u64 b) {                   \
        asm volatile(PD_WGMMA(N, COUNT, "setp.ne.b32 p, 0, 0;\n") "%" I0 ", %" I1 ", p, 1, 1" PD_TURNED(", %" I2 ", %" I3) ";\n}"           \
                     : PD_F##COUNT(PD_OUT, d)                                                                                 \
                     : "l"(a), "l"(b), "n"(LEFT_TURNED), "n"(TURNED));                                                        \
    }                                                                                                                         \
    template <int LEFT_TURNED, int TURNED> DEVICE void multiply_local(columns<N>, float *d, u64 a, u64 b) {                   \
        asm volatile(PD_WGMMA(N, COUNT, "setp.ne.b32 p, 1, 0;\n") "%" I0 ", %" I1 ", p, 1, 1" PD_TURNED(", %" I2 ", %" I3) ";\n}"           \
                     : PD_F##COUNT(PD_BOTH, d)                                                                                \
                     : "l"(a), "l"(b), "n"(LEFT_TURNED), "n"(TURNED));                                                        \
    }                                                                                                                         \
    template <int LEFT_TURNED, int TURNED> DEVICE void multiply_after(columns<N>, float *d, u64 a, u64 b, int adds) {         \
        asm volatile(PD_WGMMA(N, COUNT, "setp.ne.b32 p, %" I4 ", 0;\n") "%" I0 ", %" I1 ", p, 1, 1" PD_TURNED(", %" I2 ", %" I3) ";\n}"     \
                     : PD_F##COUNT(PD_BOTH, d)                                                                                \
                     : "l"(a), "l"(b), "n"(LEFT_TURNED), "n"(TURNED), "r"(adds));                                             \
    }                                                                                                                         \
    template <int TURNED> DEVICE void multiply_held(columns<N>, float *d, const u32 *a, u64 b) {                              \
        asm volatile(PD_WGMMA(N, COUNT, "setp.ne.b32 p, 1, 0;\n") "{%" I0 ", %" I1 ", %" I2 ", %" I3 "}, %" I4 ", p, 1, 1" PD_TURNED(", %" I5) ";\n}" \
                     : PD_F##COUNT(PD_BOTH, d)                                                                                \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(TURNED));                                      \
    }
PD_PRODUCTS(64, 32, "32", "33", "34", "35", "36", "37")
PD_PRODUCTS(80, 40, "40", "41", "42", "43", "44", "45")
PD_PRODUCTS(96, 48, "48", "49", "50", "51", "52", "53")
PD_PRODUCTS(128, 64, "64", "65", "66", "67", "68", "69")
PD_PRODUCTS(192, 96, "96", "97", "98", "99", "100", "101")
PD_PRODUCTS(256, 128, "128", "129", "130", "131", "132", "133")

DEVICE void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void products_issued() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> DEVICE void products_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory"); }
// Keep the compiler from moving what reads or writes sums, or left operands, across this place
template <int MANY> DEVICE void sums_stay(float *sums) {
    UNROLL for (int i = 0; i < MANY; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int MANY> DEVICE void words_stay(u32 *words) {
    UNROLL for (int i = 0; i < MANY; ++i) asm volatile("" : "+r"(words[i])::"memory");
}
DEVICE void local_written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Barriers of 8 bytes in local memory: phase n (from 0 on) ends when `count` work-items have arrived in it
DEVICE void barrier_start(u32 at, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory"); }
DEVICE void barrier_arrive(u32 at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory"); }
// Waits for the end of a phase, of which it is given whether it is odd
DEVICE void barrier_wait(u32 at, int odd) {
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(at),
                 "r"(odd)
                 : "memory");
}
DEVICE bool barrier_passed(u32 at, int odd) {
    int passed;
    asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
                 : "=r"(passed)
                 : "r"(at), "r"(odd)
                 : "memory");
    return passed != 0;
}
// Numbered barriers (1 .. 15) of `count` work-items, some of which wait while others only arrive
DEVICE void turn_wait(int number, int count) { asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(count) : "memory"); }
DEVICE void turn_give(int number, int count) { asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(count) : "memory"); }

// Registers of each work-item of a warpgroup from here on: fewer, or more as soon as others gave them
template <int MANY> DEVICE void registers_give() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(MANY)); }
template <int MANY> DEVICE void registers_take() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(MANY)); }
