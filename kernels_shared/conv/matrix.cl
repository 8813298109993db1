// Convolution on matrix cores: an implicit product of NHWC images and packed filters (common/mma_tile.h).
//
//                    rows (M)         columns (N)                K
//   forward          filters k        pixels (n, d, h, w)        taps of the phase (conv/geometry.h), and channels fastest
//   data gradient    channels c       pixels (n, d, h, w)        likewise, of dy                    conv/matrix_image.h
//   filter gradient  filters k        (taps, channels c)         pixels of all images               conv/matrix_pixels.h
//
// Results go to `out`, blended, in vectors of VW along rows (STORE_ROWS) or one by one, neighbouring lanes along columns;
// or, with HAS_PARTS, to parts[split][group][phase][PADDED_M][PADDED_N], which conv/mma_reduce.cl adds in order. Text may take
// sums of results as they are stored (conv/matrix_sums.h).
//
// ASYNC (with MMA_PTX): STAGES slices, all but one still being copied; else two, through registers. PENDING: STAGES - 2.
//
// Defines: those of conv/geometry.h (the image is the packed one) and common/mma_tile.h, GEMM_M GEMM_N of the product
// (of a filter gradient COLS: taps x CPAD), COLUMNS_i OUT_i OUT_M of the output's layout, GROUPS PHASES SPLITS HAS_PARTS CPAD.

#include "common/types.h"
#include "common/mma.h"
#include "common/mma_tile.h"
#include "conv/geometry.h"
#include "conv/column.h"
#include "conv/epilogue.h"

#ifndef STAGES
#define STAGES 2
#endif
#define TILES_M (((u32)ROWS + BM - 1) / BM)
#define TILES_N (((u32)COLS + BN - 1) / BN)
#define PADDED_M ((i64)TILES_M * BM)
#define PADDED_N ((i64)TILES_N * BN)

#ifdef FILTER_GRADIENT
#include "conv/matrix_pixels.h"
#else
#include "conv/matrix_image.h"
#endif

#if HAS_PARTS
#include "conv/matrix_parts.h"
#else
#include "conv/matrix_output.h"
#endif

KERNEL WG_SIZE(ITEMS, 1, 1)
conv_matrix(TENSOR_RESTRICT(const E, image), TENSOR_RESTRICT(const E, rows), RESULTS) {
    GRID_WAIT();
    BIND_RESTRICT(const E, image);
    BIND_RESTRICT(const E, rows);
    RESULTS_BIND
    LOCAL Chunk slices[STAGES * SLICE > RESULTS_CHUNKS ? STAGES * SLICE : RESULTS_CHUNKS];
    LOADER_LOCAL
    const int item = LID(0), lane = item % WAVE;
    u32 tile = (u32)GRP(0);
    const u32 n0 = tile % TILES_N * BN;
    tile /= TILES_N;
    const u32 m0 = tile % TILES_M * BM;
    tile /= TILES_M;
    const int z = (int)(tile % (GROUPS * PHASES)), split = (int)(tile / (GROUPS * PHASES));
    const Phase phase = phase_of(z % PHASES);
    const int total = slices_of(&phase);
    const int first = (int)((i64)total * split / SPLITS), count = (int)((i64)total * (split + 1) / SPLITS) - first;
    const int m = PART_M(item), n = PART_N(item);
    const int a_at = first_row(lane, m), b_at = first_column(lane, n);

    Sums acc[MT][NT];
    clear_sums(acc);
    Loader loader;
    start_loader(&loader, item, z, m0, n0, first, &phase LOADER_ARGS);
#ifdef ASYNC
    UNROLL for (int s = 0; s < STAGES - 1; ++s) {
        if (s < count) load_slice(&loader, item, image, rows, &phase, slices + s * SLICE LOADER_ARGS);
        copies_issued();
    }
    for (int s = 0; s < count; ++s) {
        copies_wait();
        BARRIER();
        const int ahead = s + STAGES - 1;
        if (ahead < count) load_slice(&loader, item, image, rows, &phase, slices + ahead % STAGES * SLICE LOADER_ARGS);
        copies_issued();
        multiply_slice(slices + s % STAGES * SLICE, a_at, b_at, acc);
    }
    BARRIER();
#else
    Chunk next[NEXT];
    if (count > 0) {
        load_slice(&loader, item, image, rows, &phase, next LOADER_ARGS);
        store_slice(&loader, item, slices, next);
    }
    BARRIER();
    for (int s = 0; s < count; ++s) {
        const int more = s + 1 < count;
        if (more) load_slice(&loader, item, image, rows, &phase, next LOADER_ARGS);
        multiply_slice(slices + s % 2 * SLICE, a_at, b_at, acc);
        if (more) store_slice(&loader, item, slices + (1 - s % 2) * SLICE, next);
        BARRIER();
    }
#endif
    RESULTS_STORE
}
