// Pooling in two and three dimensions; a 2-D problem has D = O = WINDOW_D = 1.
//
//   forward   one work-item makes TP outputs below each other, (p, q) .. (p + TP - 1, q), of VW channels:
//             each row of WINDOW_W inputs is folded once and serves every window that covers it
//
//        w  ->              q
//     h  [x x x]
//     |  [x x x]      ->   [y]  p          rows 0-2 of a 3x3 window with stride 2
//     v  [x x x]           [y]  p + 1      rows 2-4: row 2 is shared
//        [x x x]
//        [x x x]
//
//   backward  max pooling first notes each window's winner (its place in the window, row-major; NONE without one, which a
//             window of -inf has: its first cell) in the workspace. Then a work-item gathers TW cells of a row (or VW channels of one cell) from the windows
//             that cover them, in the windows' order. No atomics, so the result is deterministic.
//
// Lanes of a vector are channels with CHANNELS_LAST, else cells along w in the gather (and VW is 1 in the forward kernel).
// OpenCL and CUDA alike skip NaN in v > best, so NaN needs care only where it has to win.
// A window that lies in the padding altogether averages to 0 when padding does not count, and passes no gradient.

#include "pool/pooling.h"

#define ROWS ((TP - 1) * STRIDE_H + WINDOW_H)
#if WINDOW_D * ROWS * WINDOW_W <= 64
#define WINDOW_LOOP UNROLL
#else
#define WINDOW_LOOP
#endif

// Splits a work-item's number into n, c, depth, row and column, the fastest first.
#define PLACE(id, depths, rows, columns)                                                                   \
    idx_t rest = id;                                                                                         \
    PLACE_CHANNELS_LAST                                                                                    \
    const int column = rest % (columns);                                                                   \
    rest /= (columns);                                                                                     \
    const int row = rest % (rows);                                                                         \
    rest /= (rows);                                                                                        \
    const int depth = rest % (depths);                                                                     \
    rest /= (depths);                                                                                      \
    PLACE_CHANNELS_FIRST                                                                                   \
    const idx_t n = rest;
#ifdef CHANNELS_LAST
#define PLACE_CHANNELS_LAST                                                                                \
    const idx_t c = rest % C_UNITS * VW;                                                                     \
    rest /= C_UNITS;
#define PLACE_CHANNELS_FIRST
#else
#define PLACE_CHANNELS_LAST
#define PLACE_CHANNELS_FIRST                                                                               \
    const idx_t c = rest % C;                                                                                \
    rest /= C;
#endif

#if defined(FORWARD) || defined(WINNERS)
#ifdef CHANNELS_LAST
#define READ(p, i) VLOAD(p, i)
#else
#define READ(p, i) LOAD(p, i)
#endif

#ifdef FORWARD
KERNEL WG_SIZE(GROUP, 1, 1)
pooling_forward(TENSOR_RESTRICT(T, x), TENSOR_RESTRICT(T, y), const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(T, x);
    BIND_RESTRICT(T, y);
    const idx_t id = (idx_t)GRP(0) * GROUP + LID(0);
    if (id >= ITEMS) return;
    PLACE(id, O, P_TILES, Q)
    const int first_d = depth * STRIDE_D - PAD_D, first_h = row * (TP * STRIDE_H) - PAD_H;
    const int first_w = column * STRIDE_W - PAD_W;
    const GLOBAL T *from = x + n * X_N + c * X_C;
    vreal best[TP];

    UNROLL for (int t = 0; t < TP; ++t) best[t] = VSPLAT(EMPTY);
    WINDOW_LOOP for (int d = 0; d < WINDOW_D; ++d) {
        if (!INSIDE(first_d + d, D)) continue;
        WINDOW_LOOP for (int i = 0; i < ROWS; ++i) {
            if (!INSIDE(first_h + i, H)) continue;
            const GLOBAL T *line = from + (first_d + d) * X_D + (first_h + i) * X_H;
            vreal fold = VSPLAT(EMPTY);
            WINDOW_LOOP for (int s = 0; s < WINDOW_W; ++s) {
                const vreal v = INSIDE(first_w + s, W) ? READ(line, (first_w + s) * X_W) : VSPLAT(EMPTY);
                fold = FOLD(fold, v);
            }
            UNROLL for (int t = 0; t < TP; ++t)
                if (i >= t * STRIDE_H && i < t * STRIDE_H + WINDOW_H) best[t] = FOLD(best[t], fold);
        }
    }
    UNROLL for (int t = 0; t < TP; ++t) {
        const int p = row * TP + t;
        if (p >= P) continue;
#ifndef MODE_MAX
        best[t] = best[t] * SHARE(depth, p, column);
#endif
        VBLEND(y, n * Y_N + c * Y_C + depth * Y_D + p * Y_H + column * Y_W, alpha, best[t], beta);
    }
}
#endif

#ifdef WINNERS
// Winners: as above with the place beside the value; a later equal value does not replace an earlier one.
KERNEL WG_SIZE(GROUP, 1, 1)
pooling_winners(TENSOR_RESTRICT(T, x), TENSOR_RESTRICT(WINNER_TYPE, winners)) {
    GRID_WAIT();
    BIND_RESTRICT(T, x);
    BIND_RESTRICT(WINNER_TYPE, winners);
    const idx_t id = (idx_t)GRP(0) * GROUP + LID(0);
    if (id >= ITEMS) return;
    PLACE(id, O, P_TILES, Q)
    const int first_d = depth * STRIDE_D - PAD_D, first_h = row * (TP * STRIDE_H) - PAD_H;
    const int first_w = column * STRIDE_W - PAD_W;
    const GLOBAL T *from = x + n * X_N + c * X_C;
    vreal best[TP], place[TP];

    UNROLL for (int t = 0; t < TP; ++t) {
        best[t] = VSPLAT(-INFINITY_OF(real));
        place[t] = VSPLAT(NONE);
    }
    WINDOW_LOOP for (int d = 0; d < WINDOW_D; ++d) {
        if (!INSIDE(first_d + d, D)) continue;
        WINDOW_LOOP for (int i = 0; i < ROWS; ++i) {
            if (!INSIDE(first_h + i, H)) continue;
            const GLOBAL T *line = from + (first_d + d) * X_D + (first_h + i) * X_H;
            vreal fold = VSPLAT(-INFINITY_OF(real)), at = VSPLAT(0);
            WINDOW_LOOP for (int s = 0; s < WINDOW_W; ++s) {
                const vreal v =
                    INSIDE(first_w + s, W) ? READ(line, (first_w + s) * X_W) : VSPLAT(-INFINITY_OF(real));
                at = KEEPS(fold, v, at, VSPLAT(s));
                fold = KEEPS(fold, v, fold, v);
            }
            UNROLL for (int t = 0; t < TP; ++t)
                if (i >= t * STRIDE_H && i < t * STRIDE_H + WINDOW_H) {
                    const vreal here = at + (real)((d * WINDOW_H + i - t * STRIDE_H) * WINDOW_W);
                    place[t] = KEEPS(best[t], fold, place[t], here);
                    best[t] = KEEPS(best[t], fold, best[t], fold);
                }
        }
    }
    UNROLL for (int t = 0; t < TP; ++t) {
        const int p = row * TP + t;
        if (p >= P) continue;
        GLOBAL WINNER_TYPE *to = winners + WINNER(n, c, depth, p, column);
        UNROLL for (int j = 0; j < CHANNELS; ++j) {
            int won = (int)LANE(place[t], j);
            if (won < 0) won = first_cell(from + j, first_d, first_h + t * STRIDE_H, first_w);
            to[j] = (WINNER_TYPE)won;
        }
    }
}
#endif
#endif

#ifdef GATHER
#if MOST_WINDOWS(TW, WINDOW_W, STRIDE_W) * MOST_WINDOWS(1, WINDOW_H, STRIDE_H) * WINDOW_D <= 36
#define GATHER_LOOP UNROLL
#else
#define GATHER_LOOP
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
pooling_gather(TENSOR_RESTRICT(T, dy), TENSOR_RESTRICT(T, dx),
#ifdef MODE_MAX
               TENSOR_RESTRICT(WINNER_TYPE, winners),
#endif
               const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(T, dy);
    BIND_RESTRICT(T, dx);
#ifdef MODE_MAX
    BIND_RESTRICT(WINNER_TYPE, winners);
#endif
    const idx_t id = (idx_t)GRP(0) * GROUP + LID(0);
    if (id >= ITEMS) return;
    PLACE(id, D, H, W / TW)
    const int w = column * TW;
    const int o0 = LOWEST_WINDOW(depth, PAD_D, WINDOW_D, STRIDE_D);
    const int p0 = LOWEST_WINDOW(row, PAD_H, WINDOW_H, STRIDE_H);
    const int q0 = LOWEST_WINDOW(w, PAD_W, WINDOW_W, STRIDE_W);
    const idx_t from = n * Y_N + c * Y_C;
    vreal total = VSPLAT(0);

    GATHER_LOOP for (int i = 0; i < MOST_WINDOWS(1, WINDOW_D, STRIDE_D); ++i) {
        const int o = o0 + i, d = depth + PAD_D - o * STRIDE_D;
        if (o >= O || d < 0) continue;
        GATHER_LOOP for (int k = 0; k < MOST_WINDOWS(1, WINDOW_H, STRIDE_H); ++k) {
            const int p = p0 + k, r = row + PAD_H - p * STRIDE_H;
            if (p >= P || r < 0) continue;
            GATHER_LOOP for (int l = 0; l < MOST_WINDOWS(TW, WINDOW_W, STRIDE_W); ++l) {
                const int q = q0 + l, s = w + PAD_W - q * STRIDE_W;
                if (q >= Q || s + TW - 1 < 0) continue;
                const idx_t at = from + o * Y_D + p * Y_H + q * Y_W;
#ifdef MODE_MAX
                const GLOBAL WINNER_TYPE *winner = winners + WINNER(n, c, o, p, q);
                const int cell = (d * WINDOW_H + r) * WINDOW_W + s;
#endif
#ifdef CHANNELS_LAST
                const vreal g = VLOAD(dy, at);
#ifdef MODE_MAX
                UNROLL for (int j = 0; j < VW; ++j)
                    LANE(total, j) += winner[j] == (WINNER_TYPE)cell ? LANE(g, j) : (real)0;
#else
                total = total + g * SHARE(o, p, q);
#endif
#else
                const real g = LOAD(dy, at);
#ifdef MODE_MAX
                const int won = *winner;
                UNROLL for (int j = 0; j < TW; ++j)
                    LANE(total, j) += INSIDE(s + j, WINDOW_W) && won == cell + j ? g : (real)0;
#else
                const real part = g * SHARE(o, p, q);
                UNROLL for (int j = 0; j < TW; ++j)
                    LANE(total, j) += INSIDE(s + j, WINDOW_W) ? part : (real)0;
#endif
#endif
            }
        }
    }
    VBLEND(dx, n * X_N + c * X_C + depth * X_D + row * X_H + w * X_W, alpha, total, beta);
}
#endif
