// Winograd's convolution with 3x3 filters on a CPU, F(2x2, 3x3) or F(4x4, 3x3): forward, and data gradients as the forward
// pass of a flipped filter. Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016.
//
// A tile is OUT x OUT outputs and the SIDE x SIDE inputs (SIDE = OUT + 2) that they see. With both transformed, an output
// channel of a tile is SIDE * SIDE products per input channel instead of 9 * OUT * OUT: one small matrix product for each
// of the PLANES = SIDE * SIDE places in a tile.
//
//     packed [group][plane][panel][ch][MR]   the transformed filter, by winograd/pack_cpu.cl; PANEL_REST elements between panels
//
// A work-group takes blocks from a common counter: TILE_ROWS rows of TILE_COLS tiles, times TILE_M channels of dst.
//
//     lines [ch][SIDE][LINE]                 the rows of src that one row of tiles sees, zero-padded
//     v     [plane][ch][PITCH]               the transformed inputs of all CH channels: a column is a tile
//     c     [plane][CHUNK][PITCH]            the products for CHUNK channels of dst at a time
//     out   [OUT][CHUNK][OUT_LINE]           their outputs for one row of tiles, stored in dst row by row

#include "conv/cpu.h"
#include "conv/cpu_multiply.h"
#include "conv/cpu_store.h"
#include "winograd/winograd_cpu.h"

#define PANEL (CH * MR + PANEL_REST)
#define PANELS (M_PADDED / MR)

// Places 0 .. SIDE - 1 of VW neighbouring tiles from a line
DEVICE void load_places(vreal *d, const GLOBAL real *line) {
#if OUT == 2
    UNROLL for (int k = 0; k < 2; ++k) {
        const vreal a = RLOAD(line + 2 * k), b = RLOAD(line + 2 * k + VW);
        d[2 * k] = (vreal)(a.even, b.even);
        d[2 * k + 1] = (vreal)(a.odd, b.odd);
    }
#else
    UNROLL for (int k = 0; k < 2; ++k) {
        vreal even[2], odd[2];
        UNROLL for (int i = 0; i < 2; ++i) {
            const vreal a = RLOAD(line + 4 * k + 2 * i * VW), b = RLOAD(line + 4 * k + (2 * i + 1) * VW);
            even[i] = (vreal)(a.even, b.even);
            odd[i] = (vreal)(a.odd, b.odd);
        }
        d[4 * k] = (vreal)(even[0].even, even[1].even);
        d[4 * k + 1] = (vreal)(odd[0].even, odd[1].even);
        if (k == 0) {
            d[2] = (vreal)(even[0].odd, even[1].odd);
            d[3] = (vreal)(odd[0].odd, odd[1].odd);
        }
    }
#endif
}

DEVICE void zip(GLOBAL real *line, vreal a, vreal b) {
    vreal low, high;
    low.even = a.lo, low.odd = b.lo;
    high.even = a.hi, high.odd = b.hi;
    RSTORE(low, line);
    RSTORE(high, line + VW);
}

// The inverse of load_places for OUT places
DEVICE void store_places(GLOBAL real *line, const vreal *y) {
#if OUT == 2
    zip(line, y[0], y[1]);
#else
    vreal even, odd;
    even.even = y[0].lo, even.odd = y[2].lo;
    odd.even = y[1].lo, odd.odd = y[3].lo;
    zip(line, even, odd);
    even.even = y[0].hi, even.odd = y[2].hi;
    odd.even = y[1].hi, odd.odd = y[3].hi;
    zip(line + 2 * VW, even, odd);
#endif
}

// Transform `columns` tiles of one channel from lines[SIDE][LINE] to v[plane][..]
NOINLINE void transform_row(GLOBAL real *v, const GLOBAL real *lines, int columns) {
    for (int q = 0; q < columns; q += VW) {
        vreal rows[SIDE][SIDE];
        UNROLL for (int r = 0; r < SIDE; ++r) {
            load_places(rows[r], lines + r * LINE + q * OUT);
            transform_input(rows[r]);
        }
        UNROLL for (int s = 0; s < SIDE; ++s) {
            vreal column[SIDE];
            UNROLL for (int r = 0; r < SIDE; ++r) column[r] = rows[r][s];
            transform_input(column);
            UNROLL for (int r = 0; r < SIDE; ++r) RSTORE(column[r], v + (r * SIDE + s) * V_PLANE + q);
        }
    }
}

// The outputs of `columns` tiles of one channel from c[plane][..] to out[OUT][CHUNK][OUT_LINE]
NOINLINE void finish_row(GLOBAL real *out, const GLOBAL real *c, int columns) {
    for (int q = 0; q < columns; q += VW) {
        vreal rows[OUT][SIDE];
        UNROLL for (int s = 0; s < SIDE; ++s) {
            vreal column[SIDE];
            UNROLL for (int r = 0; r < SIDE; ++r) column[r] = RLOAD(c + (r * SIDE + s) * C_PLANE + q);
            transform_output(column);
            UNROLL for (int r = 0; r < OUT; ++r) rows[r][s] = column[r];
        }
        UNROLL for (int r = 0; r < OUT; ++r) {
            transform_output(rows[r]);
            store_places(out + r * CHUNK * OUT_LINE + q * OUT, rows[r]);
        }
    }
}

// Fill v for one row of tiles from all channels of the group
DEVICE void transform_source(GLOBAL real *v, GLOBAL real *lines, const GLOBAL T *src, int image, int h0, int w0, int columns) {
    for (int ch = 0; ch < CH; ch += COPIED) {
        const int channels = MIN(COPIED, CH - ch);
        for (int i = 0; i < SIDE; ++i) {
            const int h = h0 + i, inside = h >= 0 && h < EXTENT_H;
            const int row = inside ? image + ch * IN_C + h * IN_H : 0;
#if COPIED > 1
            copy_channels(lines + i * LINE, SIDE * LINE, src, row, w0, 1, columns * OUT + 2, inside ? EXTENT_W : 0, IN_W,
                          channels, SRC_SPAN);
#else
            copy_row(lines + i * LINE, src, row, w0, 1, columns * OUT + 2, inside ? EXTENT_W : 0, IN_W, SRC_SPAN);
#endif
        }
        for (int i = 0; i < channels; ++i) transform_row(v + (ch + i) * PITCH, lines + i * SIDE * LINE, columns);
    }
}

KERNEL WG_SIZE(1, 1, 1) winograd_cpu(TENSOR(T, src), TENSOR(T, dst), TENSOR(real, packed), TENSOR(real, scratch),
                                     TENSOR(int, next_tile), const real alpha, const real beta EPILOGUE_TENSORS) {
    BIND(T, src);
    BIND(T, dst);
    EPILOGUE_BIND
    BIND(real, packed);
    BIND(real, scratch);
    BIND(int, next_tile);
    GLOBAL real *v = scratch + (i64)GRP(0) * SCRATCH;
    GLOBAL real *c = v + SCRATCH_C, *lines = v + SCRATCH_LINES, *out = v + SCRATCH_OUT;
    clear_scratch(lines, COPIED * SIDE * LINE);
    int cleared = 0;
    for (int block = TAKE_TILE(next_tile); block < BLOCKS; block = TAKE_TILE(next_tile)) {
        const int segment = block % SEGMENTS, row0 = block / SEGMENTS % ROW_BLOCKS * TILE_ROWS;
        const int m0 = block / (SEGMENTS * ROW_BLOCKS) % M_BLOCKS * TILE_M, group = block / (SEGMENTS * ROW_BLOCKS * M_BLOCKS);
        const int q0 = segment * TILE_COLS, columns = MIN(TILE_COLS, TILES_W - q0), rows = MIN(TILE_ROWS, GRID_ROWS - row0);
        const int end_m = MIN(m0 + TILE_M, M), tiles = (rows - 1) * TILE_COLS + columns;
        if (!cleared && tiles % NR != 0) {
            for (int i = 0; i < PLANES * CH; ++i)
                clear_scratch(v + i / CH * V_PLANE + i % CH * PITCH + tiles, PITCH - tiles);
            cleared = 1;
        }
        for (int i = 0; i < rows; ++i) {
            const int n = (row0 + i) / TILES_H, h = (row0 + i) % TILES_H;
            transform_source(v + i * TILE_COLS, lines, src, n * IN_N + group * CH * IN_C, h * OUT + START_H, q0 * OUT + START_W,
                             columns);
        }
        for (int m = m0; m < end_m; m += CHUNK) {
            const int channels = MIN(CHUNK, end_m - m);
            for (int plane = 0; plane < PLANES; ++plane)
                for (int ch = 0; ch == 0 || ch < CH; ch += BLOCK_CH) {
                    const GLOBAL real *a = packed + ((i64)(group * PLANES + plane) * PANELS + m / MR) * PANEL + ch * MR;
                    const GLOBAL real *b = v + plane * V_PLANE + ch * PITCH;
                    const int depth = MIN(BLOCK_CH, CH - ch);
                    for (int j = 0; j < tiles; j += NR)
                        for (int i = 0; i < channels; i += MR)
                            multiply_packed(c + plane * C_PLANE + i * PITCH + j, a + i / MR * PANEL, b + j, PITCH, depth,
                                            ch > 0);
                }
            for (int i = 0; i < rows; ++i) {
                const int n = (row0 + i) / TILES_H, h = (row0 + i) % TILES_H * OUT;
                for (int k = 0; k < channels; ++k)
                    finish_row(out + k * OUT_LINE, c + k * PITCH + i * TILE_COLS, columns);
                const int count = MIN(columns * OUT, SIZE_W - q0 * OUT);
                for (int r = 0; r < MIN(OUT, SIZE_H - h); ++r) {
                    const int channel = group * M + m;
                    const int first = n * OUT_N + channel * OUT_C + (h + r) * OUT_H + q0 * OUT * OUT_W;
#ifdef Z_STRIDES
                    const int z_first = n * Z_N + channel * Z_C + (h + r) * Z_H + q0 * OUT * Z_W;
#else
                    const int z_first = first;
#endif
                    store_row(dst, first, out + r * CHUNK * OUT_LINE, OUT_LINE, channels, count, alpha,
                              beta EPILOGUE_PASS(z_first, channel * BIAS_C));
                }
            }
        }
    }
}
