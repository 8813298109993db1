// Bilinear sampling and the gradient of its grid; grid_sample.h has the formulas.
//
//   sampler_forward   a work-item makes CHANNELS vectors of VW channels of one point, from one set of four weights
//   sampler_grid      the SHARING work-items of a point share its channels; their sums are added in order
//
//                                  otherwise                       CHANNELS_LAST
//     lid ->    0  1  2 ..    neighbouring points             neighbouring vectors of channels, then the next point
//
// Defines: POINTS of a work-group, SHARING; CHANNELS (forward); VW is 1 without CHANNELS_LAST.

#include "types.h"
#include "grid_sample.h"

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

typedef struct {
    idx_t at;                   // of the first pixel; may wrap around where that is outside
    int up, down, left, right;  // whether these rows and columns are in the image
} Corners;

DEVICE Corners corners_of(Place at, int h, int w, idx_t x_h, idx_t x_w) {
    Corners k;
    k.at = (idx_t)at.i * x_h + (idx_t)at.j * x_w;
    k.up = at.inside && at.i >= 0;
    k.down = at.inside && at.i + 1 < h;
    k.left = at.j >= 0;
    k.right = at.j + 1 < w;
    return k;
}
#define READ(p, there, offset) ((there) ? VLOAD(p, offset) : VSPLAT(0))
#define READ_A(p, k) READ(p, (k).up && (k).left, (k).at)
#define READ_B(p, k) READ(p, (k).up && (k).right, (k).at + x_w)
#define READ_C(p, k) READ(p, (k).down && (k).left, (k).at + x_h)
#define READ_D(p, k) READ(p, (k).down && (k).right, (k).at + x_h + x_w)

#ifdef FORWARD
KERNEL WG_SIZE(GROUP, 1, 1)
sampler_forward(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, grid), TENSOR_RESTRICT(T, y), const real alpha,
                const real beta, SIZES, const u32 tiles, const u32 blocks) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, grid);
    BIND_RESTRICT(T, y);
    const int lid = LID(0);
    const u32 tile = (u32)GRP(0) % tiles, rest = (u32)GRP(0) / tiles, n = rest / blocks;
    const u32 s = tile * POINTS + POINT(lid), row = s / q, column = s - row * q;
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
DEVICE real lanes_sum(vreal v) {
    real total = LANE(v, 0);
#if VW > 1
    UNROLL for (int j = 1; j < VW; ++j) total += LANE(v, j);
#endif
    return total;
}

KERNEL WG_SIZE(GROUP, 1, 1)
sampler_grid(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(const T, grid),
             TENSOR_RESTRICT(T, dgrid), const real alpha, const real beta, SIZES, const idx_t d_n, const idx_t d_h,
             const idx_t d_w, const idx_t d_2, const u32 tiles) {
#if SHARING > 1
    LOCAL real along_u[GROUP], along_v[GROUP];
#endif
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(const T, grid);
    BIND_RESTRICT(T, dgrid);
    const int lid = LID(0);
    const u32 n = (u32)GRP(0) / tiles, tile = (u32)GRP(0) - n * tiles;
    const u32 s = tile * POINTS + POINT(lid), row = s / q, column = s - row * q;
    const bool point = s < (u32)p * q;
    real su = 0, sv = 0;

    if (point) {
        const idx_t g = n * g_n + row * g_h + column * g_w;
        const Place at = place_of(LOAD(grid, g), LOAD(grid, g + g_2), h, w);
        const Corners k = corners_of(at, h, w, x_h, x_w);
        const real fu = at.fu, fv = at.fv, eu = 1 - fu, ev = 1 - fv;
        const GLOBAL T *from = x + n * x_n;
        const GLOBAL T *dys = dy + (n * y_n + row * y_h + column * y_w);
        vreal tu = VSPLAT(0), tv = VSPLAT(0);
        if (at.inside)
            for (int c = SHARE(lid) * VW; c < channels; c += SHARING * VW) {
                const GLOBAL T *plane = from + (idx_t)c * x_c;
                const vreal gradient = VLOAD(dys, (idx_t)c * y_c);
                const vreal va = READ_A(plane, k), vb = READ_B(plane, k), vc = READ_C(plane, k), vd = READ_D(plane, k);
                tu = tu + gradient * ((vb - va) * ev + (vd - vc) * fv);
                tv = tv + gradient * ((vc - va) * eu + (vd - vb) * fu);
            }
        su = lanes_sum(tu);
        sv = lanes_sum(tv);
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
        const real du = su * ((real)0.5 * (real)(w - 1)), dv = sv * ((real)0.5 * (real)(h - 1));
        BLEND(to, 0, alpha, du, beta);
        BLEND(to, d_2, alpha, dv, beta);
    }
}
#endif
