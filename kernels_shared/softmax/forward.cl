// Softmax of rows that are kept in registers; softmax/softmax.h has the formulas.

#include "softmax/softmax.h"
#include "common/kept.h"

KERNEL WG_SIZE(GROUP, 1, 1)
softmax_forward(TENSOR(T, x), TENSOR(T, y), const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(T, y);
    const int lid = LID(0);
    const idx_t o = (idx_t)GRP(0) * TO + TILE_OUTER(lid);
    const idx_t r0 = TILE_REDUCE(lid);
    const bool inside = o < OUTER;
    const idx_t from = X_OUTER(o), to = Y_OUTER(o);
    vreal v[K];

    KEPT for (int i = 0; i < K; ++i) {
        const idx_t r = r0 + i * TR;
        v[i] = inside && r < REDUCE ? VLOAD(x, from + X_REDUCE(r)) : OUTSIDE;
    }
    part maximum = PART_SPLAT(FIRST_TOP);
    if (!IS_FAST) {
        vreal top = VSPLAT(LOWEST_REAL);
        KEPT for (int i = 0; i < K; ++i) top = fmax(top, v[i]);
        maximum = tile_max(fold_max(top), scratch, lid);
    }
    vreal total = VSPLAT(0), block = VSPLAT(0);
    KEPT for (int i = 0; i < K; ++i) {
        if (!IS_FAST) v[i] = v[i] - maximum;
        const vreal e = exp(v[i]);
        BLOCKWISE_ADD(total, block, i, e);
        if (!IS_LOG) v[i] = e;
    }
    const part factor = FINISH_FACTOR(tile_sum(fold_sum(total), scratch + SCRATCH, lid));
    KEPT for (int i = 0; i < K; ++i) {
        const idx_t r = r0 + i * TR;
        if (inside && r < REDUCE) VBLEND(y, to + Y_REDUCE(r), alpha, FINISH(v[i], factor), beta);
    }
}
