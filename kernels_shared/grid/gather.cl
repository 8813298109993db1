// The sampler's gradient dx on a GPU: every pixel gathers the points around it, which grid/bins.cl has sorted by their cells. No
// sums meet, so the result is deterministic. grid/points.h has the picture.
//
// Defines: POINTS, SHARING, CHANNELS, CHANNELS_LAST as in grid/sample.cl, points being pixels: those of a rectangle TILE_W wide,
// whose rows share what they read, or else neighbours in the order of memory.

#include "common/types.h"
#include "grid/sample.h"
#include "grid/points.h"

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
               TENSOR_RESTRICT(const real, sorted), const real alpha, const real beta, SIZES, const u32 tiles,
               const u32 blocks) {
    GRID_WAIT();
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(T, dx);
    BIND_RESTRICT(const int, starts);
    BIND_RESTRICT(const real, sorted);
    const int lid = LID(0);
    const u32 tile = (u32)GRP(0) % tiles, rest = (u32)GRP(0) / tiles, n = rest / blocks;
#ifdef TILE_W
    const u32 across = ((u32)w + TILE_W - 1) / TILE_W, top = tile / across, left = tile - top * across;
    const u32 i = top * (POINTS / TILE_W) + (u32)POINT(lid) / TILE_W, j = left * TILE_W + (u32)POINT(lid) % TILE_W;
    if (i >= (u32)h || j >= (u32)w) return;
#else
    const u32 pixel = tile * POINTS + POINT(lid), i = pixel / w, j = pixel - i * w;
    if (pixel >= (u32)h * w) return;
#endif
    const int first = ((int)(rest - n * blocks) * (CHANNELS * SHARING) + SHARE(lid)) * VW;
    gather(dy + n * y_n, dx + (n * x_n + i * x_h + j * x_w), starts + (idx_t)n * CELLS_OF(h, w),
           (const GLOBAL Point *)sorted + (idx_t)n * ((u32)p * q), i, j, first, SHARING * VW, channels, w, q, x_c, y_c,
           y_h, y_w, alpha, beta);
}
