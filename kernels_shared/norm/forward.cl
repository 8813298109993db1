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
#ifdef JOINT
#include "common/pieces.h"
#endif

#ifdef FUSED
#if K <= 32
#define KEPT UNROLL
#else
#define KEPT  // on a CPU the row is in an array, not in registers
#endif
// long sums in blocks, so that rounding errors stay small; term i of K
#define BLOCKWISE_ADD(total, block, i, term)                                                               \
    block = block + (term);                                                                                \
    if ((i) % 32 == 31 || (i) == K - 1) {                                                                  \
        total = total + block;                                                                             \
        block = VSPLAT(0);                                                                                 \
    }

KERNEL WG_SIZE(GROUP, 1, 1)
norm_forward(TENSOR(T, x), SCALE_ARG BIAS_ARG TENSOR(T, y), RUNNING_ARGS SAVED_ARGS const real alpha,
             const real beta, const real epsilon FACTOR_ARG) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND_SCALE;
    BIND_BIAS;
    BIND(T, y);
    BIND_RUNNING;
    BIND_SAVED;
    const int lid = LID(0);
    const u32 o = (u32)GRP(0) * TO + TILE_OUTER(lid);
    const u32 r0 = TILE_REDUCE(lid);
    const bool inside = o < OUTER;
    const u32 from = X_OUTER(o), to = Y_OUTER(o);
    vreal v[K], total = VSPLAT(0), block = VSPLAT(0);

#ifndef RMS
    part pivot = PART_SPLAT(0);
    if (inside && REDUCE > 0) {
        vreal head = VLOAD(x, from + X_REDUCE(0));
        pivot = FOLD_FIRST(head);
    }
#endif
    KEPT for (int i = 0; i < K; ++i) {
        const u32 r = r0 + i * TR;
        v[i] = VSPLAT(0);
        if (inside && r < REDUCE) v[i] = VLOAD(x, from + X_REDUCE(r));
    }
#ifndef RMS
    KEPT for (int i = 0; i < K; ++i) {
        if (r0 + i * TR < REDUCE) v[i] = v[i] - pivot;
        BLOCKWISE_ADD(total, block, i, v[i]);
    }
    const part rest = tile_sum(fold_sum(total), scratch, lid) / (real)COUNT;
    total = VSPLAT(0);
#endif
    KEPT for (int i = 0; i < K; ++i) {
#ifndef RMS
        if (r0 + i * TR < REDUCE) v[i] = v[i] - rest;
#endif
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
#endif

#if defined(PARTIAL) || defined(JOINT)
// Moments of the slice of a work-group; pivots[o] is where its means count from.
DEVICE void slice_moments(GLOBAL T *x, GLOBAL real *means, GLOBAL real *squares, GLOBAL real *pivots,
                          LOCAL_ARG real *scratch, int first, int group, int lid) {
    SLICE_PROLOGUE(group)
    const u32 from = X_OUTER(o);
    vreal mean = VSPLAT(0), square = VSPLAT(0);
#ifdef RMS
    for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) {
            v[i] = VSPLAT(0);
            if (r + i * TR < end) v[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
        }
        vreal block = v[0] * v[0];
        UNROLL for (int i = 1; i < ROUNDS; ++i) block = block + v[i] * v[i];
        square = square + block;
    }
    const part sum = tile_sum(fold_sum(square), scratch, lid);
    if (inside && TILE_REDUCE(lid) == 0) part_store(squares, slice, o, sum);
#else
    part pivot = PART_SPLAT(0);
    real n = 0;

    if (inside) {
        vreal head = VLOAD(x, from + X_REDUCE(0));
        pivot = FOLD_FIRST(head);
    }
    for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal d[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) {
            d[i] = VSPLAT(0);
            if (r + i * TR < end) d[i] = VLOAD(x, from + X_REDUCE(r + i * TR)) - pivot;
        }
        const u32 left = (end - r + TR - 1) / TR;
        const real valid = left < ROUNDS ? (real)left : (real)ROUNDS;
        ADD_BLOCK(n, mean, square, d, valid)
    }
    moments m = fold_moments(mean, square, n);
    m = tile_moments(m, n * UNIT, SLICE_NUMBERS(slice), scratch, scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
        part_store(means, slice, o, m.mean);
        part_store(squares, slice, o, m.squares);
        if (slice == 0) part_store(pivots, 0, o, pivot);
    }
#endif
}
#endif

#ifdef PARTIAL
KERNEL WG_SIZE(GROUP, 1, 1)
norm_partial(TENSOR(T, x), TENSOR(real, means), TENSOR(real, squares), TENSOR(real, pivots), const int first) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(real, means);
    BIND(real, squares);
    BIND(real, pivots);
    slice_moments(x, means, squares, pivots, scratch, first, GRP(0), LID(0));
}
#endif

#if defined(APPLY) || defined(JOINT)
KERNEL WG_SIZE(GROUP, 1, 1)
#ifdef JOINT
norm_joint(TENSOR(T, x), SCALE_ARG BIAS_ARG TENSOR(T, y), RUNNING_ARGS SAVED_ARGS TENSOR(real, means),
           TENSOR(real, squares), TENSOR(real, pivots), TENSOR(int, counters), const real alpha, const real beta,
           const real epsilon FACTOR_ARG) {
    GRID_WAIT();
    LOCAL int slot[1];
    BIND(int, counters);
    const int first = 0, own = GRP(0) / SLICES * SLICES;  // the first slice of its tile
    counters += GRP(0) / SLICES * PIECE_COUNTERS;
#else
norm_apply(TENSOR(T, x), SCALE_ARG BIAS_ARG TENSOR(T, y), RUNNING_ARGS SAVED_ARGS TENSOR(real, means),
           TENSOR(real, squares), TENSOR(real, pivots), const int first, const real alpha, const real beta,
           const real epsilon FACTOR_ARG) {
    GRID_WAIT();
#endif
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND_SCALE;
    BIND_BIAS;
    BIND(T, y);
    BIND_RUNNING;
    BIND_SAVED;
    BIND(real, means);
    BIND(real, squares);
    BIND(real, pivots);
    const int lid = LID(0);
#ifdef JOINT
    start_group(counters, lid);
    slice_moments(x, means, squares, pivots, scratch, first, GRP(0), lid);
    int piece = gather_groups(counters, slot, lid, SLICES);
    while (piece < SLICES) {
        const int next = reserve_piece(counters, lid), group = own + piece;
#else
    {
        const int group = GRP(0);
#endif
        SLICE_PROLOGUE(group)
        const u32 from = X_OUTER(o), to = Y_OUTER(o);
#ifdef RMS
        part sum = PART_SPLAT(0);
        for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) sum = sum + part_load(squares, k, o);
        const part inverse = (real)1 / sqrt(tile_sum(sum, scratch, lid) / (real)COUNT + epsilon);
#define CENTRED(v) (v)
#else
        const moments m = merge_slices(means, squares, o, inside, scratch, scratch + SCRATCH, lid);
        const part inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
        const part pivot = inside ? part_load(pivots, 0, o) : PART_SPLAT(0);
#define CENTRED(v) ((v) - pivot - m.mean)
#endif
        if (inside && slice == 0 && TILE_REDUCE(lid) == 0) {
            STORE_RUNNING(pivot + m.mean, m.squares)
            STORE_SAVED(pivot + m.mean, inverse)
        }
        GAIN_AND_SHIFT(inverse)
        for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
            vreal v[ROUNDS];
            UNROLL for (int i = 0; i < ROUNDS; ++i)
                if (r + i * TR < end) v[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
            UNROLL for (int i = 0; i < ROUNDS; ++i)
                if (r + i * TR < end)
                    VBLEND(y, to + Y_REDUCE(r + i * TR), alpha, AFFINE(CENTRED(v[i]), r + i * TR), beta);
        }
#ifdef JOINT
        piece = next_piece(slot, lid, next);
#endif
    }
#ifdef JOINT
    close_pieces(counters, leave_pieces(counters, lid), SLICES);
#endif
}
#endif

#ifdef INFERENCE
KERNEL WG_SIZE(GROUP, 1, 1)
norm_inference(TENSOR(T, x), GIVEN_ARGS TENSOR(T, y), const real alpha, const real beta, const real epsilon) {
    GRID_WAIT();
    BIND(T, x);
    BIND_GIVEN;
    BIND(T, y);
    const int first = 0;
    const int lid = LID(0);
    SLICE_PROLOGUE(GRP(0))
    if (!inside) return;
    const u32 from = X_OUTER(o), to = Y_OUTER(o);
    const part mean = READ(estimated_mean, ESTIMATED_MEAN, o);
    const part variance = READ(estimated_variance, ESTIMATED_VARIANCE, o);
    GAIN_AND_SHIFT((real)1 / sqrt(variance + epsilon))
    for (u32 r = r0; r < end; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end) v[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end)
                VBLEND(y, to + Y_REDUCE(r + i * TR), alpha, AFFINE(v[i] - mean, r + i * TR), beta);
    }
}
#endif
