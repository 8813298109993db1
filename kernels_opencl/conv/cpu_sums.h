// The end of a convolution on CPUs whose results are taken together by text as they are stored; see conv/sums.h, of which this
// is the CPUs' half. Include where find_row is known.
//
// A tile's part of each result goes to the workspace. Lanes are neighbours in memory: channels, columns, or one number.

#if D_C == 1 && DST_STEP_W != 1
#define LANES_OF_CHANNELS 1
#define STEP_M VW
#else
#define LANES_OF_CHANNELS 0
#define STEP_M 1
#endif
#if LANES_OF_CHANNELS || DST_STEP_W == 1
#define STEP_Q VW
#else
#define STEP_Q 1
#endif
#define SUMS_ROW_SLICES (SUM_ROWS ? M_BLOCKS : 1)
#define SUMS_COLUMN_SLICES (SUM_COLUMNS ? PHASES_D * PHASES_H * PHASES_W * ROW_BLOCKS * SEGMENTS : 1)
#define SUMS_SLICES ((i64)(SUM_GROUPS ? GROUPS : 1) * SUMS_ROW_SLICES * SUMS_COLUMN_SLICES)
#define SUMS_PITCH ((SUMS_SLICES * SUMS_RESULTS + 63) / 64 * 64)
#define EACH_SUM for (int s = 0; s < EPILOGUE_SUMS; ++s)

// Columns of a tile: row i of them begins at `first` of the target and has `valid`
typedef struct {
    int row0, rows, q0, columns, channel, phase;
} Block;

DEVICE int find_columns(const Block at, const int i, int *first) {
    const row_t row = find_row(at.row0 + i);
    const int d = row.d * PHASES_D + PHASE_D(at.phase), h = row.h * PHASES_H + PHASE_H(at.phase);
    *first = row.n * D_N + at.channel * D_C + d * D_D + h * D_H + at.q0 * DST_STEP_W + PHASE_W(at.phase) * D_W;
    if (d >= DST_D || h >= DST_H) return 0;
    return MAX(0, MIN(at.columns, (DST_W - PHASE_W(at.phase) + PHASES_W - 1) / PHASES_W - at.q0));
}

DEVICE void start_sums(F *sums) {
    EACH_SUM sums[s] = sums_neutral(s);
}

// Finish up to STEP_M channels of up to STEP_Q columns; `move` sums apart are those of neighbouring columns
DEVICE void finish_block(const GLOBAL real *c, const int place, const int channels, const int columns, F *sums,
                         const int move EPILOGUE_PARAMS) {
#if LANES_OF_CHANNELS
    vreal block[VW];
    for (int i = 0; i < VW; ++i) block[i] = i < channels ? RLOAD(c + i * PITCH) : (vreal)((real)0);
    transpose(block);
    for (int j = 0; j < columns; ++j)
        epilogue(block[j], (idx_t)(epilogue_first + place + j * DST_STEP_W), channels EPILOGUE_ARGS, sums + j * move);
#else
    const F v = STEP_Q == 1 ? (F)(c[0]) : RLOAD(c);
    epilogue(v, (idx_t)(epilogue_first + place), columns EPILOGUE_ARGS, sums);
#endif
}

// Leave the parts of results that lanes have of their own, `step` apart in the target
DEVICE void leave_lanes(GLOBAL float *to, const F *sums, const i64 place, const int lanes, const int step) {
    EACH_SUM for (int e = 0; e < lanes; ++e) to[s * SUMS_PITCH + sums_place((idx_t)(place + e * step))] = sums[s][e];
}

// Leave the part of one result
DEVICE void leave_one(GLOBAL float *to, const F *sums, const i64 place) {
    EACH_SUM to[s * SUMS_PITCH + sums_place((idx_t)place)] = sums_across(s, sums[s])[0];
}

DEVICE void store_sums(GLOBAL float *sums_out, const GLOBAL real *c, const Block at, const int channels, const int group,
                       const int row_slice, const int column_slice EPILOGUE_PARAMS) {
    const i64 row = (i64)(SUM_GROUPS ? group : 0) * SUMS_ROW_SLICES + (SUM_ROWS ? row_slice : 0);
    GLOBAL float *to = sums_out + (row * SUMS_COLUMN_SLICES + (SUM_COLUMNS ? column_slice : 0)) * SUMS_RESULTS;
    int first;
#if SUM_COLUMNS
    F sums[EPILOGUE_SUMS];
    start_sums(sums);
    for (int m = 0; m < channels; m += STEP_M) {
        const int lanes = MIN(STEP_M, channels - m);
        if (!SUM_ROWS) start_sums(sums);
        for (int i = 0; i < at.rows; ++i) {
            const int valid = find_columns(at, i, &first);
            for (int q = 0; q < valid; q += STEP_Q)
                finish_block(c + m * PITCH + i * TILE_COLS + q, first + m * D_C + q * DST_STEP_W, lanes,
                             MIN(STEP_Q, valid - q), sums, 0 EPILOGUE_ARGS, epilogue_first);
        }
        const i64 place = epilogue_first + (at.channel + m) * D_C;
        if (SUM_ROWS) continue;
        if (LANES_OF_CHANNELS) leave_lanes(to, sums, place, lanes, D_C);
        else leave_one(to, sums, place);
    }
    if (SUM_ROWS) leave_one(to, sums, epilogue_first + at.channel * D_C);
#else
    for (int i = 0; i < at.rows; ++i) {
        const int valid = find_columns(at, i, &first);
        for (int q = 0; q < valid; q += STEP_Q) {
            F sums[(LANES_OF_CHANNELS ? VW : 1) * EPILOGUE_SUMS];
            const int columns = MIN(STEP_Q, valid - q);
            const int place = first + q * DST_STEP_W;
            for (int j = 0; j < (LANES_OF_CHANNELS ? VW : 1); ++j) start_sums(sums + j * EPILOGUE_SUMS);
            for (int m = 0; m < channels; m += STEP_M)
                finish_block(c + m * PITCH + i * TILE_COLS + q, place + m * D_C, MIN(STEP_M, channels - m), columns, sums,
                             EPILOGUE_SUMS EPILOGUE_ARGS, epilogue_first);
            if (LANES_OF_CHANNELS)
                for (int j = 0; j < columns; ++j)
                    leave_one(to, sums + j * EPILOGUE_SUMS, epilogue_first + place + j * DST_STEP_W);
            else leave_lanes(to, sums, epilogue_first + place, columns, DST_STEP_W);
        }
    }
#endif
}
