// conv/mma.cu's B from a filter as it lies, where K runs across its rows: a data gradient's, whose columns are channels.
//
// FILTER_ACROSS: elements of two bytes, columns neighbours, everything else multiples of a chunk apart. A slice has BK rows
// in local memory, one for each (tap, filter), of BN columns in chunks, XOR-swizzled, read by transposing ldmatrix. A
// lane has columns 8 * j + lane % 4 * 2 and the next; turn_columns makes of them those that the kernel stores.
//
// FILTER_TAP is CPAD. B_WIDE: chunks of a row. B_PASS: rows that the group copies at once. B_START: where a lane begins to read a slice.

#define TAPS (SIZE_D * SIZE_H * SIZE_W)
#define B_PITCH (BN * 2)
#define B_WIDE (BN / VE)
#define B_PASS (ITEMS / B_WIDE)
#define B_TURN(k) (BN % 64 == 0 ? (k) % 8 : (k) / 2 % 4)
#define B_PLACE ACROSS_AT
#define B_ACROSS 1
#define B_START(lane, wn) B_PLACE((lane) % 16, (wn) / VE + (lane) / 16)
#define TURN_WIDTH (WN + 8)
static_assert(ITEMS / 32 * 16 * TURN_WIDTH * 4 <= STAGES * STAGE_BYTES, "the slices' local memory holds what is turned");

// where each tap of the phase lies in a filter
DEVICE void place_taps(u32 *places, const Phase *phase, int item) {
    const int wide = phase->taps_w, high = phase->taps_h, taps = phase->taps_d * high * wide;
    for (int t = item; t < taps; t += ITEMS) {
        const int w = phase->first_w + t % wide * HOP_W, h = phase->first_h + t / wide % high * HOP_H;
        const int d = phase->first_d + t / wide / high * HOP_D;
        places[t] = (u32)FILTER_INDEX(d, SIZE_D) * FILTER_D + (u32)FILTER_INDEX(h, SIZE_H) * FILTER_H +
                    (u32)FILTER_INDEX(w, SIZE_W) * FILTER_W;
    }
}

typedef struct {
    u32 column;         // of the chunk that the work-item copies, its place in a row
    const u32 *places;  // of the phase's taps
    int tap, channel;   // of the slice's first row
    bool in;
} Columns;

DEVICE Columns columns_of(const E *filter, int z, int n0, int first, const Phase *phase, int item) {
    LOCAL u32 places[TAPS];
    place_taps(places, phase, item);
    __syncthreads();
    const int column = n0 + item % B_WIDE * VE;
    const Place at = place_at(first, 0, phase);
    Columns columns;
    columns.in = column < COLS;
    columns.column = columns.in ? (u32)(z / PHASES) * FILTER_G + column : 0u;
    columns.places = places;
    columns.tap = (at.d * phase->taps_h + at.h) * phase->taps_w + at.w;
    columns.channel = at.channel;
    return columns;
}

#ifdef TAPS_INNER
#define SPAN_TAPS 1  // of a slice at most
DEVICE void next_rows(Columns *columns, int taps) {
    if (++columns->tap < taps) return;
    columns->tap = 0;
    columns->channel += BK;
}
#else
#define SPAN_TAPS (CPAD % BK == 0 ? 1 : CPAD >= BK ? 2 : 3)
DEVICE void next_rows(Columns *columns, int taps) {
    columns->channel += BK;
    columns->tap += columns->channel / CPAD;
    columns->channel %= CPAD;
}
#endif

DEVICE u32 row_zero(const Columns *columns, int hops, bool in) {
    const int channel = columns->channel - hops * CPAD;
    return columns->column + (in ? columns->places[columns->tap + hops] + channel * FILTER_C : 0);
}

DEVICE void copy_columns(u32 to, Columns *columns, const E *filter, const Place *at, int n0, const Phase *phase, int item) {
    const int taps = taps_of(phase);
    const bool in = columns->in && columns->tap < taps, more = columns->in && columns->tap + 1 < taps;
    const u32 from = row_zero(columns, 0, in), next = SPAN_TAPS == 2 ? row_zero(columns, 1, more) : from;
    const u32 place = B_PLACE(item / B_WIDE, item % B_WIDE);
    UNROLL for (int k = 0; k < BK; k += B_PASS) {
        const int row = k + item / B_WIDE;
        if (BK % B_PASS != 0 && row >= BK) break;
        const int hops = SPAN_TAPS == 1 ? 0 : SPAN_TAPS == 2 ? columns->channel + row >= CPAD : (columns->channel + row) / CPAD;
        bool reads = hops == 0 ? in : columns->in && columns->tap + hops < taps;
        reads = reads & ((CPAD % BK == 0 && CPAD == CHANNELS) || columns->channel + row - hops * CPAD < CHANNELS);
        const u32 zero = SPAN_TAPS == 3 ? row_zero(columns, hops, reads) : hops ? next : from;
        copy_chunk(to + (B_PASS % 8 == 0 ? place + k * ACROSS_DOWN : B_PLACE(row, item % B_WIDE)), filter + (u32)(zero + row * FILTER_C), reads);
    }
    next_rows(columns, taps);
}

// what a step of the product needs of a slice
DEVICE void load_columns(u32 b[NT / 2][4], u32 slice, u32 start, int step) {
    UNROLL for (int j = 0; j < NT; j += 2) {
        load_matrices_transposed(b[j / 2], slice + (start ^ (u32)(j * 16)) + step * 16 * B_PITCH);
    }
}

// each sub-group turns 16 rows at a time in its own part of local memory
DEVICE void turn_columns(float acc[MT][NT][4], float *turn, int lane) {
    float *const row = turn + lane / 4 * TURN_WIDTH;
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int half = 0; half < 2; ++half) {
            UNROLL for (int j = 0; j < NT; ++j) {
                *(Two *)(row + half * 8 * TURN_WIDTH + 8 * j + lane % 4 * 2) = {{acc[i][j][2 * half], acc[i][j][2 * half + 1]}};
            }
        }
        __syncwarp();
        UNROLL for (int half = 0; half < 2; ++half) {
            UNROLL for (int j = 0; j < NT; j += 2) {
                const int column = j / RUN * (8 * RUN) + lane % 4 * (2 * RUN) + j % RUN * 2;
                const Four v = *(const Four *)(row + half * 8 * TURN_WIDTH + column);
                UNROLL for (int e = 0; e < 4; ++e) acc[i][j + e / 2][2 * half + e % 2] = v.v[e];
            }
        }
        __syncwarp();
    }
}
#define TURN_COLUMNS(acc, tiles, item)                                                                     \
    __syncthreads(); /* all have read the last slice */                                                    \
    turn_columns(acc, (float *)(tiles) + (item) / 32 * (16 * TURN_WIDTH), (item) % 32);
