// Rotary position embedding of (b, h, s, d): pairs (i, i + TURNED / 2) of a row's first TURNED elements, turned by the angle of
// position s in column i of the table; SIGN is -1 in the gradient, which turns back.
//
// Host defines, besides nodes/items.h's: D1 D2 D3, dims; X_0 to X_3, Y_0 to Y_3, F_0 and F_3, strides of input, result and table;
// X_T, Y_T, F_T, types by name (common/stored.h); TURNED, SIGN, FACTOR.
#include "nodes/items.h"

KERNEL WG_SIZE(ITEMS, 1, 1)
rope(TENSOR(const ELEMENT(X_T), x), TENSOR(const ELEMENT(F_T), table), TENSOR(ELEMENT(Y_T), y)) {
    GRID_WAIT();
    BIND(const ELEMENT(X_T), x);
    BIND(const ELEMENT(F_T), table);
    BIND(ELEMENT(Y_T), y);
    EACH_NUMBER(i) {
        const i64 d = i % D3, s = i / D3 % D2, h = i / ((i64)D3 * D2) % D1, b = i / ((i64)D3 * D2 * D1);
        const i64 row = b * X_0 + h * X_1 + s * X_2;
        real v = GET(X_T, x, row + d * X_3);
        if (d < TURNED) {
            const bool low = d < TURNED / 2;
            const real angle = GET(F_T, table, s * F_0 + (low ? d : d - TURNED / 2) * F_3);
            const real other = GET(X_T, x, row + (low ? d + TURNED / 2 : d - TURNED / 2) * X_3);
            v = v * cos(angle) + (low ? -other : other) * ((real)(SIGN) * sin(angle));
        }
        PUT(Y_T, y, b * Y_0 + h * Y_1 + s * Y_2 + d * Y_3, v * (real)(FACTOR));
    }
}
