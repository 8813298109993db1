// Filter gradient, the transposed form of F(2x2, 3x3), fused: transformed tiles live in local memory only.
//
//   rows (M): channels c        columns (N): filters k        summed over (K): tiles of 2 x 2 pixels of all images
//
//   x  --load 4x4, B' d B-->  a[plane][tile][c]  \
//   dy --load 2x2, A y A'-->  b[plane][tile][k]  /  --multiply-->  parts[split][group][plane][c][k]
//
// The parts are added in order and then G' m G applied, so results do not vary: by winograd_gradient_sum, or (FUSED_SUM,
// where work-groups see what others wrote) in pieces by the work-groups that come last.
// CHANNELS_TOGETHER: neighbouring work-items load neighbouring channels (NHWC), else neighbouring tiles.

#include "common/types.h"
#include "gemm/tile.h"
#include "winograd/winograd.h"

#define A_SIZE (PLANES * A_PLANE)
#define B_SIZE (PLANES * B_PLANE)
#ifdef CHANNELS_TOGETHER
#define UNIT_TILE(item) ((item) / BM)
#define UNIT_LINE(item) ((item) % BM)
#else
#define UNIT_TILE(item) ((item) % BK)
#define UNIT_LINE(item) ((item) / BK)
#endif

// y[2 x 2], 0 outside of the image
#ifdef PAIRS
#define LOAD_GRADIENT(y, from, p, q)                                                                       \
    UNROLL for (int r = 0; r < 2; ++r) {                                                                   \
        pair_t v;                                                                                          \
        v.x = v.y = 0;                                                                                     \
        if ((u32)((p) + r) < (u32)SIZE_H) v = *(const GLOBAL pair_t *)((from) + r * OUT_H);                \
        y[r * 2] = v.x;                                                                                    \
        y[r * 2 + 1] = v.y;                                                                                \
    }
#else
#define LOAD_GRADIENT(y, from, p, q)                                                                       \
    UNROLL for (int e = 0; e < 4; ++e) {                                                                   \
        real v = 0;                                                                                        \
        if ((u32)((p) + e / 2) < (u32)SIZE_H && (u32)((q) + e % 2) < (u32)SIZE_W) {                        \
            v = LOAD(from, e / 2 * OUT_H + e % 2 * OUT_W);                                                 \
        }                                                                                                  \
        y[e] = v;                                                                                          \
    }
#endif
// what a work-item transforms next: channel and filter UNIT_LINE of tile (n, th, tw)
#define LOAD_UNIT()                                                                                        \
    {                                                                                                      \
        const int p = at < TILES ? th * 2 : NOWHERE;                                                       \
        const int h = c < CHANNELS ? p + START_H : NOWHERE;                                                \
        const int w = tw * 2 + START_W;                                                                    \
        const GLOBAL T *from = x + (i64)(n * IN_N + (th * 2 + START_H) * IN_H + w * IN_W);                 \
        LOAD_INPUT(d, from, h, w)                                                                          \
        const int row = k < FILTERS ? p : NOWHERE;                                                         \
        const GLOBAL T *gradient = dy + (i64)(n * OUT_N + th * 2 * OUT_H + tw * 2 * OUT_W);                \
        LOAD_GRADIENT(y, gradient, row, tw * 2)                                                            \
    }

// strides of dw and its first tap; signed, as taps may run backwards
#define FILTER_GEOMETRY                                                                                    \
    const int filters, const int channels, const int group_stride, const int filter_stride,                \
        const int channel_stride, const int row_stride, const int column_stride, const int offset
#define FILTER_PASS filters, channels, group_stride, filter_stride, channel_stride, row_stride, column_stride, offset

// dw = alpha * G' (sum of the parts) G + beta * dw, for 16 filters of EACH neighbouring channels: work-items add the
// parts of (channel, plane, filter), then combine to (filter, channel, element of the 3 x 3), in dw's order. `sums` holds
// EACH * 256 reals.
DEVICE void sum_piece(const GLOBAL real *parts, GLOBAL T *dw, LOCAL_ARG real *sums, int piece, int item, real alpha,
                      real beta, int groups, int splits, FILTER_GEOMETRY) {
    const int runs = UP(filters, 16);
    const int k0 = piece % runs * 16;
    const int c0 = piece / runs % UP(channels, EACH) * EACH;
    const int group = piece / runs / UP(channels, EACH);
    const int pitch = UP(filters, BN) * BN;
    const i64 size = (i64)UP(channels, BM) * BM * pitch;
    const GLOBAL real *from = parts + ((i64)group * PLANES + item / 16) * size + (i64)c0 * pitch + k0 + item % 16;
    real sum[EACH];
    UNROLL for (int c = 0; c < EACH; ++c) sum[c] = 0;
    for (int split = 0; split < splits; ++split) {
        UNROLL for (int c = 0; c < EACH; ++c) sum[c] += from[c * pitch];
        from += groups * PLANES * size;
    }
    UNROLL for (int c = 0; c < EACH; ++c) sums[c * 256 + item] = sum[c];
    BARRIER();
    for (int at = item; at < 16 * 9 * EACH; at += 256) {
        const int k = at / 9 / EACH;
        const int c = at / 9 % EACH;
        const int r = at % 9 / 3;
        const int s = at % 3;
        if (k0 + k >= filters || c0 + c >= channels) continue;
        real t[4];
        UNROLL for (int j = 0; j < 4; ++j) {  // row r of G' m
            const int place = c * 256 + j * 16 + k;
            const real m1 = sums[place + 64], m2 = sums[place + 128];
            const real half_sum = (real)0.5 * (m1 + m2);
            t[j] = r == 1 ? (real)0.5 * (m1 - m2) : half_sum + sums[place + (r == 0 ? 0 : 192)];
        }
        const real half_sum = (real)0.5 * (t[1] + t[2]);
        const real v = s == 1 ? (real)0.5 * (t[1] - t[2]) : half_sum + (s == 0 ? t[0] : t[3]);
        const i64 to = offset + (i64)group * group_stride + (i64)(k0 + k) * filter_stride;
        BLEND(dw, to + (i64)(c0 + c) * channel_stride + r * row_stride + s * column_stride, alpha, v, beta);
    }
}

#ifdef FUSED_SUM
#include "common/pieces.h"
#define SUM_TENSORS TENSOR(int, counters), TENSOR(T, dw), const real alpha, const real beta, const int pieces, FILTER_GEOMETRY,
#else
#define SUM_TENSORS
KERNEL WG_SIZE(256, 1, 1)
winograd_gradient_sum(TENSOR_RESTRICT(const real, parts), TENSOR(T, dw), const real alpha, const real beta,
                      const int groups, const int splits, FILTER_GEOMETRY) {
    GRID_WAIT();
    BIND_RESTRICT(const real, parts);
    BIND(T, dw);
    LOCAL real sums[EACH * 256];
    sum_piece(parts, dw, sums, GRP(0), LID(0), alpha, beta, groups, splits, FILTER_PASS);
}
#endif

// work-group = ((split, group), channels, filters)
KERNEL PLANES_WG_SIZE
winograd_gradient(TENSOR_RESTRICT(const T, x_first), TENSOR_RESTRICT(const T, dy_first), TENSOR(real, parts),
                  SUM_TENSORS const int groups, const int splits GEOMETRY) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x_first);
    BIND_RESTRICT(const T, dy_first);
    BIND(real, parts);
#ifdef FUSED_SUM
    BIND(int, counters);
    BIND(T, dw);
    LOCAL int slot[1];
    start_group(counters, LID(0));
#endif
    LOCAL real4 pool[(A_SIZE + B_SIZE) / 4];
    LOCAL_ARG real4 *a = pool;
    LOCAL_ARG real4 *b = pool + A_SIZE / 4;
    const int item = LID(0);
    const int plane = item / ITEMS;
    const int tx = PLANE_TX(item);
    const int ty = PLANE_TY(item);
    const int blocks_k = UP(FILTERS, BN);
    const int blocks_c = UP(CHANNELS, BM);
    const int k0 = GRP(0) % blocks_k * BN;
    const int c0 = GRP(0) / blocks_k % blocks_c * BM;
    const int part = GRP(0) / blocks_k / blocks_c;
    const int group = part % groups;
    const int each = UP(UP(TILES, BK), splits);
    const int first = part / groups * each;
    const int last = first + each < UP(TILES, BK) ? first + each : UP(TILES, BK);

    const int unit = item < BM * BK;
    const int c = unit ? c0 + UNIT_LINE(item) : CHANNELS;
    const int k = unit ? k0 + UNIT_LINE(item) : FILTERS;
    const GLOBAL T *x = x_first + (i64)(group * CHANNELS + c) * IN_C;
    const GLOBAL T *dy = dy_first + (i64)(group * FILTERS + k) * OUT_C;
    int at = first * BK + UNIT_TILE(item);
    int tw = at % TILES_W;
    int th = at / TILES_W % TILES_H;
    int n = at / TILES_W / TILES_H;
    const int step_w = BK % TILES_W;
    const int step_h = BK / TILES_W % TILES_H;
    const int step_n = BK / TILES_W / TILES_H;

    real d[16];
    real y[4];
    real acc[TM][TN];
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    if (first < last) LOAD_UNIT()
    for (int slice = first; slice < last; ++slice) {
        if (unit) {
            const int line = UNIT_LINE(item);
            const int kk = UNIT_TILE(item);
            transform_input(d, (LOCAL_ARG real *)a + kk * A_PITCH + line, A_PLANE);
            transform_gradient(y, (LOCAL_ARG real *)b + kk * B_PITCH + line, B_PLANE);
        }
        BARRIER();
        if (slice + 1 < last) {
            at += BK;
            tw += step_w;
            const int over = tw >= TILES_W;
            tw -= over ? TILES_W : 0;
            th += step_h + over;
            const int below = th >= TILES_H;
            th -= below ? TILES_H : 0;
            n += step_n + below;
            LOAD_UNIT()
        }
        multiply_plane(a + plane * (A_PLANE / 4), b + plane * (B_PLANE / 4), tx, ty, acc);
        BARRIER();
    }
    const i64 pitch = (i64)blocks_k * BN;
    GLOBAL real *to = parts + ((i64)part * PLANES + plane) * blocks_c * BM * pitch + c0 * pitch + k0;
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; j += 4) {
            real4 v;
            v.x = acc[i][j];
            v.y = acc[i][j + 1];
            v.z = acc[i][j + 2];
            v.w = acc[i][j + 3];
            *(GLOBAL real4 *)(to + TILE_ROW(ty, i) * pitch + TILE_COLUMN(tx, j)) = v;
        }
    }
#ifdef FUSED_SUM
    int piece = gather_groups(counters, slot, item, NGRP(0));
    while (piece < pieces) {
        const int next = reserve_piece(counters, item);
        sum_piece(parts, dw, (LOCAL_ARG real *)pool, piece, item, alpha, beta, groups, splits, FILTER_PASS);
        piece = next_piece(slot, item, next);
    }
    close_pieces(counters, leave_pieces(counters, item), NGRP(0));
#endif
}
