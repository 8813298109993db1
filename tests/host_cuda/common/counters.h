// kernels_cuda/common/counters.h on the host, where work-groups run one after the other

DEVICE int READ_COUNTER(const int *p) { return *p; }
DEVICE void COUNT_WRITTEN(int *p) { ++*p; }
DEVICE int COUNT_ORDERED(int *p) { return (*p)++; }
#define PAUSE(nanoseconds)
