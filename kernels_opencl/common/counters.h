// Counters in device memory by which work-groups of a launch know of each other (common/last_group.h, common/pieces.h).
//   READ_COUNTER(p)     its value; what was written before it was counted up is there for the work-group after a barrier
//   COUNT_WRITTEN(p)    counts up, when what the work-group wrote before its last barrier is there for all
//   COUNT_ORDERED(p)    the same, and gives the old value: what those who counted before wrote is there after a barrier
//   READ_WORD(p), WRITE_WORD(p, v)  64 bits in one piece, in no order with other memory (common/posted.h)
//   PAUSE(nanoseconds)  leaves memory to others for about that long
// OpenCL 1.2 promises nothing of the kind: NVIDIA's compiler takes the instructions; the rest is for tests on CPUs.
#ifndef PD_COUNTERS  // two headers include this one
#define PD_COUNTERS
#ifdef __NV_CL_C_VERSION
DEVICE int READ_COUNTER(GLOBAL int *p) {
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
DEVICE void COUNT_WRITTEN(GLOBAL int *p) {
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(p) : "memory");
}
DEVICE int COUNT_ORDERED(GLOBAL int *p) {
    int v;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(v) : "l"(p) : "memory");
    return v;
}
DEVICE u64 READ_WORD(GLOBAL u64 *p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}
DEVICE void WRITE_WORD(GLOBAL u64 *p, u64 v) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
#define PAUSE(nanoseconds) asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds))
#else
DEVICE int READ_COUNTER(volatile GLOBAL int *p) {
    const int v = *p;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return v;
}
DEVICE void COUNT_WRITTEN(volatile GLOBAL int *p) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    atomic_inc(p);
}
DEVICE int COUNT_ORDERED(volatile GLOBAL int *p) {
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    const int v = atomic_inc(p);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return v;
}
DEVICE u64 READ_WORD(volatile GLOBAL u64 *p) { return *p; }
DEVICE void WRITE_WORD(volatile GLOBAL u64 *p, u64 v) { *p = v; }
#define PAUSE(nanoseconds)
#endif
#endif
