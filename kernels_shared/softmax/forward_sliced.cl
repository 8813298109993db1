// Softmax of rows in slices; softmax/softmax.h has the formulas.

#include "softmax/softmax.h"
#include "softmax/slices.h"

KERNEL WG_SIZE(GROUP, 1, 1)
softmax_partial(TENSOR(T, x), TENSOR(real, tops), TENSOR(real, sums), const int first) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(real, tops);
    BIND(real, sums);
    SLICE_PROLOGUE
    const idx_t from = X_OUTER(o);
    vreal top = VSPLAT(FIRST_TOP), total = VSPLAT(0);

    for (idx_t r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            v[i] = r + i * TR < end ? VLOAD(x, from + X_REDUCE(r + i * TR)) : OUTSIDE;
        if (!IS_FAST) {
            vreal higher = top;
            UNROLL for (int i = 0; i < ROUNDS; ++i) higher = fmax(higher, v[i]);
            total = total * exp(top - higher);
            top = higher;
        }
        vreal block = exp(v[0] - top);
        UNROLL for (int i = 1; i < ROUNDS; ++i) block = block + exp(v[i] - top);
        total = total + block;
    }
    part maximum = PART_SPLAT(FIRST_TOP);
    if (!IS_FAST) {
        maximum = tile_max(fold_max(top), scratch, lid);
        total = total * exp(top - maximum);
    }
    const part sum = tile_sum(fold_sum(total), scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
        if (!IS_FAST) part_store(tops, slice, o, maximum);
        part_store(sums, slice, o, sum);
    }
}

KERNEL WG_SIZE(GROUP, 1, 1)
softmax_finish(TENSOR(T, x), TENSOR(T, y), TENSOR(real, tops), TENSOR(real, sums), const int first,
               const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(T, y);
    BIND(real, tops);
    BIND(real, sums);
    SLICE_PROLOGUE
    const idx_t from = X_OUTER(o), to = Y_OUTER(o);
    part maximum = PART_SPLAT(FIRST_TOP), sum = PART_SPLAT(0);

    if (!IS_FAST) {
        for (idx_t k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) maximum = fmax(maximum, part_load(tops, k, o));
        maximum = tile_max(maximum, scratch, lid);
    }
    for (idx_t k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
        if (IS_FAST) sum = sum + part_load(sums, k, o);
        else sum = sum + part_load(sums, k, o) * exp(part_load(tops, k, o) - maximum);
    }
    const part factor = FINISH_FACTOR(tile_sum(sum, scratch + SCRATCH, lid));
    for (idx_t r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end) v[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end)
                VBLEND(y, to + Y_REDUCE(r + i * TR), alpha, FINISH_X(v[i] - maximum, factor), beta);
    }
}
