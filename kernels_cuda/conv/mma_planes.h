// conv/mma.cu's A from planes of neighbouring pixels: a slice has BK rows in local memory, one for each channel, of BM pixels.
//
//   4 bytes: rows of BM + 8 words; a lane reads four neighbouring pixels, which are rows of different tiles. ROW_RUN is 4.
//   2 bytes: rows of chunks, XOR-swizzled, read by transposing ldmatrix as in conv/mma_filter.cu. A lane has single rows; where
//            ROW_RUN is not 2, turn_rows makes neighbours of them.
//
// PLANE_RUN pixels are copied at once, a chunk or half of one: planes consist of such runs and are multiples of them apart.
//
// A_WIDE: runs of a row. A_PASS: rows that the group copies at once. A_START: where a lane begins to read a slice.

#ifdef DTYPE_FLOAT
#define A_PITCH ((BM + 8) * 4)
#define A_PLACE(k, chunk) ((k) * A_PITCH + (chunk) * 16)
#define A_START(lane, wm) A_PLACE((lane) % 4, (wm) / VE + (lane) / 4)
#else
#define A_PITCH (BM * 2)
#define A_PLACE PLANE_AT
#define A_START(lane, wm) A_PLACE((lane) % 8 + (lane) / 16 * 8, (wm) / VE + (lane) / 8 % 2)
#endif
#define A_WIDE (BM / PLANE_RUN)
#define RUN_BYTES (PLANE_RUN * (16 / VE))
#define RUN_PLACE(k, run) (A_PLACE(k, (run) * PLANE_RUN / VE) + (run) % (VE / PLANE_RUN) * RUN_BYTES)
#define A_PASS (ITEMS / A_WIDE)
#define A_BYTES (BK * A_PITCH)
#define A_ACROSS 1

// what a step of the product needs of a slice
DEVICE void load_planes(u32 a[MT][4], u32 slice, u32 start, int step) {
#ifdef DTYPE_FLOAT
    UNROLL for (int i = 0; i < MT; i += 2) {
        UNROLL for (int x = 0; x < 2; ++x) {  // words t and t + 4 of K, rows of tiles i and i + 1
            u32 v[4];
            load_chunk(v, slice + start + (8 * step + 4 * x) * A_PITCH + i * 64);
            UNROLL for (int e = 0; e < 4; ++e) a[i + e / 2][2 * x + e % 2] = tf32_bits(__uint_as_float(v[e]));
        }
    }
#else
    UNROLL for (int i = 0; i < MT; ++i) {
        load_matrices_transposed(a[i], slice + (start ^ (u32)(i * 32)) + step * 16 * A_PITCH);
    }
#endif
}

#if !defined(DTYPE_FLOAT) && ROW_RUN > 2
// Sums of rows 16 * i + lane / 4 + 8 * half become those of rows A_ROW(i, lane / 4 + 8 * half); columns stay where they are.
//
// Each sub-group turns TURN columns at a time through its own part of local memory. A column's words of four lie swapped
// in pairs for odd lanes, and columns TURN_PITCH apart, so that stores and loads meet every bank once.
#define TURN (WN < 32 ? WN : 32)
#define TURN_PITCH (WM + 4)
static_assert(ITEMS / 32 * TURN * TURN_PITCH * 4 <= STAGES * STAGE_BYTES, "the slices' local memory holds what is turned");

DEVICE void turn_rows(float acc[MT][NT][4], float *turn, int lane) {
    const int r = lane / 4, swap = lane % 2 * 4;
    float *const column = turn + lane % 4 * 2 * TURN_PITCH;
    UNROLL for (int first = 0; first < NT; first += TURN / 8) {
        UNROLL for (int j = 0; j < TURN / 8; ++j) {
            UNROLL for (int i = 0; i < MT; ++i) {
                UNROLL for (int e = 0; e < 4; ++e) {
                    column[(8 * j + e % 2) * TURN_PITCH + 16 * i + e / 2 * 8 + (r ^ swap)] = acc[i][first + j][e];
                }
            }
        }
        __syncwarp();
        UNROLL for (int j = 0; j < TURN / 8; ++j) {
            UNROLL for (int i = 0; i < MT; i += 2) {
                UNROLL for (int e = 0; e < 2; ++e) {
                    const Four v = *(const Four *)(column + (8 * j + e) * TURN_PITCH + ((A_ROW(i, r)) ^ swap));
                    UNROLL for (int x = 0; x < 4; ++x) acc[i + x / 2][first + j][x % 2 * 2 + e] = v.v[x];
                }
            }
        }
        __syncwarp();
    }
}
#define TURN_ROWS(acc, tiles, item)                                                                        \
    __syncthreads(); /* all have read the last slice */                                                    \
    turn_rows(acc, (float *)(tiles) + (item) / 32 * (TURN * TURN_PITCH), (item) % 32);
#else
#define TURN_ROWS(acc, tiles, item)
#endif
