// A work-group's tile of a product on AMD's matrix cores (common/mma_fragment.h), the main loop's step for all that multiply there.
//
//        columns (N)                    a slice of K, BK = 4 chunks of each row and column, lies in local memory:
//        +-----BN-----+                 BM rows of a, then BN columns of b, chunks XOR-swizzled by PLACE, such that
//   BM   | WM x WN per|                 loads of neighbouring rows meet every bank once, as do stores of a row's chunks or
//  rows  | sub-group  |                 halves of chunks. Two slices: one is multiplied while the next is on its way,
//        +------------+                 through registers.
//
//   acc[i][j]      sums of a lane: column SUM_COLUMN(lane, j), rows from SUM_ROW(lane, i) on, of the sub-group's part
//
// Defines: BM BN WM WN, and those of common/mma_fragment.h.

#include "common/mma_fragment.h"

#define CHUNKS 4
#define BK (CHUNKS * VE)
#define SLICE ((BM + BN) * CHUNKS)  // chunks
#define ITEMS (BM / WM * (BN / WN) * WAVE)
#define MT (WM / FRAG)
#define NT (WN / FRAG)
#define PD_BANKS(row) (((row) / 2 ^ (row) / 8 ^ (FRAG == 32 ? (row) / 16 : 0)) % 2 * 4)
#define PLACE(row, chunk) (((row) * CHUNKS) ^ PD_BANKS(row) ^ ((row) / 2 % 4) ^ (chunk))

#define SUM_ROW(lane, i) ((i) * FRAG + (lane) / FRAG * SUMS)
#define SUM_COLUMN(lane, j) ((j) * FRAG + (lane) % FRAG)
#define PART_M(item) ((item) / WAVE % (BM / WM) * WM)
#define PART_N(item) ((item) / WAVE / (BM / WM) * WN)

DEVICE void clear_sums(Sums acc[MT][NT]) {
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) acc[i][j] = (Sums)(0.0f);
    }
}

// where a lane's fragments of a and b begin, of a sub-group's part
DEVICE int first_fragment(int lane, int part) { return PLACE(part + lane % FRAG, FRAG_CHUNK(lane)); }

// acc += a * b of a slice; a_at and b_at: first_fragment of the sub-group's rows and columns
DEVICE void multiply_slice(const LOCAL_ARG Chunk *slice, int a_at, int b_at, Sums acc[MT][NT]) {
    UNROLL for (int step = 0; step < CHUNKS; step += 2) {
        Fragment a[MT], b[NT];
        UNROLL for (int i = 0; i < MT; ++i) a[i] = load_fragment(slice, (a_at ^ step) + i * FRAG * CHUNKS);
        UNROLL for (int j = 0; j < NT; ++j) b[j] = load_fragment(slice + BM * CHUNKS, (b_at ^ step) + j * FRAG * CHUNKS);
        UNROLL for (int i = 0; i < MT; ++i) {
            UNROLL for (int j = 0; j < NT; ++j) acc[i][j] = multiply(a[i], b[j], acc[i][j]);
        }
    }
}
