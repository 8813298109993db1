// Softmax of long contiguous rows, one for each work-group; softmax/softmax.h has the formulas.

#include "softmax/softmax.h"

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
#define ROW_SHIFT(place) ((place) % VW)
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
#define ROW_SHIFT(place) 0
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
    const u32 shift = ROW_SHIFT(X_OUTER((idx_t)GRP(0)));
    const idx_t from = X_OUTER((idx_t)GRP(0)) - shift, to = Y_OUTER((idx_t)GRP(0)) - shift;
    vreal kept[K], top = VSPLAT(FIRST_TOP), total = VSPLAT(0);

    UNROLL_AT_MOST(1)
    for (idx_t round = 0; round < REST; round += ROUNDS) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) v[i] = ROW_LOAD((round + i) * TR + lid);
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
    UNROLL for (int i = 0; i < K; ++i) {
        const idx_t r = (idx_t)(REST + i) * TR + lid;
        kept[i] = r < ROW_UNITS ? ROW_LOAD(r) : OUTSIDE;
    }
    part maximum = PART_SPLAT(FIRST_TOP);
    if (!IS_FAST) {
        vreal higher = top;
        UNROLL for (int i = 0; i < K; ++i) higher = fmax(higher, kept[i]);
        maximum = tile_max(fold_max(higher), scratch, lid);
        total = total * exp(top - maximum);
    }
    vreal block = VSPLAT(0);
    UNROLL for (int i = 0; i < K; ++i) {
        kept[i] = kept[i] - maximum;
        const vreal e = exp(kept[i]);
        block = block + e;
        if (!IS_LOG) kept[i] = e;
    }
    const part factor = FINISH_FACTOR(tile_sum(fold_sum(total + block), scratch + SCRATCH, lid));
    UNROLL for (int i = 0; i < K; ++i) {
        const idx_t r = (idx_t)(REST + i) * TR + lid;
        if (r < ROW_UNITS) ROW_BLEND(r, FINISH(kept[i], factor));
    }
    UNROLL_AT_MOST(1)
    for (idx_t round = REST; round > 0; round -= ROUNDS) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) v[i] = ROW_LOAD((round - 1 - i) * TR + lid);
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            ROW_BLEND((round - 1 - i) * TR + lid, FINISH_X(v[i] - maximum, factor));
    }
}
