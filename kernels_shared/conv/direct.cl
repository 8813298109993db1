// Convolution on GPUs without a matrix: forward and data gradient with few channels or filters in a group.
//
//   out[n, m, pixel] = sum over channels and taps of  w[m, channel, tap] * in[n, channel, pixel * STEP + START + tap * TAP]
//
//   A work-item makes a column of TP pixels of BLOCK_M filters; a row of the input that it loads serves all of its pixels:
//
//      h0    |x|--tap 0--> pixel 0                     STEP_H = 1, TAP_H = 1, three taps in h, TP = 2
//      h0+1  |x|--tap 1--> pixel 0, tap 0--> pixel 1
//      h0+2  |x|--tap 2--> pixel 0, tap 1--> pixel 1
//      h0+3  |x|-------------------- tap 2--> pixel 1
//
//   Neighbouring work-items take neighbouring columns (w), or with CHANNEL_FAST neighbouring groups, whose channels then lie
//   side by side, and RUN columns each. PRELOAD: the taps of the only channel stay in registers.
//   Of a data gradient (conv/geometry.h) taps are counted from the last one, so that they go forwards in the image.
//
// Defines: those of conv/geometry.h; TP RUN BLOCK_M BLOCKS_M TAPS_AT_ONCE (in h), MAX_TAPS_D/H/W, IMAGES, ITEMS_DIRECT, TILES_P.

#include "common/types.h"
#include "conv/geometry.h"

#ifdef DATA_GRADIENT
#define FIRST(x, X) (phase.start_##x + (phase.taps_##x - 1) * TAP_##X)
#define FORWARD_TAP(X) (-(TAP_##X))
#define TAP_INDEX(x, X, tap) (phase.first_##x + (phase.taps_##x - 1 - (tap)) * HOP_##X)
#else
#define FIRST(x, X) (phase.start_##x)
#define FORWARD_TAP(X) TAP_##X
#define TAP_INDEX(x, X, tap) (tap)
#endif
#define ROWS_IN ((TP - 1) * STEP_H + (TAPS_AT_ONCE - 1) * FORWARD_TAP(H) + 1)
#define RUNS ((PIXELS_W + RUN - 1) / RUN)

DEVICE real tap_of(const GLOBAL T *w, u32 m, u32 ch, int t, int r, int s) {
    if (m >= GEMM_M) return 0;
    return LOAD(w, m * FILTER_M + ch * FILTER_C + (u32)FILTER_INDEX(t, SIZE_D) * FILTER_D +
                       (u32)FILTER_INDEX(r, SIZE_H) * FILTER_H + (u32)FILTER_INDEX(s, SIZE_W) * FILTER_W);
}

KERNEL WG_SIZE(256, 1, 1) conv_direct(TENSOR_RESTRICT(const T, filter), TENSOR_RESTRICT(const T, in), TENSOR(T, out),
                                      const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(const T, filter);
    BIND_RESTRICT(const T, in);
    BIND(T, out);
    u32 i = (u32)GRP(0) * 256 + (u32)LID(0);
    if (i >= ITEMS_DIRECT) return;
#ifdef CHANNEL_FAST
    const u32 group = i % GROUPS;
    i /= GROUPS;
#endif
    const int run = (int)(i % RUNS) * RUN;
    i /= RUNS;
    const int p0 = (int)(i % TILES_P) * TP;
    i /= TILES_P;
    const int o = (int)(i % PIXELS_D);
    i /= PIXELS_D;
    const u32 m0 = i % BLOCKS_M * BLOCK_M;
    i /= BLOCKS_M;
#ifndef CHANNEL_FAST
    const u32 group = i % GROUPS;
    i /= GROUPS;
#endif
    const u32 n = i % IMAGES;
    const Phase phase = phase_of((int)(i / IMAGES));
    const GLOBAL T *w = filter + (i64)group * FILTER_G;
    const u32 image = n * IN_N + group * CHANNELS * IN_C;
    const int d0 = o * STEP_D + FIRST(d, D), h0 = p0 * STEP_H + FIRST(h, H);
#ifdef PRELOAD
    real tap[MAX_TAPS_D][MAX_TAPS_W][MAX_TAPS_H][BLOCK_M];
    UNROLL for (int t = 0; t < MAX_TAPS_D; ++t) {
        UNROLL for (int s = 0; s < MAX_TAPS_W; ++s) {
            UNROLL for (int r = 0; r < MAX_TAPS_H; ++r) {
                UNROLL for (int m = 0; m < BLOCK_M; ++m) {
                    const int in_phase = t < phase.taps_d && r < phase.taps_h && s < phase.taps_w;
                    tap[t][s][r][m] =
                        in_phase ? tap_of(w, m0 + m, 0, TAP_INDEX(d, D, t), TAP_INDEX(h, H, r), TAP_INDEX(w, W, s)) : 0;
                }
            }
        }
    }
#define EACH_TAP UNROLL
#define LAST_TAP(x, X) MAX_TAPS_##X
#else
#define EACH_TAP
#define LAST_TAP(x, X) phase.taps_##x
#endif
// Loops that have one turn at most are none: on some of them NVIDIA's compiler crashes (NVRTC 13.0 to 13.5)
#define PD_TAPS(i, x, X, count) EACH_TAP for (int i = 0; i < LAST_TAP(x, X); i += count)
#define PD_ONE_TAP(i, x, X) const int i = 0; if (i < LAST_TAP(x, X))
#if MAX_TAPS_D > 1
#define TAPS_D(i) PD_TAPS(i, d, D, 1)
#else
#define TAPS_D(i) PD_ONE_TAP(i, d, D)
#endif
#if MAX_TAPS_W > 1
#define TAPS_W(i) PD_TAPS(i, w, W, 1)
#else
#define TAPS_W(i) PD_ONE_TAP(i, w, W)
#endif
#if MAX_TAPS_H > TAPS_AT_ONCE
#define TAPS_H(i) PD_TAPS(i, h, H, TAPS_AT_ONCE)
#else
#define TAPS_H(i) PD_ONE_TAP(i, h, H)
#endif

#if RUN > 1
    for (int q = run; q < run + RUN && q < PIXELS_W; ++q)
#else
    const int q = run;  // not as a loop of one turn: see above
#endif
    {
        const int w0 = q * STEP_W + FIRST(w, W);
        real sum[BLOCK_M][TP];
        UNROLL for (int m = 0; m < BLOCK_M; ++m) {
            UNROLL for (int j = 0; j < TP; ++j) sum[m][j] = 0;
        }
        for (u32 ch = 0; ch < CHANNELS; ++ch) {
            TAPS_D(t) {
                const int d = d0 + t * FORWARD_TAP(D);
                TAPS_W(s) {
                    const int column = w0 + s * FORWARD_TAP(W);
                    const int near = t < phase.taps_d && s < phase.taps_w && (u32)d < (u32)EXTENT_D &&
                                     (u32)column < (u32)EXTENT_W;
                    // where it is 0 does not matter: computed all the same it is another thing that NVIDIA's compiler crashes on
                    const u32 from = near ? image + ch * IN_C + (u32)d * IN_D + (u32)column * IN_W : 0u;
                    TAPS_H(r0) {
#ifndef PRELOAD
                        real tap[TAPS_AT_ONCE][BLOCK_M];
                        UNROLL for (int r = 0; r < TAPS_AT_ONCE; ++r) {
                            UNROLL for (int m = 0; m < BLOCK_M; ++m) {
                                tap[r][m] = r0 + r < phase.taps_h ? tap_of(w, m0 + m, ch, TAP_INDEX(d, D, t),
                                                                           TAP_INDEX(h, H, r0 + r), TAP_INDEX(w, W, s))
                                                                  : 0;
                            }
                        }
#define TAP(t, s, r) tap[r]
#else
#define TAP(t, s, r) tap[t][s][r]
#endif
                        UNROLL for (int row = 0; row < ROWS_IN; ++row) {
                            const int h = h0 + r0 * FORWARD_TAP(H) + row;
                            real v = 0;
                            if (near && (u32)h < (u32)EXTENT_H) v = LOAD(in, (u32)(from + (u32)h * IN_H));
                            UNROLL for (int j = 0; j < TP; ++j) {
                                UNROLL for (int r = 0; r < TAPS_AT_ONCE; ++r) {
                                    if (j * STEP_H + r * FORWARD_TAP(H) != row || r0 + r >= phase.taps_h) continue;
                                    UNROLL for (int m = 0; m < BLOCK_M; ++m) sum[m][j] = fma(TAP(t, s, r)[m], v, sum[m][j]);
                                }
                            }
                        }
                    }
                }
            }
        }
        const u32 depth = (u32)o * PHASES_D + phase.d, x = (u32)q * PHASES_W + phase.w;
        UNROLL for (int j = 0; j < TP; ++j) {
            const u32 y = (u32)(p0 + j) * PHASES_H + phase.h;
            UNROLL for (int m = 0; m < BLOCK_M; ++m) {
                if (depth >= OUT_D || y >= OUT_H || x >= OUT_W || m0 + m >= GEMM_M) continue;
                const u32 to = n * OUT_0 + (group * GEMM_M + m0 + m) * OUT_M + depth * OUT_1 + y * OUT_2 + x * OUT_3;
                BLEND(out, to, alpha, sum[m][j], beta);
            }
        }
    }
}
