// y = alpha * x + beta * y where x is contiguous along one axis (b) and y along another (a): a transpose by tiles.
//
// Host defines: SIZE_A, SIZE_B; X_STRIDE_A (x's step along a), Y_STRIDE_B (y's step along b); X_BATCH(i), Y_BATCH(i) (first
// element of batch i over all other axes); TILE = 32 and ROWS = 8, which make a work-group of 32 x 8.
//
//        x: b ->              local            y: a ->
//     a  +------+          +--------+       b  +------+
//     |  | tile | rows --> | 32x33  | -->   |  | tile | rows      both sides move whole 32-element rows;
//     v  +------+          +--------+       v  +------+           the 33rd column keeps local banks apart
#include "common/types.h"

KERNEL WG_SIZE(TILE, ROWS, 1)
    transpose(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, y), const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, y);
    LOCAL real tile[TILE * (TILE + 1)];
    const idx_t tiles_a = (SIZE_A + TILE - 1) / TILE, tiles_b = (SIZE_B + TILE - 1) / TILE;
    const idx_t group = GRP(0);
    const idx_t first_b = group % tiles_b * TILE, first_a = group / tiles_b % tiles_a * TILE, batch = group / (tiles_b * tiles_a);
    const idx_t x0 = X_BATCH(batch), y0 = Y_BATCH(batch);
    const idx_t b = first_b + LID(0), a = first_a + LID(0);
    UNROLL for (int step = 0; step < TILE / ROWS; ++step) {
        const int j = step * ROWS + LID(1);
        if (first_a + j < SIZE_A && b < SIZE_B)
            tile[j * (TILE + 1) + LID(0)] = LOAD(x, x0 + (first_a + j) * X_STRIDE_A + b);
    }
    BARRIER();
    UNROLL for (int step = 0; step < TILE / ROWS; ++step) {
        const int j = step * ROWS + LID(1);
        if (first_b + j < SIZE_B && a < SIZE_A)
            BLEND(y, y0 + (first_b + j) * Y_STRIDE_B + a, alpha, tile[LID(0) * (TILE + 1) + j], beta);
    }
}
