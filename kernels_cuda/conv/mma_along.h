// conv/mma.cu's B from filters along whose columns K runs: [group][phase][column][FILTER_PITCH], taps FILTER_TAP apart.
//
// A slice has BN rows in local memory, one for each column. ROUND_FILTER: floats that are rounded here.
//
// B_ROW: the column that column c of tile j is. B_START: where a lane begins to read a slice.

#define B_PASSES ((BN + PASS - 1) / PASS)
#define B_ROW(j, c) ((j) / RUN * (8 * RUN) + (c) / 2 * (2 * RUN) + (j) % RUN * 2 + (c) % 2)
#define B_SPREAD(row) (CHUNKS == 4 ? (row) / (2 * RUN) % 4 : (row) / (2 * RUN) % 4 * 2 + (row) % 2)
#define B_FIRST(lane, wn) ((wn) + B_ROW((lane) / 16, (lane) % 8))
#define B_START(lane, wn) PLACE(B_FIRST(lane, wn), (lane) / 8 % 2, B_SPREAD(B_FIRST(lane, wn)))
#define TURN_COLUMNS(acc, tiles, item)
#define B_ACROSS 0

typedef struct {
    const E *rows;
    u32 places[B_PASSES];
} Columns;

DEVICE Columns columns_of(const E *filter, int z, int n0, int first, const Phase *phase, int item) {
    Columns columns = {filter + ((i64)z * COLS + n0 + item / CHUNKS) * FILTER_PITCH};
    UNROLL for (int i = 0; i < B_PASSES; ++i) columns.places[i] = B_AT(item / CHUNKS + i * PASS, item % CHUNKS);
    return columns;
}

DEVICE void copy_columns(u32 to, Columns *columns, const E *filter, const Place *at, int n0, const Phase *phase, int item) {
    const int row0 = item / CHUNKS;
    const bool in = in_sum(at, phase);
    UNROLL for (int i = 0; i < B_PASSES; ++i) {
        const int row = row0 + i * PASS;
        if (BN % PASS != 0 && row >= BN) break;
        copy_chunk(to + columns->places[i], columns->rows + at->k + (i64)i * PASS * FILTER_PITCH, in & (n0 + row < COLS));
    }
}

// what a step of the product needs of a slice
DEVICE void load_columns(u32 b[NT / 2][4], u32 slice, u32 start, int step) {
    UNROLL for (int j = 0; j < NT; j += 2) {
        const u32 down = (B_ROW(j, 0)) * SLICE;
        load_matrices(b[j / 2], slice + (start ^ (u32)(step * 32)) + down);
#ifdef ROUND_FILTER
        UNROLL for (int e = 0; e < 4; ++e) b[j / 2][e] = tf32_bits(__uint_as_float(b[j / 2][e]));
#endif
    }
}
