// Convolution as an implicit matrix product on GPUs: forward, data gradient and filter gradient.
//
//                    rows (M)            columns (N)                 summed over (K)
//   forward          filters k           pixels (n, o, p, q)         c, t, r, s
//   data gradient    channels c          pixels (n, d, h, w)         k, t, r, s     (DATA_GRADIENT)
//   filter gradient  filters k           elements (c, t, r, s)       n, o, p, q     (FILTER_GRADIENT)
//
//        N ->  BN                    Each work-group computes one BM x BN tile (gemm/tile.h) of one group, one phase
//   M  +-----+----+-----+            (conv/geometry.h) and one of SPLITS parts of K. Per slice of BK:
//   |  |     |tile| BM  |              load slice s+1 into registers | multiply slice s | store s+1 to the other
//   v  +-----+----+-----+              half of local memory | barrier
//
// With SPLITS > 1 the tiles go to the workspace and are added in order, so results do not vary: by reduce_splits, or
// (FUSED_REDUCE, where a work-group sees what another wrote before it counted up) by the last work-group of a tile.

#include "common/types.h"
#include "gemm/tile.h"
#include "conv/geometry.h"
#define PROLOGUE_RUN 4
#include "conv/prologue.h"
#ifdef FILTER_GRADIENT
#include "conv/load_filter_gradient.h"
#else
#include "conv/load_image.h"
#endif
#include "conv/store.h"
#ifdef FUSED_REDUCE
#include "common/last_group.h"
#endif
#ifdef FUSED_PACK
#include "common/pieces.h"
#define FIRST_ARRIVED PIECE_COUNTERS
#else
#define FIRST_ARRIVED 0
#endif

#if !defined(FILTER_GRADIENT) && !defined(DIRECT_FILTER)
// packed[group][phase][kk][PADDED_M] = filter, in the order of kk that conv/load_image.h walks. A piece is a block of
// 32 x 32, turned over so that reads run along the filter's memory and writes along M; `block` holds as many reals.
#define PACK_M ((PADDED_M + 31) / 32)
#define PACK_K ((MAX_K + 31) / 32)
#define PACK_PIECES (PACK_M * PACK_K * GROUPS * PHASES)
#define BLOCK_PLACE(m, k) ((m) * 32 + ((k) ^ (m)))  // spread over the banks of local memory

DEVICE void pack_piece(const GLOBAL T *filter, GLOBAL real *packed, LOCAL_ARG real *block, u32 piece, int item, int items FILTER_PARAMS) {
    const int x = item % 32;
    const u32 m0 = piece % PACK_M * 32;
    const int k0 = (int)(piece / PACK_M % PACK_K * 32);
    const int z = (int)(piece / PACK_M / PACK_K);
    const Phase phase = phase_of(z % PHASES);
    const int taps = TAPS_OF(phase);
    const i64 first = (i64)(z / PHASES) * FILTER_G;
    for (int y = item / 32; y < 32; y += items / 32) {
        block[BLOCK_PLACE(y, x)] = taps > 0 ? filter_element(filter, first, m0 + y, k0 + x, &phase FILTER_ARGS) : 0;
    }
    BARRIER();
    for (int y = item / 32; y < 32; y += items / 32) {
        int kk = k0 + y;
        if (kk >= slices_of(&phase) * BK || m0 + x >= PADDED_M) continue;
#ifdef TAP_SLICES
        const int channel = kk / taps;
        kk = (channel / BK * taps + kk % taps) * BK + channel % BK;
#endif
        packed[((i64)z * MAX_K + kk) * PADDED_M + m0 + x] = block[BLOCK_PLACE(x, y)];
    }
}

#ifndef FUSED_PACK
KERNEL WG_SIZE(256, 1, 1)
pack_filter(TENSOR_RESTRICT(const T, filter), TENSOR_RESTRICT(real, packed) FILTER_TENSORS) {
    GRID_WAIT();
    BIND_RESTRICT(const T, filter);
    BIND_RESTRICT(real, packed);
    FILTER_BIND
    LOCAL real block[32 * 32];
    pack_piece(filter, packed, block, (u32)GRP(0), LID(0), 256 FILTER_ARGS);
}
#endif
#endif

// work-group = ((group, phase, split), n tile, m tile): groups that run together share an image tile
KERNEL TILE_WG_SIZE
conv_gemm(
#ifdef FUSED_PACK
    TENSOR_RESTRICT(const T, filter), TENSOR(real, rows),  // which is written here: no read-only memory
#else
    TENSOR_RESTRICT(const A_TYPE, rows),
#endif
    TENSOR_RESTRICT(const T, image)
#if defined(FUSED_PACK) || defined(FUSED_REDUCE)
        , TENSOR(int, counters)
#endif
#if SPLITS > 1
        , TENSOR(real, partial)
#endif
#if SPLITS == 1 || defined(FUSED_REDUCE)
        , TENSOR(T, out), const real alpha, const real beta EPILOGUE_TENSORS
#endif
        IMAGE_TENSORS FILTER_TENSORS) {
    GRID_WAIT();
#if defined(FUSED_PACK) || defined(FUSED_REDUCE)
    BIND(int, counters);
    LOCAL int slot[1];
#endif
#if SPLITS > 1
    BIND(real, partial);
#endif
#if SPLITS == 1 || defined(FUSED_REDUCE)
    BIND(T, out);
    EPILOGUE_BIND
#endif
#ifdef FUSED_PACK
    BIND_RESTRICT(const T, filter);
    BIND(real, rows);
#else
    BIND_RESTRICT(const A_TYPE, rows);
#endif
    BIND_RESTRICT(const T, image);
    IMAGE_BIND
    FILTER_BIND
    LOCAL real4 a[2 * BK * A_PITCH / 4];
    LOCAL real4 b[2 * BK * B_PITCH / 4];
    LOCAL int4 table[TABLE_SIZE];
    const int item = LID(0);
    const u32 tile = (u32)GRP(0);
    const u32 m0 = tile % TILES_M * BM;
    const u32 n0 = tile / TILES_M % TILES_N * BN;
    const int z = (int)(tile / TILES_M / TILES_N);
    const int split = z % SPLITS;
    const int index = z / SPLITS % PHASES;
    const int group = z / SPLITS / PHASES;
    const int tx = TILE_TX(item);
    const int ty = TILE_TY(item);

    const Phase phase = phase_of(index);
    const int each = (slices_of(&phase) + SPLITS - 1) / SPLITS;
    const int first = split * each;
    const int last = first + each < slices_of(&phase) ? first + each : slices_of(&phase);
    Loader loader;
    start_loader(&loader, item, group, index, m0, n0, first);
    NextA a_next[A_EACH];
    real b_next[B_EACH];
    real acc[TM][TN];
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    if (NEEDS_TABLE) {
        fill_table(table, &loader, item, first);
        BARRIER();
    }
#ifdef FUSED_PACK
    if (first < last) load_image(&loader, image, table, b_next IMAGE_ARGS);
    int piece = first_piece(counters, slot, item, PACK_PIECES);
    if (piece != ALL_DONE) {
        while (piece < PACK_PIECES) {
            const int next = reserve_piece(counters, item);
            pack_piece(filter, rows, (LOCAL_ARG real *)b, (u32)piece, item, ITEMS FILTER_ARGS);
            piece = finish_piece(counters, slot, item, next);
        }
        wait_for_pieces(counters, item, PACK_PIECES);
    }
    if (first < last) {
        load_filter(&loader, item, rows, first, a_next FILTER_ARGS);
#else
    if (first < last) {
        load_slice(&loader, item, rows, image, table, first, a_next, b_next IMAGE_ARGS FILTER_ARGS);
#endif
        NEXT_TABLE(fill_table(table + TABLE_HALF, &loader, item, first + 1))
        store_slice(&loader, item, a, b, a_next, b_next);
    }
    BARRIER();
    UNROLL_AT_MOST(1)
    for (int slice = first; slice < last; ++slice) {
        const int side = (slice - first) & 1;
        const int more = slice + 1 < last;
        if (more) {
            load_slice(&loader, item, rows, image, table + (1 - side) * TABLE_HALF, slice + 1, a_next,
                       b_next IMAGE_ARGS FILTER_ARGS);
        }
        NEXT_TABLE(fill_table(table + side * TABLE_HALF, &loader, item, slice + 2))
        multiply_slice(a + side * (BK * A_PITCH / 4), b + side * (BK * B_PITCH / 4), tx, ty, acc);
        if (more) {
            store_slice(&loader, item, a + (1 - side) * (BK * A_PITCH / 4), b + (1 - side) * (BK * B_PITCH / 4),
                        a_next, b_next);
        }
        BARRIER();
    }
#ifdef FUSED_PACK
    const int place = leave_pieces(counters, item);
#endif
#if SPLITS > 1
    const i64 part = (i64)(split * GROUPS + group) * PHASES + index;
    store_partial(partial + part * PADDED_M * PADDED_N, m0, n0, tx, ty, acc);
#endif
#ifdef FUSED_REDUCE
#ifdef FUSED_PACK
    close_pieces(counters, place, NGRP(0));
#endif
    GLOBAL int *arrived = counters + FIRST_ARRIVED + (group * PHASES + index) * (int)(TILES_M * TILES_N) +
                          (int)(tile % (TILES_M * TILES_N));
    if (!last_group(arrived, slot, item, SPLITS)) return;
    load_partials(partial + (i64)(group * PHASES + index) * PADDED_M * PADDED_N, m0, n0, tx, ty, acc);
#endif
#if SPLITS == 1 || defined(FUSED_REDUCE)
    const i64 row = (i64)group * GEMM_M;
    store_tile(out + row * OUT_M, m0, n0, &phase, tx, ty, alpha, beta, acc EPILOGUE_PASS(row * Z_M, row * BIAS_C) SUMS_PASS(b));
#endif
#if defined(FUSED_PACK) && !defined(FUSED_REDUCE)
    close_pieces(counters, place, NGRP(0));
#endif
}

#if SPLITS > 1 && !defined(FUSED_REDUCE)
// out = alpha * (the parts in order) + beta * out; one work-item an element
KERNEL WG_SIZE(256, 1, 1)
reduce_splits(TENSOR_RESTRICT(const real, partial), TENSOR(T, out), const real alpha,
              const real beta EPILOGUE_TENSORS) {
    GRID_WAIT();
    BIND_RESTRICT(const real, partial);
    BIND(T, out);
    EPILOGUE_BIND
    const u32 element = (u32)GRP(0) * 256 + LID(0);
    const u32 n = element % (u32)GEMM_N;
    const u32 m = element / (u32)GEMM_N % GEMM_M;
    const u32 part = element / (u32)GEMM_N / GEMM_M;
    if (part >= GROUPS * PHASES) return;
    const Phase phase = phase_of((int)(part % PHASES));
    const Column column = column_of(n, &phase);
    if (!column.in) return;
    real sum = 0;
    for (int split = 0; split < SPLITS; ++split) {
        sum += partial[(((i64)split * (GROUPS * PHASES) + part) * PADDED_M + m) * PADDED_N + n];
    }
    const i64 row = (i64)(part / PHASES) * GEMM_M + m;
    FINISH(out, row * OUT_M + column.offset, row * Z_M + Z_COLUMN(column), row * BIAS_C, alpha, sum, beta);
}
#endif
