// Statistics of rows from the moments of their slices; norm/backward.cl says what for.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_moments(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int lid = LID(0);
    const u32 o = ((u32)first + (u32)GRP(0)) * TO + TILE_OUTER(lid);
    const bool inside = o < OUTER;
    const moments m = RMS ? merge_squares(squares, o, inside, scratch, lid)
                          : merge_slices(means, squares, o, inside, scratch, scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
        if (!RMS) {
            WRITE(stat_pivots, STAT, o, part_load(pivots, 0, o));
            WRITE(stat_rests, STAT, o, m.mean);
        }
        WRITE(stat_inverses, STAT, o, (real)1 / sqrt(m.squares / (real)COUNT + epsilon));
    }
}
