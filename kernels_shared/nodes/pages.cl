// Loading pages: element (b, h, s, d) is that of page table[b, s / SIZE] of a container, head h, row s % SIZE; 0 where there is no page.
//
// Host defines, besides nodes/items.h's: D1 D2 D3, dims of the result; SIZE, rows of a page; PAGES, pages of the container; X_0 to X_3, Y_0 to Y_3,
// strides of container and result; P_0 P_2, of the table; X_T, Y_T, types by name (common/stored.h).
#include "nodes/items.h"

KERNEL WG_SIZE(ITEMS, 1, 1)
load_pages(TENSOR(const ELEMENT(X_T), x), TENSOR(const int, table), TENSOR(ELEMENT(Y_T), y)) {
    GRID_WAIT();
    BIND(const ELEMENT(X_T), x);
    BIND(const int, table);
    BIND(ELEMENT(Y_T), y);
    EACH_NUMBER(i) {
        const i64 d = i % D3, s = i / D3 % D2, h = i / ((i64)D3 * D2) % D1, b = i / ((i64)D3 * D2 * D1);
        const i64 page = table[b * P_0 + s / SIZE * P_2];
        const bool there = page >= 0 && page < (i64)PAGES;
        const i64 from = (there ? page : 0) * X_0 + h * X_1 + s % SIZE * X_2 + d * X_3;
        PUT(Y_T, y, b * Y_0 + h * Y_1 + s * Y_2 + d * Y_3, there ? GET(X_T, x, from) : (real)0);
    }
}
