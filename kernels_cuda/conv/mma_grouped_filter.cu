// Filter gradient of groups of few channels on tensor cores: a work-group has the results of some groups in registers and
// goes through tiles of pixels, whose region of x and whose dy it copies once for all taps (conv/mma_region.h).
//
//   rows        chunks of 8 channels of a tap, two a tile; a chunk may be SPAN groups of four channels each
//   columns     filters; of SPAN groups those of one of them count
//   K           pixels, 16 a step, both read by transposing ldmatrix
//
// A unit is ROW_TILES tiles of rows by NT of columns of SPAN groups, and a sub-group's; SHARERS sub-groups have the same one,
// take steps of K in turn and leave parts of their own: parts[slot * SHARERS + sharer][group][filter][tap][channel], which
// conv_mma_reduce adds up in order. What lies outside is zero on both sides.
//
// Defines: those of conv/mma_region.h, ROWS (filters of a group) SPAN ROW_TILES NT SHARERS GRADIENT_PITCH DY_N DY_H DY_W.

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#include "conv/mma_region.h"

#define TAPS (SIZE_H * SIZE_W)
#define WIDE (SPAN * CHANNELS / VE)  // chunks of a tap
#define ROW_PARTS ((TAPS * WIDE + 2 * ROW_TILES - 1) / (2 * ROW_TILES))
#define COLUMN_PARTS ((SPAN * ROWS + 8 * NT - 1) / (8 * NT))
#define UNITS (BLOCK_GROUPS / SPAN * ROW_PARTS * COLUMN_PARTS)
#define GRADIENT_CHUNKS (BLOCK_GROUPS * ROWS / VE)
#define STAGE_BYTES (REGION_BYTES + MTILES * 16 * GRADIENT_PITCH)
#define NOWHERE 0xffffffffu

DEVICE bool counts(const Tile *tile, int p) {
    return p < TILE_PIXELS && tile->h + p / TILE_W < PIXELS_H && tile->w + p % TILE_W < PIXELS_W;
}

DEVICE void copy_gradient(u32 to, const E *gradient, const Tile *tile, int channel0, int item) {
    for (int i = item; i < MTILES * 16 * GRADIENT_CHUNKS; i += ITEMS) {
        const int chunk = i % GRADIENT_CHUNKS, p = i / GRADIENT_CHUNKS, channel = channel0 + chunk * VE;
        const bool reads = counts(tile, p) && channel < GROUPS * ROWS;
        const u32 at = (u32)tile->n * DY_N + (u32)(tile->h + p / TILE_W) * DY_H + (u32)(tile->w + p % TILE_W) * DY_W;
        copy_chunk(to + p * GRADIENT_PITCH + chunk * 16, reads ? gradient + at + (u32)channel : gradient, reads);
    }
}

KERNEL __launch_bounds__(ITEMS)
conv_mma_grouped_filter(const E *__restrict__ image, const E *__restrict__ gradient, float *__restrict__ parts) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    const u32 zeros = local_address(tiles), base = zeros + 16;
    const int item = threadIdx.x, lane = item % 32, wave = item / 32;
    const int block = blockIdx.x % BLOCKS, slot = blockIdx.x / BLOCKS, group0 = block * BLOCK_GROUPS;
    const Phase phase = phase_of(0);
    if (item == 0) {
        const u32 nothing[4] = {0, 0, 0, 0};
        store_chunk(zeros, nothing);
    }

    Tile tile = tile_at(slot);
    auto copy_tile = [&](int stage) {
        copy_region(base + stage * STAGE_BYTES, image, &tile, group0 * CHANNELS, &phase, item);
        copy_gradient(base + stage * STAGE_BYTES + REGION_BYTES, gradient, &tile, group0 * ROWS, item);
    };
    if (slot < TILES) copy_tile(0);
    copies_issued();

    const int unit = wave / SHARERS, part = unit % (ROW_PARTS * COLUMN_PARTS), span0 = unit / (ROW_PARTS * COLUMN_PARTS) * SPAN;
    const int chunk0 = part / COLUMN_PARTS * (2 * ROW_TILES), column0 = part % COLUMN_PARTS * NT;
    u32 hops[ROW_TILES];
    UNROLL for (int i = 0; i < ROW_TILES; ++i) {
        const int chunk = chunk0 + 2 * i + lane / 8 % 2;
        hops[i] = region_tap(chunk / WIDE, &phase) + (u32)(span0 * CHANNELS * 2 + chunk % WIDE * 16);
        if (chunk >= TAPS * WIDE) hops[i] = NOWHERE;
    }
    float acc[ROW_TILES][NT][4];
    UNROLL for (int i = 0; i < ROW_TILES; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) acc[i][j][e] = 0;
        }
    }

    int stage = 0;
    for (int index = slot; index < TILES; index += SLOTS) {
        const Tile now = tile;
        if (index + SLOTS < TILES) {
            tile = tile_at(index + SLOTS);
            copy_tile(1 - stage);
        }
        copies_issued();
        copies_wait<1>();
        __syncthreads();
        const u32 region = base + stage * STAGE_BYTES, columns = region + REGION_BYTES + (u32)(span0 * ROWS * 2);
        for (int m = wave % SHARERS; m < MTILES && unit < UNITS; m += SHARERS) {
            u32 b[NT + 1][2];
            UNROLL for (int j = 0; j < NT; j += 2) {
                const int chunk = column0 + j + (j + 1 < NT ? lane / 16 : 0);
                u32 v[4];
                load_matrices_transposed(v, chunk * 8 < SPAN * ROWS
                                                ? columns + (u32)((m * 16 + lane % 16) * GRADIENT_PITCH + chunk * 16)
                                                : zeros);
                UNROLL for (int e = 0; e < 4; ++e) b[j + e / 2][e % 2] = v[e];
            }
            const int p = m * 16 + lane / 16 * 8 + lane % 8;
            const bool in = counts(&now, p);
            const u32 row = region + (in ? region_place(p) : 0u);
            UNROLL for (int i = 0; i < ROW_TILES; ++i) {
                u32 a[4];
                load_matrices_transposed(a, in && hops[i] != NOWHERE ? row + hops[i] : zeros);
                UNROLL for (int j = 0; j < NT; ++j) multiply(acc[i][j], a, b[j][0], b[j][1]);
            }
        }
        __syncthreads();
        stage = 1 - stage;
    }

    if (unit >= UNITS) return;
    float *part_of = parts + ((i64)slot * SHARERS + wave % SHARERS) * GROUPS * (ROWS * TAPS * CHANNELS);
    UNROLL for (int i = 0; i < ROW_TILES; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) {
                const int chunk = chunk0 + 2 * i + e / 2, channel = chunk % WIDE * 8 + lane / 4;
                const int filter = (column0 + j) * 8 + lane % 4 * 2 + e % 2, group = group0 + span0 + filter / ROWS;
                if (chunk >= TAPS * WIDE || filter >= SPAN * ROWS || channel / CHANNELS != filter / ROWS) continue;
                if (group >= GROUPS) continue;
                const int at = (filter % ROWS * TAPS + chunk / WIDE) * CHANNELS + channel % CHANNELS;
                part_of[(i64)group * (ROWS * TAPS * CHANNELS) + at] = acc[i][j][e];
            }
        }
    }
}
