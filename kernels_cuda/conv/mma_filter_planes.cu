// Filter gradient of floats by Hopper's warpgroups, from tensors as they lie: for planes of neighbouring pixels (NCHW).
//
//        columns (c, tap)                K runs over the pixels of all images, in slices of 32. A lane has one pixel of a slice and a
//        +-----BN-----+                  sub-group one row at a time: a row of dy, or one of x moved by a tap. Numbers pass through
//   BM   | 64 x BN per|                  registers, where they are rounded to TF32, into panels (common/wgmma.h); those of the next
//  dy k  | warpgroup  |                  slice are on their way while a slice is multiplied. Nothing is packed.
//        +------------+
//
// GRADIENT_RUN, IMAGE_RUN: pixels that a lane has of a row, 1 or, where all rows begin at multiples of 16 bytes, 4; then a sub-group has
// four rows at a time.
//
// The sum over pixels is split; parts[split][group] of PADDED_ROWS x PADDED_COLS are added in order by conv_mma_reduce.
//
// Defines: those of conv/geometry.h and conv/column.h, DY_i, ROWS (filters of a group) COLS (channels of a group x taps) COUNT (pixels)
// GROUPS SPLITS, those of conv/mma_planes_float.h; STORE_FILTER (conv/mma_filter_store.h).

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#include "conv/mma_planes_float.h"

#define ROW_OF(i, r) (16 * (i) + (r))
#define COLUMN_OF(j, c) (8 * (j) + (c))
#include "conv/mma_filter_store.h"

#define TAPS (SIZE_D * SIZE_H * SIZE_W)

// What a column reads of the image: a place beside that of a pixel, and the bits of its tap, by which pixels know whether it is inside
typedef struct {
    u32 offset, taps;
} Reads;

DEVICE Reads reads_of(int column) {
    const int tap = column % TAPS;
    const int d = FILTER_INDEX(tap / (SIZE_H * SIZE_W), SIZE_D), h = FILTER_INDEX(tap / SIZE_W % SIZE_H, SIZE_H);
    const int w = FILTER_INDEX(tap % SIZE_W, SIZE_W);
    Reads reads;
    reads.offset = (u32)(column / TAPS) * IN_C + TAP_OFFSET(d * TAP_D, h * TAP_H, w * TAP_W);
    reads.taps = column < COLS ? bits_of(d, h, w) : NEVER;
    return reads;
}

// the place of a pixel of dy
DEVICE u32 gradient_place(u32 index) {
    const u32 row = index / PIXELS_W, plane = row / PIXELS_H;
    return plane / PIXELS_D * DY_N + plane % PIXELS_D * DY_D + row % PIXELS_H * DY_H + index % PIXELS_W * DY_W;
}

// which pixel of a slice a lane has first, and which line, of its numbers from `i` on
#define PIXEL(run) (lane % (BK / run) * run)
#define LINE(run, i) ((wave + (i) / run * WAVES) * run + lane / (BK / run))

KERNEL BOUNDS
conv_mma_filter_planes(const float *__restrict__ image, const float *__restrict__ gradient, float *__restrict__ parts STORE_PARAMS) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    LOCAL Reads reads[BN];
    const u32 base = PANELS_AT(tiles);
    unsigned char *const slices_at = tiles + (base - local_address(tiles));
    const int item = threadIdx.x, lane = item % 32, wave = LOADING_ITEM / 32;
    const Share share = share_of(blockIdx.x);
    const int m0 = share.m0, n0 = share.n0, z = share.z, first = share.first, count = share.count;
    const Phase phase = phase_of(0);

    const float *const images = image + (u32)z * (COLS / TAPS) * IN_C;
    const float *const gradients = gradient + (u32)(z * ROWS + m0) * DY_K;
    u32 index = (u32)first * BK;
    for (int column = item; column < BN; column += ITEMS) reads[column] = reads_of(n0 + column);
    __syncthreads();

    float a[BM / WAVES], b[BN / WAVES];
    auto bring = [&]() {
        const u32 at_a = index + PIXEL(GRADIENT_RUN), at_b = index + PIXEL(IMAGE_RUN);
        const bool in = at_a < (u32)COUNT;
        const float *const from = gradients + (in ? gradient_place(at_a) : 0u);
        UNROLL for (int i = 0; i < BM / WAVES; i += GRADIENT_RUN) {
            const int row = LINE(GRADIENT_RUN, i);
            load_run<GRADIENT_RUN>(a + i, from + (u32)row * DY_K, in && m0 + row < ROWS);
        }
        const Pixel pixel = pixel_of(at_b, &phase);
        const u32 inside_of = at_b < (u32)COUNT ? taps_inside(&pixel) : 0;
        UNROLL for (int i = 0; i < BN / WAVES; i += IMAGE_RUN) {
            const Reads one = reads[LINE(IMAGE_RUN, i)];
            load_run<IMAGE_RUN>(b + i, images + (u32)(pixel.offset + one.offset), (inside_of & one.taps) == one.taps);
        }
        index += BK;
    };
    auto put_slice = [&](int at) {
        unsigned char *const to = slices_at + at;
        UNROLL for (int i = 0; i < BM / WAVES; i += GRADIENT_RUN) put_run<GRADIENT_RUN>(to, LINE(GRADIENT_RUN, i), PIXEL(GRADIENT_RUN), a + i);
        UNROLL for (int i = 0; i < BN / WAVES; i += IMAGE_RUN) {
            put_run<IMAGE_RUN>(to + A_BYTES, LINE(IMAGE_RUN, i), PIXEL(IMAGE_RUN), b + i);
        }
    };

    auto leave = [&](float acc[MT][NT][4]) {
        const int wm = item / 32 * WM, wn = 0;
        LEAVE_FILTER
    };
    multiply_planes(base, count, bring, put_slice, leave);
}
