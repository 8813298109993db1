// Convolution on AMD's matrix cores: an implicit product of NHWC images and packed filters (common/mma_tile.h).
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
// Defines: those of conv/geometry.h (the image is the packed one) and common/mma_tile.h, GEMM_M GEMM_N of the product
// (of a filter gradient COLS: taps x CPAD), COLUMNS_i OUT_i OUT_M of the output's layout, GROUPS PHASES SPLITS HAS_PARTS CPAD.

#include "common/types.h"
#include "common/mma.h"
#include "common/mma_tile.h"
#include "conv/geometry.h"
#include "conv/column.h"
#include "conv/epilogue.h"

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
#define RESULTS TENSOR_RESTRICT(float, parts)
#define RESULTS_BIND BIND_RESTRICT(float, parts);
#define RESULTS_STORE                                                                                      \
    store_parts(parts + (i64)tile * (PADDED_M * PADDED_N) + (i64)(m0 + m) * PADDED_N + n0 + n, lane, acc);
DEVICE void store_parts(GLOBAL float *part, int lane, Sums acc[MT][NT]) {
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            GLOBAL float *to = part + SUM_ROW(lane, i) * PADDED_N + SUM_COLUMN(lane, j);
            UNROLL for (int e = 0; e < SUMS; ++e) {
                if (ADD_PARTS) acc[i][j][e] += to[e * PADDED_N];
                to[e * PADDED_N] = acc[i][j][e];
            }
        }
    }
}
#else
#define RESULTS TENSOR(T, out), const float alpha, const float beta EPILOGUE_TENSORS
#define RESULTS_BIND                                                                                       \
    BIND(T, out);                                                                                          \
    EPILOGUE_BIND
#ifdef EPILOGUE_SUMS
#include "conv/matrix_sums.h"
#define RESULTS_STORE                                                                                      \
    const int group = z / PHASES, index = z % PHASES;                                                      \
    const i64 row = (i64)group * ROWS;                                                                     \
    store_sums(out + row * OUT_M, m0, n0, m, n, &phase, lane, alpha, beta,                                 \
               acc EPILOGUE_PASS(row * Z_M, row * BIAS_C) SUMS_PASS(slices));
#else
#define RESULTS_STORE                                                                                      \
    const i64 row = (i64)(z / PHASES) * ROWS;                                                              \
    store_tile(out + row * OUT_M, m0 + m, n0 + n, &phase, lane, alpha, beta, acc, (LOCAL_ARG float *)slices + item \
               EPILOGUE_PASS(row * Z_M, row * BIAS_C));

// Written text, however long it is, stands once for each fragment, whose sums a work-item hands on in local memory
#ifdef EPILOGUE_LANES
#define SUM_AT(i, j, e) own[(e) * ITEMS]
#define EACH_SUM UNROLL_AT_MOST(1)
#else
#define SUM_AT(i, j, e) acc[i][j][e]
#define EACH_SUM UNROLL
#endif
DEVICE void store_tile(GLOBAL T *out, u32 m0, u32 n0, const Phase *phase, int lane, float alpha, float beta,
                       Sums acc[MT][NT], LOCAL_ARG float *own EPILOGUE_PARAMS) {
    UNROLL for (int j = 0; j < NT; ++j) {
        const Column column = column_of(n0 + SUM_COLUMN(lane, j), phase);
        UNROLL for (int i = 0; i < MT; ++i) {
            const u32 first = m0 + SUM_ROW(lane, i);
            if (!column.in) continue;
#ifdef EPILOGUE_LANES
            UNROLL for (int e = 0; e < SUMS; ++e) SUM_AT(i, j, e) = acc[i][j][e];
#endif
#ifdef STORE_ROWS
            EACH_SUM for (int e = 0; e < SUMS; e += VW) {
                const u32 m = first + e;
                if (m >= ROWS) continue;
                vreal v;
                UNROLL for (int x = 0; x < VW; ++x) LANE(v, x) = SUM_AT(i, j, e + x);
#ifdef EPILOGUE
                vreal biases;
                UNROLL for (int x = 0; x < VW; ++x) LANE(biases, x) = LOAD(bias, (m + x) * BIAS_C);
#endif
                const i64 place = m * OUT_M + column.offset;
                VFINISH(out, place, place, alpha, v, beta, biases);
            }
#else
            EACH_SUM for (int e = 0; e < SUMS; ++e) {
                const u32 m = first + e;
                if (m >= ROWS) continue;
                FINISH(out, (i64)(m * OUT_M + column.offset), (i64)(m * Z_M + Z_COLUMN(column)), m * BIAS_C, alpha,
                       SUM_AT(i, j, e), beta);
            }
#endif
        }
    }
}
#endif
#endif
#ifndef SUMS_CHUNKS
#define SUMS_CHUNKS 0
#endif

KERNEL WG_SIZE(ITEMS, 1, 1)
conv_matrix(TENSOR_RESTRICT(const E, image), TENSOR_RESTRICT(const E, rows), RESULTS) {
    GRID_WAIT();
    BIND_RESTRICT(const E, image);
    BIND_RESTRICT(const E, rows);
    RESULTS_BIND
    LOCAL Chunk slices[2 * SLICE > SUMS_CHUNKS ? 2 * SLICE : SUMS_CHUNKS];
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
    const int a_at = first_fragment(lane, m), b_at = first_fragment(lane, n);

    Sums acc[MT][NT];
    clear_sums(acc);
    Loader loader;
    Chunk next[NEXT];
    start_loader(&loader, item, z, m0, n0, first, &phase LOADER_ARGS);
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
    RESULTS_STORE
}
