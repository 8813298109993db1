// Gradient of softmax of rows in slices; softmax/softmax.h has the formulas.

#include "softmax/softmax.h"
#include "softmax/slices.h"

KERNEL WG_SIZE(GROUP, 1, 1)
softmax_backward_partial(TENSOR(T, y), TENSOR(T, dy), TENSOR(real, sums), const int first) {
    GRID_WAIT();
    LOCAL real scratch[SCRATCH];
    BIND(T, y);
    BIND(T, dy);
    BIND(real, sums);
    SLICE_PROLOGUE
    const idx_t from = Y_OUTER(o);
    vreal total = VSPLAT(0);

    for (idx_t r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal a[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) {
            const idx_t at = from + Y_REDUCE(r + i * TR);
            if (r + i * TR < end) {
                a[i] = VLOAD(dy, at);
                if (!IS_LOG) a[i] = a[i] * VLOAD(y, at);
            } else {
                a[i] = VSPLAT(0);
            }
        }
        UNROLL for (int i = 1; i < ROUNDS; ++i) a[0] = a[0] + a[i];
        total = total + a[0];
    }
    const part sum = tile_sum(fold_sum(total), scratch, lid);
    if (inside && TILE_REDUCE(lid) == 0) part_store(sums, slice, o, sum);
}

KERNEL WG_SIZE(GROUP, 1, 1)
softmax_backward_finish(TENSOR(T, y), TENSOR(T, dy), TENSOR(T, dx), TENSOR(real, sums), const int first,
                        const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL real scratch[SCRATCH];
    BIND(T, y);
    BIND(T, dy);
    BIND(T, dx);
    BIND(real, sums);
    SLICE_PROLOGUE
    const idx_t from = Y_OUTER(o), to = DX_OUTER(o);
    part sum = PART_SPLAT(0);

    for (idx_t k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) sum = sum + part_load(sums, k, o);
    sum = tile_sum(sum, scratch, lid);
    for (idx_t r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal a[ROUNDS], b[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end) {
                const idx_t at = from + Y_REDUCE(r + i * TR);
                a[i] = VLOAD(y, at);
                b[i] = VLOAD(dy, at);
            }
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end) {
                const vreal value = GRADIENT(a[i], b[i], sum);
                VBLEND(dx, to + DX_REDUCE(r + i * TR), alpha, value, beta);
            }
    }
}
