// The gradient of affine transformations' matrices, slice by slice; grid/affine.cl draws them. Defines: GROUP, ONE_SLICE, GRID_FENCED.

#include "common/types.h"
#include "grid/affine.h"
#ifdef GRID_FENCED
#include "common/last_group.h"
#endif

#ifdef ONE_SLICE
#define PUT(k, sum) STORE(dtheta, THETA(n, k), sum)
#else
#define PUT(k, sum) sums[(u32)GRP(0) * 6 + (k)] = sum
#endif

// Sums over the points of a slice: of dgrid_x and dgrid_y times x, y and 1.
KERNEL WG_SIZE(GROUP, 1, 1)
affine_theta(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    LOCAL real scratch[6 * GROUP];
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
    if (lid < 6) PUT((u32)lid, scratch[lid * GROUP]);
#ifdef GRID_FENCED
    LOCAL int last_one;
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
    PUT(0, xx);
    PUT(1, xy);
    PUT(2, x1);
    PUT(3, yx);
    PUT(4, yy);
    PUT(5, y1);
#endif
}
