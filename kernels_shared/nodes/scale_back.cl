// Block scaling back: each element times the scale of its block.
//
// Host defines, besides nodes/items.h's: UNRAVEL(i), which declares the indices i0, i1 ... of element i; X_VALUE and S_VALUE, the numbers of its
// element and scale, of the bytes x and s; Y_AT, where it goes; Y_T, its type by name (common/stored.h).
#include "nodes/blocks.h"

KERNEL WG_SIZE(ITEMS, 1, 1)
scale_back(TENSOR(const byte, x), TENSOR(const byte, s), TENSOR(ELEMENT(Y_T), y)) {
    GRID_WAIT();
    BIND(const byte, x);
    BIND(const byte, s);
    BIND(ELEMENT(Y_T), y);
    EACH_NUMBER(i) {
        UNRAVEL(i)
        PUT(Y_T, y, Y_AT, (real)(X_VALUE) * (real)(S_VALUE));
    }
}
