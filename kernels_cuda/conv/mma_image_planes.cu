// Forward convolution and data gradient of floats by Hopper's warpgroups, from tensors as they lie: planes of neighbouring pixels (NCHW).
//
//        columns: pixels (n, d, h, w)    K runs over channels and, fastest, taps, in slices of 32; a lane has one pixel of the image, and
//        +-----BN-----+                  of the filter one element of K of a row at a time, or (LANES_ALONG_ROWS) one row. Numbers pass
//   BM   | 64 x BN per|                  through registers, where they are rounded, into panels; those of the next slice are on their
//  rows  | warpgroup  |                  way while a slice is multiplied (conv/mma_planes_float.h). Nothing is packed.
//        +------------+
//
//   rows   filters of y, or channels of dx
//
// Results go to `out`, blended, by pairs of pixels (PAIRS) or one by one; or, with SPLITS > 1, to parts[split][group][phase] of
// PADDED_ROWS x PADDED_COLS, which conv_mma_reduce adds up in order.
//
// Defines: those of conv/geometry.h and conv/column.h, ROWS COLS GROUPS PHASES SPLITS CHANNELS FILTER_i OUT_M, those of
// conv/mma_planes_float.h, LANES_ALONG_ROWS (0 or 1), FILTER_RUN (4 where rows of the filter are aligned runs along K, else 1).

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#include "conv/column.h"
#include "conv/mma_planes_float.h"

#define TILES_R ((ROWS + BM - 1) / BM)
#define TILES_C (((u32)COLS + BN - 1) / BN)
#define PADDED_ROWS ((i64)TILES_R * BM)
#define PADDED_COLS ((i64)TILES_C * BN)
#define COLUMN_GROUPS (BN / 32)
#define SHARERS (WAVES / COLUMN_GROUPS)  // sub-groups that have the same pixels
#define A_CHUNKS (BM / 32 * 8 / WAVES)
#define B_CHUNKS (8 / SHARERS)
#define FILTER_LINE(i) ((wave + (i) / FILTER_RUN * WAVES) * FILTER_RUN + lane / (BK / FILTER_RUN))
static_assert(WAVES % COLUMN_GROUPS == 0 && 8 % SHARERS == 0 && BM / 32 * 8 % WAVES == 0, "equal shares");

// What an element of K reads: a place beside that of a pixel, the bits of its tap, and a place beside that of the filter's row
typedef struct {
    u32 offset, taps, filter;
} Reads;

DEVICE Reads reads_of(u32 k, u32 depth, const Phase *phase) {
    const u32 taps = phase->taps_d * phase->taps_h * phase->taps_w;
    Reads reads = {0, NEVER, 0};
    if (k >= depth) return reads;
    const u32 channel = k / taps, tap = k % taps;
    const int d = tap / (u32)(phase->taps_h * phase->taps_w), h = tap / (u32)phase->taps_w % (u32)phase->taps_h;
    const int w = tap % (u32)phase->taps_w;
    reads.offset = channel * IN_C + TAP_OFFSET(d * TAP_D, h * TAP_H, w * TAP_W);
    reads.taps = bits_of(d, h, w);
    const int fd = phase->first_d + d * HOP_D, fh = phase->first_h + h * HOP_H, fw = phase->first_w + w * HOP_W;
    reads.filter = channel * FILTER_C + (u32)FILTER_INDEX(fd, SIZE_D) * FILTER_D + (u32)FILTER_INDEX(fh, SIZE_H) * FILTER_H +
                   (u32)FILTER_INDEX(fw, SIZE_W) * FILTER_W;
    return reads;
}

KERNEL BOUNDS
conv_mma_image_planes(const float *__restrict__ image, const float *__restrict__ filter, T *out, float *__restrict__ parts, float alpha,
                      float beta) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    LOCAL Reads reads[3][BK];  // of the slice being loaded, the one before it, which others may still load, and the next
    LOCAL u32 places[BN];  // of the columns' results
    const u32 base = PANELS_AT(tiles);
    unsigned char *const slices_at = tiles + (base - local_address(tiles));
    const int item = threadIdx.x, lane = item % 32, wave = LOADING_ITEM / 32;
    u32 group = blockIdx.x;
    const int m0 = group % TILES_R * BM;
    group /= TILES_R;
    const u32 n0 = group % TILES_C * BN;
    group /= TILES_C;
    const int z = group % (GROUPS * PHASES), split = group / (GROUPS * PHASES);
    const Phase phase = phase_of(z % PHASES);
    const u32 depth = (u32)CHANNELS * (u32)(phase.taps_d * phase.taps_h * phase.taps_w);
    const int slices = (depth + BK - 1) / BK;
    const int first = (i64)slices * split / SPLITS, count = (int)((i64)slices * (split + 1) / SPLITS) - first;

    const u32 n = n0 + wave % COLUMN_GROUPS * 32 + lane;
    const Pixel pixel = pixel_of(n, &phase);
    const u32 inside_of = n < (u32)COLS ? taps_inside(&pixel) : 0;
    const float *const images = image + (u32)(z / PHASES) * CHANNELS * IN_C;
    const float *const filters = filter + (u32)(z / PHASES) * FILTER_G;
    u32 k = (u32)first * BK;
    int turn = 0;

    for (int column = item; column < BN; column += ITEMS) {
        const Column to = column_of(n0 + column, &phase);
        places[column] = to.in ? to.offset : ~(u32)0;
    }
    for (int e = item; e < 2 * BK; e += ITEMS) reads[e / BK][e % BK] = reads_of(k + e, depth, &phase);
    __syncthreads();

    float a[A_CHUNKS * 4], b[B_CHUNKS][4];
    auto bring = [&]() {
        if (LOADERS) turn_wait(1, LOADERS * 32);  // for what all have noted of this slice
        const Reads *const now = reads[turn % 3];
        UNROLL for (int i = 0; i < B_CHUNKS; ++i) {
            UNROLL for (int e = 0; e < 4; ++e) {
                const Reads one = now[(wave / COLUMN_GROUPS + i * SHARERS) * 4 + e];
                b[i][e] = (inside_of & one.taps) == one.taps ? images[(u32)(pixel.offset + one.offset)] : 0.0f;
            }
        }
#if LANES_ALONG_ROWS
        UNROLL for (int i = 0; i < A_CHUNKS; ++i) {
            const int unit = wave + i * WAVES, row = m0 + unit % (BM / 32) * 32 + lane;
            UNROLL for (int e = 0; e < 4; ++e) {
                const u32 place = now[unit / (BM / 32) * 4 + e].filter;
                const bool has = row < ROWS && k + unit / (BM / 32) * 4 + e < depth;
                a[4 * i + e] = has ? filters[(u32)row * FILTER_M + place] : 0.0f;
            }
        }
#else
        const u32 at = lane % (BK / FILTER_RUN) * FILTER_RUN, place = now[at].filter;
        UNROLL for (int i = 0; i < A_CHUNKS * 4; i += FILTER_RUN) {
            const int row = m0 + FILTER_LINE(i);
            load_run<FILTER_RUN>(a + i, filters + (u32)row * FILTER_M + place, row < ROWS && k + at < depth);
        }
#endif
        k += BK;
        ++turn;
    };
    auto put_slice = [&](int at) {
        unsigned char *const to = slices_at + at;
        UNROLL for (int i = 0; i < B_CHUNKS; ++i) {
            put_chunk(to + A_BYTES + in_panel(wave % COLUMN_GROUPS * 32 + lane, wave / COLUMN_GROUPS + i * SHARERS), b[i]);
        }
#if LANES_ALONG_ROWS
        UNROLL for (int i = 0; i < A_CHUNKS; ++i) {
            const int unit = wave + i * WAVES;
            put_chunk(to + in_panel(unit % (BM / 32) * 32 + lane, unit / (BM / 32)), a + 4 * i);
        }
#else
        UNROLL for (int i = 0; i < A_CHUNKS * 4; i += FILTER_RUN) {
            put_run<FILTER_RUN>(to, FILTER_LINE(i), lane % (BK / FILTER_RUN) * FILTER_RUN, a + i);
        }
#endif
        if (LOADING_ITEM < BK) reads[(turn + 1) % 3][LOADING_ITEM] = reads_of(k + BK + LOADING_ITEM, depth, &phase);
    };

    auto leave = [&](float acc[MT][NT][4]) {
        const int row0 = item / 32 * WM + lane / 4;
#if SPLITS > 1
        float *const part = parts + (i64)group * (PADDED_ROWS * PADDED_COLS) + (i64)(m0 + row0) * PADDED_COLS + n0 + lane % 4 * 2;
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int half = 0; half < 2; ++half) {
                store_two(part + half * 8 * PADDED_COLS + 8 * j, {{acc[0][j][2 * half], acc[0][j][2 * half + 1]}});
            }
        }
#else
        T *const to = out + (i64)(z / PHASES * ROWS + m0 + row0) * OUT_M;
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int half = 0; half < 2; ++half) {
                if (m0 + row0 + half * 8 >= ROWS) continue;
#ifdef PAIRS
                const u32 place = places[8 * j + lane % 4 * 2];
                vreal v;
                UNROLL for (int e = 0; e < 2; ++e) LANE(v, e) = acc[0][j][2 * half + e];
                if (place != ~(u32)0) VBLEND(to, (i64)half * 8 * OUT_M + place, alpha, v, beta);
#else
                UNROLL for (int e = 0; e < 2; ++e) {
                    const u32 place = places[8 * j + lane % 4 * 2 + e];
                    if (place != ~(u32)0) BLEND(to, (i64)half * 8 * OUT_M + place, alpha, acc[0][j][2 * half + e], beta);
                }
#endif
            }
        }
#endif
    };
    multiply_planes(base, count, bring, put_slice, leave);
}
