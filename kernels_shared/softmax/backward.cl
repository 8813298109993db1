// Gradient of softmax of rows that are kept in registers; softmax/softmax.h has the formulas.

#include "softmax/softmax.h"
#include "common/kept.h"

KERNEL WG_SIZE(GROUP, 1, 1)
softmax_backward(TENSOR(T, y), TENSOR(T, dy), TENSOR(T, dx), const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL real scratch[SCRATCH];
    BIND(T, y);
    BIND(T, dy);
    BIND(T, dx);
    const int lid = LID(0);
    const idx_t o = (idx_t)GRP(0) * TO + TILE_OUTER(lid);
    const idx_t r0 = TILE_REDUCE(lid);
    const bool inside = o < OUTER;
    const idx_t from = Y_OUTER(o), to = DX_OUTER(o);
    vreal a[K], b[K], total = VSPLAT(0), block = VSPLAT(0);

    KEPT for (int i = 0; i < K; ++i) {
        const idx_t r = r0 + i * TR;
        const bool in = inside && r < REDUCE;
        a[i] = in ? VLOAD(y, from + Y_REDUCE(r)) : VSPLAT(0);
        b[i] = in ? VLOAD(dy, from + Y_REDUCE(r)) : VSPLAT(0);
    }
    KEPT for (int i = 0; i < K; ++i) {
        BLOCKWISE_ADD(total, block, i, TERM(a[i], b[i]));
    }
    const part sum = tile_sum(fold_sum(total), scratch, lid);
    KEPT for (int i = 0; i < K; ++i) {
        const idx_t r = r0 + i * TR;
        const vreal value = GRADIENT(a[i], b[i], sum);
        if (inside && r < REDUCE) VBLEND(dx, to + DX_REDUCE(r), alpha, value, beta);
    }
}
