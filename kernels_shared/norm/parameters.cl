// The gradients of scale and bias where they are not by-products: dscale = sum(dy * (x - mean) * inverse), dbias = sum(dy).
//
//   norm_parameters    sums over what shares a parameter, by the tiles of common/reduce.h: outer units are parameters, and statistics
//                      change along them or along the reduced dimensions; slices leave parts in the workspace, which the last
//                      of their work-groups adds up (GRID_FENCED)
//                      norm_finish (norm/finish.cl) does otherwise
//
//   STATS   where statistics are: SAVED, SAVED_INVERSE (RMS) or WORKSPACE (norm/backward.h)
//   ADDS    1 where the kernel has all of a sum and adds it to the gradient; HAS_DBIAS

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#ifdef GRID_FENCED
#include "common/last_group.h"
#endif

#define WITHOUT_STATS(v, r) PD_CAT(WITHOUT_, STATS)(v, r)
#define WITHOUT_SAVED(v, r) ((v) - PARAMETERS(saved_mean, SAVED_MEAN, o, r))
#define WITHOUT_SAVED_INVERSE(v, r) (v)
#define WITHOUT_WORKSPACE(v, r) ((v) - PARAMETERS(stat_pivots, STAT, o, r) - PARAMETERS(stat_rests, STAT, o, r))
#define CENTRED(v, r) (RMS ? (v) : WITHOUT_STATS(v, r))
#define INVERSE(r) PD_CAT(INVERSE_, STATS)(r)
#define INVERSE_SAVED(r) PARAMETERS(saved_inv_variance, SAVED_INV_VARIANCE, o, r)
#define INVERSE_SAVED_INVERSE(r) INVERSE_SAVED(r)
#define INVERSE_WORKSPACE(r) PARAMETERS(stat_inverses, STAT, o, r)

KERNEL WG_SIZE(GROUP, 1, 1) norm_parameters(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int first = 0;
    const int lid = LID(0);
    SLICE_PROLOGUE(GRP(0))
    const u32 from = X_OUTER(o), at = DY_OUTER(o);
    vreal total = VSPLAT(0), product = VSPLAT(0);

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
            if (r + i * TR < end) a[i] = CENTRED(a[i], r + i * TR) * INVERSE(r + i * TR) * g[i];
        UNROLL for (int i = 1; i < ROUNDS; ++i) {
            a[0] = a[0] + a[i];
            g[0] = g[0] + g[i];
        }
        total = total + g[0];
        product = product + a[0];
    }
    part by_bias = tile_sum(fold_sum(total), scratch, lid);
    part by_scale = tile_sum(fold_sum(product), scratch + SCRATCH, lid);
#if SLICES > 1
    if (inside && TILE_REDUCE(lid) == 0) {
        part_store(part_dscale, slice, o, by_scale);
        part_store(part_dbias, slice, o, by_bias);
    }
#endif
#ifdef GRID_FENCED
    LOCAL int last_one;
    if (!last_group(arrived + (u32)GRP(0) / SLICES, &last_one, lid, SLICES)) return;
    by_bias = by_scale = PART_SPLAT(0);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
        by_scale = by_scale + part_load(part_dscale, k, o);
        by_bias = by_bias + part_load(part_dbias, k, o);
    }
    by_bias = tile_sum(by_bias, scratch, lid);
    by_scale = tile_sum(by_scale, scratch + SCRATCH, lid);
#endif
#if ADDS
    if (inside && TILE_REDUCE(lid) == 0) {
        ADD_TO(dscale, DSCALE, o, alpha, by_scale, beta);
#ifdef HAS_DBIAS
        ADD_TO(dbias, DBIAS, o, alpha, by_bias, beta);
#endif
    }
#endif
}
