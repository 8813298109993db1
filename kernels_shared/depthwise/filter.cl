// Filter gradient of depthwise layers whose channels lie side by side, on GPUs.
//
//   dw[c, r, s] = sum over images and pixels of  dy[n, c, p, q] * x[n, c, p * STEP_H + START_H + r * TAP_H, q * STEP_W + ...]
//
//   A work-item has VW neighbouring channels and one row r of the filter, all taps of it in registers. It walks along rows of dy,
//   COLUMNS pixels at a time: each vector of x that it loads serves all taps which meet it.
//
//          x   |x0|x1|x2|x3|x4|x5|        S = 3, COLUMNS = 4, STEP_W = TAP_W = 1
//         dy   |q0|q1|q2|q3|              sum[s] += q(j) * x(j + s)
//
//   work-group = (channels: LANES vectors, r, slice of the rows): 256 / LANES walkers share the slice's rows, their sums are added
//   in local memory. parts[slice][tap][channel] is added up by `finish` of conv/direct_filter.cl.
//
// Defines: C, VECTORS (of VW channels), LANES, P Q, IMAGE_H IMAGE_W, R S, STEP_H/W START_H/W TAP_H/W, X_N X_H X_W DY_N DY_H DY_W
// (strides), ROWS (of all images), SLICES, SLICE (rows of one), COLUMNS.

#include "common/types.h"

#define WALKERS (256 / LANES)
#define SPAN ((COLUMNS - 1) * STEP_W + (S - 1) * TAP_W + 1)  // vectors of x under COLUMNS pixels

KERNEL WG_SIZE(256, 1, 1)
conv_depthwise_filter(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR(real, parts)) {
    GRID_WAIT();
    LOCAL real scratch[256 * VW];
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND(real, parts);
    const u32 slice = (u32)GRP(0) % SLICES, rest = (u32)GRP(0) / SLICES;
    const int r = (int)(rest % R), lane = LID(0) % LANES, walker = LID(0) / LANES;
    const u32 vector = rest / R * LANES + (u32)lane, channel = vector * VW;
    const u32 last = slice * SLICE + SLICE < ROWS ? slice * SLICE + SLICE : ROWS;
    vreal sum[S];
    UNROLL for (int s = 0; s < S; ++s) sum[s] = VSPLAT(0);
    UNROLL_AT_MOST(1)
    for (u32 row = slice * SLICE + (u32)walker; row < last && vector < VECTORS; row += WALKERS) {
        const u32 n = row / P, p = row % P;
        const int h = (int)p * STEP_H + START_H + r * TAP_H;
        if (h < 0 || h >= IMAGE_H) continue;
        const u32 from = n * X_N + (u32)h * X_H + channel, at = n * DY_N + p * DY_H + channel;
        UNROLL_AT_MOST(1)
        for (int q0 = 0; q0 < Q; q0 += COLUMNS) {
            vreal under[SPAN];
            const int w0 = q0 * STEP_W + START_W;
            UNROLL for (int j = 0; j < SPAN; ++j) {
                under[j] = VSPLAT(0);
                if (w0 + j >= 0 && w0 + j < IMAGE_W) under[j] = VLOAD(x, from + (u32)(w0 + j) * X_W);
            }
            UNROLL for (int j = 0; j < COLUMNS; ++j) {
                vreal v = VSPLAT(0);
                if (q0 + j < Q) v = VLOAD(dy, at + (u32)(q0 + j) * DY_W);
                UNROLL for (int s = 0; s < S; ++s) sum[s] = fma(v, under[j * STEP_W + s * TAP_W], sum[s]);
            }
        }
    }
    UNROLL for (int s = 0; s < S; ++s) {
        BARRIER();
        UNROLL for (int e = 0; e < VW; ++e) scratch[(walker * LANES + lane) * VW + e] = LANE(sum[s], e);
        BARRIER();
        for (int i = LID(0); i < LANES * VW; i += 256) {
            real total = 0;
            for (int k = 0; k < WALKERS; ++k) total += scratch[k * (LANES * VW) + i];
            const u32 to = rest / R * (LANES * VW) + (u32)i;
            if (to < C) parts[((i64)slice * (R * S) + r * S + s) * C + to] = total;
        }
    }
}
