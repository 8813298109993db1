// Transpose VW vectors: each round deals the lanes of neighbours, even ones to the first half, odd ones to the second.
#if VW == 1
#define transpose(rows)
#else
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
