// Winograd's filter gradient with 3x3 filters on a CPU: F(3x3, 2x2) or F(3x3, 4x4), the transposes of winograd/winograd_cpu.cl's.
//
// A tile is OUT x OUT elements of dy and the SIDE x SIDE elements of x that meet them. With both transformed, a tile adds
// one product to each of the PLANES = SIDE * SIDE places of (k, c), where the definition adds 9 * OUT * OUT; the sums over
// all tiles are transformed once. For each place that is one matrix product, whose depth are the tiles:
//
//                          v [tile][PITCH]      x: BLOCK_C channels of one place, transformed
//                        +----------------+
//     u [tile][K_PITCH]  | sums  PITCH    |     dy: BLOCK_K channels; a row of the register tile is one k
//                        +----------------+
//
// A work-group takes one job after the other from a common counter: BLOCK_K channels of dy times BLOCK_C channels of x,
// over one of SPLITS shares of the tiles. The share is walked in units of TILE_ROWS rows of TILE_COLS tiles, whose u and v
// stay in the L2 cache with the sums:
//
//     lines [SIDE][LINE][VW]           VW channels of the rows that one row of tiles sees, zero-padded; or OUT rows of dy
//     u, v  [plane][tile][..]
//     sums  [plane][k][PITCH]          of the job, in the workspace
//
// Two small kernels: one starts the counter of jobs, one adds the shares in order, transforms the sum, and blends it into dw.

#include "conv/cpu.h"
#include "winograd/winograd_cpu.h"

#define SUMS ((i64)SUM_ROWS * PITCH)  // of a plane
#define JOB (PLANES * SUMS)

KERNEL WG_SIZE(1, 1, 1) winograd_filter_cpu_start(TENSOR(int, next_job)) {
    BIND(int, next_job);
    *next_job = 0;
}

// Fill `count` pixels of VW channels from column w0 of a row on; `inside`: the row is one of the image. The row's channels
// are channel_step apart, its pixels pixel_step. Writes up to VW - 1 pixels beyond.
DEVICE void copy_pixels(GLOBAL real *dst, GLOBAL real *channel_lines, const GLOBAL T *src, int row, int w0, int count,
                        int size, const int channel_step, const int pixel_step, int channels, const int span) {
    const int some = MIN(VW, channels);
    if (channel_step == 1 && some == VW) {
        for (int q = 0; q < count; ++q) {
            const int at = w0 + q;
            RSTORE(at >= 0 && at < size ? VLOAD(src, row + at * pixel_step) : (vreal)((real)0), dst + q * VW);
        }
        return;
    }
    for (int j = 0; j < some; ++j)
        copy_row(channel_lines + j * LINE, src, row + j * channel_step, w0, 1, count, size, pixel_step, span);
    for (int q = 0; q < count; q += VW) {
        vreal block[VW];
        UNROLL for (int j = 0; j < VW; ++j) block[j] = RLOAD(channel_lines + MIN(j, some - 1) * LINE + q);
        transpose(block);
        UNROLL for (int j = 0; j < VW; ++j) RSTORE(block[j], dst + (q + j) * VW);
    }
}

// Transform `columns` tiles of VW channels of x from lines to v
NOINLINE void transform_image(GLOBAL real *v, const GLOBAL real *lines, int columns) {
    for (int q = 0; q < columns; ++q, v += PITCH, lines += OUT * VW) {
        vreal rows[SIDE][SIDE];
        UNROLL for (int r = 0; r < SIDE; ++r) {
            UNROLL for (int s = 0; s < SIDE; ++s) rows[r][s] = RLOAD(lines + (r * LINE + s) * VW);
            transform_input(rows[r]);
        }
        UNROLL for (int s = 0; s < SIDE; ++s) {
            vreal column[SIDE];
            UNROLL for (int r = 0; r < SIDE; ++r) column[r] = rows[r][s];
            transform_input(column);
            UNROLL for (int r = 0; r < SIDE; ++r) RSTORE(column[r], v + (r * SIDE + s) * V_PLANE);
        }
    }
}

// The same for dy, to u
NOINLINE void transform_gradient(GLOBAL real *u, const GLOBAL real *lines, int columns) {
    for (int q = 0; q < columns; ++q, u += K_PITCH, lines += OUT * VW) {
        vreal rows[OUT][SIDE];
        UNROLL for (int r = 0; r < OUT; ++r) {
            vreal y[OUT];
            UNROLL for (int s = 0; s < OUT; ++s) y[s] = RLOAD(lines + (r * LINE + s) * VW);
            spread_output(rows[r], y);
        }
        UNROLL for (int s = 0; s < SIDE; ++s) {
            vreal y[OUT], column[SIDE];
            UNROLL for (int r = 0; r < OUT; ++r) y[r] = rows[r][s];
            spread_output(column, y);
            UNROLL for (int r = 0; r < SIDE; ++r) RSTORE(column[r], u + (r * SIDE + s) * U_PLANE);
        }
    }
}

// sums[MR][PITCH] (+)= u[depth][K_PITCH]' * v[depth][PITCH]
NOINLINE void multiply_tiles(GLOBAL real *c, const GLOBAL real *u, const GLOBAL real *b, int depth, int add) {
    const int pitch = PITCH;
    ROWS(DECLARE_ROW)
    for (int t = 0; t < depth; ++t) {
        COLS(LOAD_B, 0)
#define STEP_TILE(i) { const vreal a##i = (vreal)(u[i]); COLS(FMA_VECTOR, i) }
        ROWS(STEP_TILE)
        u += K_PITCH;
        b += PITCH;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    ROWS(WRITE_ROW)
}

// Vectors of channels start at 0, VW, ..., the last one at channels - VW where that many are there
#define EACH_VECTOR(ch, channels)                                                                          \
    for (int first = 0, ch = 0; first < (channels) && (ch = MIN(first, (channels) > VW ? (channels) - VW : 0), 1); first += VW)

KERNEL WG_SIZE(1, 1, 1) winograd_filter_cpu(TENSOR(T, x), TENSOR(T, dy), TENSOR(real, sums_of_all), TENSOR(real, scratch),
                                            TENSOR(int, next_job)) {
    BIND(T, x);
    BIND(T, dy);
    BIND(real, sums_of_all);
    BIND(real, scratch);
    BIND(int, next_job);
    GLOBAL real *v = scratch + (i64)GRP(0) * SCRATCH;
    GLOBAL real *u = v + SCRATCH_U, *lines = v + SCRATCH_LINES, *channel_lines = v + SCRATCH_CHANNELS;
    int cleared = 0;
    for (int job = TAKE_TILE(next_job); job < JOBS; job = TAKE_TILE(next_job)) {
        const int k0 = job % K_BLOCKS * BLOCK_K, c0 = job / K_BLOCKS % C_BLOCKS * BLOCK_C;
        const int group = job / (K_BLOCKS * C_BLOCKS) % GROUPS, split = job / (K_BLOCKS * C_BLOCKS * GROUPS);
        const int channels_k = MIN(BLOCK_K, K - k0), channels_c = MIN(BLOCK_C, C - c0);
        GLOBAL real *sums = sums_of_all + job * JOB;
        if (!cleared && (channels_c % NR != 0 || channels_k % MR != 0)) {
            clear_scratch(v, SCRATCH_LINES);
            cleared = 1;
        }
        const int begin = (int)((i64)UNITS * split / SPLITS), end = (int)((i64)UNITS * (split + 1) / SPLITS);
        for (int unit = begin; unit < end; ++unit) {
            const int q0 = unit % SEGMENTS * TILE_COLS, row0 = unit / SEGMENTS * TILE_ROWS;
            const int columns = MIN(TILE_COLS, TILES_W - q0), rows = MIN(TILE_ROWS, GRID_ROWS - row0);
            for (int i = 0; i < rows; ++i) {
                const int n = (row0 + i) / TILES_H, h0 = (row0 + i) % TILES_H * OUT, w0 = q0 * OUT;
                EACH_VECTOR(ch, channels_c) {
                    for (int r = 0; r < SIDE; ++r) {
                        const int h = h0 + START_H + r, inside = h >= 0 && h < EXTENT_H;
                        const int row = (inside ? n * IN_N + h * IN_H : 0) + (group * C + c0 + ch) * IN_C;
                        copy_pixels(lines + r * LINE * VW, channel_lines, x, row, w0 + START_W, columns * OUT + 2,
                                    inside ? EXTENT_W : 0, IN_C, IN_W, channels_c - ch, X_SPAN);
                    }
                    transform_image(v + i * columns * PITCH + ch, lines, columns);
                }
                EACH_VECTOR(ch, channels_k) {
                    for (int r = 0; r < OUT; ++r) {
                        const int inside = h0 + r < SIZE_H;
                        const int row = (inside ? n * OUT_N + (h0 + r) * OUT_H : 0) + (group * K + k0 + ch) * OUT_C;
                        copy_pixels(lines + r * LINE * VW, channel_lines, dy, row, w0, columns * OUT, inside ? SIZE_W : 0,
                                    OUT_C, OUT_W, channels_k - ch, DY_SPAN);
                    }
                    transform_gradient(u + i * columns * K_PITCH + ch, lines, columns);
                }
            }
            for (int plane = 0; plane < PLANES; ++plane)
                for (int j = 0; j < channels_c; j += NR)
                    for (int i = 0; i < channels_k; i += MR)
                        multiply_tiles(sums + plane * SUMS + i * PITCH + j, u + plane * U_PLANE + i,
                                       v + plane * V_PLANE + j, rows * columns, unit > begin);
        }
    }
}

// One work-group finishes one k with a block of c
KERNEL WG_SIZE(1, 1, 1) winograd_filter_cpu_sum(TENSOR(real, sums_of_all), TENSOR(T, dw), const real alpha, const real beta) {
    BIND(real, sums_of_all);
    BIND(T, dw);
    const int k = GRP(0), cb = GRP(1), group = GRP(2);
    const int channels = MIN(BLOCK_C, C - cb * BLOCK_C);
    const GLOBAL real *sums = sums_of_all + ((i64)(group * C_BLOCKS + cb) * K_BLOCKS + k / BLOCK_K) * JOB + k % BLOCK_K * PITCH;
    dw += W_FIRST + group * W_GROUP + k * W_M + cb * BLOCK_C * W_CH;
    for (int c = 0; c < channels; c += VW) {
        vreal rows[SIDE][3], taps[3][3];
        UNROLL for (int r = 0; r < SIDE; ++r) {
            vreal places[SIDE];
            UNROLL for (int s = 0; s < SIDE; ++s) {
                places[s] = (vreal)((real)0);
                for (int split = 0; split < SPLITS; ++split)
                    places[s] += RLOAD(sums + (split * (i64)(GROUPS * C_BLOCKS * K_BLOCKS)) * JOB + (r * SIDE + s) * SUMS + c);
            }
            gather_filter(rows[r], places);
        }
        UNROLL for (int s = 0; s < 3; ++s) {
            vreal column[SIDE], g[3];
            UNROLL for (int r = 0; r < SIDE; ++r) column[r] = rows[r][s];
            gather_filter(g, column);
            UNROLL for (int r = 0; r < 3; ++r) taps[r][s] = g[r];
        }
        for (int j = 0; j < MIN(VW, channels - c); ++j)
            UNROLL for (int tap = 0; tap < 9; ++tap)
                BLEND(dw, (c + j) * W_CH + tap / 3 * W_H + tap % 3 * W_W, alpha, LANE(taps[tap / 3][tap % 3], j), beta);
    }
}
