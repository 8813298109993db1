// Forward and backward-data convolution on a CPU: implicit GEMM, the im2col matrix made block by block in scratch.
//
// Both directions are one sum,   dst[n, m, position] = sum over ch, taps of  A[m, ch, tap] * src[n, ch, position + tap]
//   forward:        m = k, ch = c; a position is an output pixel, its source position * stride - pad + tap * dilation
//   backward data:  m = c, ch = k; positions of one phase, that is, pixels h of dx with the same h % stride, see the same
//                   taps, r with (h + pad - r * dilation) % stride == 0, and their sources in dy are neighbours
//
// A work-group takes one tile after the other from a common counter. A tile is TILE_ROWS rows of positions by TILE_COLS columns, times up to
// TILE_M channels of dst, summed over blocks of BLOCK_CH channels of src:
//
//     packed [panel][k][MR]                scratch b [k][PITCH]: row k is one (ch, tap), shifted rows of src side by side
//     +--+                                 +------+------+------+--+
//     |MR|  x one row k: MR rows by NR     | row0 | row1 | row2 |  |   rows of TILE_COLS
//     +--+    columns of the register      |      |      |      |  |
//     |  |    tile at a time               +------+------+------+--+
//                                          scratch c [TILE_M][PITCH]: sums so far, blended into dst after the last block

#include "conv/cpu.h"
#include "conv/cpu_multiply.h"
#include "conv/cpu_places.h"
#include "conv/cpu_store.h"

DEVICE void find_places(int *places, taps_t td, taps_t th, taps_t tw SIZES_PARAMS) {
    for (int t = 0; t < td.count; ++t)
        for (int r = 0; r < th.count; ++r)
            for (int s = 0; s < tw.count; ++s) *places++ = find_place(td, th, tw, t, r, s SIZES_ARGS);
}

// Channels of a block in a phase: fewer taps leave room for more
DEVICE int block_channels(int taps SIZES_PARAMS) {
#if WHOLE_VECTORS
    return taps ? MAX_TAPS * BLOCK_CH / taps / VW * VW : CH;
#else
    return taps ? MAX_TAPS * BLOCK_CH / taps : CH;
#endif
}

#ifdef PACKED
// Computed channels are neighbours (a row of a matrix): whole vectors of them are packed at a time
#define FILTER_CHANNELS 1
#ifdef PROLOGUE_FILTER  // no sizes are arguments then
#if W_CH == 1 && MAX_TAPS == 1 && PHASES_D * PHASES_H * PHASES_W == 1
#undef FILTER_CHANNELS
#define FILTER_CHANNELS VW
DEVICE void pack_channels(GLOBAL real *a, const int place, const int count, const int rows FILTER_PARAMS) {
    for (int i = 0; i < MR; ++i) {
        vreal v = (vreal)((real)0);
        if (i < rows) v = prologue_filter((idx_t)(place + i * W_M), count FILTER_ARGS);
        for (int j = 0; j < count; ++j) a[j * MR + i] = v[j];
    }
}
#endif
#endif

// packed[phase][group][block of ch][panel][ch, tap][MR], zeros in rows beyond M. A work-group packs PACK_PANELS panels of a
// block side by side, because they are neighbours in the filters of data gradients.
KERNEL WG_SIZE(1, 1, 1) conv_cpu_pack(TENSOR(T, w), TENSOR(real, packed), TENSOR(int, next_tile) SIZES_GIVEN FILTER_TENSORS) {
    SIZES_BIND
    BIND(T, w);
    FILTER_BIND
    BIND(real, packed);
    BIND(int, next_tile);
    if (GRP(0) == 0 && GRP(1) == 0 && GRP(2) == 0) *next_tile = 0;
    const int group = GRP(2) % GROUPS, phase = GRP(2) / GROUPS;
    const taps_t td = TAPS_OF(D, PHASE_D(phase)), th = TAPS_OF(H, PHASE_H(phase)), tw = TAPS_OF(W, PHASE_W(phase));
    const int taps = td.count * th.count * tw.count;
    const int block_ch = block_channels(taps SIZES_ARGS), ch0 = GRP(1) * block_ch, channels = MIN(block_ch, CH - ch0);
    const int first = GRP(0) * PACK_PANELS, end = MIN(first + PACK_PANELS, M_PADDED / MR);
    GLOBAL real *block = packed + ((i64)GRP(2) * CH + ch0) * MAX_TAPS * M_PADDED;
    for (int ch = 0; ch < channels; ++ch)
        for (int panel = first; panel < end; ++panel) {
#if FILTER_CHANNELS > 1
            if (ch % VW) continue;
            pack_channels(block + ((i64)panel * channels + ch) * MR, group * W_GROUP + panel * MR * W_M + ch0 + ch,
                          MIN(VW, channels - ch), M - panel * MR FILTER_ARGS);
            continue;
#endif
            GLOBAL real *a = block + ((i64)panel * channels + ch) * taps * MR;
            const int rows = M - panel * MR;
            for (int t = 0; t < td.count; ++t)
                for (int r = 0; r < th.count; ++r)
                    for (int s = 0; s < tw.count; ++s) {
                        const int row = group * W_GROUP + panel * MR * W_M + (ch0 + ch) * W_CH;
                        const int place = row + find_place(td, th, tw, t, r, s SIZES_ARGS);
#define PACK_ROW(i) a[i] = i < rows ? FILTER_LOAD(w, place, i * W_M) : (real)0;
                        ROWS(PACK_ROW)
                        a += MR;
                    }
        }
}

#else
#include "conv/cpu_in_place.h"
#endif

// Fill one row of positions of b for channels ch0 and following
NOINLINE void pack_source(GLOBAL real *b, const GLOBAL T *src, int source, row_t at, int q0, int count, int channels,
                        taps_t td, taps_t th, taps_t tw SIZES_PARAMS IMAGE_PARAMS) {
#if S_C_IS_ONE && !S_W_IS_ONE
    const int taps = td.count * th.count * tw.count;
#define CHANNELS_AT_ONCE 1
#else
    for (int ch = 0; ch < channels; ++ch, source += S_C)
#endif
        for (int t = 0; t < td.count; ++t) {
            const int d = at.d * SRC_STEP_D + td.offset + t * TAP_SHIFT_D;
            for (int r = 0; r < th.count; ++r) {
                const int h = at.h * SRC_STEP_H + th.offset + r * TAP_SHIFT_H;
                const int inside = d >= 0 && d < SRC_D && h >= 0 && h < SRC_H;
                const int row = inside ? source + d * S_D + h * S_H : 0;
                for (int s = 0; s < tw.count; ++s) {
                    const int first = q0 * SRC_STEP_W + tw.offset + s * TAP_SHIFT_W;
#ifdef CHANNELS_AT_ONCE
                    copy_channels(b, taps * PITCH, src, row, first, SRC_STEP_W, count, inside ? SRC_W : 0, S_W, channels,
                                  SRC_SPAN IMAGE_ARGS);
#else
                    copy_row(b, src, row, first, SRC_STEP_W, count, inside ? SRC_W : 0, S_W, SRC_SPAN IMAGE_ARGS);
#endif
                    b += PITCH;
                }
            }
        }
}

KERNEL WG_SIZE(1, 1, 1) conv_cpu_start(TENSOR(int, next_tile)) {
    BIND(int, next_tile);
    *next_tile = 0;
}

#ifdef EPILOGUE_SUMS
#include "conv/cpu_sums.h"
#endif

KERNEL WG_SIZE(1, 1, 1) conv_cpu_gemm(TENSOR(T, src), TENSOR(T, dst), TENSOR(real, packed), TENSOR(real, scratch),
                                      TENSOR(int, next_tile), const real alpha, const real beta SIZES_GIVEN EPILOGUE_TENSORS
                                          IMAGE_TENSORS) {
    SIZES_BIND
    BIND(T, src);
    BIND(T, dst);
    EPILOGUE_BIND
    IMAGE_BIND
    BIND(real, packed);
    BIND(real, scratch);
    BIND(int, next_tile);
    GLOBAL real *b = scratch + (i64)GRP(0) * SCRATCH;
    GLOBAL real *c = b + SCRATCH_B;
    int cleared = 0;
    for (int tile = TAKE_TILE(next_tile); tile < TILES; tile = TAKE_TILE(next_tile)) {
        const int segment = tile % SEGMENTS, row0 = tile / SEGMENTS % ROW_BLOCKS * TILE_ROWS;
        const int m0 = tile / (SEGMENTS * ROW_BLOCKS) % M_BLOCKS * TILE_M, z = tile / (SEGMENTS * ROW_BLOCKS * M_BLOCKS);
        const int group = z % GROUPS, phase = z / GROUPS;
        const taps_t td = TAPS_OF(D, PHASE_D(phase)), th = TAPS_OF(H, PHASE_H(phase)), tw = TAPS_OF(W, PHASE_W(phase));
        const int taps = td.count * th.count * tw.count;
#ifndef PACKED
        int places[MAX_TAPS];
        find_places(places, td, th, tw SIZES_ARGS);
#endif
        const int rows = MIN(TILE_ROWS, GRID_ROWS - row0), channels_m = MIN(TILE_M, M - m0);
        const int q0 = segment * TILE_COLS, columns = MIN(TILE_COLS, GRID_W - q0), flat = (rows - 1) * TILE_COLS + columns;
        const int block = block_channels(taps SIZES_ARGS);
        if (!cleared && flat % NR != 0) {
            clear_scratch(b, SCRATCH_B);
            cleared = 1;
        }
#if AT_ONCE
        // Columns that are neighbours in dst as they are in c, and of them those in whole register tiles
        const row_t top = find_row(row0 SIZES_ARGS), bottom = find_row(row0 + rows - 1 SIZES_ARGS);
        const int beside = top.n == bottom.n && TILE_COLS == GRID_W && D_H == GRID_W && (GRID_D == 1 || D_D == GRID_H * GRID_W);
        const int together = beta == 0 && (rows == 1 || beside) ? flat : 0, whole = together / NR * NR;
        const int whole_j = FEW_COLUMNS(whole, together) ? together / VW * VW : whole, whole_m = channels_m / MR * MR;
        GLOBAL T *out = dst + top.n * D_N + (group * M + m0) * D_C + top.d * D_D + top.h * D_H + q0;
#endif
        for (int ch0 = 0; ch0 == 0 || ch0 < CH; ch0 += block) {
            const int channels = MIN(block, CH - ch0), depth = channels * taps;
            for (int i = 0; i < rows; ++i) {
                const row_t at = find_row(row0 + i SIZES_ARGS);
                const int source = at.n * S_N + (group * CH + ch0) * S_C;
                pack_source(b + i * TILE_COLS, src, source, at, q0, columns, channels, td, th, tw SIZES_ARGS IMAGE_ARGS);
            }
#if AT_ONCE
            const int last = ch0 + block >= CH;
#define TO(m, j) TO_ARGS(last && (m) < whole_m && (j) < whole_j ? out + (m) * (i64)D_C + (j) : 0)
#else
#define TO(m, j)
#endif
#ifdef PACKED
            const GLOBAL real *a = packed + ((i64)z * CH + ch0) * MAX_TAPS * M_PADDED + (i64)m0 * depth;
#define MULTIPLY(name, m, j) name(c + (m) * PITCH + (j), a + (m) * depth, b + (j), PITCH, depth, ch0 > 0 TO(m, j))
            for (int j = 0; j < flat; j += TILE_WIDTH(j, flat))
                for (int m = 0; m < channels_m; m += MR)
                    if (FEW_COLUMNS(j, flat))
                        MULTIPLY(multiply_packed_one, m, j);
                    else
                        MULTIPLY(multiply_packed, m, j);
#else
            const GLOBAL real *a = packed + group * W_GROUP + ch0 * W_CH + m0 * W_M;
#define MULTIPLY(name, m, j)                                                                                     \
    name(c + (m) * PITCH + (j), a + (m) * W_M, b + (j), PITCH, channels, ch0 > 0, channels_m - (m), places, taps, \
         W_M, W_CH, STEP_OF_W TO(m, j))
            for (int m = 0; m < channels_m; m += MR)
                for (int j = 0; j < flat; j += TILE_WIDTH(j, flat))
                    if (FEW_COLUMNS(j, flat))
                        MULTIPLY(multiply_in_place_one, m, j);
                    else
                        MULTIPLY(multiply_in_place, m, j);
#endif
        }
#ifdef EPILOGUE_SUMS
        const Block at = {row0, rows, q0, columns, group * M + m0, phase};
        const int column_slice = (phase * ROW_BLOCKS + row0 / TILE_ROWS) * SEGMENTS + segment;
        store_sums(sums_out, c, at, channels_m, group, m0 / TILE_M, column_slice EPILOGUE_PASS(0, 0));
#else
        for (int i = 0; i < rows; ++i) {
            const row_t at = find_row(row0 + i SIZES_ARGS);
            const int d = at.d * PHASES_D + PHASE_D(phase), h = at.h * PHASES_H + PHASE_H(phase);
            const int valid = MIN(columns, (DST_W - PHASE_W(phase) + PHASES_W - 1) / PHASES_W - q0);
            if (d >= DST_D || h >= DST_H || valid <= 0) continue;
            const int channel = group * M + m0;
            const int first = at.n * D_N + channel * D_C + d * D_D + h * D_H + q0 * DST_STEP_W + PHASE_W(phase) * D_W;
#ifdef Z_STRIDES
            const int z_first = at.n * Z_N + channel * Z_C + d * Z_D + h * Z_H + q0 * Z_W;
#else
            const int z_first = first;
#endif
#if AT_ONCE
            const int done = MAX(MIN(whole_j - i * TILE_COLS, valid), 0);
            store_row(dst, first + done, c + i * TILE_COLS + done, PITCH, whole_m, valid - done, alpha, beta SIZES_ARGS);
            store_row(dst, first + whole_m * D_C, c + whole_m * PITCH + i * TILE_COLS, PITCH, channels_m - whole_m, valid,
                      alpha, beta SIZES_ARGS);
#else
            store_row(dst, first, c + i * TILE_COLS, PITCH, channels_m, valid, alpha,
                      beta SIZES_ARGS EPILOGUE_PASS(z_first, channel * BIAS_C));
#endif
        }
#endif
    }
}
