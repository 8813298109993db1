// Sums over results of conv/matrix.cl (conv/sums.h): the sub-groups' parts of the tile as those of its work-items.

#define SUMS_M ((u32)ROWS)
#define SUMS_BM BM
#define SUMS_BN BN
#define SUMS_TILES_M TILES_M
#define SUMS_TILES_N TILES_N
#define SUMS_ITEMS_M (BM / WM * LANES_M)
#define SUMS_ITEMS_N (BN / WN * LANES_N)
#define SUMS_TM (MT * SUMS)
#define SUMS_TN NT
#define SUMS_ROW(ty, i) ((ty) / LANES_M * WM + (ty) % LANES_M * SUMS + (i) / SUMS * FRAG_M + (i) % SUMS)
#define SUMS_COLUMN(tx, j) ((tx) / LANES_N * WN + (tx) % LANES_N + (j) * FRAG_N)
#define SUMS_ACC [MT][NT][SUMS]
#define SUMS_AT(acc, i, j) acc[(i) / SUMS][j][(i) % SUMS]
#ifdef STORE_ROWS
#define SUMS_STEP_M VW
#else
#define SUMS_STEP_M 1
#endif
#define SUMS_STEP_N 1
#include "conv/sums.h"

#define SUMS_CHUNKS (SUMS_WIDE * SUMS_PARTS / 4)  // of local memory

DEVICE void store_sums(GLOBAL T *out, u32 m0, u32 n0, int m, int n, const Phase *phase, int lane, float alpha, float beta,
                       const Sums acc[MT][NT] EPILOGUE_PARAMS SUMS_PARAMS) {
    real results SUMS_ACC;
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < SUMS; ++e) results[i][j][e] = acc[i][j][e];
        }
    }
    store_tile(out, m0, n0, phase, n / WN * LANES_N + LANE_N(lane), m / WM * LANES_M + LANE_M(lane), alpha, beta,
               results EPILOGUE_ARGS, epilogue_first SUMS_PASS(shared));
}
