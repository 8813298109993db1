// Normalisation, forward: y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y.
//
//   norm_forward     rows short enough are kept in registers, K vectors a work-item: one read of x, one write of y
//   norm_partial     otherwise each work-group leaves the moments of one slice of a row in the workspace, and
//   norm_apply       merges them all, in the same order everywhere, before it treats its slice; x is read once more
//   norm_joint       both in one launch, for tensors so small that a launch counts: work-groups wait for each other (common/pieces.h)
//   norm_inference   statistics are given: only the slices are needed
//                    (norm/runs.cl has that of planes which are no multiple of a vector)
//
// norm/norm.h and common/reduce.h draw the tiles and list the defines. Running and saved statistics are written by the work-group of a
// row's first slice. Pointers are not restrict, because y may be x.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/forward.h"
#include "common/kept.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_forward(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int lid = LID(0);
    const u32 o = (u32)GRP(0) * TO + TILE_OUTER(lid);
    const u32 r0 = TILE_REDUCE(lid);
    const bool inside = o < OUTER;
    const u32 from = X_OUTER(o), to = Y_OUTER(o);
    vreal v[K], total = VSPLAT(0), block = VSPLAT(0);

    part pivot = PART_SPLAT(0), rest = PART_SPLAT(0);
    if (!RMS && inside && REDUCE > 0) {
        vreal head = VLOAD(x, from + X_REDUCE(0));
        pivot = FOLD_FIRST(head);
    }
    KEPT for (int i = 0; i < K; ++i) {
        const u32 r = r0 + i * TR;
        v[i] = VSPLAT(0);
        if (inside && r < REDUCE) v[i] = VLOAD(x, from + X_REDUCE(r));
    }
    if (!RMS) {
        KEPT for (int i = 0; i < K; ++i) {
            if (r0 + i * TR < REDUCE) v[i] = v[i] - pivot;
            BLOCKWISE_ADD(total, block, i, v[i]);
        }
        rest = tile_sum(fold_sum(total), scratch, lid) / (real)COUNT;
        total = VSPLAT(0);
    }
    KEPT for (int i = 0; i < K; ++i) {
        if (!RMS && r0 + i * TR < REDUCE) v[i] = v[i] - rest;
        BLOCKWISE_ADD(total, block, i, v[i] * v[i]);
    }
    const part squares = tile_sum(fold_sum(total), scratch + SCRATCH, lid);
    const part inverse = (real)1 / sqrt(squares / (real)COUNT + epsilon);
    if (inside && TILE_REDUCE(lid) == 0) {
        STORE_RUNNING(pivot + rest, squares)
        STORE_SAVED(pivot + rest, inverse)
    }
    GAIN_AND_SHIFT(inverse)
    KEPT for (int i = 0; i < K; ++i) {
        const u32 r = r0 + i * TR;
        if (inside && r < REDUCE) VBLEND(y, to + Y_REDUCE(r), alpha, AFFINE(v[i], r), beta);
    }
}
