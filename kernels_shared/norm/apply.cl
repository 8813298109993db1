// y of slices of rows, from the moments of all slices; norm/forward.cl says what for.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/forward.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_apply(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int lid = LID(0), group = GRP(0);
#include "norm/apply_slice.h"
}
