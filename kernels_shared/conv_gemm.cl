// Convolution as an implicit matrix product on GPUs: forward, data gradient and filter gradient.
//
//                    rows (M)            columns (N)                 summed over (K)
//   forward          filters k           pixels (n, o, p, q)         c, t, r, s
//   data gradient    channels c          pixels (n, d, h, w)         k, t, r, s     (DATA_GRADIENT)
//   filter gradient  filters k           elements (c, t, r, s)       n, o, p, q     (FILTER_GRADIENT)
//
//        N ->  BN                    Each work-group computes one BM x BN tile (gemm_tile.h) of one group, one phase
//   M  +-----+----+-----+            (conv_geometry.h) and one of SPLITS parts of K. Per slice of BK:
//   |  |     |tile| BM  |              load slice s+1 into registers | multiply slice s | store s+1 to the other
//   v  +-----+----+-----+              half of local memory | barrier
//
// With SPLITS > 1 the tiles go to the workspace and reduce_splits adds them in order, so results do not vary.

#include "types.h"
#include "gemm_tile.h"
#include "conv_geometry.h"
#ifdef FILTER_GRADIENT
#include "conv_load_filter_gradient.h"
#else
#include "conv_load_image.h"
#endif
#include "conv_store.h"

#define TILES_M ((GEMM_M + BM - 1) / BM)
#define TILES_N ((u32)(((u32)GEMM_N + BN - 1) / BN))
#define PADDED_N ((i64)TILES_N * BN)

// work-group = ((group, phase, split), n tile, m tile): groups that run together share an image tile
#if SPLITS > 1
KERNEL WG_SIZE(ITEMS, 1, 1)
conv_gemm(TENSOR_RESTRICT(const A_TYPE, rows), TENSOR_RESTRICT(const T, image), TENSOR(real, partial)) {
    BIND(partial_type, partial);
#else
KERNEL WG_SIZE(ITEMS, 1, 1)
conv_gemm(TENSOR_RESTRICT(const A_TYPE, rows), TENSOR_RESTRICT(const T, image), TENSOR(T, out), const real alpha,
          const real beta) {
    BIND(T, out);
#endif
    BIND_RESTRICT(const A_TYPE, rows);
    BIND_RESTRICT(const T, image);
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
    real acc[TM][TN];
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    if (first < last) {
        fill_table(table, &loader, first);
        if (NEEDS_TABLE) BARRIER();
        load_slice(&loader, rows, image, table, first);
        SLICE_TABLE(fill_table(table + BK, &loader, first + 1))
        store_slice(&loader, a, b);
    }
    BARRIER();
    for (int slice = first; slice < last; ++slice) {
        const int half = (slice - first) & 1;
        const int more = slice + 1 < last;
        if (more) load_slice(&loader, rows, image, table + SLICE_TABLE_OFFSET(1 - half), slice + 1);
        SLICE_TABLE(fill_table(table + half * BK, &loader, slice + 2))
        multiply_slice(a + half * (BK * A_PITCH / 4), b + half * (BK * B_PITCH / 4), tx, ty, acc);
        if (more) store_slice(&loader, a + (1 - half) * (BK * A_PITCH / 4), b + (1 - half) * (BK * B_PITCH / 4));
        BARRIER();
    }
#if SPLITS > 1
    const i64 part = (i64)(split * GROUPS + group) * PHASES + index;
    store_partial(partial + part * (TILES_M * BM) * PADDED_N, m0, n0, tx, ty, acc);
#else
    store_tile(out + (i64)group * GEMM_M * OUT_M, m0, n0, &phase, tx, ty, alpha, beta, acc);
#endif
}

#ifndef FILTER_GRADIENT
// packed[group][phase][kk][PADDED_M] = filter, in the order of kk that conv_load_image.h walks.
// One work-item per element; rows of 32 x 32 blocks are read along the filter's memory and written along M.
