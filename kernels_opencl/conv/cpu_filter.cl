// Backward-filter convolution on a CPU: dw[k, c, tap] = sum over pixels of dy[n, k, pixel] * x[n, c, pixel * stride + tap].
//
// A work-group takes one tile after the other from a common counter: BLOCK_C channels of x with all taps, times BLOCK_K channels of dy, summed
// over one of SPLITS shares of the image. The share is walked in units of UNIT_ROWS rows by UNIT_COLS columns of dy:
//
//     scratch x [c][t][IN_ROWS][IN_COLS]    the rows of x that the unit's taps reach, zero-padded: no copy per tap
//     scratch e [pixel][BLOCK_K]            dy transposed
//     partial   [c, tap][BLOCK_K]           sums so far. A row of the register tile is one (c, tap): it walks along x from
//                                           its own corner; a column is one k.
//
// Two small kernels: one starts the counter of tiles, one adds the shares in order and blends the sum into dw.

#include "conv/cpu.h"
#include "conv/epilogue.h"

#define TAPS (TAPS_D * TAPS_H * TAPS_W)

// Where in scratch x the sums of row `m` = (c, tap) of a tile start; rows past the last one repeat the first
DEVICE int corner(int m, int rows, const int in_rows, const int in_cols) {
    if (m >= rows) m = 0;
    const int tap = m % TAPS;
    const int t = tap / (TAPS_H * TAPS_W), r = tap / TAPS_W % TAPS_H, s = tap % TAPS_W;
    return ((m / TAPS * TAPS_D + t) * in_rows + r * DILATION_H) * in_cols + s * DILATION_W;
}

NOINLINE void multiply_unit(GLOBAL real *c, const GLOBAL real *x, const GLOBAL real *e, int m, int channel_taps, int rows,
                          int columns, int add, const int in_rows, const int in_cols, const int unit_cols) {
    const int pitch = BLOCK_K;
#define CORNER(i) const int corner##i = corner(m + i, channel_taps, in_rows, in_cols);
    ROWS(CORNER)
    ROWS(DECLARE_ROW)
    for (int p = 0; p < rows; ++p) {
#define START_ROW(i) const GLOBAL real *x##i = x + corner##i;
        ROWS(START_ROW)
        const GLOBAL real *b = e;
        for (int q = 0; q < columns; ++q) {
            COLS(LOAD_B, 0)
#define STEP_ROW(i) { const vreal a##i = (vreal)(x##i[q * STRIDE_W]); COLS(FMA_VECTOR, i) }
            ROWS(STEP_ROW)
            b += BLOCK_K;
        }
        x += STRIDE_H * in_cols;
        e += unit_cols * BLOCK_K;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    ROWS(WRITE_ROW)
}

NOINLINE void pack_image(GLOBAL real *xs, const GLOBAL T *x, int image, int d0, int h0, int w0, int channels SIZES_PARAMS IMAGE_PARAMS) {
#if X_C_IS_ONE && !X_W_IS_ONE
#define CHANNELS_AT_ONCE 1
#else
    for (int c = 0; c < channels; ++c, image += X_C)
#endif
        for (int t = 0; t < TAPS_D; ++t)
            for (int i = 0; i < IN_ROWS; ++i) {
                const int d = d0 + t * DILATION_D, h = h0 + i;
                const int inside = d >= 0 && d < IMAGE_D && h >= 0 && h < IMAGE_H;
                const int row = inside ? image + d * X_D + h * X_H : 0;
#ifdef CHANNELS_AT_ONCE
                copy_channels(xs, TAPS_D * IN_ROWS * IN_COLS, x, row, w0, 1, IN_COLS - VW, inside ? IMAGE_W : 0, X_W,
                              channels, X_SPAN IMAGE_ARGS);
#else
                copy_row(xs, x, row, w0, 1, IN_COLS, inside ? IMAGE_W : 0, X_W, X_SPAN IMAGE_ARGS);
#endif
                xs += IN_COLS;
            }
}

// Columns of e beyond `channels` get copies of the last one
NOINLINE void pack_result(GLOBAL real *e, const GLOBAL T *dy, int first, int rows, int columns,
                        int channels SIZES_PARAMS FILTER_PARAMS) {
    for (int p = 0; p < rows; ++p, e += UNIT_COLS * BLOCK_K, first += Y_H) {
#if Y_C_IS_ONE
        for (int q = 0; q < columns; ++q) {
            int k = 0;
            for (; k <= channels - VW; k += VW) RSTORE(FILTER_VLOAD(dy, first + q * Y_W + k, VW), e + q * BLOCK_K + k);
            for (; k < channels; ++k) e[q * BLOCK_K + k] = FILTER_LOAD(dy, first + q * Y_W, k);
        }
#else
#if Y_W_IS_ONE
        if (columns >= VW) {
            for (int k = 0; k < channels; k += VW)
                for (int q = 0; q < columns; q += VW) {
                    const int at = MIN(q, columns - VW);
                    vreal block[VW];
                    UNROLL for (int j = 0; j < VW; ++j)
                        block[j] = FILTER_VLOAD(dy, first + MIN(k + j, channels - 1) * Y_C + at, VW);
                    transpose(block);
                    UNROLL for (int j = 0; j < VW; ++j) RSTORE(block[j], e + (at + j) * BLOCK_K + k);
                }
            continue;
        }
#endif
        for (int k = 0; k < channels; ++k)
            for (int q = 0; q < columns; ++q) e[q * BLOCK_K + k] = FILTER_LOAD(dy, first, k * Y_C + q * Y_W);
#endif
    }
}

KERNEL WG_SIZE(1, 1, 1) conv_cpu_filter_start(TENSOR(int, next_tile)) {
    BIND(int, next_tile);
    *next_tile = 0;
}

KERNEL WG_SIZE(1, 1, 1) conv_cpu_filter(TENSOR(T, x), TENSOR(T, dy), TENSOR(real, partial), TENSOR(real, scratch),
                                        TENSOR(int, next_tile) SIZES_GIVEN IMAGE_TENSORS FILTER_TENSORS) {
    SIZES_BIND
    BIND(T, x);
    BIND(T, dy);
    BIND(real, partial);
    BIND(real, scratch);
    BIND(int, next_tile);
    IMAGE_BIND
    FILTER_BIND
    GLOBAL real *xs = scratch + (i64)GRP(0) * SCRATCH;
    GLOBAL real *e = xs + SCRATCH_X;
    int cleared = 0;
    for (int tile = TAKE_TILE(next_tile); tile < TILES; tile = TAKE_TILE(next_tile)) {
        const int k0 = tile % K_BLOCKS * BLOCK_K, c0 = tile / K_BLOCKS % C_BLOCKS * BLOCK_C;
        const int group = tile / (K_BLOCKS * C_BLOCKS) % GROUPS, split = tile / (K_BLOCKS * C_BLOCKS * GROUPS);
        const int channels_k = MIN(BLOCK_K, K - k0), channels_c = MIN(BLOCK_C, C - c0);
        GLOBAL real *sums = partial + (i64)tile * TILE_SIZE;
        if (!cleared && channels_k % NR != 0) {
            clear_scratch(e, UNIT_ROWS * UNIT_COLS * BLOCK_K);
            cleared = 1;
        }
        const int begin = (int)((i64)UNITS * split / SPLITS), end = (int)((i64)UNITS * (split + 1) / SPLITS);
        for (int unit = begin; unit < end; ++unit) {
            const int q0 = unit % UNITS_W * UNIT_COLS, p0 = unit / UNITS_W % UNITS_H * UNIT_ROWS;
            const int o = unit / (UNITS_W * UNITS_H) % RESULT_D, n = unit / (UNITS_W * UNITS_H * RESULT_D);
            const int columns = MIN(UNIT_COLS, RESULT_W - q0), rows = MIN(UNIT_ROWS, RESULT_H - p0);
            pack_image(xs, x, n * X_N + (group * C + c0) * X_C, o * STRIDE_D - PAD_D, p0 * STRIDE_H - PAD_H,
                       q0 * STRIDE_W - PAD_W, channels_c SIZES_ARGS IMAGE_ARGS);
            pack_result(e, dy, n * Y_N + (group * K + k0) * Y_C + o * Y_D + p0 * Y_H + q0 * Y_W, rows, columns,
                        channels_k SIZES_ARGS FILTER_ARGS);
            for (int m = 0; m < channels_c * TAPS; m += MR)
                for (int j = 0; j < channels_k; j += NR)
                    multiply_unit(sums + m * BLOCK_K + j, xs, e + j, m, channels_c * TAPS, rows, columns, unit > begin,
                                  IN_ROWS, IN_COLS, UNIT_COLS);
        }
    }
}

// Sum of the shares of VW neighbouring k of one (c, tap)
DEVICE vreal add_shares(const GLOBAL real *sums SIZES_PARAMS) {
    vreal sum = RLOAD(sums);
    for (int split = 1; split < SPLITS; ++split)
        sum += RLOAD(sums + (i64)split * (GROUPS * C_BLOCKS * K_BLOCKS) * TILE_SIZE);
    return sum;
}

// Where a tap lies in the filter
DEVICE int place_of(int tap SIZES_PARAMS) {
    int t = tap / (TAPS_H * TAPS_W), r = tap / TAPS_W % TAPS_H, s = tap % TAPS_W;
#ifdef FLIP
    t = TAPS_D - 1 - t, r = TAPS_H - 1 - r, s = TAPS_W - 1 - s;
#endif
    return t * W_D + r * W_H + s * W_W;
}

// VW sums of VW neighbouring k each, `step` apart, turned over and blended into dw, of which `channels` k are there
NOINLINE void finish_block(GLOBAL T *dw, const int place, const GLOBAL real *sums, const int step, const int channels,
                           const real alpha, const real beta SIZES_PARAMS EPILOGUE_PARAMS) {
    vreal block[VW];
    UNROLL for (int j = 0; j < VW; ++j) {
        const GLOBAL real *from = sums + j * step;
        if (W_CHANNELS) PREFETCH(from + 2 * BLOCK_K);
        block[j] = SPLITS ? add_shares(from SIZES_ARGS) : (vreal)((real)0);
    }
    transpose(block);
    UNROLL for (int j = 0; j < VW; ++j)
        if (j < channels) VFINISH(dw, place + j * W_K, place + j * W_K, alpha, block[j], beta, 0);
}

// One such sum
NOINLINE void finish_few(GLOBAL T *dw, const int place, const GLOBAL real *sums, const int channels, const real alpha,
                         const real beta SIZES_PARAMS EPILOGUE_PARAMS) {
    const vreal sum = SPLITS ? add_shares(sums SIZES_ARGS) : (vreal)((real)0);
    for (int j = 0; j < channels; ++j) FINISH(dw, place + j * W_K, place + j * W_K, 0, alpha, LANE(sum, j), beta);
}

// One work-group adds and stores the shares of one block of c with all taps and VW neighbours k
KERNEL WG_SIZE(1, 1, 1) conv_cpu_filter_sum(TENSOR(real, partial), TENSOR(T, dw), const real alpha,
                                            const real beta SIZES_GIVEN EPILOGUE_TENSORS) {
    SIZES_BIND
    BIND(real, partial);
    BIND(T, dw);
    EPILOGUE_BIND
    const int k0 = GRP(0) * VW, cb = GRP(1), group = GRP(2);
    const GLOBAL real *sums = partial + (i64)((group * C_BLOCKS + cb) * K_BLOCKS + k0 / BLOCK_K) * TILE_SIZE + k0 % BLOCK_K;
    const int count = MIN(BLOCK_C, C - cb * BLOCK_C) * TAPS, channels = MIN(VW, K - k0);
    int m = 0;
#if defined(W_CONTIGUOUS) && !defined(FLIP)
    for (; m <= count - VW; m += VW)
        finish_block(dw, (group * K + k0) * W_K + cb * BLOCK_C * TAPS + m, sums + m * BLOCK_K, BLOCK_K, channels, alpha,
                     beta SIZES_ARGS EPILOGUE_PASS(0, 0));
#endif
    // Neighbouring channels of a tap at a time
    for (int ch = 0; W_CHANNELS && ch <= count / TAPS - VW; ch += VW, m = ch * TAPS)
        for (int tap = 0; tap < TAPS; ++tap)
            finish_block(dw, (group * K + k0) * W_K + cb * BLOCK_C + ch + place_of(tap SIZES_ARGS),
                         sums + (ch * TAPS + tap) * BLOCK_K, TAPS * BLOCK_K, channels, alpha,
                         beta SIZES_ARGS EPILOGUE_PASS(0, 0));
    for (; m < count; ++m) {
        const int place = (group * K + k0) * W_K + (cb * BLOCK_C + m / TAPS) * W_C + place_of(m % TAPS SIZES_ARGS);
        finish_few(dw, place, sums + m * BLOCK_K, channels, alpha, beta SIZES_ARGS EPILOGUE_PASS(0, 0));
    }
}
