// Depthwise convolution of channels-last tensors on a CPU, all directions: a vector is VW channels of one pixel.
//
//   forward, data gradient   a work-group of one makes BAND rows of pixels of up to BLOCK channels; where all taps of a row
//                            are inside, PIXELS_AT_ONCE neighbours share the loads of the taps:
//
//                               taps [tap][BLOCK]      x pixel q: VW channels     pixel q + 1     ..
//
//   filter gradient          a work-group of one adds up all pixels of up to BLOCK channels, sums [tap][BLOCK]
//
// The last vector of channels begins VW before the end, and only what the one before has not stored is stored.
// Defines: those of conv/direct_cpu.h; BLOCK, BLOCKS (of channels), IMAGES; CHANNELS_IN_ALL.

#include "conv/direct_cpu.h"

#define TAPS (MAX_TAPS_D * MAX_TAPS_H * MAX_TAPS_W)

// of taps 0 .. count: those that meet the image from `first` on
DEVICE int low_tap(int first, const int step) { return first >= 0 ? 0 : (step - 1 - first) / step; }
DEVICE int high_tap(int first, const int step, int count, int extent) {
    const int high = first >= extent ? 0 : (extent - 1 - first) / step + 1;
    return high < count ? high : count;
}

typedef struct {
    int c0, done;  // first channel of a vector, and lanes of it that are stored already
} Lanes;

DEVICE Lanes lanes_at(int c) {
    Lanes l;
    l.c0 = MIN(c, CHANNELS_IN_ALL - VW);
    l.done = c - l.c0;
    return l;
}

#ifdef FILTER_GRADIENT_SUM
KERNEL WG_SIZE(1, 1, 1) conv_depthwise_cpu(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR(T, dw),
                                           const real alpha, const real beta) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND(T, dw);
    const int block = GRP(0) * BLOCK, channels = MIN(BLOCK, CHANNELS_IN_ALL - block);
    real sums[TAPS * BLOCK];
    for (int i = 0; i < TAPS * BLOCK; ++i) sums[i] = 0;
    for (int row = 0; row < IMAGES * PIXELS_D * PIXELS_H; ++row) {
        const int n = row / (PIXELS_D * PIXELS_H);
        const int d = row / PIXELS_H % PIXELS_D * STEP_D + START_D, h = row % PIXELS_H * STEP_H + START_H;
        const int t0 = low_tap(d, TAP_D), t1 = high_tap(d, TAP_D, SIZE_D, EXTENT_D);
        const int r0 = low_tap(h, TAP_H), r1 = high_tap(h, TAP_H, SIZE_H, EXTENT_H);
        const int result = n * OUT_0 + row / PIXELS_H % PIXELS_D * OUT_1 + row % PIXELS_H * OUT_2;
        for (int q = 0; q < PIXELS_W; ++q) {
            const int w = q * STEP_W + START_W;
            const int s0 = low_tap(w, TAP_W), s1 = high_tap(w, TAP_W, SIZE_W, EXTENT_W);
            for (int c = 0; c < channels; c += VW) {
                const int c0 = lanes_at(block + c).c0;
                const vreal v = VLOAD(dy, result + q * OUT_3 + c0);
                for (int t = t0; t < t1; ++t)
                    for (int r = r0; r < r1; ++r) {
                        const int from = n * IN_N + (d + t * TAP_D) * IN_D + (h + r * TAP_H) * IN_H + w * IN_W + c0;
                        __private real *sum = sums + (t * SIZE_H + r) * (SIZE_W * BLOCK) + c;
                        for (int s = s0; s < s1; ++s)
                            RSTORE(v * VLOAD(x, from + s * (TAP_W * IN_W)) + RLOAD(sum + s * BLOCK), sum + s * BLOCK);
                    }
            }
        }
    }
    for (int i = 0; i < TAPS; ++i) {
        const int t = FILTER_INDEX(i / (SIZE_H * SIZE_W), SIZE_D), r = FILTER_INDEX(i / SIZE_W % SIZE_H, SIZE_H);
        const int to = t * FILTER_D + r * FILTER_H + FILTER_INDEX(i % SIZE_W, SIZE_W) * FILTER_W;
        for (int c = 0; c < channels; c += VW) {
            const Lanes at = lanes_at(block + c);
            for (int j = at.done; j < VW; ++j)
                BLEND(dw, (at.c0 + j) * FILTER_M + to, alpha, sums[i * BLOCK + c + j], beta);
        }
    }
}
#else
#define PIXELS_AT_ONCE 4

DEVICE void store_lanes(GLOBAL T *out, int to, vreal v, int done, real alpha, real beta) {
    if (done == 0) {
        VBLEND(out, to, alpha, v, beta);
    } else {
        for (int j = done; j < VW; ++j) BLEND(out, to + j, alpha, LANE(v, j), beta);
    }
}

KERNEL WG_SIZE(1, 1, 1) conv_depthwise_cpu(TENSOR_RESTRICT(const T, w), TENSOR_RESTRICT(const T, in), TENSOR(T, out),
                                           const real alpha, const real beta) {
    BIND_RESTRICT(const T, w);
    BIND_RESTRICT(const T, in);
    BIND(T, out);
    int tile = GRP(0);
    const int block = tile % BLOCKS * BLOCK;
    tile /= BLOCKS;
    const int p0 = tile % BANDS * BAND;
    tile /= BANDS;
    const int o = tile % PIXELS_D;
    tile /= PIXELS_D;
    const int n = tile % IMAGES;
    const Phase phase = phase_of(tile / IMAGES);
    const int channels = MIN(BLOCK, CHANNELS_IN_ALL - block);
    real taps[TAPS * BLOCK];
    for (int t = 0; t < phase.taps_d; ++t)
        for (int r = 0; r < phase.taps_h; ++r)
            for (int s = 0; s < phase.taps_w; ++s) {
                const int at = FILTER_INDEX(TAP_INDEX(&phase, d, D, t), SIZE_D) * FILTER_D +
                               FILTER_INDEX(TAP_INDEX(&phase, h, H, r), SIZE_H) * FILTER_H +
                               FILTER_INDEX(TAP_INDEX(&phase, w, W, s), SIZE_W) * FILTER_W;
                __private real *to = taps + ((t * MAX_TAPS_H + r) * MAX_TAPS_W + s) * BLOCK;
                for (int c = 0; c < channels; c += VW) {
                    const int c0 = lanes_at(block + c).c0;
                    for (int j = 0; j < VW; ++j) to[c + j] = LOAD(w, (c0 + j) * FILTER_G + at);
                }
            }
    const int depth = o * PHASES_D + phase.d;
    if (depth >= OUT_D) return;
    const int d = o * STEP_D + FIRST(&phase, d, D);
    const int t0 = low_tap(d, FORWARD_TAP(D)), t1 = high_tap(d, FORWARD_TAP(D), phase.taps_d, EXTENT_D);
    const int last_w = (phase.taps_w - 1) * FORWARD_TAP(W) + (PIXELS_AT_ONCE - 1) * STEP_W;
    for (int p = p0; p < p0 + BAND && p * PHASES_H + phase.h < OUT_H; ++p) {
        const int h = p * STEP_H + FIRST(&phase, h, H);
        const int r0 = low_tap(h, FORWARD_TAP(H)), r1 = high_tap(h, FORWARD_TAP(H), phase.taps_h, EXTENT_H);
        const int columns = (OUT_W - phase.w + PHASES_W - 1) / PHASES_W;
        const int row = n * OUT_0 + depth * OUT_1 + (p * PHASES_H + phase.h) * OUT_2 + phase.w * OUT_3;
        for (int q = 0; q < columns;) {
            const int first = q * STEP_W + FIRST(&phase, w, W);
            const int inside = first >= 0 && first + last_w < EXTENT_W && q + PIXELS_AT_ONCE <= columns;
            const int s0 = inside ? 0 : low_tap(first, FORWARD_TAP(W));
            const int s1 = inside ? phase.taps_w : high_tap(first, FORWARD_TAP(W), phase.taps_w, EXTENT_W);
            for (int c = 0; c < channels; c += VW) {
                const Lanes at = lanes_at(block + c);
                vreal a0 = (vreal)((real)0), a1 = a0, a2 = a0, a3 = a0;
                for (int t = t0; t < t1; ++t)
                    for (int r = r0; r < r1; ++r) {
                        const __private real *tap = taps + (t * MAX_TAPS_H + r) * (MAX_TAPS_W * BLOCK) + c;
                        const int from = n * IN_N + (d + t * FORWARD_TAP(D)) * IN_D +
                                         (h + r * FORWARD_TAP(H)) * IN_H + first * IN_W + at.c0;
                        if (inside) {
                            for (int s = 0; s < phase.taps_w; ++s) {
                                const vreal v = RLOAD(tap + s * BLOCK);
                                const int x = from + s * (FORWARD_TAP(W) * IN_W);
                                a0 = v * VLOAD(in, x) + a0;
                                a1 = v * VLOAD(in, x + STEP_W * IN_W) + a1;
                                a2 = v * VLOAD(in, x + 2 * STEP_W * IN_W) + a2;
                                a3 = v * VLOAD(in, x + 3 * STEP_W * IN_W) + a3;
                            }
                        } else {
                            for (int s = s0; s < s1; ++s)
                                a0 = RLOAD(tap + s * BLOCK) * VLOAD(in, from + s * (FORWARD_TAP(W) * IN_W)) + a0;
                        }
                    }
                const int to = row + q * (PHASES_W * OUT_3) + at.c0;
                store_lanes(out, to, a0, at.done, alpha, beta);
                if (inside) {
                    store_lanes(out, to + PHASES_W * OUT_3, a1, at.done, alpha, beta);
                    store_lanes(out, to + 2 * PHASES_W * OUT_3, a2, at.done, alpha, beta);
                    store_lanes(out, to + 3 * PHASES_W * OUT_3, a3, at.done, alpha, beta);
                }
            }
            q += inside ? PIXELS_AT_ONCE : 1;
        }
    }
}
#endif
