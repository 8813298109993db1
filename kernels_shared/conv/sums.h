// The end of a convolution on GPUs whose results are taken together by text (backends/fusion/product/sums.py) as they are stored:
// over the rows of the product (SUM_ROWS: channels of the output), its columns (SUM_COLUMNS: pixels) and the groups (SUM_GROUPS).
//
// Each work-item has the sums of its rows or columns in registers; the work-group's join in local memory, and the part of
// each result goes to the workspace, which another launch adds up in order: results do not vary.
//
//   sums_out[sum][slice][result]     slice = (group, tile of rows, phase and tile of columns), of those summed over
//
// The text has EPILOGUE_SUMS sums of SUMS_RESULTS results:
//
//   epilogue(sum, place, count EPILOGUE_ARGS, sums)    adds the terms of a place (as EPILOGUE_RUN's, neighbours `step` sums apart)
//   sums_neutral(s), sums_two(s, a, b)                 where sum s begins, and two parts of it together
//   sums_place(place)                                  the result that a place of the output belongs to
//
// A kernel says before it includes this what its tiles are like:
//
//   SUMS_M SUMS_BM SUMS_TILES_M SUMS_ITEMS_M     rows: of the product, of a tile; tiles; work-items along a tile's rows
//   SUMS_TM SUMS_ROW(ty, i) SUMS_STEP_M          rows of a work-item, row i of work-item ty, rows that are stored at once (VW or 1)
//   SUMS_BN SUMS_TILES_N ... SUMS_STEP_N         columns likewise, SUMS_COLUMN(tx, j)
//   SUMS_ACC, SUMS_AT(acc, i, j)                 the dims of a work-item's results, and one of them

#if SUM_ROWS && SUM_COLUMNS
#define SUMS_HELD 1
#define SUMS_OF(i, j) 0
#define SUMS_WIDE 1
#define SUMS_PARTS (SUMS_ITEMS_M * SUMS_ITEMS_N)
#elif SUM_COLUMNS
#define SUMS_HELD SUMS_TM
#define SUMS_OF(i, j) (i)
#define SUMS_WIDE SUMS_BM
#define SUMS_PARTS SUMS_ITEMS_N
#else
#define SUMS_HELD SUMS_TN
#define SUMS_OF(i, j) (j)
#define SUMS_WIDE SUMS_BN
#define SUMS_PARTS SUMS_ITEMS_M
#endif
#define SUMS_ROW_SLICES (SUM_ROWS ? SUMS_TILES_M : 1)
#define SUMS_COLUMN_SLICES (SUM_COLUMNS ? (u32)PHASES * SUMS_TILES_N : 1)
#define SUMS_SLICES ((i64)(SUM_GROUPS ? GROUPS : 1) * SUMS_ROW_SLICES * SUMS_COLUMN_SLICES)
#define SUMS_PITCH ((SUMS_SLICES * SUMS_RESULTS + 63) / 64 * 64)

#define SUMS_PARAMS , GLOBAL float *sums_out, LOCAL_ARG F *shared, const int group, const int index, const int item
#define SUMS_PASS(shared) , sums_out, (LOCAL_ARG F *)(shared), group, index, item

DEVICE i64 sums_slice(const u32 m0, const u32 n0, const int group, const int index) {
    const i64 row = (i64)(SUM_GROUPS ? group : 0) * SUMS_ROW_SLICES + (SUM_ROWS ? m0 / SUMS_BM : 0);
    return row * SUMS_COLUMN_SLICES + (SUM_COLUMNS ? (u32)index * SUMS_TILES_N + n0 / SUMS_BN : 0);
}

// Join the work-items' sums, always in the same order, and leave them in the workspace
DEVICE void leave_sums(const F sums[SUMS_HELD][EPILOGUE_SUMS], const u32 m0, const u32 n0, const Phase *phase, const int tx,
                       const int ty, const i64 first SUMS_PARAMS) {
    const i64 slice = sums_slice(m0, n0, group, index);
    UNROLL for (int s = 0; s < EPILOGUE_SUMS; ++s) {
#if SUM_ROWS && SUM_COLUMNS
        shared[item] = sums[0][s];
#elif SUM_COLUMNS
        UNROLL for (int i = 0; i < SUMS_TM; ++i) shared[SUMS_ROW(ty, i) * SUMS_ITEMS_N + tx] = sums[i][s];
#else
        UNROLL for (int j = 0; j < SUMS_TN; ++j) shared[SUMS_COLUMN(tx, j) * SUMS_ITEMS_M + ty] = sums[j][s];
#endif
        BARRIER();
        for (int gap = SUMS_PARTS / 2; gap > 0; gap /= 2) {
            for (int x = item; x < SUMS_WIDE * gap; x += SUMS_ITEMS_M * SUMS_ITEMS_N) {
                const int at = x / gap * SUMS_PARTS + x % gap;
                shared[at] = sums_two(s, shared[at], shared[at + gap]);
            }
            BARRIER();
        }
        for (int x = item; x < SUMS_WIDE; x += SUMS_ITEMS_M * SUMS_ITEMS_N) {
#if SUM_ROWS && SUM_COLUMNS
            const i64 place = first;
            const int in = 1;
#elif SUM_COLUMNS
            const i64 place = first + (i64)(m0 + (u32)x) * OUT_M;
            const int in = m0 + (u32)x < SUMS_M;
#else
            const Column column = column_of(n0 + (u32)x, phase);
            const i64 place = first + column.offset;
            const int in = column.in;
#endif
            if (in) sums_out[s * SUMS_PITCH + slice * SUMS_RESULTS + sums_place((idx_t)place)] = shared[x * SUMS_PARTS];
        }
        BARRIER();
    }
}

// VW neighbours in memory; their sums are `step` apart
DEVICE void finish_run(const F *values, const i64 place, F *sums, const int step EPILOGUE_PARAMS) {
#ifdef EPILOGUE_RUN
    EPILOGUE_RUN(values, (idx_t)(epilogue_first + place), sums, step);
#else
    UNROLL for (int e = 0; e < VW; ++e)
        epilogue(values[e], (idx_t)(epilogue_first + place + e), 1 EPILOGUE_ARGS, sums + e * step);
#endif
}

DEVICE void store_tile(GLOBAL T *out, u32 m0, u32 n0, const Phase *phase, int tx, int ty, real alpha, real beta,
                       real acc SUMS_ACC EPILOGUE_PARAMS SUMS_PARAMS) {
    F sums[SUMS_HELD][EPILOGUE_SUMS];
    UNROLL for (int x = 0; x < SUMS_HELD; ++x) {
        UNROLL for (int s = 0; s < EPILOGUE_SUMS; ++s) sums[x][s] = sums_neutral(s);
    }
    UNROLL for (int j = 0; j < SUMS_TN; j += SUMS_STEP_N) {
        const Column column = column_of(n0 + SUMS_COLUMN(tx, j), phase);
        UNROLL for (int i = 0; i < SUMS_TM; i += SUMS_STEP_M) {
            const u32 m = m0 + SUMS_ROW(ty, i);
            if (!column.in || m >= SUMS_M) continue;
            const i64 place = m * OUT_M + column.offset;
#if SUMS_STEP_M * SUMS_STEP_N == 1
            epilogue(SUMS_AT(acc, i, j), (idx_t)(epilogue_first + place), 1 EPILOGUE_ARGS, sums[SUMS_OF(i, j)]);
#else
            F values[VW];
            UNROLL for (int e = 0; e < VW; ++e) values[e] = SUMS_AT(acc, i + e * (SUMS_STEP_M > 1), j + e * (SUMS_STEP_N > 1));
            const int step = (SUMS_OF(SUMS_STEP_M > 1, SUMS_STEP_N > 1)) * EPILOGUE_SUMS;
            finish_run(values, place, sums[SUMS_OF(i, j)], step EPILOGUE_ARGS, epilogue_first);
#endif
        }
    }
    leave_sums(sums, m0, n0, phase, tx, ty, epilogue_first, sums_out, shared, group, index, item);
}
