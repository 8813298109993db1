// The gradients of scale and bias from parts [PARTS][PARAMETERS_ALL] of either, in order: those of slices (norm/parameters.cl), or those that the
// kernels which make dx leave for each image or work-group.
//
//   DSCALE_AT(p), DBIAS_AT(p)   where parameter p lies;  HAS_DBIAS

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"

// A work-group adds the parts of ACROSS parameters, SHARING work-items each; on a CPU one work-item does, row by row.
KERNEL WG_SIZE((SHARING == 1 ? 1 : ACROSS * SHARING), 1, 1)
norm_finish(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
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
        blend_real(dscale, DSCALE_AT(first + j), alpha, by_scale[j], beta);
#ifdef HAS_DBIAS
        blend_real(dbias, DBIAS_AT(first + j), alpha, by_bias[j], beta);
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
        blend_real(dscale, DSCALE_AT(p), alpha, by_scale, beta);
#ifdef HAS_DBIAS
        blend_real(dbias, DBIAS_AT(p), alpha, by_bias, beta);
#endif
    }
#endif
}
