// Forward convolution and data gradient, F(2x2, 3x3), fused: only the transformed filter goes through memory.
//
//   rows (M): tiles of 2 x 2 outputs        columns (N): filters k        summed over (K): channels c
//
//   image  --load 4x4, B' d B-->  a[plane][c][tile]  \                     16 planes through local memory
//   filter --transformed before-> b[plane][c][k]     /  --multiply-->  m[plane][tile][k]  --A' m A-->  2 x 2 outputs
//
// A data gradient is this convolution of dy with the flipped filter and channels in the filters' place; the host says
// so by strides. CHANNELS_TOGETHER: neighbouring work-items load neighbouring channels (NHWC), else neighbouring tiles.
// STORE_CHANNELS: the same for the output.

#include "common/types.h"
#include "gemm/tile.h"
#include "winograd/winograd.h"
#include "conv/epilogue.h"

#define FILTER_SLICE (PLANES * BK * BN)  // reals; [group][block of BN filters][slice of BK channels][plane][kk][BN]
#define FILTER_EACH (FILTER_SLICE / 4 / GROUP)
#define ROUND (ITEMS_N * COLUMNS)  // columns exchanged at a time
#define ROUND_PITCH (BM + 4)
#define A_SIZE (PLANES * A_PLANE)
#define LOOP_SIZE (A_SIZE + FILTER_SLICE)
#define EXCHANGE_SIZE (PLANES * ROUND * ROUND_PITCH)
#define POOL_SIZE (LOOP_SIZE > EXCHANGE_SIZE ? LOOP_SIZE : EXCHANGE_SIZE)

#ifdef CHANNELS_TOGETHER
#define UNIT_CHANNEL(item) ((item) % BK)
#define UNIT_TILE(item) ((item) / BK)
#else
#define UNIT_CHANNEL(item) ((item) / BM)
#define UNIT_TILE(item) ((item) % BM)
#endif
#ifdef STORE_CHANNELS
#define STORED_TILE(at) ((at) / ROUND)
#define STORED_COLUMN(at) ((at) % ROUND)
#else
#define STORED_TILE(at) ((at) % BM)
#define STORED_COLUMN(at) ((at) / BM)
#endif

#ifdef Z_STRIDES
#define Z_PLACE ((i64)n * Z_0 + (i64)channel * Z_M + (i64)(p + e / 2) * Z_2 + (i64)(q + e % 2) * Z_3)
#else
#define Z_PLACE (place + step)
#endif

// strides of the filter and its first tap; signed, as taps may run backwards
#define FILTER_GEOMETRY                                                                                    \
    const int groups, const int filters, const int channels, const int group_stride, const int filter_stride, \
        const int channel_stride, const int row_stride, const int column_stride, const int first_tap
#define FILTER_PASS                                                                                        \
    groups, filters, channels, group_stride, filter_stride, channel_stride, row_stride, column_stride, first_tap

// G w G' of a filter and channel, 0 beyond them; `id` counts [group][block of BN filters][slice][kk][BN]
DEVICE void transform_filter(const GLOBAL T *w, GLOBAL real *out, u32 id, FILTER_GEOMETRY) {
    const int blocks = UP(filters, BN);
    const int slices = UP(channels, BK);
    const u32 slice = id / (BK * BN);  // of all groups and blocks
    if (slice >= (u32)groups * blocks * slices) return;
    const int at = (int)(id % (BK * BN));
    const int k = slice / slices % blocks * BN + at % BN;
    const int c = slice % slices * BK + at / BN;
    const int group = slice / slices / blocks;
    real g[9];
    UNROLL for (int i = 0; i < 9; ++i) g[i] = 0;
    if (k < filters && c < channels) {
        const GLOBAL T *from =
            w + first_tap + (i64)group * group_stride + (i64)k * filter_stride + (i64)c * channel_stride;
        UNROLL for (int i = 0; i < 9; ++i) g[i] = LOAD(from, i / 3 * row_stride + i % 3 * column_stride);
    }
    real t[12];
    UNROLL for (int s = 0; s < 3; ++s) {
        t[s] = g[s];
        t[3 + s] = (real)0.5 * (g[s] + g[3 + s] + g[6 + s]);
        t[6 + s] = (real)0.5 * (g[s] - g[3 + s] + g[6 + s]);
        t[9 + s] = g[6 + s];
    }
    GLOBAL real *to = out + (i64)slice * FILTER_SLICE + at;
    UNROLL for (int i = 0; i < 4; ++i) {
        to[(i * 4) * BK * BN] = t[i * 3];
        to[(i * 4 + 1) * BK * BN] = (real)0.5 * (t[i * 3] + t[i * 3 + 1] + t[i * 3 + 2]);
        to[(i * 4 + 2) * BK * BN] = (real)0.5 * (t[i * 3] - t[i * 3 + 1] + t[i * 3 + 2]);
        to[(i * 4 + 3) * BK * BN] = t[i * 3 + 2];
    }
}

#ifdef FUSED_PACK
#include "common/pieces.h"
#else
KERNEL WG_SIZE(256, 1, 1)
winograd_filter(TENSOR_RESTRICT(const T, w), TENSOR_RESTRICT(real, out), FILTER_GEOMETRY) {
    GRID_WAIT();
    BIND_RESTRICT(const T, w);
    BIND_RESTRICT(real, out);
    transform_filter(w, out, (u32)GRP(0) * 256 + LID(0), FILTER_PASS);
}
#endif

// work-group = (group, tiles, filters): groups that run together share an image
KERNEL PLANES_WG_SIZE
winograd_convolve(
#ifdef FUSED_PACK
    TENSOR_RESTRICT(const T, weights), TENSOR(real, filter),  // which is written here: no read-only memory
    TENSOR(int, counters), const int pieces, FILTER_GEOMETRY,
#else
    TENSOR_RESTRICT(const real, filter),
#endif
    TENSOR_RESTRICT(const T, image), TENSOR(T, out), const real alpha, const real beta EPILOGUE_TENSORS GEOMETRY) {
    GRID_WAIT();
#ifdef FUSED_PACK
    BIND_RESTRICT(const T, weights);
    BIND(real, filter);
    BIND(int, counters);
#else
    BIND_RESTRICT(const real, filter);
#endif
    BIND_RESTRICT(const T, image);
    BIND(T, out);
    EPILOGUE_BIND
    LOCAL real4 pool[POOL_SIZE / 4];
    LOCAL_ARG real4 *a = pool;
    LOCAL_ARG real4 *b = pool + A_SIZE / 4;
    const int item = LID(0);
    const int plane = item / ITEMS;
    const int tx = PLANE_TX(item);
    const int ty = PLANE_TY(item);
    const int blocks = UP(FILTERS, BN);
    const int k0 = GRP(0) % blocks * BN;
    const int first_tile = GRP(0) / blocks % UP(TILES, BM) * BM;
    const int group = GRP(0) / blocks / UP(TILES, BM);
    const int slices = UP(CHANNELS, BK);

    // the tile and channel that this work-item transforms
    const int unit = item < BM * BK;
    const int tile = first_tile + UNIT_TILE(item);
    int w = tile % TILES_W * 2 + START_W;
    int h = tile / TILES_W % TILES_H * 2 + START_H;
    int channel = UNIT_CHANNEL(item);
    const GLOBAL T *from = image + (i64)(tile / TILES_W / TILES_H) * IN_N + (i64)(group * CHANNELS + channel) * IN_C +
                           (i64)h * IN_H + (i64)w * IN_W;
    if (!unit || tile >= TILES) h = NOWHERE;
    const GLOBAL real4 *filter_from =
        (const GLOBAL real4 *)(filter + (i64)(group * blocks + k0 / BN) * slices * FILTER_SLICE) + item;

    real d[16];
    real4 f[FILTER_EACH];
    if (slices > 0) {
        const int row = channel < CHANNELS ? h : NOWHERE;
        LOAD_INPUT(d, from, row, w)
    }
#ifdef FUSED_PACK
    LOCAL_ARG int *slot = (LOCAL_ARG int *)pool;  // of which a tile may need all that there is
    int piece = first_piece(counters, slot, item, pieces);
    if (piece != ALL_DONE) {
        while (piece < pieces) {
            const int next = reserve_piece(counters, item);
#if PACK_EACH == 1
            transform_filter(weights, filter, (u32)piece * GROUP + item, FILTER_PASS);
#else
            UNROLL for (int e = 0; e < PACK_EACH; ++e) {
                transform_filter(weights, filter, ((u32)piece * PACK_EACH + e) * GROUP + item, FILTER_PASS);
            }
#endif
            piece = finish_piece(counters, slot, item, next);
        }
        wait_for_pieces(counters, item, pieces);
    } else {
        BARRIER();  // until all have read the slot
    }
#endif
    real acc[PLANES_EACH][TM][TN];
    UNROLL for (int e = 0; e < PLANES_EACH; ++e) {
        UNROLL for (int i = 0; i < TM; ++i) {
            UNROLL for (int j = 0; j < TN; ++j) acc[e][i][j] = 0;
        }
    }
    if (slices > 0) {
        UNROLL for (int v = 0; v < FILTER_EACH; ++v) f[v] = filter_from[v * GROUP];
    }
    for (int slice = 0; slice < slices; ++slice) {
        UNROLL for (int v = 0; v < FILTER_EACH; ++v) b[item + v * GROUP] = f[v];
        if (unit) {
            transform_input(d, (LOCAL_ARG real *)a + UNIT_CHANNEL(item) * A_PITCH + UNIT_TILE(item), A_PLANE);
        }
        BARRIER();
        if (slice + 1 < slices) {
            channel += BK;
            from += (i64)BK * IN_C;
            filter_from += FILTER_SLICE / 4;
            const int row = channel < CHANNELS ? h : NOWHERE;
            LOAD_INPUT(d, from, row, w)
            UNROLL for (int v = 0; v < FILTER_EACH; ++v) f[v] = filter_from[v * GROUP];
        }
        UNROLL for (int e = 0; e < PLANES_EACH; ++e) {
            const int p = plane + e * (PLANES / PLANES_EACH);
            multiply_plane(a + p * (A_PLANE / 4), b + p * (B_PLANE / 4), tx, ty, acc[e]);
        }
        BARRIER();
    }

#ifdef FUSED_PACK
    const int place = leave_pieces(counters, item);
#endif
    // the planes meet: COLUMNS columns of every work-item at a time
    LOCAL_ARG real *exchange = (LOCAL_ARG real *)pool;
    UNROLL for (int first = 0; first < TN; first += COLUMNS) {
        UNROLL for (int e = 0; e < PLANES_EACH; ++e) {
            const int p = plane + e * (PLANES / PLANES_EACH);
            UNROLL for (int j = 0; j < COLUMNS; ++j) {
                UNROLL for (int i = 0; i < TM; i += 4) {
                    real4 v;
                    v.x = acc[e][i][first + j];
                    v.y = acc[e][i + 1][first + j];
                    v.z = acc[e][i + 2][first + j];
                    v.w = acc[e][i + 3][first + j];
                    pool[((p * ROUND + j * ITEMS_N + tx) * ROUND_PITCH + TILE_ROW(ty, i)) / 4] = v;
                }
            }
        }
        BARRIER();
        for (int at = item; at < BM * ROUND; at += GROUP) {
            const int column = STORED_COLUMN(at);
            const int stored = first_tile + STORED_TILE(at);
            const int k = k0 + TILE_COLUMN(column % ITEMS_N, first + column / ITEMS_N);
            if (stored >= TILES || k >= FILTERS) continue;
            real m[16];
            real y[4];
            UNROLL for (int p = 0; p < PLANES; ++p) {
                m[p] = exchange[(p * ROUND + column) * ROUND_PITCH + STORED_TILE(at)];
            }
            transform_output(m, y);
            const int q = stored % TILES_W * 2;
            const int p = stored / TILES_W % TILES_H * 2;
            const int n = stored / TILES_W / TILES_H, channel = group * FILTERS + k;
            const i64 place = (i64)n * OUT_N + (i64)channel * OUT_C + (i64)p * OUT_H + (i64)q * OUT_W;
            GLOBAL T *to = out + place;
            UNROLL for (int e = 0; e < 4; ++e) {
                if (p + e / 2 < SIZE_H && q + e % 2 < SIZE_W) {
                    const int step = e / 2 * OUT_H + e % 2 * OUT_W;
                    FINISH(to, step, Z_PLACE, channel * BIAS_C, alpha, y[e], beta);
                }
            }
        }
        BARRIER();
    }
#ifdef FUSED_PACK
    close_pieces(counters, place, NGRP(0));
#endif
}
