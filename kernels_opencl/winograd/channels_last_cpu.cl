// Winograd's convolution of winograd/winograd_cpu.cl on a CPU for channels-last tensors: vectors are of channels, so that nothing is
// transposed, and a product's rows are tiles, wherever in an image they lie.
//
// A work-group takes blocks from a common counter: TILE_T tiles, times the panels of TILE_M channels of dst.
//
//     v     [plane][tile][V_PITCH]           the transformed inputs of all CH channels
//     c     [plane][tile][CHUNK]             the products for CHUNK channels of dst, one or several panels
//
// One number of v is for all lanes; packed is that of winograd/pack_cpu.cl with panels of NR channels.
// Defines: those of conv/cpu.h; the geometry of winograd/geometry.py; BLOCK_CH, channels that are summed at a time; C_PLANE, V_PLANE.

#include "conv/cpu.h"
#include "winograd/winograd_cpu.h"

#define PANEL (CH * NR + PANEL_REST)
#define PANELS (M_PADDED / NR)

// c[MR][CHUNK] (+)= x * b, one register tile
NOINLINE void multiply(GLOBAL real *c, const GLOBAL real *x, const GLOBAL real *b, int depth, int add) {
    const int pitch = CHUNK;
    ROWS(DECLARE_ROW)
    for (int ch = 0; ch < depth; ++ch) {
        COLS(LOAD_B, 0)
#define STEP_ROW(i) { const vreal a##i = (vreal)(x[i * V_PITCH]); COLS(FMA_VECTOR, i) }
        ROWS(STEP_ROW)
        b += NR;
        ++x;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    ROWS(WRITE_ROW)
}

// VW channels of a pixel; beyond the end of the tensor nothing is read
DEVICE vreal load_channels(const GLOBAL T *src, i64 at, int channels) {
    if (at <= SRC_SPAN - VW) return VLOAD(src + at, 0);
    vreal v = (vreal)((real)0);
    for (int j = 0; j < MIN(VW, channels); ++j) LANE(v, j) = LOAD(src + at, j);
    return v;
}

// All channels of the tile whose first input is (h, w), which is at `first` in src
NOINLINE void transform_tile(GLOBAL real *v, const GLOBAL T *src, i64 first, int h, int w) {
    const i64 last = first + (SIDE - 1) * (i64)(IN_H + IN_W) + (CH + VW - 1);
    const int inside = h >= 0 && w >= 0 && h + SIDE <= EXTENT_H && w + SIDE <= EXTENT_W && last < SRC_SPAN;
    for (int ch = 0; ch < CH; ch += VW) {
        vreal d[SIDE][SIDE];
        if (inside) {
            UNROLL for (int r = 0; r < SIDE; ++r)
                UNROLL for (int s = 0; s < SIDE; ++s) d[r][s] = VLOAD(src + first, ch + r * IN_H + s * IN_W);
        } else {
            for (int r = 0; r < SIDE; ++r)
                for (int s = 0; s < SIDE; ++s)
                    d[r][s] = h + r >= 0 && h + r < EXTENT_H && w + s >= 0 && w + s < EXTENT_W
                                  ? load_channels(src, first + r * (i64)IN_H + s * (i64)IN_W + ch, CH - ch)
                                  : (vreal)((real)0);
        }
        UNROLL for (int r = 0; r < SIDE; ++r) transform_input(d[r]);
        UNROLL for (int s = 0; s < SIDE; ++s) {
            vreal column[SIDE];
            UNROLL for (int r = 0; r < SIDE; ++r) column[r] = d[r][s];
            transform_input(column);
            UNROLL for (int r = 0; r < SIDE; ++r) RSTORE(column[r], v + (r * SIDE + s) * V_PLANE + ch);
        }
    }
}

// The outputs of a tile from c[plane][..]: `height` by `width` of them, and `channels`
NOINLINE void finish_tile(GLOBAL T *dst, const GLOBAL real *c, int height, int width, int channels, real alpha, real beta) {
    for (int m = 0; m < channels; m += VW) {
        vreal rows[OUT][SIDE];
        UNROLL for (int s = 0; s < SIDE; ++s) {
            vreal column[SIDE];
            UNROLL for (int r = 0; r < SIDE; ++r) column[r] = RLOAD(c + (r * SIDE + s) * C_PLANE + m);
            transform_output(column);
            UNROLL for (int r = 0; r < OUT; ++r) rows[r][s] = column[r];
        }
        UNROLL for (int r = 0; r < OUT; ++r) {
            transform_output(rows[r]);
            if (r >= height) continue;
            UNROLL for (int s = 0; s < OUT; ++s) {
                if (s >= width) continue;
                GLOBAL T *to = dst + r * (i64)OUT_H + s * (i64)OUT_W;
                if (m + VW <= channels) VBLEND(to, m, alpha, rows[r][s], beta);
                else
                    for (int j = 0; j < channels - m; ++j) BLEND(to, m + j, alpha, LANE(rows[r][s], j), beta);
            }
        }
    }
}

KERNEL WG_SIZE(1, 1, 1) winograd_channels_last(TENSOR(T, src), TENSOR(T, dst), TENSOR(real, packed), TENSOR(real, scratch),
                                               TENSOR(int, next_tile), const real alpha, const real beta) {
    BIND(T, src);
    BIND(T, dst);
    BIND(real, packed);
    BIND(real, scratch);
    BIND(int, next_tile);
    GLOBAL real *v = scratch + (i64)GRP(0) * SCRATCH, *c = v + SCRATCH_C;
    for (int block = TAKE_TILE(next_tile); block < BLOCKS; block = TAKE_TILE(next_tile)) {
        const int m_block = block % M_BLOCKS, t0 = block / M_BLOCKS % T_BLOCKS * TILE_T, group = block / (M_BLOCKS * T_BLOCKS);
        const int m0 = m_block * TILE_M, end_m = MIN(m0 + TILE_M, M), tiles = MIN(TILE_T, TILES - t0);
        const int padded = (tiles + MR - 1) / MR * MR;
        for (int plane = 0; plane < PLANES; ++plane)
            clear_scratch(v + plane * V_PLANE + tiles * V_PITCH, (padded - tiles) * V_PITCH);
        for (int i = 0; i < tiles; ++i) {
            const int n = (t0 + i) / (TILES_H * TILES_W);
            const int h = (t0 + i) / TILES_W % TILES_H * OUT + START_H, w = (t0 + i) % TILES_W * OUT + START_W;
            const i64 first = n * (i64)IN_N + h * (i64)IN_H + w * (i64)IN_W + group * CH;
            transform_tile(v + i * V_PITCH, src, first, h, w);
        }
        for (int m = m0; m < end_m; m += CHUNK) {
            const int channels = MIN(CHUNK, end_m - m);
            for (int plane = 0; plane < PLANES; ++plane)
                for (int j = 0; j < channels; j += NR) {
                    const GLOBAL real *b = packed + ((i64)(group * PLANES + plane) * PANELS + (m + j) / NR) * PANEL;
                    for (int ch = 0; ch == 0 || ch < CH; ch += BLOCK_CH)
                        for (int i = 0; i < tiles; i += MR)
                            multiply(c + plane * C_PLANE + i * CHUNK + j, v + plane * V_PLANE + i * V_PITCH + ch, b + ch * NR,
                                     MIN(BLOCK_CH, CH - ch), ch > 0);
                }
            for (int i = 0; i < tiles; ++i) {
                const int n = (t0 + i) / (TILES_H * TILES_W);
                const int h = (t0 + i) / TILES_W % TILES_H * OUT, w = (t0 + i) % TILES_W * OUT;
                GLOBAL T *to = dst + (n * (i64)OUT_N + h * (i64)OUT_H + w * (i64)OUT_W + group * M + m);
                finish_tile(to, c + i * CHUNK, MIN(OUT, SIZE_H - h), MIN(OUT, SIZE_W - w), channels, alpha, beta);
            }
        }
    }
}
