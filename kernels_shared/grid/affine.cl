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
// Defines: GROUP; FORWARD with VW or ROWS, or BACKWARD with FINISH.

#include "common/types.h"
#ifdef GRID_FENCED
#include "common/last_group.h"
#endif

#define SIZES                                                                                              \
    const u32 h, const u32 w, const idx_t g_n, const idx_t g_h, const idx_t g_w, const idx_t g_2,          \
        const idx_t t_n, const idx_t t_r, const idx_t t_k

#ifdef BAKED
#define GRID_NUMBERS
#define THETA_NUMBERS
#else
#define GRID_NUMBERS , SIZES, const idx_t items
#define THETA_NUMBERS , SIZES, const u32 slices, const u32 length
#endif

// where pixel i of `size` sits
DEVICE real place(u32 i, u32 size) {
    return size == 1 ? (real)-1 : (real)((int)(2 * i) - (int)(size - 1)) / (real)(size - 1);
}

#ifdef FORWARD
#ifdef ROWS
#define POINTS w  // of a work-item
#else
#define POINTS (VW == 1 ? 1 : VW / 2)
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
affine_grid(TENSOR(const T, theta), TENSOR(T, grid) GRID_NUMBERS) {
    GRID_WAIT();
    BIND_NUMBERS;
    BIND(const T, theta);
    BIND(T, grid);
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
#endif

#ifdef BACKWARD
#define THETA(n, k) ((n) * t_n + (k) / 3 * t_r + (k) % 3 * t_k)

// Sums over the points of a slice: of dgrid_x and dgrid_y times x, y and 1.
KERNEL WG_SIZE(GROUP, 1, 1)
#ifdef ONE_SLICE
affine_theta(TENSOR(const T, dgrid), TENSOR(T, dtheta) THETA_NUMBERS) {
    GRID_WAIT();
    BIND(T, dtheta);
#elif defined(GRID_FENCED)
affine_theta(TENSOR(const T, dgrid), TENSOR(T, dtheta), TENSOR(real, sums), TENSOR(int, arrived)
             THETA_NUMBERS) {
    GRID_WAIT();
    LOCAL int last_one;
    BIND(T, dtheta);
    BIND(real, sums);
    BIND(int, arrived);
#else
affine_theta(TENSOR(const T, dgrid), TENSOR(real, sums) THETA_NUMBERS) {
    GRID_WAIT();
    BIND(real, sums);
#endif
    LOCAL real scratch[6 * GROUP];
    BIND_NUMBERS;
    BIND(const T, dgrid);
    const int lid = LID(0);
    const u32 n = (u32)GRP(0) / slices, slice = (u32)GRP(0) - n * slices;
    const u32 first = slice * length, end = first + length < h * w ? first + length : h * w;
    const GLOBAL T *from = dgrid + n * g_n;
    real xx = 0, xy = 0, x1 = 0, yx = 0, yy = 0, y1 = 0;

#if GROUP > 1
    for (u32 s = first + lid; s < end; s += GROUP) {
        const u32 i = s / w, j = s - i * w;
        const idx_t at = i * g_h + j * g_w;
        const real x = place(j, w), y = place(i, h), gx = LOAD(from, at), gy = LOAD(from, at + g_2);
        xx += gx * x;
        xy += gx * y;
        x1 += gx;
        yx += gy * x;
        yy += gy * y;
        y1 += gy;
    }
    scratch[lid] = xx;
    scratch[GROUP + lid] = xy;
    scratch[2 * GROUP + lid] = x1;
    scratch[3 * GROUP + lid] = yx;
    scratch[4 * GROUP + lid] = yy;
    scratch[5 * GROUP + lid] = y1;
    for (int step = GROUP / 2; step > 0; step /= 2) {
        BARRIER();
        if (lid < step)
            for (int k = 0; k < 6; ++k) scratch[k * GROUP + lid] += scratch[k * GROUP + lid + step];
    }
    BARRIER();
#ifdef ONE_SLICE
    if (lid < 6) STORE(dtheta, THETA(n, (u32)lid), scratch[lid * GROUP]);
#else
    if (lid < 6) sums[(u32)GRP(0) * 6 + lid] = scratch[lid * GROUP];
#endif
#ifdef GRID_FENCED
    if (!last_group(arrived + n, &last_one, lid, (int)slices)) return;
    if (lid < 6) {
        real total = 0;
        for (u32 k = 0; k < slices; ++k) total += sums[(n * slices + k) * 6 + lid];
        STORE(dtheta, THETA(n, (u32)lid), total);
    }
#endif
#else  // a CPU: runs of a row, whose sums over 8 neighbours are independent
    for (u32 s = first; s < end;) {
        const u32 i = s / w, j0 = s - i * w;
        const u32 j1 = w < end - i * w ? w : end - i * w;
        real px[8], p1[8], qx[8], q1[8];
        for (int k = 0; k < 8; ++k) px[k] = p1[k] = qx[k] = q1[k] = 0;
        const GLOBAL T *row = from + i * g_h;
        u32 j = j0;
        for (; j + 8 <= j1; j += 8)
            for (int k = 0; k < 8; ++k) {
                const real x = place(j + k, w), gx = LOAD(row, (j + k) * g_w), gy = LOAD(row, (j + k) * g_w + g_2);
                px[k] += gx * x;
                p1[k] += gx;
                qx[k] += gy * x;
                q1[k] += gy;
            }
        for (; j < j1; ++j) {
            const real x = place(j, w), gx = LOAD(row, j * g_w), gy = LOAD(row, j * g_w + g_2);
            px[0] += gx * x;
            p1[0] += gx;
            qx[0] += gy * x;
            q1[0] += gy;
        }
        for (int step = 4; step > 0; step /= 2)
            for (int k = 0; k < step; ++k) {
                px[k] += px[k + step];
                p1[k] += p1[k + step];
                qx[k] += qx[k + step];
                q1[k] += q1[k + step];
            }
        const real y = place(i, h);
        xx += px[0];
        xy += p1[0] * y;
        x1 += p1[0];
        yx += qx[0];
        yy += q1[0] * y;
        y1 += q1[0];
        s += j1 - j0;
    }
#ifdef ONE_SLICE
#define PUT(k, sum) STORE(dtheta, THETA(n, k), sum)
#else
#define PUT(k, sum) sums[(u32)GRP(0) * 6 + (k)] = sum
#endif
    PUT(0, xx);
    PUT(1, xy);
    PUT(2, x1);
    PUT(3, yx);
    PUT(4, yy);
    PUT(5, y1);
#endif
}

// A work-item adds up the slices' sums of one number of a matrix.
KERNEL WG_SIZE(FINISH, 1, 1)
affine_theta_finish(TENSOR(const real, sums), TENSOR(T, dtheta), SIZES, const u32 slices, const u32 items) {
    GRID_WAIT();
    BIND(const real, sums);
    BIND(T, dtheta);
    const u32 id = (u32)GRP(0) * FINISH + LID(0);
    if (id >= items) return;
    const u32 n = id / 6, k = id - n * 6;
    real total = 0;
    for (u32 slice = 0; slice < slices; ++slice) total += sums[(n * slices + slice) * 6 + k];
    STORE(dtheta, THETA(n, k), total);
}
#endif
