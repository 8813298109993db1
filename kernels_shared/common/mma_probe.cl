// Whether a compiler has the instructions of common/mma_fragment.h: one step of a product, as the host compiles it for a device.

#include "common/types.h"
#include "common/mma.h"
#include "common/mma_tile.h"

KERNEL WG_SIZE(ITEMS, 1, 1) mma_probe(TENSOR_RESTRICT(const E, a), TENSOR_RESTRICT(float, out)) {
    GRID_WAIT();
    BIND_RESTRICT(const E, a);
    BIND_RESTRICT(float, out);
    LOCAL Chunk slice[SLICE];
    const int item = LID(0), lane = item % WAVE;
#ifdef ASYNC
    for (int i = item; i < SLICE; i += ITEMS) copy_chunk(slice + i, a + i * VE, 1);
    copies_issued();
    copies_wait();
#else
    for (int i = item; i < SLICE; i += ITEMS) slice[i] = ((const GLOBAL Chunk *)a)[i];
#endif
    BARRIER();
    Sums acc[MT][NT];
    clear_sums(acc);
    multiply_slice(slice, first_row(lane, PART_M(item)), first_column(lane, PART_N(item)), acc);
    UNROLL for (int e = 0; e < SUMS; ++e) out[item * SUMS + e] = acc[0][0][e];
}
