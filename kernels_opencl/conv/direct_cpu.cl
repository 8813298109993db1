// Convolution on a CPU without a workspace: forward and data gradient, any number of channels in a group.
//
//   out[n, m, pixel] = sum over channels and taps of  w[m, channel, tap] * in[n, channel, pixel * STEP + START + tap * TAP]
//
// A work-group of one computes a tile: BAND rows of up to COLUMNS pixels of one (image, group, plane, phase), BLOCK_M filters.
// For each block of channels it copies what the tile's taps meet (conv/direct_cpu.h). As a tap is a shift by a constant
// whatever the row, rows follow one another, and vectors run over their ends; what they compute for the PITCH - COLUMNS
// places between two rows is not stored:
//
//     sums [BLOCK_M][rows of PITCH]
//     +-------------------+-----+
//     |  NR | NR | ..     |     |   x MR filters: the register tile of conv/cpu.h
//     |                   |     |
//     +-------------------+-----+
//
// Defines: those of conv/direct_cpu.h, and what conv_direct_cpu.py adds.

#include "conv/direct_cpu.h"

#define SUMS_PITCH ((BAND * PITCH + NR - 1) / NR * NR)

// sums[MR][SUMS_PITCH] (+)= a[depth][MR] * x[shift[depth] ..], one register tile
NOINLINE void multiply(__private real *c, const __private real *a, const __private real *x, const __private int *shift,
                       int depth, int add) {
    const int pitch = SUMS_PITCH;
    ROWS(DECLARE_ROW)
    for (int k = 0; k < depth; ++k) {
        const __private real *b = x + shift[k];
        COLS(LOAD_B, 0)
#define STEP_ROW(i) { const vreal a##i = (vreal)(a[i]); COLS(FMA_VECTOR, i) }
        ROWS(STEP_ROW)
        a += MR;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    ROWS(WRITE_ROW)
}

// blend the sums of one filter into `out`, which begins at pixel (p0, q0)
DEVICE void store_band(GLOBAL T *out, const __private real *sums, int rows, int columns, real alpha, real beta) {
    for (int row = 0; row < rows; ++row) {
        const int to = row * (PHASES_H * OUT_2);
        int q = 0;
#if PHASES_W * OUT_3 == 1
        for (; q <= columns - VW; q += VW) VBLEND(out, to + q, alpha, RLOAD(sums + row * PITCH + q), beta);
#endif
        for (; q < columns; ++q) BLEND(out, to + q * (PHASES_W * OUT_3), alpha, sums[row * PITCH + q], beta);
    }
}

KERNEL WG_SIZE(1, 1, 1) conv_direct_cpu(TENSOR_RESTRICT(const T, w), TENSOR_RESTRICT(const T, in), TENSOR(T, out),
                                        const real alpha, const real beta) {
    BIND_RESTRICT(const T, w);
    BIND_RESTRICT(const T, in);
    BIND(T, out);
    real x[BLOCK_CH * CHANNEL_SCRATCH + PITCH + NR];
    real sums[BLOCK_M * SUMS_PITCH];
    real a[DEPTH * MR];
    int shift[DEPTH], filter[DEPTH];
    int tile = GRP(0);
    Place at;
    at.q0 = tile % SEGMENTS * COLUMNS;
    tile /= SEGMENTS;
    at.p0 = tile % BANDS * BAND;
    tile /= BANDS;
    at.o = tile % PIXELS_D;
    tile /= PIXELS_D;
    at.m0 = tile % BLOCKS_M * BLOCK_M;
    tile /= BLOCKS_M;
    at.group = tile % GROUPS;
    tile /= GROUPS;
    const Phase phase = phase_of(tile % PHASES);
    at.n = tile / PHASES;
    const int filters = MIN(BLOCK_M, GEMM_M - at.m0);
    const int taps = phase.taps_d * phase.taps_h * phase.taps_w;

    for (int ch0 = 0; ch0 == 0 || ch0 < CHANNELS; ch0 += BLOCK_CH) {
        const int channels = MIN(BLOCK_CH, CHANNELS - ch0);
        if (ch0 == 0) {  // what lies between channels and behind the last one
            for (int ch = 1; ch < channels; ++ch) clear_scratch(x + ch * CHANNEL_SCRATCH - VW, VW);
            clear_scratch(x + channels * CHANNEL_SCRATCH - VW, PITCH + NR);
        }
        if (taps > 0) fill(x, in, &at, &phase, ch0, channels);
        for (int k0 = 0; k0 == 0 || k0 < channels * taps; k0 += DEPTH) {
            const int depth = MIN(DEPTH, channels * taps - k0);
            for (int k = 0; k < depth; ++k) {
                const int s = (k0 + k) % phase.taps_w, plane = (k0 + k) / phase.taps_w;
                const int r = plane % phase.taps_h, t = plane / phase.taps_h % phase.taps_d;
                const int ch = plane / phase.taps_h / phase.taps_d;
                shift[k] = ch * CHANNEL_SCRATCH + SHIFT_OF(t, r, s);
                filter[k] = (ch0 + ch) * FILTER_C + FILTER_INDEX(TAP_INDEX(&phase, d, D, t), SIZE_D) * FILTER_D +
                            FILTER_INDEX(TAP_INDEX(&phase, h, H, r), SIZE_H) * FILTER_H +
                            FILTER_INDEX(TAP_INDEX(&phase, w, W, s), SIZE_W) * FILTER_W;
            }
            for (int m = 0; m < filters; m += MR) {
                const GLOBAL T *from = w + (i64)at.group * FILTER_G + (i64)(at.m0 + m) * FILTER_M;
                for (int k = 0; k < depth; ++k) {
#define PACK_ROW(i) a[k * MR + i] = m + i < filters ? LOAD(from, filter[k] + i * FILTER_M) : (real)0;
                    ROWS(PACK_ROW)
                }
                for (int j = 0; j < SUMS_PITCH; j += NR)
                    multiply(sums + m * SUMS_PITCH + j, a, x + j, shift, depth, ch0 + k0 > 0);
            }
        }
    }
    const int d = at.o * PHASES_D + phase.d, h = at.p0 * PHASES_H + phase.h, first = at.q0 * PHASES_W + phase.w;
    if (d >= OUT_D || h >= OUT_H || first >= OUT_W) return;
    const int rows = MIN(BAND, (OUT_H - h + PHASES_H - 1) / PHASES_H);
    const int columns = MIN(COLUMNS, (OUT_W - first + PHASES_W - 1) / PHASES_W);
    for (int m = 0; m < filters; ++m) {
        const i64 channel = (i64)at.group * GEMM_M + at.m0 + m;
        GLOBAL T *to = out + (at.n * (i64)OUT_0 + channel * OUT_M + d * (i64)OUT_1 + h * (i64)OUT_2 + first * OUT_3);
        store_band(to, sums + m * SUMS_PITCH, rows, columns, alpha, beta);
    }
}
