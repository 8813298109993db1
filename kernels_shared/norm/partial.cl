// The moments of slices of rows; norm/forward.cl says what for.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/slice_moments.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_partial(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    slice_moments(x, means, squares, pivots, scratch, first, GRP(0), LID(0));
}
