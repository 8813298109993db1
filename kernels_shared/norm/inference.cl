// y from given statistics; norm/forward.cl has the formula.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/forward.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_inference(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
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
