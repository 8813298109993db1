// Counters in device memory by which work-groups of a launch wait for each other (pieces.h).
//   READ_COUNTER(p)     its value; what was written before it was counted up is there for the work-group after a barrier
//   COUNT_WRITTEN(p)    counts up, when what the work-group wrote before its last barrier is there for all
//   PAUSE(nanoseconds)  leaves memory to others for about that long
// OpenCL 1.2 promises nothing of the kind: NVIDIA's compiler takes the instructions; the rest is for tests on CPUs.
#ifdef __NV_CL_C_VERSION
DEVICE int READ_COUNTER(GLOBAL int *p) {
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
DEVICE void COUNT_WRITTEN(GLOBAL int *p) {
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(p) : "memory");
}
#define PAUSE(nanoseconds) asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds))
#else
DEVICE int READ_COUNTER(volatile GLOBAL int *p) {
    const int v = *p;
    GRID_FENCE();
    return v;
}
DEVICE void COUNT_WRITTEN(volatile GLOBAL int *p) {
    GRID_FENCE();
    atomic_inc(p);
}
#define PAUSE(nanoseconds)
#endif
