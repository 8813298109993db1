// Batch normalisation with merged statistics in the workspace (norm/merge.cl): y, or with SHARES dx; slices as in norm/forward.cl.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_given(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const int first = 0;
    const int lid = LID(0);
    SLICE_PROLOGUE(GRP(0))
    if (!inside) return;
#ifdef SHARES
    const u32 from = X_OUTER(o), at = DY_OUTER(o), to = DX_OUTER(o);
    const part mean = READ(saved_mean, SAVED_MEAN, o);
    const part gain = READ(saved_inv_variance, SAVED_INV_VARIANCE, o) * READ(scale, SCALE, o);
    const part shift = READ(stat_shifts, STAT, o), slope = READ(stat_slopes, STAT, o);
    for (u32 r = r0; r < end; r += ROUNDS * TR) {
        vreal a[ROUNDS], g[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end) {
                a[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
                g[i] = VLOAD(dy, at + DY_REDUCE(r + i * TR));
            }
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end)
                VSTORE(dx, to + DX_REDUCE(r + i * TR), (g[i] - shift - (a[i] - mean) * slope) * gain);
    }
#else
    const u32 from = X_OUTER(o), to = Y_OUTER(o);
    const part pivot = READ(stat_pivots, STAT, o), rest = READ(stat_rests, STAT, o);
    const part gain = READ(stat_inverses, STAT, o) * READ(scale, SCALE, o), shift = READ(bias, BIAS, o);
    for (u32 r = r0; r < end; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end) v[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
        UNROLL for (int i = 0; i < ROUNDS; ++i)
            if (r + i * TR < end) VSTORE(y, to + Y_REDUCE(r + i * TR), (v[i] - pivot - rest) * gain + shift);
    }
#endif
}
