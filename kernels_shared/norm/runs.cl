// Normalisation with given statistics, of flat tensors of n numbers whose channels' planes are no multiple of a vector (common/runs.h):
// y = alpha * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + beta * y.
//
//   NAME_RUN(r)   place of the parameter or statistic of run r (a channel's plane of one image)
//   NAME_TYPE     real, or T where it is stored as the data are
//   ROUNDS        vectors of a work-item, all loaded before the first is stored
//
// Pointers are not restrict, because y may be x.

#include "common/types.h"
#include "common/runs.h"

#define RUN_VALUE(p, NAME, run) PD_CAT(RUN_VALUE_, NAME##_TYPE)(p, NAME##_RUN(run))
#define RUN_VALUE_real(p, i) ((p)[i])
#define RUN_VALUE_T(p, i) LOAD(p, i)

// what becomes of the numbers of one run
typedef struct {
    real mean, gain, shift;
} run_terms;
#define READ_TERMS(terms, run)                                                                             \
    terms.mean = RUN_VALUE(estimated_mean, ESTIMATED_MEAN, run);                                           \
    terms.gain = (real)1 / sqrt(RUN_VALUE(estimated_variance, ESTIMATED_VARIANCE, run) + epsilon);         \
    terms.gain = terms.gain * RUN_VALUE(scale, SCALE, run);                                                \
    terms.shift = RUN_VALUE(bias, BIAS, run);

KERNEL WG_SIZE(WG, 1, 1)
norm_runs(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const u32 first = ((u32)GRP(0) * (ROUNDS * WG) + (u32)LID(0)) * VW;
    vreal v[ROUNDS];
    UNROLL for (int k = 0; k < ROUNDS; ++k) {
        const u32 i = first + k * (WG * VW);
        v[k] = VSPLAT(0);
        if (i + VW <= n) v[k] = VLOAD(x, i);
    }
    UNROLL for (int k = 0; k < ROUNDS; ++k) {
        const u32 i = first + k * (WG * VW);
        if (i >= n) continue;
        run_terms here;
        READ_TERMS(here, RUN_OF(i))
        if (i + VW <= n) {
            run_terms next = here;
            if (RUN_LEFT(i) < VW) {
                READ_TERMS(next, RUN_OF(i) + 1)
            }
            const vreal mean = run_values(here.mean, next.mean, i), gain = run_values(here.gain, next.gain, i);
            VBLEND(y, i, alpha, (v[k] - mean) * gain + run_values(here.shift, next.shift, i), beta);
        } else {  // the last numbers are fewer than a vector, all of one run
            for (u32 at = i; at < n; ++at) BLEND(y, at, alpha, (LOAD(x, at) - here.mean) * here.gain + here.shift, beta);
        }
    }
}
