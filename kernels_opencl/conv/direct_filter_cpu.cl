// Filter gradient on a CPU without a workspace.
//
//   dw[m, channel, tap] = sum over images and pixels of  dy[n, m, pixel] * x[n, channel, pixel * STEP + START + tap * TAP]
//
// A work-group of one computes BLOCK_M filters by BLOCK_CH channels of a group, with all taps. It goes through all images by
// bands of BAND rows, whose pixels of dy and of x it copies to scratch; x is dealt out as in conv/direct_cpu.h. The register
// tile is MR (channel, tap) pairs by NV filters, each a vector of VW sums of neighbouring pixels, added up at the very end:
//
//                     dy[0] .. dy[NV-1]       VW pixels of a row
//                   +-------------------+
//     x[shift[0]]   | c0_0      ..      |     sums[filter / NV][pair / MR][MR][NV], vectors, between bands
//      ..           |  ..               |
//     x[shift[MR-1]]|                   |
//                   +-------------------+
//
// Where a row ends within a vector, x is zeroed rather than trusted: what lies there may be no number.
// Defines: those of conv/direct_cpu.h for the forward sum, so that OUT_x are strides of dy and FILTER_x those of dw.

#include "conv/direct_cpu.h"

#define ROWS_7(F) ROWS_6(F) F(6)
#define ROWS_8(F) ROWS_7(F) F(7)
#define ROWS_9(F) ROWS_8(F) F(8)
#define TAPS (SIZE_D * SIZE_H * SIZE_W)
#define PAIRS (BLOCK_CH * TAPS)
#define PAIR_TILES ((PAIRS + MR - 1) / MR)
#define FILTER_TILES ((BLOCK_M + NV - 1) / NV)
#define TILE_SUMS (MR * NV * VW)
#define DY_PITCH ((COLUMNS + VW - 1) / VW * VW)
#define DY_PLANE (BAND * DY_PITCH)

// one register tile over `rows` rows of `columns` pixels
NOINLINE void multiply(__private real *c, const __private real *dy, const __private real *x, const __private int *shift,
                       int rows, int columns, vreal lanes) {
    const int pitch = NV * VW;
#define START_ROW(i) COLS(START_VECTOR, i) const __private real *x##i = x + shift[i];
#define START_VECTOR(i, j) vreal c##i##_##j = RLOAD(c + i * pitch + j * VW);
    ROWS(START_ROW)
    for (int row = 0; row < rows; ++row) {
        int q = 0;
#define LOAD_DY(unused, j) const vreal b##j = RLOAD(dy + j * DY_PLANE + q);
        for (; q <= columns - VW; q += VW) {
            COLS(LOAD_DY, 0)
#define STEP_ROW(i) { const vreal a##i = RLOAD(x##i + q); COLS(FMA_VECTOR, i) }
            ROWS(STEP_ROW)
        }
        if (q < columns) {
            const vreal left = VSPLAT(columns - q);
            COLS(LOAD_DY, 0)
#define LAST_ROW(i) { const vreal a##i = PICK(lanes < left, RLOAD(x##i + q), (vreal)((real)0)); COLS(FMA_VECTOR, i) }
            ROWS(LAST_ROW)
        }
        dy += DY_PITCH;
#define NEXT_ROW(i) x##i += PITCH;
        ROWS(NEXT_ROW)
    }
    ROWS(WRITE_ROW)
}

KERNEL WG_SIZE(1, 1, 1) conv_direct_filter_cpu(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR(T, dw),
                                               const real alpha, const real beta) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND(T, dw);
    real xs[BLOCK_CH * CHANNEL_SCRATCH + PITCH + VW];
    real ds[FILTER_TILES * NV * DY_PLANE + VW];  // copies of rows run over by less than VW
    real sums[FILTER_TILES * PAIR_TILES * TILE_SUMS];
    int shift[PAIR_TILES * MR];
    const int tile = GRP(0), group = tile / BLOCKS_M / BLOCKS_CH;
    const int m0 = tile % BLOCKS_M * BLOCK_M, ch0 = tile / BLOCKS_M % BLOCKS_CH * BLOCK_CH;
    const int filters = MIN(BLOCK_M, GEMM_M - m0), channels = MIN(BLOCK_CH, CHANNELS - ch0);
    const int pairs = channels * TAPS;
    const Phase phase = phase_of(0);
    vreal lanes;
    for (int j = 0; j < VW; ++j) LANE(lanes, j) = j;
    for (int i = 0; i < FILTER_TILES * PAIR_TILES * TILE_SUMS; ++i) sums[i] = 0;
    for (int i = 0; i < FILTER_TILES * NV * DY_PLANE; ++i) ds[i] = 0;
    for (int k = 0; k < PAIR_TILES * MR; ++k) {
        const int pair = MIN(k, pairs - 1), tap = pair % TAPS;
        shift[k] = pair / TAPS * CHANNEL_SCRATCH + SHIFT_OF(tap / (SIZE_H * SIZE_W), tap / SIZE_W % SIZE_H, tap % SIZE_W);
    }
    for (int band = 0; band < N * PIXELS_D * BANDS * SEGMENTS; ++band) {
        Place at;
        at.q0 = band % SEGMENTS * COLUMNS;
        at.p0 = band / SEGMENTS % BANDS * BAND;
        at.o = band / (SEGMENTS * BANDS) % PIXELS_D;
        at.n = band / (SEGMENTS * BANDS * PIXELS_D);
        at.group = group;
        const int rows = MIN(BAND, PIXELS_H - at.p0), columns = MIN(COLUMNS, PIXELS_W - at.q0);
        fill(xs, x, &at, &phase, ch0, channels);
        for (int m = 0; m < filters; ++m)
            for (int row = 0; row < rows; ++row) {
                const int from = at.n * OUT_0 + (group * GEMM_M + m0 + m) * OUT_M + at.o * OUT_1 + (at.p0 + row) * OUT_2;
                copy_row(ds + m * DY_PLANE + row * DY_PITCH, dy, from, at.q0, 1, DY_PITCH, at.q0 + columns, OUT_3, OUT_SPAN);
            }
        for (int m = 0; m < FILTER_TILES; ++m)
            for (int k = 0; k < PAIR_TILES; ++k)
                multiply(sums + (m * PAIR_TILES + k) * TILE_SUMS, ds + m * (NV * DY_PLANE), xs, shift + k * MR, rows,
                         columns, lanes);
    }
    for (int m = 0; m < filters; ++m)
        for (int k = 0; k < pairs; ++k) {
            const __private real *part = sums + (m / NV * PAIR_TILES + k / MR) * TILE_SUMS + (k % MR * NV + m % NV) * VW;
            real sum = 0;
            for (int j = 0; j < VW; ++j) sum += part[j];
            const int tap = k % TAPS;
            const int t = FILTER_INDEX(tap / (SIZE_H * SIZE_W), SIZE_D), r = FILTER_INDEX(tap / SIZE_W % SIZE_H, SIZE_H);
            const int s = FILTER_INDEX(tap % SIZE_W, SIZE_W);
            const i64 to = (i64)(group * GEMM_M + m0 + m) * FILTER_M + (ch0 + k / TAPS) * (i64)FILTER_C;
            BLEND(dw, to + t * FILTER_D + r * FILTER_H + s * FILTER_W, alpha, sum, beta);
        }
}
