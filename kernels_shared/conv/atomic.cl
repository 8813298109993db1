// Convolution gradients whose parts are added with atomics, in whatever order they come: results differ in their last bits.
//
//   data gradient    a work-item takes one pixel of dy, one tap and BLOCK channels; it sums over the filters and adds to the
//                    pixel of dx that the tap meets            dx[n, c, pixel * STEP + START + tap * TAP] += w . dy
//   filter gradient  a work-item takes one (channel, tap), BLOCK filters and CHUNK pixels of all images; it sums over these
//                    pixels and adds to dw                     dw[k, c, tap] += dy . x
//
// Sums go straight to the output, which `begin` has multiplied by beta; those of half and bfloat16 go to float numbers in the workspace
// (SCRATCH), which `finish` blends into the output. With INDEX_TABLE the filter gradient looks up where the pixels of an
// image lie, in numbers that `index_pixels` has computed once.
//
// Defines: conv/geometry.h's for the forward sum, so that IN_x are strides of x or dx and OUT_x those of dy; both of the
// workspace's numbers with SCRATCH. ELEMENTS and E0 .. E4, ES0 .. ES4: the output's size, dims and strides.

#include "common/types.h"
#include "conv/geometry.h"
#include "common/atomic.h"

// the output's element number i
DEVICE u32 element(u32 i) {
    return i / (E1 * E2 * E3 * E4) * ES0 + i / (E2 * E3 * E4) % E1 * ES1 + i / (E3 * E4) % E2 * ES2 + i / E4 % E3 * ES3 +
           i % E4 * ES4;
}

#ifdef SCRATCH
#define SHARE(alpha, sum) (sum)  // `finish` multiplies by alpha
KERNEL WG_SIZE(WG, 1, 1) begin(TENSOR(real, out)) {
    GRID_WAIT();
    BIND(real, out);
    const u32 i = (u32)GRP(0) * WG + (u32)LID(0);
    if (i < ELEMENTS) out[i] = 0;
}

KERNEL WG_SIZE(WG, 1, 1) finish(TENSOR(real, sums), TENSOR(T, out), const real alpha, const real beta) {
    GRID_WAIT();
    BIND(real, sums);
    BIND(T, out);
    const u32 i = (u32)GRP(0) * WG + (u32)LID(0);
    if (i < ELEMENTS) BLEND(out, element(i), alpha, sums[i], beta);
}
#else
#define SHARE(alpha, sum) ((alpha) * (sum))
KERNEL WG_SIZE(WG, 1, 1) begin(TENSOR(real, out), const real beta) {
    GRID_WAIT();
    BIND(real, out);
    const u32 i = (u32)GRP(0) * WG + (u32)LID(0);
    if (i >= ELEMENTS) return;
    const u32 at = element(i);
    out[at] = beta == (real)0 ? (real)0 : beta * out[at];
}
#endif

#define PIXELS ((u32)PIXELS_D * PIXELS_H * PIXELS_W)
#define TAPS (SIZE_D * SIZE_H * SIZE_W)

DEVICE u32 result_offset(u32 pixel) {
    const u32 row = pixel / PIXELS_W, plane = row / PIXELS_H;
    return plane / PIXELS_D * OUT_0 + plane % PIXELS_D * OUT_1 + row % PIXELS_H * OUT_2 + pixel % PIXELS_W * OUT_3;
}

#ifdef SCATTER
KERNEL WG_SIZE(WG, 1, 1)
scatter_data(TENSOR_RESTRICT(const T, w), TENSOR_RESTRICT(const T, dy), TENSOR(real, dx), const real alpha) {
    GRID_WAIT();
    BIND_RESTRICT(const T, w);
    BIND_RESTRICT(const T, dy);
    BIND(real, dx);
    const u32 blocks = (IMAGES * PIXELS + WG - 1) / WG;
    const u32 pixel = ADDS_ALONE((u32)GRP(0) % blocks * WG + (u32)LID(0));
    const int z = (int)((u32)GRP(0) / blocks);
    const int s = z % SIZE_W, r = z / SIZE_W % SIZE_H, t = z / (SIZE_W * SIZE_H) % SIZE_D;
    const int c0 = z / TAPS % CHANNEL_BLOCKS * BLOCK, group = z / TAPS / CHANNEL_BLOCKS;
    if (pixel >= IMAGES * PIXELS) return;
    const Phase phase = phase_of(0);
    const Pixel at = pixel_of(pixel, &phase);
    if (!inside(&at, t * TAP_D, r * TAP_H, s * TAP_W)) return;
    const u32 from = result_offset(pixel) + (u32)group * FILTERS * OUT_M;
    const u32 filter = (u32)group * FILTER_G + (u32)c0 * FILTER_C + FILTER_INDEX(t, SIZE_D) * FILTER_D +
                       FILTER_INDEX(r, SIZE_H) * FILTER_H + FILTER_INDEX(s, SIZE_W) * FILTER_W;
    real sum[BLOCK];
    UNROLL for (int c = 0; c < BLOCK; ++c) sum[c] = 0;
    for (u32 k = 0; k < FILTERS; ++k) {
        const real v = LOAD(dy, from + k * OUT_M);
        UNROLL for (int c = 0; c < BLOCK; ++c) {
            if (CHANNELS % BLOCK == 0 || c0 + c < CHANNELS) sum[c] += v * LOAD(w, filter + k * FILTER_M + c * FILTER_C);
        }
    }
    const u32 to = at.offset + TAP_OFFSET(t * TAP_D, r * TAP_H, s * TAP_W) + (u32)(group * CHANNELS + c0) * IN_C;
    UNROLL for (int c = 0; c < BLOCK; ++c) {
        if (CHANNELS % BLOCK == 0 || c0 + c < CHANNELS) ATOMIC_ADD(dx + (u32)(to + c * IN_C), SHARE(alpha, sum[c]));
    }
}
#else
#ifdef INDEX_TABLE
// table[5][PIXELS]: offsets in x and in dy, and the coordinates in x, of an image's pixels
KERNEL WG_SIZE(WG, 1, 1) index_pixels(TENSOR(int, table)) {
    GRID_WAIT();
    BIND(int, table);
    const u32 i = (u32)GRP(0) * WG + (u32)LID(0);
    if (i >= PIXELS) return;
    const Phase phase = phase_of(0);
    const Pixel at = pixel_of(i, &phase);
    table[i] = (int)at.offset;
    table[PIXELS + i] = (int)result_offset(i);
    table[2 * PIXELS + i] = at.d;
    table[3 * PIXELS + i] = at.h;
    table[4 * PIXELS + i] = at.w;
}
#endif

KERNEL WG_SIZE(WG, 1, 1)
sum_filter(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR(real, dw),
#ifdef INDEX_TABLE
           TENSOR_RESTRICT(const int, table),
#endif
           const real alpha) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND(real, dw);
#ifdef INDEX_TABLE
    BIND_RESTRICT(const int, table);
#endif
    const u32 blocks = (CHANNELS * TAPS + WG - 1) / WG;
    const int pair = (int)ADDS_ALONE((u32)GRP(0) % blocks * WG + (u32)LID(0));
    const int z = (int)((u32)GRP(0) / blocks);
    const int k0 = z % FILTER_BLOCKS * BLOCK, group = z / FILTER_BLOCKS % GROUPS;
    const u32 first = (u32)(z / FILTER_BLOCKS / GROUPS) * CHUNK;
    const u32 last = first + CHUNK < IMAGES * PIXELS ? first + CHUNK : IMAGES * PIXELS;
    if (pair >= CHANNELS * TAPS) return;
    const int s = pair % SIZE_W, r = pair / SIZE_W % SIZE_H, t = pair / (SIZE_W * SIZE_H) % SIZE_D, c = pair / TAPS;
    const int d = t * TAP_D, h = r * TAP_H, w = s * TAP_W;
    const u32 tap = TAP_OFFSET(d, h, w) + (u32)(group * CHANNELS + c) * IN_C;
    const Phase phase = phase_of(0);
    real sum[BLOCK];
    UNROLL for (int k = 0; k < BLOCK; ++k) sum[k] = 0;
    for (u32 pixel = first; pixel < last; ++pixel) {
#ifdef INDEX_TABLE
        const u32 i = pixel % PIXELS, n = pixel / PIXELS;
        Pixel at;
        at.offset = (u32)table[i] + n * IN_N;
        at.d = table[2 * PIXELS + i];
        at.h = table[3 * PIXELS + i];
        at.w = table[4 * PIXELS + i];
        const u32 result = (u32)table[PIXELS + i] + n * OUT_0;
#else
        const Pixel at = pixel_of(pixel, &phase);
        const u32 result = result_offset(pixel);
#endif
        if (!inside(&at, d, h, w)) continue;
        const real v = LOAD(x, (u32)(at.offset + tap));
        UNROLL for (int k = 0; k < BLOCK; ++k) {
            if (FILTERS % BLOCK == 0 || k0 + k < FILTERS) {
                sum[k] += v * LOAD(dy, result + (u32)(group * FILTERS + k0 + k) * OUT_M);
            }
        }
    }
    const u32 to = (u32)group * FILTER_G + (u32)c * FILTER_C + FILTER_INDEX(t, SIZE_D) * FILTER_D +
                   FILTER_INDEX(r, SIZE_H) * FILTER_H + FILTER_INDEX(s, SIZE_W) * FILTER_W;
    UNROLL for (int k = 0; k < BLOCK; ++k) {
        if (FILTERS % BLOCK == 0 || k0 + k < FILTERS) ATOMIC_ADD(dw + (to + (u32)(k0 + k) * FILTER_M), SHARE(alpha, sum[k]));
    }
}
#endif
