// Forward convolution and data gradient on tensor cores: an implicit matrix product of NHWC images and packed filters.
//
//      columns: filters of y, or channels of dx          chunks of 16 bytes of a tile's row lie XOR-swizzled,
//        +-----BN-----+                                   such that ldmatrix and cp.async meet every bank once
//        | WM x WN per|
//   BM   | sub-group  |   rows: pixels (n, d, h, w)       K = taps x CPAD, in slices of SLICE bytes; STAGES slices
//        +------------+                                   are in local memory, all but one still being copied
//
// K runs over the taps of the phase (conv/geometry.h) and, fastest, over the channels of a group, padded to chunks; or the other
// way round (conv/mma_place.h).
//   image   element (pixel, tap, channel) at pixel offset + tap offset + group * CPAD + channel
//   filter  [group][phase][column][FILTER_PITCH], K fastest; taps are FILTER_TAP apart (CPAD unless TAPS_INNER)
//
// A lane's columns are runs of 2 * RUN neighbours, and its rows of ROW_RUN (2: not), so that stores fill whole sectors.
// PLANES: a 1 x 1 filter without stride or padding on an image whose pixels are neighbours (NCHW): A's slices have rows of
// pixels, one for each channel, and nothing is packed (conv/mma_planes.h).
// Results go to `out`, blended, in vectors of VW along columns (STORE_COLUMNS) or rows (STORE_ROWS), or one by one; or,
// with SPLITS > 1, to parts[split][group][phase] of PADDED_ROWS x PADDED_COLS, columns fastest unless PARTS_BY_ROWS.
//
// The filter is read along K (conv/mma_along.h) or, FILTER_ACROSS, as a data gradient finds it (conv/mma_across.h).
//
// FUSED_PACK: the work-groups pack the filter before they go on (common/pieces.h, conv/mma_pack_filter.h and its defines).
//
// With sums (conv/sums.h) work-items join theirs in the slices' local memory after the last slice.
//
// MMA_BYTES: the image's and the filter's elements are pairs of bytes, and sums are integers, FLOAT as they are stored.
//
// PROLOGUE_IMAGE: chunks of A are computed into registers before the slice's products and stored after them, a slice ahead.
//
// JOINED: conv/mma_joined.h.
//
// Defines: those of conv/geometry.h (the image is the packed one), COLUMNS_i OUT_i OUT_M of the output's layout, ROWS COLS
// GROUPS PHASES SPLITS CPAD FILTER_PITCH BM BN WM WN
// WARPGROUPS RESIDENT (conv/mma_warpgroups.h), SLICE STAGES RUN ROW_RUN FILTER_TAP, ROUND_IMAGE ROUND_FILTER COPY_CACHED.

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#include "conv/column.h"
#define PROLOGUE_RUN VE
#include "conv/prologue.h"
#include "conv/mma_element.h"
#include "conv/epilogue.h"
#include "conv/mma_joined.h"
#ifdef FUSED_PACK
#include "conv/mma_pack_filter.h"
#include "common/pieces.h"
#endif

#define ITEMS (BM / WM * (BN / WN) * 32)
#define CHUNKS (SLICE / 16)
#define BK (CHUNKS * VE)
#define PASS (ITEMS / CHUNKS)  // rows that the group copies at once
#define A_PASSES ((BM + PASS - 1) / PASS)
#define MT (WM / 16)
#define NT (WN / 8)
#define STAGE_BYTES (A_BYTES + BN * SLICE)

#define TILES_R (((u32)ROWS + BM - 1) / BM)
#define TILES_C ((COLS + BN - 1) / BN)
#define PADDED_ROWS ((i64)TILES_R * BM)
#define PADDED_COLS ((i64)TILES_C * BN)

// rows of tile i that row r (0 .. 15) of a product step is, and the bits that spread such rows over the banks
#if ROW_RUN > 2
#define A_ROW(i, r) ((i) / (ROW_RUN / 2) * (8 * ROW_RUN) + ROW_RUN * ((r) % 8) + (i) % (ROW_RUN / 2) * 2 + (r) / 8)
#define A_SPREAD(row) ((row) / ROW_RUN % 8)
#else
#define A_ROW(i, r) (16 * (i) + (r))
#define A_SPREAD(row) (CHUNKS == 4 ? (row) / 2 % 4 : (row) % 8)
#endif
#define PLACE(row, chunk, spread) (((((row) * CHUNKS) ^ (spread)) ^ (chunk)) * 16)
#ifdef PLANES
#include "conv/mma_planes.h"
#else
#define A_BYTES (BM * SLICE)
#define A_ACROSS 0
#define TURN_ROWS(acc, tiles, item)
#endif

#ifdef WARPGROUPS
#include "conv/mma_warpgroups.h"
#include "conv/mma_place.h"
#else
#include "conv/mma_chunks.h"
#include "conv/mma_place.h"
#include "conv/mma_subgroups.h"
#endif

#ifdef EPILOGUE_SUMS  // whose rows are the columns here
#define SUMS_M ((u32)COLS)
#define SUMS_BM BN
#define SUMS_BN BM
#define SUMS_TILES_M TILES_C
#define SUMS_TILES_N TILES_R
#define SUMS_ITEMS_M (BN / WN * 4)
#define SUMS_ITEMS_N (BM / WM * 8)
#define SUMS_TM (2 * NT)
#define SUMS_TN (2 * MT)
#define SUMS_ROW(ty, i) ((ty) / 4 * WN + (ty) % 4 * (2 * RUN) + (i) / 2 / RUN * (8 * RUN) + (i) / 2 % RUN * 2 + (i) % 2)
#define SUMS_COLUMN(tx, j) ((tx) / 8 * WM + A_ROW((j) / 2, (tx) % 8 + 8 * ((j) % 2)))
#define SUMS_ACC [MT][NT][4]
#define SUMS_AT(acc, i, j) acc[(j) / 2][(i) / 2][(j) % 2 * 2 + (i) % 2]
#ifdef STORE_COLUMNS
#define SUMS_STEP_M VW
#else
#define SUMS_STEP_M 1
#endif
#ifdef STORE_ROWS
#define SUMS_STEP_N VW
#else
#define SUMS_STEP_N 1
#endif
#include "conv/sums.h"
#endif

KERNEL BOUNDS
conv_mma(const E *__restrict__ image,
#ifdef FUSED_PACK
         const T *__restrict__ weights, E *filter, int *counters,  // filter is written here: no read-only memory
#else
         const E *__restrict__ filter,
#endif
         T *out, float *__restrict__ parts, float alpha, float beta EPILOGUE_TENSORS IMAGE_TENSORS FILTER_TENSORS JOINED_TENSORS) {
    GRID_WAIT();
    EPILOGUE_BIND
    IMAGE_BIND
    FILTER_BIND
    extern __shared__ __align__(128) unsigned char tiles[];
    const u32 base = PANELS_AT(tiles);
    unsigned char *const slices_at = tiles + (base - local_address(tiles));
    const int item = threadIdx.x, lane = item % 32;
    u32 group = blockIdx.x;
    const int n0 = group % TILES_C * BN;
    group /= TILES_C;
    const u32 m0 = group % TILES_R * BM;
    group /= TILES_R;
    const int z = group % (GROUPS * PHASES);
    SHARE(group / (GROUPS * PHASES))
    const Phase phase = phase_of(z % PHASES);
    const int slices = slices_of(&phase);
    const int first = (i64)slices * split / SPLITS, count = (int)((i64)slices * (split + 1) / SPLITS) - first;

    // what this work-item copies: chunk `chunk` of some rows of either tile
    const int chunk = item % CHUNKS, row0 = item / CHUNKS;
#ifdef PLANES
    const u32 m = m0 + item % A_WIDE * PLANE_RUN;
    const E *images = image + (u32)(z * CHANNELS) * IN_C + pixel_of(m, &phase).offset;
    int channel = first * BK + item / A_WIDE;
#else
    Pixel pixels[A_PASSES];
    u32 a_places[A_PASSES];
    UNROLL for (int i = 0; i < A_PASSES; ++i) {
        const u32 m = m0 + row0 + i * PASS;
        a_places[i] = A_AT(row0 + i * PASS, chunk);
        pixels[i] = pixel_of(m, &phase);
        if (m >= (u32)ROWS) pixels[i].d = pixels[i].h = pixels[i].w = FAR_OUT;
    }
#endif
    Place at = place_at(first, chunk * VE, &phase);
    Columns columns = columns_of(filter, z, n0, first, &phase, item);

#ifdef PROLOGUE_IMAGE
    Elements made[A_PASSES];
    auto make_slice = [&]() {
        const bool in = in_sum(&at, &phase);
        const int d = at.d * TAP_D, h = at.h * TAP_H, w = at.w * TAP_W;
        const u32 hop = TAP_OFFSET(d, h, w) + (u32)(at.channel + z / PHASES * CPAD);
        UNROLL for (int i = 0; i < A_PASSES; ++i) {
            float values[VE];
            UNROLL for (int e = 0; e < VE; ++e) values[e] = 0;
            if (in && inside(&pixels[i], d, h, w)) IMAGE_FILL(values, (u32)(pixels[i].offset + hop))
            UNROLL for (int e = 0; e < VE; ++e) made[i].v[e] = element_of(values[e]);
        }
    };
    auto put_slice = [&](int stage) {
        UNROLL for (int i = 0; i < A_PASSES; ++i) {
            const int row = row0 + i * PASS;
            if (BM % PASS != 0 && row >= BM) break;
            *(Elements *)(slices_at + stage * STAGE_BYTES + a_places[i]) = made[i];
        }
    };
#else
    auto make_slice = [&]() {};
    auto put_slice = [&](int stage) {};
#endif
    auto copy_slice = [&](int stage) {
        const u32 to = base + stage * STAGE_BYTES;
        const bool in = in_sum(&at, &phase);
#ifdef PLANES
        UNROLL for (int k = 0; k < BK; k += A_PASS) {
            const int row = k + item / A_WIDE;
            if (BK % A_PASS != 0 && row >= BK) break;
            const bool reads = m < (u32)ROWS && channel + k < CHANNELS;
            copy_bytes<RUN_BYTES>(to + RUN_PLACE(row, item % A_WIDE),
                                  images + (u32)(channel + k) * IN_C, reads);
        }
        channel += BK;
#elif !defined(PROLOGUE_IMAGE)
        const int d = at.d * TAP_D, h = at.h * TAP_H, w = at.w * TAP_W;
        const u32 hop = TAP_OFFSET(d, h, w) + (u32)(z / PHASES * CPAD + at.channel);
        UNROLL for (int i = 0; i < A_PASSES; ++i) {
            if (BM % PASS != 0 && row0 + i * PASS >= BM) break;
            copy_image(to + a_places[i], image + (u32)(pixels[i].offset + hop), in & (bool)inside(&pixels[i], d, h, w));
        }
#endif
        copy_columns(to + A_BYTES, &columns, filter, &at, n0, &phase, item);
        advance(&at, &phase);
    };

#ifdef FUSED_PACK
    LOCAL int slot[1];
    int piece = first_piece(counters, slot, item, PACK_PIECES);
    if (piece != ALL_DONE) {
        while (piece < PACK_PIECES) {
            const int next = reserve_piece(counters, item);
            pack_piece(weights, filter, (E *)tiles, piece, item, ITEMS FILTER_ARGS);
            piece = finish_piece(counters, slot, item, next);
        }
        wait_for_pieces(counters, item, PACK_PIECES);
    }
#endif

    MmaSum acc[MT][NT][4];
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) acc[i][j][e] = 0;
        }
    }
    UNROLL for (int s = 0; s < AHEAD; ++s) {
        if (s < count) {
            make_slice();
            put_slice(s);
            copy_slice(s);
        }
        copies_issued();
    }

    auto bring = [&](int next) {
        if (next < count) {
            make_slice();
            copy_slice(next % STAGES);
        }
        copies_issued();
    };
    auto finish = [&](int next) {
        if (next < count) put_slice(next % STAGES);
    };
    multiply_slices<A_ACROSS, B_ACROSS>(acc, base, A_BYTES, count, bring, finish);

    const int wm = item / 32 % (BM / WM) * WM, wn = item / 32 / (BM / WM) * WN;
#ifdef FUSED_PACK
    const int left = leave_pieces(counters, item);
#endif
    TURN_ROWS(acc, tiles, item)
    TURN_COLUMNS(acc, tiles, item)
#define ROW(i, half) (m0 + wm + A_ROW(i, lane / 4 + 8 * (half)))
#define COLUMN(j) (n0 + wn + (j) / RUN * (8 * RUN) + lane % 4 * (2 * RUN) + (j) % RUN * 2)
#if SPLITS > 1
    float *part = parts + (i64)group * (PADDED_ROWS * PADDED_COLS);
    UNROLL for (int i = 0; i < MT; ++i) {
#ifdef PARTS_BY_ROWS
        UNROLL for (int j = 0; j < NT; ++j) {
#if ROW_RUN == 4
            if (i % 2) break;
            UNROLL for (int e = 0; e < 2; ++e) {
                const Four v = {{acc[i][j][e], acc[i][j][2 + e], acc[i + 1][j][e], acc[i + 1][j][2 + e]}};
                store_four(part + (COLUMN(j) + e) * PADDED_ROWS + ROW(i, 0), v);
            }
#else
            UNROLL for (int e = 0; e < 4; ++e) part[(COLUMN(j) + e % 2) * PADDED_ROWS + ROW(i, e / 2)] = acc[i][j][e];
#endif
        }
#else
        UNROLL for (int half = 0; half < 2; ++half) {
            UNROLL for (int j = 0; j < NT; j += 2) {
                const Four v = {{acc[i][j][2 * half], acc[i][j][2 * half + 1], acc[i][j + 1][2 * half],
                                 acc[i][j + 1][2 * half + 1]}};
                store_four(part + ROW(i, half) * PADDED_COLS + COLUMN(j), v);
            }
        }
#endif
    }
#else
    T *to = out + (i64)(z / PHASES * COLS) * OUT_M;
    EPILOGUE_SHIFT((i64)(z / PHASES * COLS) * Z_M, (i64)(z / PHASES * COLS) * BIAS_C)
#if defined(EPILOGUE_SUMS)
    __syncthreads();
    const int ty = wn / WN * 4 + lane % 4, tx = wm / WM * 8 + lane / 4;
    store_tile(to, n0, m0, &phase, tx, ty, alpha, beta, acc EPILOGUE_PASS(0, 0), sums_out, (float *)tiles, z / PHASES,
               z % PHASES, item);
#elif defined(STORE_ROWS)
    UNROLL for (int i = 0; i < MT; i += VW / 2) {  // rows of VW / 2 tiles, both halves, are VW neighbours
        const Column pixel = column_of(ROW(i, 0), &phase);
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 2; ++e) {
                const int n = COLUMN(j) + e;
                vreal v;
                UNROLL for (int x = 0; x < VW; ++x) LANE(v, x) = acc[i + x / 2][j][x % 2 * 2 + e];
                const i64 place = (u32)n * OUT_M + pixel.offset;
                if (pixel.in && n < COLS) VFINISH(to, place, place, alpha, v, beta, VSPLAT(LOAD(bias, n * BIAS_C)));
            }
        }
    }
#else
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int half = 0; half < 2; ++half) {
            const Column pixel = column_of(ROW(i, half), &phase);
#if defined(STORE_COLUMNS)
            UNROLL for (int j = 0; j < NT; j += VW / 2) {
                const int n = COLUMN(j);
                vreal v;
                UNROLL for (int x = 0; x < VW; ++x) LANE(v, x) = acc[i][j + x / 2][half * 2 + x % 2];
                if (!pixel.in || n >= COLS) continue;
#ifdef EPILOGUE
                vreal biases;
                UNROLL for (int x = 0; x < VW; ++x) LANE(biases, x) = LOAD(bias, (n + x) * BIAS_C);
#endif
                const i64 place = (u32)n + pixel.offset;
                VFINISH(to, place, place, alpha, v, beta, biases);
            }
#else
            UNROLL for (int j = 0; j < NT; ++j) {
                UNROLL for (int e = 0; e < 2; ++e) {
                    const int n = COLUMN(j) + e;
                    if (pixel.in && n < COLS) {
                        FINISH(to, (i64)((u32)n * OUT_M + pixel.offset), (i64)((u32)n * Z_M + Z_COLUMN(pixel)),
                               n * BIAS_C, alpha, acc[i][j][half * 2 + e], beta);
                    }
                }
            }
#endif
        }
    }
#endif
#endif
#ifdef FUSED_PACK
    close_pieces(counters, left, NGRP(0));
#endif
}
