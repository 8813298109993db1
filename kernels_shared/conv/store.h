// From a tile of results to the output tensor, or to the work-group's slice of partial sums.
//
//   rows m: channels of the output (or filters of dw)            element m * OUT_M + column offset
//                                                                and of z, with an epilogue, m * Z_M + its column offset
//   columns: see conv/column.h
//
// STORE_COLUMNS / STORE_ROWS: four neighbours along columns / rows are one aligned vector.

#include "conv/epilogue.h"

#include "conv/column.h"

DEVICE void store_partial(GLOBAL real *partial, u32 m0, u32 n0, int tx, int ty, real acc[TM][TN]) {
    UNROLL for (int i = 0; i < TM; ++i) {
        GLOBAL real4 *row = (GLOBAL real4 *)(partial + (i64)(m0 + TILE_ROW(ty, i)) * PADDED_N + n0);
        UNROLL for (int j = 0; j < TN; j += 4) {
            real4 v;
            v.x = acc[i][j];
            v.y = acc[i][j + 1];
            v.z = acc[i][j + 2];
            v.w = acc[i][j + 3];
            row[TILE_COLUMN(tx, j) / 4] = v;
        }
    }
}

#ifdef FUSED_REDUCE
// acc = the parts of this tile, in order
DEVICE void load_partials(const GLOBAL real *partial, u32 m0, u32 n0, int tx, int ty, real acc[TM][TN]) {
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    for (int split = 0; split < SPLITS; ++split) {
        const GLOBAL real *part = partial + (i64)split * (GROUPS * PHASES) * PADDED_M * PADDED_N;
        UNROLL for (int i = 0; i < TM; ++i) {
            const GLOBAL real4 *row = (const GLOBAL real4 *)(part + (i64)(m0 + TILE_ROW(ty, i)) * PADDED_N + n0);
            UNROLL for (int j = 0; j < TN; j += 4) {
                const real4 v = row[TILE_COLUMN(tx, j) / 4];
                acc[i][j] += v.x;
                acc[i][j + 1] += v.y;
                acc[i][j + 2] += v.z;
                acc[i][j + 3] += v.w;
            }
        }
    }
}
#endif

#ifdef EPILOGUE_SUMS
#define SUMS_M GEMM_M
#define SUMS_BM BM
#define SUMS_BN BN
#define SUMS_TILES_M TILES_M
#define SUMS_TILES_N TILES_N
#define SUMS_ITEMS_M ITEMS_M
#define SUMS_ITEMS_N ITEMS_N
#define SUMS_TM TM
#define SUMS_TN TN
#define SUMS_ROW TILE_ROW
#define SUMS_COLUMN TILE_COLUMN
#define SUMS_ACC [TM][TN]
#define SUMS_AT(acc, i, j) acc[i][j]
#ifdef STORE_ROWS
#define SUMS_STEP_M VW
#else
#define SUMS_STEP_M 1
#endif
#ifdef STORE_COLUMNS
#define SUMS_STEP_N VW
#else
#define SUMS_STEP_N 1
#endif
#include "conv/sums.h"
#elif defined(STORE_COLUMNS)
DEVICE void store_tile(GLOBAL T *out, u32 m0, u32 n0, const Phase *phase, int tx, int ty, real alpha, real beta,
                       real acc[TM][TN] EPILOGUE_PARAMS) {
    UNROLL for (int j = 0; j < TN; j += 4) {
        const Column column = column_of(n0 + TILE_COLUMN(tx, j), phase);
        UNROLL for (int i = 0; i < TM; ++i) {
            const u32 m = m0 + TILE_ROW(ty, i);
            if (!column.in || m >= GEMM_M) continue;
            vreal v;
            UNROLL for (int e = 0; e < 4; ++e) LANE(v, e) = acc[i][j + e];
            const i64 place = m * OUT_M + column.offset;
            VFINISH(out, place, place, alpha, v, beta, VSPLAT(LOAD(bias, m * BIAS_C)));
        }
    }
}
#elif defined(STORE_ROWS)
DEVICE void store_tile(GLOBAL T *out, u32 m0, u32 n0, const Phase *phase, int tx, int ty, real alpha, real beta,
                       real acc[TM][TN] EPILOGUE_PARAMS) {
    UNROLL for (int j = 0; j < TN; ++j) {
        const Column column = column_of(n0 + TILE_COLUMN(tx, j), phase);
        UNROLL for (int i = 0; i < TM; i += 4) {
            const u32 m = m0 + TILE_ROW(ty, i);
            if (!column.in || m >= GEMM_M) continue;
            vreal v;
            UNROLL for (int e = 0; e < 4; ++e) LANE(v, e) = acc[i + e][j];
#ifdef EPILOGUE
            vreal biases;
            UNROLL for (int e = 0; e < 4; ++e) LANE(biases, e) = LOAD(bias, (m + e) * BIAS_C);
#endif
            const i64 place = m * OUT_M + column.offset;
            VFINISH(out, place, place, alpha, v, beta, biases);
        }
    }
}
#else
DEVICE void store_tile(GLOBAL T *out, u32 m0, u32 n0, const Phase *phase, int tx, int ty, real alpha, real beta,
                       real acc[TM][TN] EPILOGUE_PARAMS) {
    UNROLL for (int j = 0; j < TN; ++j) {
        const Column column = column_of(n0 + TILE_COLUMN(tx, j), phase);
        UNROLL for (int i = 0; i < TM; ++i) {
            const u32 m = m0 + TILE_ROW(ty, i);
            if (!column.in || m >= GEMM_M) continue;
            FINISH(out, (i64)(m * OUT_M + column.offset), (i64)(m * Z_M + Z_COLUMN(column)), m * BIAS_C, alpha,
                   acc[i][j], beta);
        }
    }
}
#endif
#ifndef EPILOGUE_SUMS
#define SUMS_PASS(shared)
#endif
