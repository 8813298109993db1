// Counters in device memory by which work-groups of a launch know of each other (common/last_group.h, common/pieces.h); sm_70 and later.
//   READ_COUNTER(p)     its value; what was written before it was counted up is there for the work-group after a barrier
//   COUNT_WRITTEN(p)    counts up, when what the work-group wrote before its last barrier is there for all
//   COUNT_ORDERED(p)    the same, and gives the old value: what those who counted before wrote is there after a barrier
//   READ_WORD(p), WRITE_WORD(p, v)  64 bits in one piece, in no order with other memory (common/posted.h)
//   PAUSE(nanoseconds)  leaves memory to others for about that long
#ifndef PD_COUNTERS  // two headers include this one
#define PD_COUNTERS
DEVICE int READ_COUNTER(const int *p) {
    int v;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
DEVICE void COUNT_WRITTEN(int *p) { asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(p) : "memory"); }
DEVICE int COUNT_ORDERED(int *p) {
    int v;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(v) : "l"(p) : "memory");
    return v;
}
DEVICE u64 READ_WORD(u64 *p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}
DEVICE void WRITE_WORD(u64 *p, u64 v) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
#define PAUSE(nanoseconds) __nanosleep(nanoseconds)
#endif
