// Grids of affine transformations, and the gradient of their matrices.
//
//   grid[n, i, j] = theta[n] (x_j, y_i, 1)^T       pixel j of w sits at x_j = (2j - (w - 1)) / (w - 1), the only one at -1
//
//   forward    a work-item makes a vector of points, whose (x, y) pairs fill the lanes; one point with VW 1 (any strides); a
//              row with ROWS (CPUs)
//   backward   every work-group adds up the points of a slice of an image, six sums. An image of ONE_SLICE is done then; of
//              several, the last work-group to finish (GRID_FENCED), or else affine_theta_finish, adds the sums in order.
//              Deterministic.
//
//        dgrid of image n   [ slice 0 | slice 1 | slice 2 ..]   ->  sums [n][slice][6]  ->  dtheta[n]
//
// Numerator and denominator of x_j are whole numbers: corners sit at exactly -1 and 1.
// The kernels of the matrices' gradient are grid/affine_backward.cl and grid/affine_finish.cl. Defines: GROUP; VW or ROWS.

#include "common/types.h"
#include "grid/affine.h"

#ifdef ROWS
#define POINTS w  // of a work-item
#else
#define POINTS (VW == 1 ? 1 : VW / 2)
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
affine_grid(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const idx_t id = (idx_t)GRP(0) * GROUP + LID(0);
    if (id >= items) return;
    const u32 across = w / POINTS;
    const idx_t row = id / across;
    const u32 j = (u32)(id - row * across) * POINTS, n = row / h, i = row - (idx_t)n * h;
    const GLOBAL T *t = theta + n * t_n;
    const real y = place(i, h);
    const real ax = LOAD(t, 0), ay = LOAD(t, t_r);
    const real bx = LOAD(t, t_k) * y + LOAD(t, 2 * t_k), by = LOAD(t, t_r + t_k) * y + LOAD(t, t_r + 2 * t_k);
    const idx_t to = n * g_n + i * g_h + j * g_w;
#ifdef ROWS
    if (g_w == 2 && g_2 == 1) {
        for (u32 k = 0; k < w; ++k) {
            const real x = place(k, w);
            STORE(grid, to + 2 * k, ax * x + bx);
            STORE(grid, to + 2 * k + 1, ay * x + by);
        }
        return;
    }
    for (u32 k = 0; k < w; ++k) {
        const real x = place(k, w);
        STORE(grid, to + k * g_w, ax * x + bx);
        STORE(grid, to + k * g_w + g_2, ay * x + by);
    }
#elif VW == 1
    const real x = place(j, w);
    STORE(grid, to, ax * x + bx);
    STORE(grid, to + g_2, ay * x + by);
#else
    vreal v;
    UNROLL for (int k = 0; k < VW; ++k) {
        const real x = place(j + k / 2, w);
        LANE(v, k) = k % 2 ? ay * x + by : ax * x + bx;
    }
    VSTORE(grid, to, v);
#endif
}
