// Gradient to the matrices of a mixture of experts: of each number the sum over the expert's rows.
#include "nodes/moe.h"

KERNEL WG_SIZE(ITEMS, 1, 1)
moe_backward(TENSOR(const ELEMENT(Y_T), y), TENSOR(const ELEMENT(X_T), x), TENSOR(const int, offset),
             TENSOR(ELEMENT(W_T), w)) {
    GRID_WAIT();
    BIND(const ELEMENT(Y_T), y);
    BIND(const ELEMENT(X_T), x);
    BIND(const int, offset);
    BIND(ELEMENT(W_T), w);
    EACH_NUMBER(i) {
        const i64 n = i % OUT, k = i / OUT % WIDTH, e = i / ((i64)OUT * WIDTH);
        const i64 end = start_of(offset, e + 1);
        real sum = 0;
        for (i64 r = start_of(offset, e); r < end; ++r) sum += GET(X_T, x, r * X_1 + k * X_2) * GET(Y_T, y, r * Y_1 + n * Y_2);
        PUT(W_T, w, e * W_0 + k * W_1 + n * W_2, sum);
    }
}
