// The sums of slices become gradients of matrices; grid/affine.cl says what for. Defines: FINISH, work-items of a group.

#include "common/types.h"
#include "grid/affine.h"

// A work-item adds up the slices' sums of one number of a matrix.
KERNEL WG_SIZE(FINISH, 1, 1)
affine_theta_finish(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const u32 id = (u32)GRP(0) * FINISH + LID(0);
    if (id >= items) return;
    const u32 n = id / 6, k = id - n * 6;
    real total = 0;
    for (u32 slice = 0; slice < slices; ++slice) total += sums[(n * slices + slice) * 6 + k];
    STORE(dtheta, THETA(n, k), total);
}
