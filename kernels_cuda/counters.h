// Counters in device memory by which work-groups of a launch wait for each other (pieces.h); sm_70 and later.
//   READ_COUNTER(p)     its value; what was written before it was counted up is there for the work-group after a barrier
//   COUNT_WRITTEN(p)    counts up, when what the work-group wrote before its last barrier is there for all
//   PAUSE(nanoseconds)  leaves memory to others for about that long
DEVICE int READ_COUNTER(const int *p) {
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
DEVICE void COUNT_WRITTEN(int *p) { asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(p) : "memory"); }
#define PAUSE(nanoseconds) __nanosleep(nanoseconds)
