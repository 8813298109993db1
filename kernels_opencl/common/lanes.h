// Transpose VW vectors.
#if VW == 1
#define transpose(rows)
#elif defined(__clang__) && defined(__x86_64__) && !defined(DTYPE_DOUBLE) && VW >= 8
// In blocks of four lanes first, by shuffles that stay within them, then the blocks: each is one instruction.
#define PD_SHUFFLE __builtin_shufflevector
#if VW == 16
#define PD_IN_BLOCKS(a, b, i, j, k, l)                                                                                    \
    PD_SHUFFLE(a, b, i, j, k, l, (i) + 4, (j) + 4, (k) + 4, (l) + 4, (i) + 8, (j) + 8, (k) + 8, (l) + 8, (i) + 12, (j) + 12, \
            (k) + 12, (l) + 12)
#define PD_BLOCK_AT(i) (i), (i) + 1, (i) + 2, (i) + 3
#define PD_BLOCKS_OF(a, b, i) PD_SHUFFLE(a, b, PD_BLOCK_AT(i), PD_BLOCK_AT((i) + 8), PD_BLOCK_AT((i) + 16), PD_BLOCK_AT((i) + 24))
#else
#define PD_IN_BLOCKS(a, b, i, j, k, l) PD_SHUFFLE(a, b, i, j, k, l, (i) + 4, (j) + 4, (k) + 4, (l) + 4)
#endif
DEVICE void transpose(vreal *rows) {
    vreal t[VW];
    UNROLL for (int i = 0; i < VW; i += 4) {
        const vreal a = PD_IN_BLOCKS(rows[i], rows[i + 1], 0, VW, 1, VW + 1);
        const vreal b = PD_IN_BLOCKS(rows[i], rows[i + 1], 2, VW + 2, 3, VW + 3);
        const vreal c = PD_IN_BLOCKS(rows[i + 2], rows[i + 3], 0, VW, 1, VW + 1);
        const vreal d = PD_IN_BLOCKS(rows[i + 2], rows[i + 3], 2, VW + 2, 3, VW + 3);
        t[i] = PD_IN_BLOCKS(a, c, 0, 1, VW, VW + 1);
        t[i + 1] = PD_IN_BLOCKS(a, c, 2, 3, VW + 2, VW + 3);
        t[i + 2] = PD_IN_BLOCKS(b, d, 0, 1, VW, VW + 1);
        t[i + 3] = PD_IN_BLOCKS(b, d, 2, 3, VW + 2, VW + 3);
    }
    UNROLL for (int i = 0; i < 4; ++i) {
#if VW == 16
        const vreal even0 = PD_BLOCKS_OF(t[i], t[i + 4], 0), odd0 = PD_BLOCKS_OF(t[i], t[i + 4], 4);
        const vreal even1 = PD_BLOCKS_OF(t[i + 8], t[i + 12], 0), odd1 = PD_BLOCKS_OF(t[i + 8], t[i + 12], 4);
        rows[i] = PD_BLOCKS_OF(even0, even1, 0);
        rows[i + 4] = PD_BLOCKS_OF(odd0, odd1, 0);
        rows[i + 8] = PD_BLOCKS_OF(even0, even1, 4);
        rows[i + 12] = PD_BLOCKS_OF(odd0, odd1, 4);
#else
        rows[i] = (vreal)(t[i].lo, t[i + 4].lo);
        rows[i + 4] = (vreal)(t[i].hi, t[i + 4].hi);
#endif
    }
}
#else
// Each round deals the lanes of neighbours, even ones to the first half, odd ones to the second.
DEVICE void transpose(vreal *rows) {
    UNROLL for (int round = 1; round < VW; round *= 2) {
        vreal dealt[VW];
        UNROLL for (int i = 0; i < VW / 2; ++i) {
            dealt[i] = (vreal)(rows[2 * i].even, rows[2 * i + 1].even);
            dealt[i + VW / 2] = (vreal)(rows[2 * i].odd, rows[2 * i + 1].odd);
        }
        UNROLL for (int i = 0; i < VW; ++i) rows[i] = dealt[i];
    }
}
#endif
