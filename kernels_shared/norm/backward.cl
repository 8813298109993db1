// Normalisation, backward. With a = x - mean, g = dy * scale and sums over the COUNT numbers normalised together:
//
//   dx = inverse * (g - sum(g) / COUNT - a * inverse^2 * sum(g * a) / COUNT)      (RMS: without sum(g))
//   dscale = inverse * sum(dy * a),  dbias = sum(dy)                               (batch normalisation: PARAMETER_GRADIENTS)
//
//   norm_backward           rows short enough are kept in registers, K vectors of x and of dy a work-item
//   norm_backward_partial   otherwise each work-group leaves the sums of one slice of a row in the workspace, and
//   norm_backward_apply     adds them all, in the same order everywhere, before it treats its slice
//   norm_backward_joint     both in one launch, for tensors so small that a launch counts: work-groups wait for each other
//   norm_moments            makes statistics of what norm_partial left, where the call brings none
//
// norm/backward.h has where the statistics come from.
// Pointers are not restrict, because dx may be dy.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/backward.h"
#include "common/kept.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_backward(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int lid = LID(0);
    const u32 o = (u32)GRP(0) * TO + TILE_OUTER(lid);
    const u32 r0 = TILE_REDUCE(lid);
    const bool inside = o < OUTER;
    const u32 from = X_OUTER(o), at = DY_OUTER(o), to = DX_OUTER(o);
    vreal a[K], g[K], total = VSPLAT(0), block = VSPLAT(0);
    part pivot = PART_SPLAT(0), rest = PART_SPLAT(0), inverse = PART_SPLAT(0);

    if (STATS_KNOWN && inside) {
        LOAD_STATS
    }
    if (!STATS_KNOWN && !RMS && inside && REDUCE > 0) {
        vreal head = VLOAD(x, from + X_REDUCE(0));
        pivot = FOLD_FIRST(head);
    }
    KEPT for (int i = 0; i < K; ++i) {
        const u32 r = r0 + i * TR;
        a[i] = g[i] = VSPLAT(0);
        if (inside && r < REDUCE) {
            a[i] = VLOAD(x, from + X_REDUCE(r));
            g[i] = VLOAD(dy, at + DY_REDUCE(r));
        }
    }
    if (STATS_KNOWN) {
        KEPT for (int i = 0; i < K; ++i)
            if (r0 + i * TR < REDUCE) a[i] = CENTRED(a[i]);
    } else {
        if (!RMS) {
            KEPT for (int i = 0; i < K; ++i) {
                if (r0 + i * TR < REDUCE) a[i] = a[i] - pivot;
                BLOCKWISE_ADD(total, block, i, a[i]);
            }
            rest = tile_sum(fold_sum(total), scratch, lid) / (real)COUNT;
            total = VSPLAT(0);
        }
        KEPT for (int i = 0; i < K; ++i) {
            if (!RMS && r0 + i * TR < REDUCE) a[i] = a[i] - rest;
            BLOCKWISE_ADD(total, block, i, a[i] * a[i]);
        }
        const part squares = tile_sum(fold_sum(total), scratch + SCRATCH, lid);
        inverse = (real)1 / sqrt(squares / (real)COUNT + epsilon);
        total = VSPLAT(0);
    }
    vreal products = VSPLAT(0), products_block = VSPLAT(0);
    KEPT for (int i = 0; i < K; ++i) {
        const u32 r = r0 + i * TR;
        if (inside && r < REDUCE) g[i] = WEIGHTED(g[i], r);
        BLOCKWISE_ADD(total, block, i, g[i]);
        BLOCKWISE_ADD(products, products_block, i, g[i] * a[i]);
    }
    const part sum = tile_sum(fold_sum(total), scratch, lid);
    const part product = tile_sum(fold_sum(products), scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) STORE_GRADIENTS(product * inverse, sum)
    const part shift = sum / (real)COUNT, slope = inverse * inverse * product / (real)COUNT;
    const part gain = GAIN(inverse);
    KEPT for (int i = 0; i < K; ++i) {
        const u32 r = r0 + i * TR;
        if (inside && r < REDUCE)
            VBLEND(dx, to + DX_REDUCE(r), alpha, (WITHOUT_MEAN(g[i], shift) - a[i] * slope) * gain, beta);
    }
}
