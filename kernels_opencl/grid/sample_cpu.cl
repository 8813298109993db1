// The sampler on a CPU: channels are lanes. A work-group of one copies VW channels of an image to scratch, pixel by pixel,
// with a border of zeros, so that every point reads four vectors without asking whether they are inside.
//
//     x[n][c .. c + VW][h][w]  ->  scratch [h + 2][w + 2][VW]      o: a point's first pixel
//                                    0  0  0  0  0  0
//                                    0  .  o  +  .  0              points far outside have theirs behind the
//                                    0  .  +  +  .  0              last row, where all is zero
//                                    0  0  0  0  0  0
//
//   sampler_forward_cpu   job: (image, VW channels, share of the points)
//   sampler_grid_cpu      job: (image, share of the points); the channels' sums gather in scratch, VW channels at a time
//   sampler_scatter_cpu   job: (image, VW channels, BAND of rows of dx); scratch takes the sums, its border what belongs to
//                         other bands or to no pixel. Points come in order: deterministic
//
// Points are taken STRIP at a time. A work-group takes every NGRP-th job. Lanes beyond the channels hold zeros.
// Defines: FORWARD, GRID_GRADIENT or SCATTER; VW 1, 4, 8 or 16; ONE_ROW when the points are one row (p is 1); Y_RUNS when moreover
// points that follow one another do so in y, X_RUNS for pixels of a row.

#include "common/types.h"
#include "grid/sample.h"

#define STRIP 64
#ifdef ONE_ROW
#define POINT_OFFSET(s, q, rows, columns) ((idx_t)(s) * (columns))
#else
#define POINT_OFFSET(s, q, rows, columns) ((idx_t)((s) / (q)) * (rows) + (idx_t)((s) % (q)) * (columns))
#endif
#ifdef X_RUNS
#define X_STEP ((idx_t)1)
#else
#define X_STEP x_w
#endif
#ifdef Y_RUNS
#define Y_OFFSET(s) ((idx_t)(s))
#else
#define Y_OFFSET(s) POINT_OFFSET(s, q, y_h, y_w)
#endif
typedef vreal pd_lanes __attribute__((aligned(sizeof(real))));
#define AT(p, i) (*(GLOBAL pd_lanes *)((p) + (i) * VW))  // vector i of scratch
#define MINE(i) (*(pd_lanes *)((i)))
#define PITCH (w + 2)
#define BEHIND(rows) (((rows) + 2) * PITCH)      // of the first vector behind the last row
#define VECTORS(rows) (BEHIND(rows) + PITCH + 2)  // of scratch

typedef struct {
    int o[STRIP];
    real a[STRIP], b[STRIP], c[STRIP], d[STRIP];  // weights, or fu and fv
} Strip;

// Points first .. first + count of an image; rows of scratch begin with row `top` of the image.
DEVICE void strip_of(Strip *strip, const GLOBAL T *grid, int first, int count, int h, int w, int q, idx_t g_h, idx_t g_w,
                     idx_t g_2, int top, int rows, bool weights) {
    real gx[STRIP], gy[STRIP];
    for (int k = 0; k < count; ++k) {
        const idx_t at = POINT_OFFSET(first + k, q, g_h, g_w);
        gx[k] = LOAD(grid, at);
        gy[k] = LOAD(grid, at + g_2);
    }
    for (int k = count; k < STRIP; ++k) gx[k] = gy[k] = 0;
    for (int k = 0; k < STRIP; ++k) {  // all of them, so that it becomes vectors
        const Place at = place_of(gx[k], gy[k], h, w);
        const int row = at.i - top, here = at.inside & (row >= -1) & (row < rows);
        const real fu = here ? at.fu : (real)0, fv = here ? at.fv : (real)0;
        strip->o[k] = here ? (row + 1) * PITCH + at.j + 1 : BEHIND(rows);
        strip->a[k] = weights ? (1 - fv) * (1 - fu) : fu;
        strip->b[k] = weights ? (1 - fv) * fu : fv;
        strip->c[k] = fv * (1 - fu);
        strip->d[k] = fv * fu;
    }
}

#ifndef SCATTER
// VW channels of an image, of which `lanes` exist
DEVICE void pack(GLOBAL real *scratch, const GLOBAL T *x, int lanes, int h, int w, idx_t x_c, idx_t x_h, idx_t x_w) {
    for (int k = 0; k < PITCH; ++k) AT(scratch, k) = VSPLAT(0);
    for (int i = 0; i < h; ++i) {
        GLOBAL real *to = scratch + (i + 1) * PITCH * VW;
        AT(to, 0) = VSPLAT(0);
        if (VW > 1 && x_c == 1 && lanes == VW) {
            for (int j = 0; j < w; ++j) AT(to, j + 1) = VLOAD(x, (idx_t)i * x_h + (idx_t)j * x_w);
        } else {
            for (int l = 0; l < VW; ++l) {
                GLOBAL real *column = to + VW + l;
                if (l >= lanes) {
                    for (int j = 0; j < w; ++j) column[j * VW] = 0;
                    continue;
                }
                const GLOBAL T *row = x + ((idx_t)l * x_c + (idx_t)i * x_h);
                int j = 0;
#if defined(X_RUNS) && VW > 1
                for (; j + VW <= w; j += VW) {
                    real part[VW];
                    MINE(part) = VLOAD(row, j);
                    UNROLL for (int k = 0; k < VW; ++k) column[(j + k) * VW] = part[k];
                }
#endif
                for (; j < w; ++j) column[j * VW] = LOAD(row, (idx_t)j * X_STEP);
            }
        }
        AT(to, w + 1) = VSPLAT(0);
    }
    for (int k = (h + 1) * PITCH; k < VECTORS(h); ++k) AT(scratch, k) = VSPLAT(0);
}
#endif

#ifndef FORWARD
// VW channels of dy at the points of a strip
DEVICE void gradients_of(real *part, const GLOBAL T *dy, int lanes, int first, int count, int q, idx_t y_c, idx_t y_h,
                         idx_t y_w) {
    if (VW > 1 && y_c == 1 && lanes == VW) {
        for (int k = 0; k < count; ++k) MINE(part + k * VW) = VLOAD(dy, Y_OFFSET(first + k));
        return;
    }
    for (int l = 0; l < VW; ++l) {
        if (l >= lanes) {
            for (int k = 0; k < count; ++k) part[k * VW + l] = 0;
            continue;
        }
        const GLOBAL T *channel = dy + (idx_t)l * y_c;
        int k = 0;
#if defined(Y_RUNS) && VW > 1
        for (; k + VW <= count; k += VW) {
            real run[VW];
            MINE(run) = VLOAD(channel, first + k);
            UNROLL for (int j = 0; j < VW; ++j) part[(k + j) * VW + l] = run[j];
        }
#endif
        for (; k < count; ++k) part[k * VW + l] = LOAD(channel, Y_OFFSET(first + k));
    }
}
#endif

#ifdef FORWARD
KERNEL WG_SIZE(1, 1, 1)
sampler_forward_cpu(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, grid), TENSOR_RESTRICT(T, y),
                    TENSOR_RESTRICT(real, scratch), const real alpha, const real beta, SIZES, const int jobs,
                    const int shares, const int share) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, grid);
    BIND_RESTRICT(T, y);
    BIND_RESTRICT(real, scratch);
    GLOBAL real *image = scratch + (i64)GRP(0) * VECTORS(h) * VW;
    const int blocks = (channels + VW - 1) / VW;
    Strip strip;
    real part[STRIP * VW];

    for (int job = GRP(0); job < jobs; job += NGRP(0)) {
        const int n = job / shares / blocks, c = job / shares % blocks * VW;
        const int lanes = channels - c < VW ? channels - c : VW;
        const int begin = job % shares * share, end = begin + share < p * q ? begin + share : p * q;
        pack(image, x + ((idx_t)n * x_n + (idx_t)c * x_c), lanes, h, w, x_c, x_h, x_w);
        GLOBAL T *to = y + ((idx_t)n * y_n + (idx_t)c * y_c);
        for (int first = begin; first < end; first += STRIP) {
            const int count = end - first < STRIP ? end - first : STRIP;
            strip_of(&strip, grid + (idx_t)n * g_n, first, count, h, w, q, g_h, g_w, g_2, 0, h, true);
            for (int k = 0; k < count; ++k) {
                const GLOBAL real *pixel = image + strip.o[k] * VW;
                const vreal top = AT(pixel, 0) * strip.a[k] + AT(pixel, 1) * strip.b[k];
                const vreal low = AT(pixel, PITCH) * strip.c[k] + AT(pixel, PITCH + 1) * strip.d[k];
                MINE(part + k * VW) = top + low;
            }
            if (VW > 1 && y_c == 1 && lanes == VW) {
                for (int k = 0; k < count; ++k)
                    VBLEND(to, Y_OFFSET(first + k), alpha, MINE(part + k * VW), beta);
                continue;
            }
            for (int l = 0; l < lanes; ++l) {
                GLOBAL T *channel = to + (idx_t)l * y_c;
                int k = 0;
#if defined(Y_RUNS) && VW > 1
                for (; k + VW <= count; k += VW) {
                    real run[VW];
                    UNROLL for (int j = 0; j < VW; ++j) run[j] = part[(k + j) * VW + l];
                    VBLEND(channel, first + k, alpha, MINE(run), beta);
                }
#endif
                for (; k < count; ++k)
                    BLEND(channel, Y_OFFSET(first + k), alpha, part[k * VW + l], beta);
            }
        }
    }
}
#endif

#ifdef GRID_GRADIENT
DEVICE real lanes_sum(vreal v) {
    real lane[VW];
    MINE(lane) = v;
#if VW == 16
    UNROLL for (int j = 0; j < 8; ++j) lane[j] += lane[j + 8];
#endif
#if VW >= 8
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
#elif VW == 4
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
#else
    return lane[0];
#endif
}

KERNEL WG_SIZE(1, 1, 1)
sampler_grid_cpu(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(const T, grid),
                 TENSOR_RESTRICT(T, dgrid), TENSOR_RESTRICT(real, scratch), const real alpha, const real beta, SIZES,
                 const idx_t d_n, const idx_t d_h, const idx_t d_w, const idx_t d_2, const int jobs, const int shares,
                 const int share) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(const T, grid);
    BIND_RESTRICT(T, dgrid);
    BIND_RESTRICT(real, scratch);
    GLOBAL real *image = scratch + (i64)GRP(0) * (VECTORS(h) * VW + 2 * share);
    GLOBAL real *sums = image + VECTORS(h) * VW;
    const real half_w = (real)0.5 * (real)(w - 1), half_h = (real)0.5 * (real)(h - 1);
    Strip strip;
    real part[STRIP * VW];

    for (int job = GRP(0); job < jobs; job += NGRP(0)) {
        const int n = job / shares;
        const int begin = job % shares * share, end = begin + share < p * q ? begin + share : p * q;
        for (int k = 0; k < 2 * share; ++k) sums[k] = 0;
        for (int c = 0; c < channels; c += VW) {
            const int lanes = channels - c < VW ? channels - c : VW;
            pack(image, x + ((idx_t)n * x_n + (idx_t)c * x_c), lanes, h, w, x_c, x_h, x_w);
            for (int first = begin; first < end; first += STRIP) {
                const int count = end - first < STRIP ? end - first : STRIP;
                strip_of(&strip, grid + (idx_t)n * g_n, first, count, h, w, q, g_h, g_w, g_2, 0, h, false);
                gradients_of(part, dy + ((idx_t)n * y_n + (idx_t)c * y_c), lanes, first, count, q, y_c, y_h, y_w);
                GLOBAL real *sum_u = sums + (first - begin), *sum_v = sum_u + share;
#if VW == 1  // one loop that gathers, and one that becomes vectors
                real va[STRIP], vb[STRIP], vc[STRIP], vd[STRIP];
                for (int k = 0; k < count; ++k) {
                    const GLOBAL real *pixel = image + strip.o[k];
                    va[k] = pixel[0];
                    vb[k] = pixel[1];
                    vc[k] = pixel[PITCH];
                    vd[k] = pixel[PITCH + 1];
                }
                for (int k = 0; k < count; ++k) {
                    const real fu = strip.a[k], fv = strip.b[k];
                    const real g = strip.o[k] != BEHIND(h) ? part[k] : (real)0;  // there it may be NaN
                    sum_u[k] += g * ((vb[k] - va[k]) * (1 - fv) + (vd[k] - vc[k]) * fv);
                    sum_v[k] += g * ((vc[k] - va[k]) * (1 - fu) + (vd[k] - vb[k]) * fu);
                }
#else
                for (int k = 0; k < count; ++k) {
                    const GLOBAL real *pixel = image + strip.o[k] * VW;
                    const vreal va = AT(pixel, 0), vb = AT(pixel, 1), vc = AT(pixel, PITCH), vd = AT(pixel, PITCH + 1);
                    const vreal g = MINE(part + k * VW);
                    const real fu = strip.a[k], fv = strip.b[k];
                    const real du = lanes_sum(g * ((vb - va) * (1 - fv) + (vd - vc) * fv));
                    const real dv = lanes_sum(g * ((vc - va) * (1 - fu) + (vd - vb) * fu));
                    const bool here = strip.o[k] != BEHIND(h);  // elsewhere the gradient may be NaN
                    sum_u[k] += here ? du : (real)0;
                    sum_v[k] += here ? dv : (real)0;
                }
#endif
            }
        }
        for (int s = begin; s < end; ++s) {
            GLOBAL T *to = dgrid + ((idx_t)n * d_n + POINT_OFFSET(s, q, d_h, d_w));
            const real du = sums[s - begin] * half_w, dv = sums[share + s - begin] * half_h;
            BLEND(to, 0, alpha, du, beta);
            BLEND(to, d_2, alpha, dv, beta);
        }
    }
}
#endif

#ifdef SCATTER
KERNEL WG_SIZE(1, 1, 1)
sampler_scatter_cpu(TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(const T, grid), TENSOR_RESTRICT(T, dx),
                    TENSOR_RESTRICT(real, scratch), const real alpha, const real beta, SIZES, const int jobs,
                    const int bands, const int band) {
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(const T, grid);
    BIND_RESTRICT(T, dx);
    BIND_RESTRICT(real, scratch);
    GLOBAL real *sums = scratch + (i64)GRP(0) * VECTORS(band) * VW;
    const int blocks = (channels + VW - 1) / VW;
    Strip strip;
    real part[STRIP * VW];

    for (int job = GRP(0); job < jobs; job += NGRP(0)) {
        const int n = job / bands / blocks, c = job / bands % blocks * VW;
        const int lanes = channels - c < VW ? channels - c : VW;
        const int top = job % bands * band, rows = band < h - top ? band : h - top;
        for (int k = 0; k < VECTORS(rows); ++k) AT(sums, k) = VSPLAT(0);
        for (int first = 0; first < p * q; first += STRIP) {
            const int count = p * q - first < STRIP ? p * q - first : STRIP;
            strip_of(&strip, grid + (idx_t)n * g_n, first, count, h, w, q, g_h, g_w, g_2, top, rows, true);
            gradients_of(part, dy + ((idx_t)n * y_n + (idx_t)c * y_c), lanes, first, count, q, y_c, y_h, y_w);
            for (int k = 0; k < count; ++k) {
                GLOBAL real *pixel = sums + strip.o[k] * VW;
                const vreal g = MINE(part + k * VW);
                AT(pixel, 0) = AT(pixel, 0) + g * strip.a[k];
                AT(pixel, 1) = AT(pixel, 1) + g * strip.b[k];
                AT(pixel, PITCH) = AT(pixel, PITCH) + g * strip.c[k];
                AT(pixel, PITCH + 1) = AT(pixel, PITCH + 1) + g * strip.d[k];
            }
        }
        for (int i = 0; i < rows; ++i) {
            const GLOBAL real *from = sums + ((i + 1) * PITCH + 1) * VW;
            GLOBAL T *to = dx + ((idx_t)n * x_n + (idx_t)c * x_c + (idx_t)(top + i) * x_h);
            if (VW > 1 && x_c == 1 && lanes == VW) {
                for (int j = 0; j < w; ++j) VBLEND(to, (idx_t)j * x_w, alpha, AT(from, j), beta);
                continue;
            }
            for (int l = 0; l < lanes; ++l) {
                GLOBAL T *row = to + (idx_t)l * x_c;
                int j = 0;
#if defined(X_RUNS) && VW > 1
                for (; j + VW <= w; j += VW) {
                    real run[VW];
                    UNROLL for (int k = 0; k < VW; ++k) run[k] = from[(j + k) * VW + l];
                    VBLEND(row, j, alpha, MINE(run), beta);
                }
#endif
                for (; j < w; ++j) BLEND(row, (idx_t)j * X_STEP, alpha, from[j * VW + l], beta);
            }
        }
    }
}
#endif
