// Products of a mixture of experts: rows (TOKENS x WIDTH) by the matrix of each row's expert (WIDTH x OUT), a sum for each number.
//
// Host defines, besides nodes/moe.h's: TOKENS, rows of x; MORE_ARGUMENTS, MORE_BIND, what else there is of indices; FROM(row), the row of
// x that row `row` of the product is of; PLACED(row), where row `row` of the product goes: with SEARCHED the row of a result is searched.
#include "nodes/moe.h"

#ifdef SEARCHED
#define ROW_OF(to)  \
    i64 row = -1;   \
    for (i64 r = 0; r < (i64)ROWS; ++r) row = PLACED(r) == to ? r : row;
#else
#define ROW_OF(to) const i64 row = to;
#endif

KERNEL WG_SIZE(ITEMS, 1, 1)
moe_forward(TENSOR(const ELEMENT(X_T), x), TENSOR(const ELEMENT(W_T), w), TENSOR(const int, offset),
            TENSOR(ELEMENT(Y_T), y) MORE_ARGUMENTS) {
    GRID_WAIT();
    BIND(const ELEMENT(X_T), x);
    BIND(const ELEMENT(W_T), w);
    BIND(const int, offset);
    BIND(ELEMENT(Y_T), y);
    MORE_BIND
    EACH_NUMBER(i) {
        const i64 n = i % OUT, to = i / OUT;
        ROW_OF(to)
        const i64 from = row < 0 ? -1 : (i64)(FROM(row));
        i64 expert = -1;
        for (i64 e = 0; e < (i64)EXPERTS; ++e)
            expert = row >= start_of(offset, e) && row < start_of(offset, e + 1) ? e : expert;
        real sum = 0;
        if (expert >= 0 && from >= 0 && from < (i64)TOKENS)
            for (i64 k = 0; k < (i64)WIDTH; ++k)
                sum += GET(X_T, x, from * X_1 + k * X_2) * GET(W_T, w, expert * W_0 + k * W_1 + n * W_2);
        PUT(Y_T, y, to * Y_1 + n * Y_2, sum);
    }
}
