// Bilinear sampling and the gradient of its grid; grid/sample.h has the formulas.
//
//   sampler_forward   a work-item makes CHANNELS vectors of VW channels of one point, from one set of four weights
//   sampler_grid      the SHARING work-items of a point share its channels; their sums are added in order. With COUNTS it
//                     also counts the points of every cell, for grid/bins.cl
//
//                                  otherwise                       CHANNELS_LAST
//     lid ->    0  1  2 ..    neighbouring points             neighbouring vectors of channels, then the next point
//
// Defines: POINTS of a work-group, SHARING; CHANNELS (forward); IN_FLIGHT; VW is 1 without CHANNELS_LAST; ONE_ROW: p is 1.

#include "common/types.h"
#include "grid/sample.h"
#include "grid/corners.h"

#define GROUP (POINTS * SHARING)
#ifdef CHANNELS_LAST
#define POINT(lid) ((lid) / SHARING)
#define SHARE(lid) ((lid) % SHARING)
#define SLOT(point, share) ((point) * SHARING + (share))
#else
#define POINT(lid) ((lid) % POINTS)
#define SHARE(lid) ((lid) / POINTS)
#define SLOT(point, share) ((share) * POINTS + (point))
#endif

#ifdef FORWARD
KERNEL WG_SIZE(GROUP, 1, 1)
sampler_forward(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const int lid = LID(0);
    const u32 tile = (u32)GRP(0) % tiles, rest = (u32)GRP(0) / tiles, n = rest / blocks;
    const u32 s = tile * POINTS + POINT(lid), row = ROW_OF(s), column = s - row * q;
    if (s >= (u32)p * q) return;
    const idx_t g = n * g_n + row * g_h + column * g_w;
    const Place at = place_of(LOAD(grid, g), LOAD(grid, g + g_2), h, w);
    const Corners k = corners_of(at, h, w, x_h, x_w);
    const real fu = at.fu, fv = at.fv, eu = 1 - fu, ev = 1 - fv;
    const real wa = ev * eu, wb = ev * fu, wc = fv * eu, wd = fv * fu;
    const int first = ((int)(rest - n * blocks) * (CHANNELS * SHARING) + SHARE(lid)) * VW;
    const GLOBAL T *from = x + n * x_n;
    GLOBAL T *to = y + (n * y_n + row * y_h + column * y_w);
    vreal sum[CHANNELS];

    UNROLL for (int j = 0; j < CHANNELS; ++j) {
        const int c = first + j * (SHARING * VW);
        const GLOBAL T *plane = from + (idx_t)c * x_c;
        sum[j] = VSPLAT(0);
        if (c < channels)
            sum[j] = READ_A(plane, k) * wa + READ_B(plane, k) * wb + READ_C(plane, k) * wc + READ_D(plane, k) * wd;
    }
    UNROLL for (int j = 0; j < CHANNELS; ++j) {
        const int c = first + j * (SHARING * VW);
        if (c < channels) VBLEND(to, (idx_t)c * y_c, alpha, sum[j], beta);
    }
}
#endif

#ifdef GRID_GRADIENT
KERNEL WG_SIZE(GROUP, 1, 1)
sampler_grid(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
#if SHARING > 1
    LOCAL real along_u[GROUP], along_v[GROUP];
#endif
    const int lid = LID(0);
    const u32 n = (u32)GRP(0) / tiles, tile = (u32)GRP(0) - n * tiles;
    const u32 s = tile * POINTS + POINT(lid), row = ROW_OF(s), column = s - row * q;
    const bool point = s < (u32)p * q;
    real su = 0, sv = 0;

    if (point) {
        const idx_t g = n * g_n + row * g_h + column * g_w;
        const Place at = place_of(LOAD(grid, g), LOAD(grid, g + g_2), h, w);
        const Slopes sum = slopes_of(at, x + n * x_n, dy + (n * y_n + row * y_h + column * y_w), SHARE(lid) * VW,
                                     SHARING * VW, channels, h, w, x_c, x_h, x_w, y_c);
        su = sum.u;
        sv = sum.v;
#ifdef COUNTS
        if (SHARE(lid) == 0 && at.inside)
            slots[(idx_t)n * ((u32)p * q) + s] = ATOMIC_INC(starts + ((idx_t)n * CELLS_OF(h, w) + CELL(at, w)));
#endif
    }
#if SHARING > 1
    along_u[lid] = su;
    along_v[lid] = sv;
    BARRIER();
    if (SHARE(lid) == 0)
        for (int j = 1; j < SHARING; ++j) {
            su += along_u[SLOT(POINT(lid), j)];
            sv += along_v[SLOT(POINT(lid), j)];
        }
#endif
    if (point && SHARE(lid) == 0) {
        GLOBAL T *to = dgrid + (n * d_n + row * d_h + column * d_w);
        BLEND(to, 0, alpha, SCALED_SLOPE(su, w), beta);
        BLEND(to, d_2, alpha, SCALED_SLOPE(sv, h), beta);
    }
}
#endif
