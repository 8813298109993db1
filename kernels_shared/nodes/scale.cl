// Block scaling: a scale for each block of SIZE elements, and the elements divided by it. A work-item has a block, or a place of a tile that
// has none, which becomes 0.
//
// Host defines, besides nodes/items.h's: UNRAVEL(i), which declares the indices i0, i1 ... of block i; INSIDE, whether there is such a block;
// X_AT, Y_AT, S_AT, where its elements begin, in elements, and its scale; X_STEP, Y_STEP, from one element to the next; X_T, the type of x by
// name (common/stored.h); SCALE_BITS(largest) and SCALE_VALUE(bits), the scale; Y_BITS(v), an element; NIBBLES, for two in a byte.
#include "nodes/blocks.h"

#define QUANTISED(k) Y_BITS(scale == 0 ? 0 : (float)GET(X_T, x, from + (k) * X_STEP) / scale)

KERNEL WG_SIZE(ITEMS, 1, 1)
scale_blocks(TENSOR(const ELEMENT(X_T), x), TENSOR(byte, y), TENSOR(byte, s)) {
    GRID_WAIT();
    BIND(const ELEMENT(X_T), x);
    BIND(byte, y);
    BIND(byte, s);
    EACH_NUMBER(i) {
        UNRAVEL(i)
        u32 bits = 0;
        if (INSIDE) {
            const i64 from = X_AT, to = Y_AT;
            float largest = 0;
            for (int k = 0; k < SIZE; ++k) {
                const float v = fabs((float)GET(X_T, x, from + k * X_STEP));
                largest = v > largest || v != v ? v : largest;
            }
            bits = SCALE_BITS(largest);
            const float scale = SCALE_VALUE(bits);
#ifdef NIBBLES
            for (int k = 0; k < SIZE; k += 2) y[(to + k) / 2] = (byte)(QUANTISED(k) | QUANTISED(k + 1) << 4);
#else
            for (int k = 0; k < SIZE; ++k) y[to + k * Y_STEP] = (byte)QUANTISED(k);
#endif
        }
        s[S_AT] = (byte)bits;
    }
}
