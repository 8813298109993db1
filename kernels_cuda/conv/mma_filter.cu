// Filter gradient on tensor cores: filters by (tap, channel), summed over the pixels of all images.
//
//        columns (tap, c)                x and dy are NHWC: a slice of the tile is BK pixels of either, channels fastest,
//        +-----BN-----+                  so K runs across the rows in local memory.
//   BM   | WM x WN per|                  2 bytes: rows of chunks, XOR-swizzled, read by transposing ldmatrix, or panels.
//  dy k  | sub-group  |                  4 bytes: rows of BM + 8 or BN + 4 words; a lane reads four neighbouring channels, which
//        +------------+                  are rows (columns) of different tiles: ROW_OF and COLUMN_OF say which.
//
// The sum over pixels is split; parts[split][group] of PADDED_ROWS x PADDED_COLS are added in order by conv_mma_reduce.
//
// Defines: those of conv/geometry.h (the image is the packed x) and, with STORE_FILTER, of conv/column.h and CHANNELS OUT_M,
// ROWS (filters of a group) COLS (taps x CPAD) COUNT (pixels)
// WARPGROUPS RESIDENT (conv/mma_warpgroups.h), GROUPS SPLITS CPAD KPAD DY_PITCH (from pixel to pixel) BM BN WM WN BK STAGES ROUND_IMAGE ROUND_DY; STORE_FILTER ADD_PARTS (conv/mma_filter_store.h).

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#define ITEMS (BM / WM * (BN / WN) * 32)
#define MT (WM / 16)
#define NT (WN / 8)
#define A_CHUNKS (BM / VE)
#define B_CHUNKS (BN / VE)
#define A_PASS (ITEMS / A_CHUNKS)
#define B_PASS (ITEMS / B_CHUNKS)
#define A_PASSES ((BK + A_PASS - 1) / A_PASS)
#define B_PASSES ((BK + B_PASS - 1) / B_PASS)
#define COUNTED(k) ((u32)COUNT % BK == 0 || pixel0 + (k) < (u32)COUNT)
#define NOWHERE (~(u32)0)
#define A_BYTES (BK * A_PITCH)
#define STAGE_BYTES (A_BYTES + BK * B_PITCH)
#ifdef WARPGROUPS
#include "conv/mma_filter_panels.h"
#else
#include "conv/mma_filter_rows.h"
#endif
#include "conv/mma_filter_store.h"

KERNEL BOUNDS
conv_mma_filter(const E *__restrict__ image, const E *__restrict__ gradient, float *__restrict__ parts STORE_PARAMS) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    LOCAL Pixel places[2][BK];  // of the pixels of the next slice
    const u32 base = PANELS_AT(tiles);
    const int item = threadIdx.x;
    [[maybe_unused]] const int lane = item % 32;
    const Share share = share_of(blockIdx.x);
    const int m0 = share.m0, n0 = share.n0, z = share.z, first = share.first, count = share.count;
    const Phase phase = phase_of(0);

    // what this work-item copies: one chunk of a column (tap, c) and one of a row, of some pixels. Places are told apart before the
    // first copy, behind which the compiler would keep each load from local memory.
    const int a_chunk = item % A_CHUNKS, a_k = item / A_CHUNKS;
    const int b_chunk = item % B_CHUNKS, b_k = item / B_CHUNKS;
    const int column = n0 + b_chunk * VE, tap = column / CPAD;
    const int d = tap / (SIZE_H * SIZE_W) * TAP_D, h = tap / SIZE_W % SIZE_H * TAP_H, w = tap % SIZE_W * TAP_W;
    const bool a_in = m0 + a_chunk * VE < KPAD, b_in = column < COLS;
    const u32 hop = TAP_OFFSET(d, h, w) + (u32)(z * CPAD + column % CPAD), a_place = A_PLACE(a_k, a_chunk), b_place = A_BYTES + B_PLACE(b_k, b_chunk);
    const E *gradients = gradient + z * KPAD + m0 + a_chunk * VE + ((i64)first * BK + a_k) * DY_PITCH;
    u32 pixel0 = (u32)first * BK;

    auto place_slice = [&](int slice) {
        if (item < BK) places[slice % 2][item] = pixel_of((u32)(first + slice) * BK + item, &phase);
    };
    auto copy_slice = [&](int slice) {
        const u32 to = base + slice % STAGES * STAGE_BYTES;
        u32 from[B_PASSES];
        UNROLL for (int i = 0; i < B_PASSES; ++i) {
            const int k = b_k + i * B_PASS;
            if (BK % B_PASS != 0 && k >= BK) break;
            const Pixel pixel = places[slice % 2][k];
            from[i] = b_in & COUNTED(k) & (bool)inside(&pixel, d, h, w) ? pixel.offset + hop : NOWHERE;
        }
        UNROLL for (int i = 0; i < A_PASSES; ++i) {
            const int k = a_k + i * A_PASS;
            if (BK % A_PASS != 0 && k >= BK) break;
            const u32 place = A_PASS % 8 == 0 ? a_place + i * A_PASS * A_DOWN : A_PLACE(k, a_chunk);
            copy_chunk(to + place, gradients + (i64)i * A_PASS * DY_PITCH, a_in && COUNTED(k));
        }
        UNROLL for (int i = 0; i < B_PASSES; ++i) {
            const int k = b_k + i * B_PASS;
            if (BK % B_PASS != 0 && k >= BK) break;
            const u32 place = B_PASS % 8 == 0 ? b_place + i * B_PASS * B_DOWN : A_BYTES + B_PLACE(k, b_chunk);
            copy_chunk(to + place, image + from[i], from[i] != NOWHERE);
        }
        pixel0 += BK;
        gradients += (i64)BK * DY_PITCH;
    };

    float acc[MT][NT][4];
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) acc[i][j][e] = 0;
        }
    }
    place_slice(0);
    __syncthreads();
    UNROLL for (int s = 0; s < AHEAD; ++s) {
        if (s < count) copy_slice(s);
        copies_issued();
        place_slice(s + 1);
        __syncthreads();
    }
    auto bring = [&](int next) {
        if (next < count) copy_slice(next);
        copies_issued();
        place_slice(next + 1);
    };
    multiply_slices(acc, base, count, bring);

    const int wm = item / 32 % (BM / WM) * WM, wn = item / 32 / (BM / WM) * WN;
    LEAVE_FILTER
}
