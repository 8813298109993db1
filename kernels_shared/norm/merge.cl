// What the ranks of batch normalisation brought becomes one, for each of PARAMETERS channels or activations, in the order of the ranks:
// the same bits on every rank.
//
//   norm_merge_moments   means and variances, as Chan, Golub and LeVeque merge them (norm/norm.h): the mean as pivot + rest, where the pivot
//                        is the first rank's mean
//   norm_merge_shares    the ranks' shares of dscale and dbias; shift and slope are what dx needs of them
//
//   RANKS, COUNTS_AT(r), MEANS_RANK, VARIANCES_RANK, ..   how many, and the distances from rank to rank
//   NAME_AT(p)           place of parameter p
//   RUNNING, SAVED, TOTALS   1 where there are running statistics, saved ones, dscale and dbias
//
//   stat_*[p]            in the workspace, in the order of the parameters

#include "common/types.h"

DEVICE void merge_blend(GLOBAL real *to, real factor, real value, real remains) {
    *to = remains == (real)0 ? factor * value : factor * value + remains * *to;
}

#ifdef SHARES
KERNEL WG_SIZE(WG, 1, 1) norm_merge_shares(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const u32 p = (u32)GRP(0) * WG + (u32)LID(0);
    if (p >= PARAMETERS) return;
    real count = 0, by_scale = 0, by_bias = 0;
    for (u32 r = 0; r < RANKS; ++r) {
        count += counts[COUNTS_AT(r)];
        by_scale += dscales[DSCALES_AT(p) + r * DSCALES_RANK];
        by_bias += dbiases[DBIASES_AT(p) + r * DBIASES_RANK];
    }
    stat_shifts[p] = by_bias / count;
    stat_slopes[p] = by_scale / count * saved_inv_variance[SAVED_INV_VARIANCE_AT(p)];
#if TOTALS
    dscale[DSCALE_AT(p)] = by_scale;
    dbias[DBIAS_AT(p)] = by_bias;
#endif
}
#else
KERNEL WG_SIZE(WG, 1, 1) norm_merge_moments(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const u32 p = (u32)GRP(0) * WG + (u32)LID(0);
    if (p >= PARAMETERS) return;
    const real pivot = means[MEANS_AT(p)];
    real count = 0, rest = 0, squares = 0;
    for (u32 r = 0; r < RANKS; ++r) {
        const real n = counts[COUNTS_AT(r)];
        count += n;
        rest += n * (means[MEANS_AT(p) + r * MEANS_RANK] - pivot);
    }
    rest /= count;
    for (u32 r = 0; r < RANKS; ++r) {
        const real away = means[MEANS_AT(p) + r * MEANS_RANK] - pivot - rest;
        squares += counts[COUNTS_AT(r)] * (variances[VARIANCES_AT(p) + r * VARIANCES_RANK] + away * away);
    }
    const real variance = squares / count, inverse = (real)1 / sqrt(variance + epsilon);
    stat_pivots[p] = pivot;
    stat_rests[p] = rest;
    stat_inverses[p] = inverse;
#if RUNNING
    const real remains = (real)1 - factor;
    merge_blend(running_mean + RUNNING_MEAN_AT(p), factor, pivot + rest, remains);
    merge_blend(running_variance + RUNNING_VARIANCE_AT(p), factor, squares / (count - (real)1), remains);
#endif
#if SAVED
    saved_mean[SAVED_MEAN_AT(p)] = pivot + rest;
    saved_inv_variance[SAVED_INV_VARIANCE_AT(p)] = inverse;
#endif
}
#endif
