// The gradients of scale and bias where they are not by-products: dscale = sum(dy * (x - mean) * inverse), dbias = sum(dy).
//
//   norm_parameters    sums over what shares a parameter, by the tiles of common/reduce.h: outer units are parameters, and statistics
//                      change along them or along the reduced dimensions; slices leave parts in the workspace, which the last
//                      of their work-groups adds up (GRID_FENCED)
//   norm_finish        adds parts [PARTS][PARAMETERS_ALL] of either gradient in order: those of slices, or those that the kernels
//                      which make dx leave for each image or work-group
//
//   DSCALE_AT(p), DBIAS_AT(p)   where parameter p lies;  HAS_DBIAS

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#ifdef GRID_FENCED
#include "common/last_group.h"
#endif

#ifdef HAS_DBIAS
#define DBIAS_ARG , TENSOR(real, dbias)
#define BIND_DBIAS BIND(real, dbias)
#else
#define DBIAS_ARG
#define BIND_DBIAS
#endif

#ifdef PARAMETER_SUMS
#ifdef HAS_SAVED
#ifdef RMS
#define STATS_ARGS TENSOR(real, saved_inv_variance)
#define BIND_STATS BIND(real, saved_inv_variance)
#define CENTRED(v, r) (v)
#else
#define STATS_ARGS TENSOR(real, saved_mean), TENSOR(real, saved_inv_variance)
#define BIND_STATS                                                                                         \
    BIND(real, saved_mean);                                                                                \
    BIND(real, saved_inv_variance)
#define CENTRED(v, r) ((v) - PARAMETERS(saved_mean, SAVED_MEAN, o, r))
#endif
#define INVERSE(r) PARAMETERS(saved_inv_variance, SAVED_INV_VARIANCE, o, r)
#else
#define STATS_ARGS TENSOR(real, stat_pivots), TENSOR(real, stat_rests), TENSOR(real, stat_inverses)
#define BIND_STATS                                                                                         \
    BIND(real, stat_pivots);                                                                               \
    BIND(real, stat_rests);                                                                                \
    BIND(real, stat_inverses)
#ifdef RMS
#define CENTRED(v, r) (v)
#else
#define CENTRED(v, r) ((v) - PARAMETERS(stat_pivots, STAT, o, r) - PARAMETERS(stat_rests, STAT, o, r))
#endif
#define INVERSE(r) PARAMETERS(stat_inverses, STAT, o, r)
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
#if SLICES == 1
norm_parameters(TENSOR(T, x), TENSOR(T, dy), STATS_ARGS, TENSOR(real, dscale) DBIAS_ARG, const real alpha,
                const real beta) {
    GRID_WAIT();
    BIND(real, dscale);
    BIND_DBIAS;
#elif defined(GRID_FENCED)
norm_parameters(TENSOR(T, x), TENSOR(T, dy), STATS_ARGS, TENSOR(real, part_dscale), TENSOR(real, part_dbias),
                TENSOR(int, arrived), TENSOR(real, dscale) DBIAS_ARG, const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL int last_one;
    BIND(real, part_dscale);
    BIND(real, part_dbias);
    BIND(int, arrived);
    BIND(real, dscale);
    BIND_DBIAS;
#else
norm_parameters(TENSOR(T, x), TENSOR(T, dy), STATS_ARGS, TENSOR(real, part_dscale), TENSOR(real, part_dbias)) {
    GRID_WAIT();
    BIND(real, part_dscale);
    BIND(real, part_dbias);
#endif
    LOCAL real scratch[2 * SCRATCH];
    BIND(T, x);
    BIND(T, dy);
    BIND_STATS;
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
#ifdef GRID_FENCED
    if (!last_group(arrived + (u32)GRP(0) / SLICES, &last_one, lid, SLICES)) return;
    by_bias = by_scale = PART_SPLAT(0);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
        by_scale = by_scale + part_load(part_dscale, k, o);
        by_bias = by_bias + part_load(part_dbias, k, o);
    }
    by_bias = tile_sum(by_bias, scratch, lid);
    by_scale = tile_sum(by_scale, scratch + SCRATCH, lid);
#endif
#endif
#if SLICES == 1 || defined(GRID_FENCED)
    if (inside && TILE_REDUCE(lid) == 0) {
        part_blend(dscale, DSCALE_OUTER(o), DSCALE_STEP, alpha, by_scale, beta);
#ifdef HAS_DBIAS
        part_blend(dbias, DBIAS_OUTER(o), DBIAS_STEP, alpha, by_bias, beta);
#endif
    }
#endif
}
#endif

#ifdef FINISH
// A work-group adds the parts of ACROSS parameters, SHARING work-items each; on a CPU one work-item does, row by row.
KERNEL WG_SIZE((SHARING == 1 ? 1 : ACROSS * SHARING), 1, 1)
norm_finish(TENSOR(real, part_dscale), TENSOR(real, part_dbias), TENSOR(real, dscale) DBIAS_ARG, const real alpha,
            const real beta) {
    GRID_WAIT();
    BIND(real, part_dscale);
    BIND(real, part_dbias);
    BIND(real, dscale);
    BIND_DBIAS;
#if SHARING == 1
    const u32 first = (u32)GRP(0) * ACROSS;
    const u32 count = PARAMETERS_ALL - first < ACROSS ? PARAMETERS_ALL - first : ACROSS;
    real by_scale[ACROSS], by_bias[ACROSS];
    for (u32 j = 0; j < count; ++j) by_scale[j] = by_bias[j] = 0;
    for (u32 k = 0; k < PARTS; ++k) {
        for (u32 j = 0; j < count; ++j) by_scale[j] += part_dscale[k * PARAMETERS_ALL + first + j];
        for (u32 j = 0; j < count; ++j) by_bias[j] += part_dbias[k * PARAMETERS_ALL + first + j];
    }
    for (u32 j = 0; j < count; ++j) {
        part_blend1(dscale + DSCALE_AT(first + j), alpha, by_scale[j], beta);
#ifdef HAS_DBIAS
        part_blend1(dbias + DBIAS_AT(first + j), alpha, by_bias[j], beta);
#endif
    }
#else
    LOCAL real scales[ACROSS * SHARING];
    LOCAL real biases[ACROSS * SHARING];
    const int lid = LID(0);
    const u32 p = (u32)GRP(0) * ACROSS + lid % ACROSS;
    real by_scale = 0, by_bias = 0;

    if (p < PARAMETERS_ALL)
        for (u32 k = lid / ACROSS; k < PARTS; k += SHARING) {
            by_scale += part_dscale[k * PARAMETERS_ALL + p];
            by_bias += part_dbias[k * PARAMETERS_ALL + p];
        }
    scales[lid] = by_scale;
    biases[lid] = by_bias;
    BARRIER();
    if (lid < ACROSS && p < PARAMETERS_ALL) {
        for (int k = 1; k < SHARING; ++k) {
            by_scale += scales[k * ACROSS + lid];
            by_bias += biases[k * ACROSS + lid];
        }
        part_blend1(dscale + DSCALE_AT(p), alpha, by_scale, beta);
#ifdef HAS_DBIAS
        part_blend1(dbias + DBIAS_AT(p), alpha, by_bias, beta);
#endif
    }
#endif
}
#endif
