// Rows that a work-item keeps, as K vectors; include after common/types.h.

#if K <= 32
#define KEPT UNROLL
#else
#define KEPT  // on a CPU the row is in an array, not in registers
#endif
// long sums in blocks, so that rounding errors stay small; term i of K
#define BLOCKWISE_ADD(total, block, i, term)                                                               \
    block = block + (term);                                                                                \
    if ((i) % 32 == 31 || (i) == K - 1) {                                                                  \
        total = total + block;                                                                             \
        block = VSPLAT(0);                                                                                 \
    }
