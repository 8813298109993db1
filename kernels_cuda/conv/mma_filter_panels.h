// conv/mma_filter.cu's slices as panels, and their products by warpgroups: both sides lie across K.

#define A_PITCH (BM * 2)
#define B_PITCH (BN * 2)
#define A_DOWN ACROSS_DOWN
#define B_DOWN ACROSS_DOWN
#define A_PLACE ACROSS_AT
#define B_PLACE ACROSS_AT
#define ROW_OF(i, r) (16 * (i) + (r))
#define COLUMN_OF(j, c) (8 * (j) + (c))

#include "conv/mma_warpgroups.h"
static_assert(MT == 1, "rows of sub-groups follow each other");

template <class Bring> DEVICE void multiply_slices(float acc[MT][NT][4], u32 base, int count, Bring bring) {
    multiply_slices<1, 1>(acc, base, A_BYTES, count, bring, [](int next) {});
}
