// A work-group's tile of a product on matrix cores, AMD's (common/mma_fragment.h) or from OpenCL NVIDIA's (common/mma_ptx.h,
// MMA_PTX), the main loop's step for all that multiply there.
//
//        columns (N)                    a slice of K, BK = 4 chunks of each row and column, lies in local memory:
//        +-----BN-----+                 BM rows of a, then BN columns of b, chunks XOR-swizzled by PLACE, such that
//   BM   | WM x WN per|                 loads of neighbouring rows meet every bank once, as do stores of a row's chunks or
//  rows  | sub-group  |                 halves of chunks. Two slices: one is multiplied while the next is on its way,
//        +------------+                 through registers.
//
//   acc[i][j]      sums of a lane: column SUM_COLUMN(lane, j), rows from SUM_ROW(lane, i) on, of the sub-group's part
//   FRAG_M FRAG_N  rows and columns from i to i + 1 and from j to j + 1; LANES_M LANES_N: lanes that share them
//
// Defines: BM BN WM WN, and those of common/mma_fragment.h.

#ifdef MMA_PTX
#include "common/mma_ptx.h"
#else
#include "common/mma_fragment.h"
#define FRAG_M FRAG
#define FRAG_N FRAG
#define LANES_M (WAVE / FRAG)
#define LANES_N FRAG
#define LANE_M(lane) ((lane) / FRAG)
#define LANE_N(lane) ((lane) % FRAG)
#define FIRST_ROW(lane, part) PLACE((part) + (lane) % FRAG, FRAG_CHUNK(lane))
#define FIRST_COLUMN(lane, part) FIRST_ROW(lane, part)
#endif

#define CHUNKS 4
#define BK (CHUNKS * VE)
#define SLICE ((BM + BN) * CHUNKS)  // chunks
#define ITEMS (BM / WM * (BN / WN) * WAVE)
#define MT (WM / FRAG_M)
#define NT (WN / FRAG_N)
#define PD_BANKS(row) (((row) / 2 ^ (row) / 8 ^ (FRAG == 32 ? (row) / 16 : 0)) % 2 * 4)
#define PLACE(row, chunk) (((row) * CHUNKS) ^ PD_BANKS(row) ^ ((row) / 2 % 4) ^ (chunk))

#define SUM_ROW(lane, i) ((i) * FRAG_M + LANE_M(lane) * SUMS)
#define SUM_COLUMN(lane, j) ((j) * FRAG_N + LANE_N(lane))
#define PART_M(item) ((item) / WAVE % (BM / WM) * WM)
#define PART_N(item) ((item) / WAVE / (BM / WM) * WN)

DEVICE void clear_sums(Sums acc[MT][NT]) {
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) acc[i][j] = (Sums)(0.0f);
    }
}

// where a lane's fragments of a and b begin, of a sub-group's part
DEVICE int first_row(int lane, int part) { return FIRST_ROW(lane, part); }
DEVICE int first_column(int lane, int part) { return FIRST_COLUMN(lane, part); }

// acc += a * b of a slice; a_at and b_at: first_row and first_column of the sub-group's part
DEVICE void multiply_slice(const LOCAL_ARG Chunk *slice, int a_at, int b_at, Sums acc[MT][NT]) {
#ifdef MMA_PTX
    MULTIPLY_SLICE(slice, a_at, b_at, acc)
#else
    UNROLL for (int step = 0; step < CHUNKS; step += 2) {
        Fragment a[MT], b[NT];
        UNROLL for (int i = 0; i < MT; ++i) a[i] = load_fragment(slice, (a_at ^ step) + i * FRAG * CHUNKS);
        UNROLL for (int j = 0; j < NT; ++j) b[j] = load_fragment(slice + BM * CHUNKS, (b_at ^ step) + j * FRAG * CHUNKS);
        UNROLL for (int i = 0; i < MT; ++i) {
            UNROLL for (int j = 0; j < NT; ++j) acc[i][j] = multiply(a[i], b[j], acc[i][j]);
        }
    }
#endif
}
