// What a rank brings to batch normalisation over several ranks, from the parts of its slices (norm/forward.cl and norm/backward.cl say
// how slices lie):
//
//   norm_statistics   mean and biased variance, from the moments of norm_partial
//   norm_shares       its shares of dscale and dbias, from the sums of norm_backward_partial
//   norm_zeros        zeros in both outputs: the rank has no numbers.  ZEROS = how many, FIRST_AT(p), SECOND_AT(p) where

#include "common/types.h"
#ifndef ZEROS
#include "common/reduce.h"
#include "norm/norm.h"
#endif

#if defined(ZEROS)
KERNEL WG_SIZE(WG, 1, 1) norm_zeros(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const u32 p = (u32)GRP(0) * WG + (u32)LID(0);
    if (p >= ZEROS) return;
    first[FIRST_AT(p)] = 0;
    second[SECOND_AT(p)] = 0;
}
#elif defined(SHARES)
KERNEL WG_SIZE(GROUP, 1, 1) norm_shares(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int lid = LID(0);
    const u32 o = (u32)GRP(0) * TO + TILE_OUTER(lid);
    const bool inside = o < OUTER;
    part sum = PART_SPLAT(0), product = PART_SPLAT(0);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
        sum = sum + part_load(sums, k, o);
        product = product + part_load(products, k, o);
    }
    sum = tile_sum(sum, scratch, lid);
    product = tile_sum(product, scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
        WRITE(dscale, DSCALE, o, product * READ(saved_inv_variance, SAVED_INV_VARIANCE, o));
        WRITE(dbias, DBIAS, o, sum);
    }
}
#else
KERNEL WG_SIZE(GROUP, 1, 1) norm_statistics(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int lid = LID(0);
    const u32 o = (u32)GRP(0) * TO + TILE_OUTER(lid);
    const bool inside = o < OUTER;
    const moments m = merge_slices(means, squares, o, inside, scratch, scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
        WRITE(mean, MEAN, o, part_load(pivots, 0, o) + m.mean);
        WRITE(variance, VARIANCE, o, m.squares / (real)COUNT);
    }
}
#endif
