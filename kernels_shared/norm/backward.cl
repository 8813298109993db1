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
// Where the statistics come from: HAS_SAVED (the call's tensors, mean and inverse deviation), HAS_STATS (the workspace: pivot,
// rest of the mean and inverse deviation, by STAT_OUTER), or else norm_backward's own row.
// Pointers are not restrict, because dx may be dy.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/backward.h"
#ifdef BACKWARD_JOINT
#include "common/pieces.h"
#endif

#ifdef FUSED
#if K <= 32
#define KEPT UNROLL
#else
#define KEPT  // on a CPU the row is in an array, not in registers
#endif
#define BLOCKWISE_ADD(total, block, i, term)                                                               \
    block = block + (term);                                                                                \
    if ((i) % 32 == 31 || (i) == K - 1) {                                                                  \
        total = total + block;                                                                             \
        block = VSPLAT(0);                                                                                 \
    }

KERNEL WG_SIZE(GROUP, 1, 1)
norm_backward(TENSOR(T, x), TENSOR(T, dy), SCALE_ARG STATS_ARGS TENSOR(T, dx), GRADIENT_ARGS const real alpha,
              const real beta GRADIENT_NUMBERS, const real epsilon) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(T, dy);
    BIND_SCALE
    BIND_STATS
    BIND(T, dx);
    BIND_GRADIENTS
    const int lid = LID(0);
    const u32 o = (u32)GRP(0) * TO + TILE_OUTER(lid);
    const u32 r0 = TILE_REDUCE(lid);
    const bool inside = o < OUTER;
    const u32 from = X_OUTER(o), at = DY_OUTER(o), to = DX_OUTER(o);
    vreal a[K], g[K], total = VSPLAT(0), block = VSPLAT(0);
    part pivot = PART_SPLAT(0), rest = PART_SPLAT(0), inverse = PART_SPLAT(0);

#if defined(HAS_SAVED) || defined(HAS_STATS)
    if (inside) {
        LOAD_STATS
    }
#elif !defined(RMS)
    if (inside && REDUCE > 0) {
        vreal head = VLOAD(x, from + X_REDUCE(0));
        pivot = FOLD_FIRST(head);
    }
#endif
    KEPT for (int i = 0; i < K; ++i) {
        const u32 r = r0 + i * TR;
        a[i] = g[i] = VSPLAT(0);
        if (inside && r < REDUCE) {
            a[i] = VLOAD(x, from + X_REDUCE(r));
            g[i] = VLOAD(dy, at + DY_REDUCE(r));
        }
    }
#if defined(HAS_SAVED) || defined(HAS_STATS)
    KEPT for (int i = 0; i < K; ++i)
        if (r0 + i * TR < REDUCE) a[i] = CENTRED(a[i]);
#else
#ifndef RMS
    KEPT for (int i = 0; i < K; ++i) {
        if (r0 + i * TR < REDUCE) a[i] = a[i] - pivot;
        BLOCKWISE_ADD(total, block, i, a[i]);
    }
    rest = tile_sum(fold_sum(total), scratch, lid) / (real)COUNT;
    total = VSPLAT(0);
#endif
    KEPT for (int i = 0; i < K; ++i) {
#ifndef RMS
        if (r0 + i * TR < REDUCE) a[i] = a[i] - rest;
#endif
        BLOCKWISE_ADD(total, block, i, a[i] * a[i]);
    }
    const part squares = tile_sum(fold_sum(total), scratch + SCRATCH, lid);
    inverse = (real)1 / sqrt(squares / (real)COUNT + epsilon);
    total = VSPLAT(0);
#endif
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
#endif

#ifdef MOMENTS
KERNEL WG_SIZE(GROUP, 1, 1)
norm_moments(TENSOR(real, means), TENSOR(real, squares), TENSOR(real, pivots), STATS_ARGS const int first,
             const real epsilon) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(real, means);
    BIND(real, squares);
    BIND(real, pivots);
    BIND_STATS
    const int lid = LID(0);
    const u32 o = ((u32)first + (u32)GRP(0)) * TO + TILE_OUTER(lid);
    const bool inside = o < OUTER;
#ifdef RMS
    part sum = PART_SPLAT(0);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) sum = sum + part_load(squares, k, o);
    sum = tile_sum(sum, scratch, lid);
#else
    const moments m = merge_slices(means, squares, o, inside, scratch, scratch + SCRATCH, lid);
    const part sum = m.squares;
#endif
    if (inside && TILE_REDUCE(lid) == 0) {
#ifndef RMS
        WRITE(stat_pivots, STAT, o, part_load(pivots, 0, o));
        WRITE(stat_rests, STAT, o, m.mean);
#endif
        WRITE(stat_inverses, STAT, o, (real)1 / sqrt(sum / (real)COUNT + epsilon));
    }
}
#endif

#if defined(BACKWARD_PARTIAL) || defined(BACKWARD_APPLY) || defined(BACKWARD_JOINT)
KERNEL WG_SIZE(GROUP, 1, 1)
#ifdef BACKWARD_JOINT
norm_backward_joint(TENSOR(T, x), TENSOR(T, dy), SCALE_ARG STATS_ARGS TENSOR(T, dx), GRADIENT_ARGS TENSOR(real, sums),
                    TENSOR(real, products), TENSOR(int, counters), const real alpha,
                    const real beta GRADIENT_NUMBERS) {
    GRID_WAIT();
    LOCAL int slot[1];
    BIND(T, dx);
    BIND_GRADIENTS
    BIND(int, counters);
    const int first = 0, own = GRP(0) / SLICES * SLICES;  // the first slice of its tile
    counters += GRP(0) / SLICES * PIECE_COUNTERS;
#elif defined(BACKWARD_APPLY)
norm_backward_apply(TENSOR(T, x), TENSOR(T, dy), SCALE_ARG STATS_ARGS TENSOR(T, dx), GRADIENT_ARGS TENSOR(real, sums),
                    TENSOR(real, products), const int first, const real alpha, const real beta GRADIENT_NUMBERS) {
    GRID_WAIT();
    BIND(T, dx);
    BIND_GRADIENTS
#else
norm_backward_partial(TENSOR(T, x), TENSOR(T, dy), SCALE_ARG STATS_ARGS TENSOR(real, sums), TENSOR(real, products),
                      const int first) {
    GRID_WAIT();
#endif
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(T, dy);
    BIND_SCALE
    BIND_STATS
    BIND(real, sums);
    BIND(real, products);
    const int lid = LID(0);

#ifdef BACKWARD_JOINT
    start_group(counters, lid);
#endif
#ifndef BACKWARD_APPLY
    {
        SLICE_PROLOGUE(GRP(0))
        const u32 from = X_OUTER(o), at = DY_OUTER(o);
        part pivot = PART_SPLAT(0), rest = PART_SPLAT(0), inverse = PART_SPLAT(0);
        vreal total = VSPLAT(0), product = VSPLAT(0);

        if (inside) {
            LOAD_STATS
        }
        for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
            vreal a[ROUNDS], g[ROUNDS];
            UNROLL for (int i = 0; i < ROUNDS; ++i) {
                a[i] = g[i] = VSPLAT(0);
                if (r + i * TR < end) {
                    a[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
                    g[i] = VLOAD(dy, at + DY_REDUCE(r + i * TR));
                }
            }
            UNROLL for (int i = 0; i < ROUNDS; ++i)
                if (r + i * TR < end) {
                    g[i] = WEIGHTED(g[i], r + i * TR);
                    a[i] = CENTRED(a[i]) * g[i];
                }
            UNROLL for (int i = 1; i < ROUNDS; ++i) {
                a[0] = a[0] + a[i];
                g[0] = g[0] + g[i];
            }
            total = total + g[0];
            product = product + a[0];
        }
        const part sum = tile_sum(fold_sum(total), scratch, lid);
        const part sum_products = tile_sum(fold_sum(product), scratch + SCRATCH, lid);
        if (inside && TILE_REDUCE(lid) == 0) {
            part_store(sums, slice, o, sum);
            part_store(products, slice, o, sum_products);
        }
    }
#endif
#ifdef BACKWARD_JOINT
    int piece = gather_groups(counters, slot, lid, SLICES);
    while (piece < SLICES) {
        const int next = reserve_piece(counters, lid), group = own + piece;
#elif defined(BACKWARD_APPLY)
    {
        const int group = GRP(0);
#endif
#ifndef BACKWARD_PARTIAL
        SLICE_PROLOGUE(group)
        const u32 from = X_OUTER(o), at = DY_OUTER(o), to = DX_OUTER(o);
        part pivot = PART_SPLAT(0), rest = PART_SPLAT(0), inverse = PART_SPLAT(0);
        part sum = PART_SPLAT(0), product = PART_SPLAT(0);

        if (inside) {
            LOAD_STATS
        }
        for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
            sum = sum + part_load(sums, k, o);
            product = product + part_load(products, k, o);
        }
        sum = tile_sum(sum, scratch, lid);
        product = tile_sum(product, scratch + SCRATCH, lid);
        if (inside && slice == 0 && TILE_REDUCE(lid) == 0) STORE_GRADIENTS(product * inverse, sum)
        const part shift = sum / (real)COUNT, slope = inverse * inverse * product / (real)COUNT;
        const part gain = GAIN(inverse);
        for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
            vreal a[ROUNDS], g[ROUNDS];
            UNROLL for (int i = 0; i < ROUNDS; ++i)
                if (r + i * TR < end) {
                    a[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
                    g[i] = VLOAD(dy, at + DY_REDUCE(r + i * TR));
                }
            UNROLL for (int i = 0; i < ROUNDS; ++i)
                if (r + i * TR < end) {
                    const vreal weighted = WEIGHTED(g[i], r + i * TR);
                    VBLEND(dx, to + DX_REDUCE(r + i * TR), alpha,
                           (WITHOUT_MEAN(weighted, shift) - CENTRED(a[i]) * slope) * gain, beta);
                }
        }
#ifdef BACKWARD_JOINT
        piece = next_piece(slot, lid, next);
#endif
    }
#endif
#ifdef BACKWARD_JOINT
    close_pieces(counters, leave_pieces(counters, lid), SLICES);
#endif
}
#endif
