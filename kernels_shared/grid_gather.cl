// The sampler's gradient dx on a GPU: every pixel gathers the points around it, which grid_bins.cl has sorted by their cells. No
// sums meet, so the result is deterministic.
//
// A work-item makes CHANNELS vectors of VW channels of one pixel; the points of the four cells around it are two runs:
//
//                 cell (i-1, j-1) | cell (i-1, j)        a run: columns j - 1 and j of row i - 1
//                 ------------- pixel (i, j) ---
//                 cell (i, j-1)   | cell (i, j)          a run: columns j - 1 and j of row i
//
// Defines: POINTS, SHARING, CHANNELS, CHANNELS_LAST as in grid_sample.cl, points being pixels.

#include "types.h"
#include "grid_sample.h"

#define GROUP (POINTS * SHARING)
#ifdef CHANNELS_LAST
#define POINT(lid) ((lid) / SHARING)
#define SHARE(lid) ((lid) % SHARING)
#else
#define POINT(lid) ((lid) % POINTS)
#define SHARE(lid) ((lid) / POINTS)
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
sampler_gather(TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(T, dx), TENSOR_RESTRICT(const int, starts),
               TENSOR_RESTRICT(const u32, order), TENSOR_RESTRICT(const real, us), TENSOR_RESTRICT(const real, vs),
               const real alpha, const real beta, SIZES, const u32 tiles, const u32 blocks) {
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(T, dx);
    BIND_RESTRICT(const int, starts);
    BIND_RESTRICT(const u32, order);
    BIND_RESTRICT(const real, us);
    BIND_RESTRICT(const real, vs);
    const int lid = LID(0);
    const u32 tile = (u32)GRP(0) % tiles, rest = (u32)GRP(0) / tiles, n = rest / blocks;
    const u32 pixel = tile * POINTS + POINT(lid), i = pixel / w, j = pixel - i * w;
    if (pixel >= (u32)h * w) return;
    const int first = ((int)(rest - n * blocks) * (CHANNELS * SHARING) + SHARE(lid)) * VW;
    const GLOBAL int *start = starts + (idx_t)n * (((u32)h + 1) * (w + 1) + 1);
    const idx_t points = (idx_t)n * ((u32)p * q);
    const GLOBAL T *from = dy + n * y_n;
    GLOBAL T *to = dx + (n * x_n + i * x_h + j * x_w);
    vreal sum[CHANNELS];

    UNROLL for (int k = 0; k < CHANNELS; ++k) sum[k] = VSPLAT(0);
    for (u32 row = i; row < i + 2; ++row) {
        const u32 cell = row * (w + 1) + j;
        const idx_t end = points + start[cell + 2];
        for (idx_t e = points + start[cell]; e < end; ++e) {
            const real weight = ((real)1 - fabs(us[e] - (real)j)) * ((real)1 - fabs(vs[e] - (real)i));
            const u32 s = order[e];
            const GLOBAL T *source = from + (p == 1 ? s * y_w : s / q * y_h + s % q * y_w);
            UNROLL for (int k = 0; k < CHANNELS; ++k) {
                const int c = first + k * (SHARING * VW);
                if (c < channels) sum[k] = sum[k] + VLOAD(source, (idx_t)c * y_c) * weight;
            }
        }
    }
    UNROLL for (int k = 0; k < CHANNELS; ++k) {
        const int c = first + k * (SHARING * VW);
        if (c < channels) VBLEND(to, (idx_t)c * x_c, alpha, sum[k], beta);
    }
}
