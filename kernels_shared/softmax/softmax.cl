// Softmax over the "reduce" dimensions (c, or c and all spatial ones); common/reduce.h draws the tiles.
//
//   forward    y  = exp(x - max) / sum(exp(x - max)), or its logarithm (ALGO_LOG); ALGO_FAST subtracts no maximum
//   backward   dx = y * (dy - sum(y * dy)), or dy - exp(y) * sum(dy) for ALGO_LOG
//
// softmax_forward and softmax_backward keep what they read in registers, K vectors a work-item, so memory is touched
// once. Longer rows take two launches over slices of a row: *_partial leaves each slice's maximum and sum in the
// workspace, *_finish combines them and writes; the host runs both on as many rows at a time as caches hold. Where there are
// as many rows as a GPU has work-groups, softmax_rows does without a second launch.
// The maximum starts at the lowest finite number: a row of -inf then gives 0 / 0 = NaN, as the formula does.
// Pointers are not restrict, because y may be x and dx may be dy.

#include "common/types.h"
#include "common/reduce.h"

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
#define ROUNDS 4  // loads in flight of the kernels that do not keep rows

#define OUTSIDE VSPLAT(-INFINITY_OF(real))
#ifdef ALGO_FAST
#define FIRST_TOP 0
#else
#define FIRST_TOP LOWEST_REAL
#endif

// value of the result from v = x - max (ACCURATE: exp of it in the kernels that keep it) and the row's sum
#ifdef ALGO_LOG
#define FINISH_FACTOR(sum) log(sum)
#define FINISH(v, factor) ((v) - (factor))
#define FINISH_X(v, factor) FINISH(v, factor)
#elif defined(ALGO_FAST)
#define FINISH_FACTOR(sum) (sum)  // may be so small that its reciprocal overflows
#define FINISH(v, factor) ((v) / (factor))
#define FINISH_X(v, factor) FINISH(exp(v), factor)
#else
#define FINISH_FACTOR(sum) ((real)1 / (sum))
#define FINISH(v, factor) ((v) * (factor))
#define FINISH_X(v, factor) FINISH(exp(v), factor)
#endif

#ifdef FORWARD_FUSED
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
#ifndef ALGO_FAST
    vreal top = VSPLAT(LOWEST_REAL);
    KEPT for (int i = 0; i < K; ++i) top = fmax(top, v[i]);
    const part maximum = tile_max(fold_max(top), scratch, lid);
#endif
    vreal total = VSPLAT(0), block = VSPLAT(0);
    KEPT for (int i = 0; i < K; ++i) {
#ifndef ALGO_FAST
        v[i] = v[i] - maximum;
#endif
        const vreal e = exp(v[i]);
        BLOCKWISE_ADD(total, block, i, e);
#ifndef ALGO_LOG
        v[i] = e;
#endif
    }
    const part factor = FINISH_FACTOR(tile_sum(fold_sum(total), scratch + SCRATCH, lid));
    KEPT for (int i = 0; i < K; ++i) {
        const idx_t r = r0 + i * TR;
        if (inside && r < REDUCE) VBLEND(y, to + Y_REDUCE(r), alpha, FINISH(v[i], factor), beta);
    }
}
#endif

#ifdef FORWARD_ROWS
// A work-group of GROUP = TR work-items takes a whole row, ROUNDS_OF_ROW vectors each: the last K of them stay in registers, the
// others are read again, the latest first, while caches still have them.
//
//   round     0  1  2  ...            R-K  ..  R-1
//   first     ----------- down ----------> kept          maximum and sum
//   then      <---------- up ------------- kept          results
// With ODD_ROW, rows of so many numbers begin at any, in x as in y: vectors lie at multiples of VW, and those at a row's ends
// are read and written in part.
#define REST (ROUNDS_OF_ROW - K)  // a multiple of ROUNDS

#ifdef ODD_ROW
#define ROW_UNITS ((shift + ODD_ROW + VW - 1) / VW)
#define ROW_LOAD(r) odd_load(x + from, shift, r)
#define ROW_BLEND(r, value) odd_blend(y + to, shift, r, alpha, value, beta)
#define IN_ROW(at) ((at) >= shift && (at) < shift + ODD_ROW)
#define ALL_IN_ROW(at) ((at) >= shift && (at) + VW <= shift + ODD_ROW)

DEVICE vreal odd_load(const GLOBAL T *p, u32 shift, idx_t r) {
    const idx_t at = r * VW;
    vreal v;
    if (ALL_IN_ROW(at)) return VLOAD(p, at);
    UNROLL for (int j = 0; j < VW; ++j) LANE(v, j) = IN_ROW(at + j) ? LOAD(p, at + j) : -INFINITY_OF(real);
    return v;
}
DEVICE void odd_blend(GLOBAL T *p, u32 shift, idx_t r, real alpha, vreal v, real beta) {
    const idx_t at = r * VW;
    if (ALL_IN_ROW(at)) {
        VBLEND(p, at, alpha, v, beta);
    } else {
        UNROLL for (int j = 0; j < VW; ++j)
            if (IN_ROW(at + j)) BLEND(p, at + j, alpha, LANE(v, j), beta);
    }
}
#else
#define ROW_UNITS REDUCE
#define ROW_LOAD(r) VLOAD(x, from + X_REDUCE(r))
#define ROW_BLEND(r, value) VBLEND(y, to + Y_REDUCE(r), alpha, value, beta)
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
softmax_rows(TENSOR(T, x), TENSOR(T, y), const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(T, y);
    const int lid = LID(0);
#ifdef ODD_ROW
    const u32 shift = X_OUTER((idx_t)GRP(0)) % VW;
    const idx_t from = X_OUTER((idx_t)GRP(0)) - shift, to = Y_OUTER((idx_t)GRP(0)) - shift;
#else
    const idx_t from = X_OUTER((idx_t)GRP(0)), to = Y_OUTER((idx_t)GRP(0));
#endif
    vreal kept[K], top = VSPLAT(FIRST_TOP), total = VSPLAT(0);

    for (idx_t round = 0; round < REST; round += ROUNDS) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) v[i] = ROW_LOAD((round + i) * TR + lid);
#ifndef ALGO_FAST
        vreal higher = top;
        UNROLL for (int i = 0; i < ROUNDS; ++i) higher = fmax(higher, v[i]);
        total = total * exp(top - higher);
        top = higher;
#endif
        vreal block = exp(v[0] - top);
        UNROLL for (int i = 1; i < ROUNDS; ++i) block = block + exp(v[i] - top);
        total = total + block;
    }
    UNROLL for (int i = 0; i < K; ++i) {
        const idx_t r = (idx_t)(REST + i) * TR + lid;
        kept[i] = r < ROW_UNITS ? ROW_LOAD(r) : OUTSIDE;
    }
#ifdef ALGO_FAST
    const part maximum = 0;
#else
    vreal higher = top;
    UNROLL for (int i = 0; i < K; ++i) higher = fmax(higher, kept[i]);
    const part maximum = tile_max(fold_max(higher), scratch, lid);
    total = total * exp(top - maximum);
#endif
    vreal block = VSPLAT(0);
    UNROLL for (int i = 0; i < K; ++i) {
        kept[i] = kept[i] - maximum;
        const vreal e = exp(kept[i]);
        block = block + e;
#ifndef ALGO_LOG
        kept[i] = e;
#endif
    }
    const part factor = FINISH_FACTOR(tile_sum(fold_sum(total + block), scratch + SCRATCH, lid));
    UNROLL for (int i = 0; i < K; ++i) {
        const idx_t r = (idx_t)(REST + i) * TR + lid;
        if (r < ROW_UNITS) ROW_BLEND(r, FINISH(kept[i], factor));
    }
    for (idx_t round = REST; round > 0; round -= ROUNDS) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) v[i] = ROW_LOAD((round - 1 - i) * TR + lid);
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            ROW_BLEND((round - 1 - i) * TR + lid, FINISH_X(v[i] - maximum, factor));
    }
}
#endif

#ifdef BACKWARD_FUSED
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
#ifdef ALGO_LOG
        BLOCKWISE_ADD(total, block, i, b[i]);
#else
        BLOCKWISE_ADD(total, block, i, a[i] * b[i]);
#endif
    }
    const part sum = tile_sum(fold_sum(total), scratch, lid);
    KEPT for (int i = 0; i < K; ++i) {
        const idx_t r = r0 + i * TR;
#ifdef ALGO_LOG
        const vreal value = b[i] - exp(a[i]) * sum;
#else
        const vreal value = a[i] * (b[i] - sum);
#endif
        if (inside && r < REDUCE) VBLEND(dx, to + DX_REDUCE(r), alpha, value, beta);
    }
}
#endif

// What the sliced kernels have in common: tile `first` + .. of the outer units, one slice of the reduce units.
#define SLICE_PROLOGUE                                                                                     \
    const int lid = LID(0);                                                                                \
    const idx_t slice = (idx_t)GRP(0) % SLICES;                                                                \
    const idx_t o = ((idx_t)first + (idx_t)GRP(0) / SLICES) * TO + TILE_OUTER(lid);                              \
    const idx_t r0 = slice * LENGTH + TILE_REDUCE(lid);                                                      \
    const idx_t end = slice == SLICES - 1 ? REDUCE : slice * LENGTH + LENGTH;                                \
    const bool inside = o < OUTER;

#ifdef FORWARD_SLICED
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
#ifndef ALGO_FAST
        vreal higher = top;
        UNROLL for (int i = 0; i < ROUNDS; ++i) higher = fmax(higher, v[i]);
        total = total * exp(top - higher);
        top = higher;
#endif
        vreal block = exp(v[0] - top);
        UNROLL for (int i = 1; i < ROUNDS; ++i) block = block + exp(v[i] - top);
        total = total + block;
    }
#ifndef ALGO_FAST
    const part maximum = tile_max(fold_max(top), scratch, lid);
    total = total * exp(top - maximum);
#endif
    const part sum = tile_sum(fold_sum(total), scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
#ifndef ALGO_FAST
        part_store(tops, slice, o, maximum);
#endif
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

#ifndef ALGO_FAST
    for (idx_t k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) maximum = fmax(maximum, part_load(tops, k, o));
    maximum = tile_max(maximum, scratch, lid);
#endif
    for (idx_t k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
#ifdef ALGO_FAST
        sum = sum + part_load(sums, k, o);
#else
        sum = sum + part_load(sums, k, o) * exp(part_load(tops, k, o) - maximum);
#endif
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
#endif

#ifdef BACKWARD_SLICED
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
#ifndef ALGO_LOG
                a[i] = a[i] * VLOAD(y, at);
#endif
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
#ifdef ALGO_LOG
                const vreal value = b[i] - exp(a[i]) * sum;
#else
                const vreal value = a[i] * (b[i] - sum);
#endif
                VBLEND(dx, to + DX_REDUCE(r + i * TR), alpha, value, beta);
            }
    }
}
#endif
