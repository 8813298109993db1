// Filter gradient on GPUs without a matrix, for few channels in a group.
//
//   dw[k, c, tap] = sum over images and pixels of  dy[n, k, pixel] * x[n, c, pixel * STEP + START + tap * TAP]
//
//   A work-group takes LANES neighbouring pairs (k, c), TAPS_AT_ONCE taps and one of SLICES shares of the pixels:
//
//             pairs ->   LANES (1, or 32 where channels lie side by side in memory)
//     pixels  +---------+
//       |     | item    |     each work-item adds up every 256 / LANES-th pixel of its pair, all taps in registers;
//       v     |         |     then the work-group adds up its columns, half of them to the other half, and so on
//             +---------+
//
//   With SLICES > 1 the sums go to the workspace, and `finish` adds the slices in order.
//
// Defines: those of conv/geometry.h for the forward sum (OUT_x are strides of dy), PAIRS, LANES, SLICES, SLICE (pixels),
// TAP_BLOCKS, TAPS_AT_ONCE, PIXEL_COUNT, FILTERS (of a group).

#include "common/types.h"
#include "conv/geometry.h"

#define TAPS (SIZE_D * SIZE_H * SIZE_W)

DEVICE u32 element_of(u32 pair, int tap) {
    const u32 k = pair / CHANNELS, c = pair % CHANNELS;
    return k * FILTER_M + c * FILTER_C + (u32)FILTER_INDEX(tap / (SIZE_H * SIZE_W), SIZE_D) * FILTER_D +
           (u32)FILTER_INDEX(tap / SIZE_W % SIZE_H, SIZE_H) * FILTER_H + (u32)FILTER_INDEX(tap % SIZE_W, SIZE_W) * FILTER_W;
}

#if SLICES > 1
#define TARGET TENSOR(real, parts)
#else
#define TARGET TENSOR(T, dw), const real alpha, const real beta
#endif

KERNEL WG_SIZE(256, 1, 1)
conv_direct_filter(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TARGET) {
    GRID_WAIT();
    LOCAL real scratch[TAPS_AT_ONCE * 256];
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
#if SLICES > 1
    BIND(real, parts);
#else
    BIND(T, dw);
#endif
    u32 tile = (u32)GRP(0);
    const u32 slice = tile % SLICES;
    tile /= SLICES;
    const int tap0 = (int)(tile % TAP_BLOCKS) * TAPS_AT_ONCE;
    const u32 pair = tile / TAP_BLOCKS * LANES + (u32)LID(0) % LANES;
    const u32 k = pair / CHANNELS, c = pair % CHANNELS + k / FILTERS * CHANNELS;
    const Phase phase = phase_of(0);
    const u32 last = slice * SLICE + SLICE < PIXEL_COUNT ? slice * SLICE + SLICE : PIXEL_COUNT;
    real sum[TAPS_AT_ONCE];
    UNROLL for (int e = 0; e < TAPS_AT_ONCE; ++e) sum[e] = 0;
    for (u32 i = slice * SLICE + (u32)LID(0) / LANES; i < last && pair < PAIRS; i += 256 / LANES) {
        const u32 row = i / PIXELS_W, plane = row / PIXELS_H;
        const real v = LOAD(dy, (u32)(plane / PIXELS_D * OUT_0 + k * OUT_M + plane % PIXELS_D * OUT_1 +
                                      row % PIXELS_H * OUT_2 + i % PIXELS_W * OUT_3));
        const Pixel at = pixel_of(i, &phase);
        UNROLL for (int e = 0; e < TAPS_AT_ONCE; ++e) {
            const int tap = tap0 + e;
            const int t = tap / (SIZE_H * SIZE_W) * TAP_D, r = tap / SIZE_W % SIZE_H * TAP_H, s = tap % SIZE_W * TAP_W;
            if (tap < TAPS && inside(&at, t, r, s)) {
                sum[e] = fma(v, LOAD(x, (u32)(at.offset + TAP_OFFSET(t, r, s) + c * IN_C)), sum[e]);
            }
        }
    }
    UNROLL for (int e = 0; e < TAPS_AT_ONCE; ++e) scratch[e * 256 + LID(0)] = sum[e];
    BARRIER();
    for (int rest = 128; rest >= LANES; rest /= 2) {
        if (LID(0) < rest) {
            UNROLL for (int e = 0; e < TAPS_AT_ONCE; ++e) scratch[e * 256 + LID(0)] += scratch[e * 256 + LID(0) + rest];
        }
        BARRIER();
    }
    for (int j = LID(0); j < LANES * TAPS_AT_ONCE; j += 256) {
        const int tap = tap0 + j / LANES;
        const u32 to = tile / TAP_BLOCKS * LANES + (u32)(j % LANES);
        if (tap >= TAPS || to >= PAIRS) continue;
        const real total = scratch[j / LANES * 256 + j % LANES];
#if SLICES > 1
        parts[((i64)slice * TAPS + tap) * PAIRS + to] = total;
#else
        BLEND(dw, element_of(to, tap), alpha, total, beta);
#endif
    }
}

#if SLICES > 1
KERNEL WG_SIZE(256, 1, 1)
finish(TENSOR_RESTRICT(const real, parts), TENSOR(T, dw), const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(const real, parts);
    BIND(T, dw);
    const u32 i = (u32)GRP(0) * 256 + (u32)LID(0);
    if (i >= PAIRS * TAPS) return;
    real sum = 0;
    for (u32 slice = 0; slice < SLICES; ++slice) sum += parts[(i64)slice * (PAIRS * TAPS) + i];
    BLEND(dw, element_of(i % PAIRS, (int)(i / PAIRS)), alpha, sum, beta);
}
#endif
