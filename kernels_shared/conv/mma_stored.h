// Elements of local memory (common/mma.h) of numbers that text computes (conv/prologue.h). After common/types.h and common/mma.h.

#include "common/stored.h"

typedef struct ALIGNED(16) {
    E v[VE];
} Elements;

// a number as the storage type holds it; matrix cores want it so
#ifdef DTYPE_FLOAT
DEVICE E stored_of(float v) { return v; }
#elif defined(DTYPE_HALF)
DEVICE E stored_of(float v) { return (E)half_bits(v); }
#else
DEVICE E stored_of(float v) { return (E)PD_BF16_FROM_FLOAT(v); }
#endif
#define element_of(v) stored_of(v)
