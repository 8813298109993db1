// Forward and backward-data convolution of channels-last tensors on a CPU: vectors of the result's channels, no transposition.
//
// The sum is that of conv/cpu.cl. A tile is TILE_ROWS rows of up to TILE_COLS positions, times TILE_M channels of dst:
//
//                                      packed [panel][tap, ch][NR]
//                                     +----- NR channels m -------+
//     x [row][t, r][column][X_CH]     | b[0]     ..     b[NV-1]   |    of one tap and channel
//     +--+                            +---------------------------+
//     |  | MR positions, PIXEL reals  | c0_0     ..               |
//     |  | from one to the next: one  |  ..                       |    c [row][position][SUMS_M]
//     +--+ number is for all lanes    +---------------------------+
//
// x is a copy with zeros around the image, in which a tap is a shift by a constant; or src itself (IN_PLACE), where nothing
// lies around it. The last positions of a row in place are computed twice, to the same numbers. GATHERED: a row is all
// positions of all images, x [tap][position][X_CH], so that register tiles go from one row of the image to the next; dst is
// such a row, too, unless it is SCATTERED.
//
// GROUP_CH: so many channels has a group, a divisor of VW. A unit is the VW / GROUP_CH groups of a vector then: lanes of x meet
// the weights of their own group. Otherwise a unit is a group. A tile has TILE_UNITS of them: more than one where groups are
// small, so that copies and stores are of many channels.
//
// Defines: those of conv/cpu.h and conv/cpu_places.h, and what conv/cpu/channels_last_text.py adds.

#include "conv/cpu.h"
#include "conv/cpu_places.h"

#include "conv/channels_last_units.h"
#include "conv/channels_last_tile.h"
#include "conv/channels_last_copy.h"

// Where a tile's row of positions lies in dst, or 0 where it is outside
DEVICE GLOBAL T *row_of(GLOBAL T *dst, row_t at, int phase, int q0 SIZES_PARAMS) {
    const int d = at.d * PHASES_D + PHASE_D(phase), h = at.h * PHASES_H + PHASE_H(phase), w = q0 * PHASES_W + PHASE_W(phase);
    if (d >= DST_D || h >= DST_H || w >= DST_W) return 0;
    return dst + at.n * (i64)D_N + d * (i64)D_D + h * (i64)D_H + w * (i64)D_W;
}

// Store the sums of a position; `stored`: whole register tiles are already
NOINLINE void store_pixel(GLOBAL T *pixel, const GLOBAL real *sums, int channels_m, int stored, const real alpha,
                          const real beta SIZES_PARAMS) {
    for (int u = 0; u < RUNS; ++u, pixel += RUN, sums += TILE_M) {
        const int count = channels_m * (TILE_UNITS / RUNS);
        int m = stored ? count / NR * NR : 0;
        PLAIN_LOOP for (; m <= count - VW; m += VW) VBLEND(pixel, m, alpha, RLOAD(sums + m), beta);
        PLAIN_LOOP for (; m < count; ++m) BLEND(pixel, m, alpha, sums[m], beta);
    }
}

// Where the taps of a phase begin in x; return how many there are
NOINLINE int find_shifts(int *shift, taps_t td, taps_t th, taps_t tw SIZES_PARAMS) {
    int tap = 0;
    for (int t = 0; t < td.count; ++t)
        for (int r = 0; r < th.count; ++r)
            PLAIN_LOOP for (int s = 0; s < tw.count; ++s, ++tap) {
                const int place = TAP_SHIFT_W < 0 ? (s + 1 - tw.count) * TAP_SHIFT_W : s * TAP_SHIFT_W;
                shift[tap] = (GATHERED ? tap * COPIED : (t * MAX_TAPS_H + r) * COPIED + place) * X_CH;
            }
    return tap;
}

KERNEL WG_SIZE(1, 1, 1) conv_channels_last(TENSOR(T, src), TENSOR(T, dst), TENSOR(real, packed), TENSOR(real, scratch),
                                           TENSOR(int, next_tile), const real alpha, const real beta SIZES_GIVEN) {
    SIZES_BIND
    BIND(T, src);
    BIND(T, dst);
    BIND(real, packed);
    BIND(real, scratch);
    BIND(int, next_tile);
    GLOBAL real *x = scratch + (i64)GRP(0) * SCRATCH;
    GLOBAL real *c = x + SCRATCH_X;
    for (int tile = TAKE_TILE(next_tile); tile < TILES; tile = TAKE_TILE(next_tile)) {
        const int segment = tile % SEGMENTS, row0 = tile / SEGMENTS % ROW_BLOCKS * TILE_ROWS;
        const int m0 = tile / (SEGMENTS * ROW_BLOCKS) % M_BLOCKS * TILE_M, z = tile / (SEGMENTS * ROW_BLOCKS * M_BLOCKS);
        const int unit0 = z % (UNITS / TILE_UNITS) * TILE_UNITS, phase = z / (UNITS / TILE_UNITS);
        const taps_t td = TAPS_OF(D, PHASE_D(phase)), th = TAPS_OF(H, PHASE_H(phase)), tw = TAPS_OF(W, PHASE_W(phase));
        const int rows = MIN(TILE_ROWS, GRID_ROWS - row0), q0 = segment * TILE_COLS, columns = MIN(TILE_COLS, ROW_W - q0);
        const int padded_m = MIN(TILE_M, M_PADDED - m0);
        const int channels_m = MIN(TILE_M, UNIT_GROUPS * M - m0);
        const int valid = SCATTERED ? columns : MIN(columns, (DST_W - PHASE_W(phase) + PHASES_W - 1) / PHASES_W - q0);
        // Whole register tiles are stored as they are finished; in place, where tiles overlap, all positions are in such
        const int at_once = beta == 0 && !SCATTERED, whole_q = IN_PLACE ? valid : valid / MR * MR;
        int shift[MAX_TAPS];
        const int taps = find_shifts(shift, td, th, tw SIZES_ARGS);
        for (int ch0 = 0; ch0 == 0 || ch0 < CH; ch0 += BLOCK_CH) {
            const int channels = MIN(BLOCK_CH, CH - ch0);
            const int copied_ch = MIN(X_CH, TILE_UNITS * UNIT_CH - ch0);
#if GATHERED
            gather(x, src, td, th, tw, q0, columns, unit0 * UNIT_CH + ch0, copied_ch SIZES_ARGS);
#elif !IN_PLACE
            const int first = q0 * SRC_STEP_W + tw.offset + (TAP_SHIFT_W < 0 ? (tw.count - 1) * TAP_SHIFT_W : 0);
            for (int i = 0; i < rows; ++i)
                for (int t = 0; t < td.count; ++t)
                    for (int r = 0; r < th.count; ++r)
                        copy_tap(x + ((i * MAX_TAPS_D + t) * MAX_TAPS_H + r) * (COPIED * X_CH), src,
                                 find_row(row0 + i SIZES_ARGS), td, th, t, r, first, 1, COPIED, unit0 * UNIT_CH + ch0,
                                 copied_ch SIZES_ARGS);
#endif
            for (int u = 0; u < TILE_UNITS; ++u) {
                const i64 unit = (i64)phase * UNITS + unit0 + u;
                const GLOBAL real *b = packed + (unit * CH + ch0) * MAX_TAPS * M_PADDED + (i64)m0 * channels * taps;
                for (int m = 0; m < padded_m; m += NR, b += channels * taps * NR)
                    for (int i = 0; i < rows; ++i) {
                        const row_t at = find_row(row0 + i SIZES_ARGS);
#if IN_PLACE
                        const i64 place = at.n * (i64)S_N + at.d * (i64)(SRC_STEP_D * S_D) + at.h * (i64)(SRC_STEP_H * S_H);
                        const GLOBAL real *from = src + place + (unit0 + u) * UNIT_CH + ch0;
#else
                        const GLOBAL real *from = x + i * (MAX_TAPS_D * MAX_TAPS_H * COPIED * X_CH) + u * UNIT_CH;
#endif
                        GLOBAL real *sums = c + i * SUMS_COLS * SUMS_M + u * TILE_M + m;
                        GLOBAL T *to = row_of(dst, at, phase, q0 SIZES_ARGS);
                        if (to == 0 && !SCATTERED) continue;
                        const int whole = at_once && ch0 + BLOCK_CH >= CH && m + NR <= channels_m ? whole_q : 0;
                        to += (unit0 + u) * (UNIT_GROUPS * M) + m0 + m;
                        for (int j = 0; j < columns; j += MR) {
#if IN_PLACE
                            const int q = MIN(q0 + j, GRID_W - MR), beside = q - q0;
#else
                            const int q = j, beside = j;
#endif
                            multiply(sums + j * SUMS_M, from + q * (i64)PIXEL, b, shift, taps, channels, ch0 > 0,
                                     j < whole ? to + beside * (i64)TO_STEP : 0, alpha SIZES_ARGS);
                        }
                    }
            }
        }
        for (int i = 0; i < rows; ++i) {
            GLOBAL T *to = SCATTERED ? 0 : row_of(dst, find_row(row0 + i SIZES_ARGS), phase, q0 SIZES_ARGS);
            if (to == 0 && !SCATTERED) continue;
            for (int q = at_once && channels_m % NR == 0 ? whole_q : 0; q < valid; ++q) {
#if IN_PLACE
                const int tile_q = q / MR * MR, again = q0 + tile_q > GRID_W - MR ? q0 + tile_q - (GRID_W - MR) : 0;
                const GLOBAL real *sums = c + (i * SUMS_COLS + q + again) * SUMS_M;
#else
                const GLOBAL real *sums = c + (i * SUMS_COLS + q) * SUMS_M;
#endif
#if SCATTERED
                to = row_of(dst, find_row((q0 + q) / GRID_W SIZES_ARGS), phase, (q0 + q) % GRID_W SIZES_ARGS);
                if (to == 0) continue;
                GLOBAL T *pixel = to + unit0 * (UNIT_GROUPS * M) + m0;
#else
                GLOBAL T *pixel = to + q * (i64)TO_STEP + unit0 * (UNIT_GROUPS * M) + m0;
#endif
                store_pixel(pixel, sums, channels_m, at_once && q < whole_q, alpha, beta SIZES_ARGS);
            }
        }
    }
}
