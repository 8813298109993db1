// Forward convolution and data gradient of groups of few channels on tensor cores. A work-group keeps the filters of some
// groups in registers and goes through tiles of pixels, whose region of the NHWC image it copies once for all taps
// (conv/mma_region.h).
//
//   rows        pixels of the tile, 16 at a time
//   columns     a unit: 8 * NT output channels of one group. A sub-group has UNITS_EACH units; SHARERS sub-groups have the same
//               ones and take the rows in turn
//   K           quads of four channels of a tap: lane 4 * g + t has of row g the words of quad 4 * step + t, all four, and
//               the filter's likewise. The order of K is free, as long as both have the same.
//
// Of two neighbouring tiles of columns a lane has four neighbouring channels (VW 4); of one, two (VW 2).
//
// Defines: those of conv/mma_region.h, COLS (output channels of a group) NT UNITS_EACH SHARERS FILTER_x OUT_x VW.

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#include "conv/mma_region.h"

#define QUADS (CHANNELS / 4)
#define MOST_TAPS (((SIZE_H + HOP_H - 1) / HOP_H) * ((SIZE_W + HOP_W - 1) / HOP_W))
#define STEPS ((MOST_TAPS * QUADS + 3) / 4)
#define PARTS ((COLS + 8 * NT - 1) / (8 * NT))  // units of a group
#define UNITS (BLOCK_GROUPS * PARTS)
#define MAY_END(step) (PHASES > 1 || 4 * (step) + 3 >= MOST_TAPS * QUADS)
#define NOWHERE 0xffffffffu

// the output channel of a group that column `n` of a unit's tile `j` is
#if VW == 4
#define CHANNEL_OF(part, j, n) ((part) * (8 * NT) + (j) / 2 * 16 + (n) / 2 * 4 + (j) % 2 * 2 + (n) % 2)
#else
#define CHANNEL_OF(part, j, n) ((part) * (8 * NT) + (j) * 8 + (n))
#endif

// a filter's quad as both registers of a product's columns
DEVICE void load_filter(u32 *v, const E *filter, int group, int channel, int quad, const Phase *phase) {
    const int tap = quad / QUADS, wide = phase->taps_w > 0 ? phase->taps_w : 1;
    v[0] = v[1] = 0;
    if (group >= GROUPS || channel >= COLS || tap >= phase->taps_h * phase->taps_w) return;
    const int h = phase->first_h + tap / wide * HOP_H, w = phase->first_w + tap % wide * HOP_W;
    const i64 at = (i64)group * FILTER_G + (i64)channel * FILTER_M + (i64)(quad % QUADS * 4) * FILTER_C +
                   (i64)FILTER_INDEX(h, SIZE_H) * FILTER_H + (i64)FILTER_INDEX(w, SIZE_W) * FILTER_W;
    UNROLL for (int e = 0; e < 4; ++e) v[e / 2] |= (u32)filter[at + (i64)e * FILTER_C] << (e % 2 * 16);
}

KERNEL __launch_bounds__(ITEMS)
conv_mma_grouped(const E *__restrict__ image, const E *__restrict__ filter, T *out, float alpha, float beta) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    const u32 base = local_address(tiles);
    const int item = threadIdx.x, lane = item % 32, wave = item / 32, t = lane % 4;
    const int block = blockIdx.x % BLOCKS, z = blockIdx.x / BLOCKS % PHASES, slot = blockIdx.x / (BLOCKS * PHASES);
    const Phase phase = phase_of(z);
    const int group0 = block * BLOCK_GROUPS, unit0 = wave / SHARERS * UNITS_EACH;

    Tile tile = tile_at(slot);
    if (slot < TILES) copy_region(base, image, &tile, group0 * CHANNELS, &phase, item);
    copies_issued();

    u32 filters[UNITS_EACH][STEPS][NT][2], hops[STEPS];
    UNROLL for (int s = 0; s < STEPS; ++s) {
        const int quad = 4 * s + t;
        hops[s] = region_tap(quad / QUADS, &phase) + (u32)(quad % QUADS * 8);
        if (MAY_END(s) && quad / QUADS >= phase.taps_h * phase.taps_w) hops[s] = NOWHERE;
        UNROLL for (int u = 0; u < UNITS_EACH; ++u) {
            const int unit = unit0 + u, part = unit % PARTS;
            UNROLL for (int j = 0; j < NT; ++j) {
                load_filter(filters[u][s][j], filter, unit < UNITS ? group0 + unit / PARTS : GROUPS,
                            CHANNEL_OF(part, j, lane / 4), quad, &phase);
            }
        }
    }

    int stage = 0;
    for (int index = slot; index < TILES; index += SLOTS) {
        const Tile now = tile;
        if (index + SLOTS < TILES) {
            tile = tile_at(index + SLOTS);
            copy_region(base + (1 - stage) * REGION_BYTES, image, &tile, group0 * CHANNELS, &phase, item);
        }
        copies_issued();
        copies_wait<1>();
        __syncthreads();
        for (int m = wave % SHARERS; m < MTILES && unit0 < UNITS; m += SHARERS) {
            u32 rows[2];
            i64 places[2];
            bool in[2];
            UNROLL for (int half = 0; half < 2; ++half) {
                const int p = m * 16 + half * 8 + lane / 4;
                rows[half] = base + stage * REGION_BYTES + (p < TILE_PIXELS ? region_place(p) : 0u);
                int h = now.h + p / TILE_W, w = now.w + p % TILE_W;
                in[half] = p < TILE_PIXELS && h < PIXELS_H && w < PIXELS_W;
#ifdef DATA_GRADIENT
                h = h * PHASES_H + phase.h;
                w = w * PHASES_W + phase.w;
                in[half] = in[half] && h < OUT_H && w < OUT_W;
#endif
                places[half] = (i64)((u32)now.n * OUT_0 + (u32)h * OUT_2 + (u32)w * OUT_3);
            }
            UNROLL for (int u = 0; u < UNITS_EACH; ++u) {
                const int group = (unit0 + u) / PARTS, part = (unit0 + u) % PARTS;
                float acc[NT][4];
                UNROLL for (int j = 0; j < NT; ++j) {
                    UNROLL for (int e = 0; e < 4; ++e) acc[j][e] = 0;
                }
                UNROLL for (int s = 0; s < STEPS; ++s) {
                    u32 a[4] = {0, 0, 0, 0};
                    const bool reads = (!MAY_END(s) || hops[s] != NOWHERE) && unit0 + u < UNITS;
                    UNROLL for (int half = 0; half < 2; ++half) {
                        u32 v[2] = {0, 0};
                        if (reads) load_half_chunk(v, rows[half] + hops[s] + (u32)(group * (CHANNELS * 2)));
                        a[half] = v[0];
                        a[2 + half] = v[1];
                    }
                    UNROLL for (int j = 0; j < NT; ++j) multiply(acc[j], a, filters[u][s][j][0], filters[u][s][j][1]);
                }
                if (unit0 + u >= UNITS || group0 + group >= GROUPS) continue;
                T *to = out + (i64)(group0 + group) * COLS;
                UNROLL for (int half = 0; half < 2; ++half) {
                    UNROLL for (int j = 0; j < NT; j += VW / 2) {
                        const int channel = CHANNEL_OF(part, j, 2 * t);
                        vreal v;
                        UNROLL for (int x = 0; x < VW; ++x) LANE(v, x) = acc[j + x / 2][half * 2 + x % 2];
                        if (in[half] && channel < COLS) VBLEND(to, places[half] + channel, alpha, v, beta);
                    }
                }
            }
        }
        __syncthreads();
        stage = 1 - stage;
    }
}
