// Depthwise layers whose channels lie side by side, on GPUs: forward, and the data gradient of stride 1 with its taps in reverse.
//
//   out[n, p, q, c] = sum over taps of  w[r, s, c] * in[n, p * STEP_H + START_H + r * TAP_H, q * STEP_W + ..., c]
//
//   A work-item makes COLUMNS neighbouring pixels of VW channels, row after row of the filter: each vector of the input that it
//   loads serves all taps which meet it (depthwise/filter.cl draws it). Neighbouring work-items take neighbouring channels.
//   `pack` lays the filters out with channels side by side.
//
// Defines: C, VECTORS (of VW channels), P Q, BLOCKS (of columns), IMAGE_H IMAGE_W, R S, STEP_H/W START_H/W TAP_H/W, X_N X_H X_W
// Y_N Y_H Y_W (strides), ITEMS_ALL, COLUMNS; FILTER_K FILTER_R FILTER_S, REVERSED (taps from the last one).

#include "common/types.h"

#define SPAN ((COLUMNS - 1) * STEP_W + (S - 1) * TAP_W + 1)  // vectors of the input under COLUMNS pixels

KERNEL WG_SIZE(256, 1, 1) pack_depthwise(TENSOR_RESTRICT(const T, w), TENSOR(T, packed)) {
    GRID_WAIT();
    BIND_RESTRICT(const T, w);
    BIND(T, packed);
    const u32 i = (u32)GRP(0) * 256 + (u32)LID(0);
    if (i >= (u32)(R * S) * C) return;
    const int tap = (int)(i / C), from = REVERSED ? R * S - 1 - tap : tap;
    STORE(packed, i, LOAD(w, i % C * FILTER_K + (u32)(from / S) * FILTER_R + (u32)(from % S) * FILTER_S));
}

KERNEL WG_SIZE(256, 1, 1) conv_depthwise(TENSOR_RESTRICT(const T, packed), TENSOR_RESTRICT(const T, in), TENSOR(T, out),
                                         const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(const T, packed);
    BIND_RESTRICT(const T, in);
    BIND(T, out);
    u32 i = (u32)GRP(0) * 256 + (u32)LID(0);
    if (i >= ITEMS_ALL) return;
    const u32 channel = i % VECTORS * VW;
    i /= VECTORS;
    const int q0 = (int)(i % BLOCKS) * COLUMNS;
    i /= BLOCKS;
    const int p = (int)(i % P);
    const u32 n = i / P, image = n * X_N + channel;
    const int w0 = q0 * STEP_W + START_W;
    vreal sum[COLUMNS];
    UNROLL for (int j = 0; j < COLUMNS; ++j) sum[j] = VSPLAT(0);
    UNROLL_AT_MOST(1)
    for (int r = 0; r < R; ++r) {
        const int h = p * STEP_H + START_H + r * TAP_H;
        if (h < 0 || h >= IMAGE_H) continue;
        vreal under[SPAN];
        UNROLL for (int j = 0; j < SPAN; ++j) {
            under[j] = VSPLAT(0);
            if (w0 + j >= 0 && w0 + j < IMAGE_W) under[j] = VLOAD(in, image + (u32)h * X_H + (u32)(w0 + j) * X_W);
        }
        UNROLL for (int s = 0; s < S; ++s) {
            const vreal tap = VLOAD(packed, (u32)(r * S + s) * C + channel);
            UNROLL for (int j = 0; j < COLUMNS; ++j) sum[j] = fma(under[j * STEP_W + s * TAP_W], tap, sum[j]);
        }
    }
    UNROLL for (int j = 0; j < COLUMNS; ++j) {
        if (q0 + j < Q) VBLEND(out, n * Y_N + (u32)p * Y_H + (u32)(q0 + j) * Y_W + channel, alpha, sum[j], beta);
    }
}
