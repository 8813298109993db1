// Pooling of rows that are contiguous along w, two-dimensional windows, on GPUs: a work-item makes a tile whose windows have
// places that are known when the kernel is compiled. pool/pooling.cl takes everything else and has the definitions.
//
//   forward    TP x TQ outputs. Their inputs are read once into registers, in vectors of VW where a whole one is needed:
//
//        w ->   -1   0  1  2  3   4  5  6  7         3x3 window, stride 2, padding 1, TQ = 4, VW = 4
//        row   [x] [x  x  x  x] [x  x  x  x]         window q covers 2q-1 .. 2q+1
//               scalar  vector     vector
//
//   backward   TH x TW cells of dx, whole strides of windows, so that window k of the tile begins at the same cell in every
//              tile. For max pooling a work-item finds the winners of all windows that reach into its tile (its neighbours
//              find some of them again): x is read, not a note of the winners, and dx is written in one launch.
//
//        h0 - 1   . . . . . . .        a tile of 4x4 cells (#) with stride 2: windows of rows
//        h0       . # # # # . .        h0-1 .. h0+1, h0+1 .. h0+3 and h0+3 .. h0+5 reach into it
//        ...      . # # # # . .
//        h0 + 5   . . . . . . .
//
// Host defines: those of pool/pooling.h; TP, TQ, P_TILES, Q_TILES or TH, TW, H_TILES, W_TILES; ITEMS; Y_VECTORS (y too is stored
// in vectors, and TQ is VW).

#include "pool/pooling.h"

#define FLOOR_DIV(a, b) (((a) + 64 * (b)) / (b)-64)  // for a > -64 * b
#define CEIL_DIV(a, b) FLOOR_DIV((a) + (b)-1, b)

#ifdef FORWARD
#define ROWS ((TP - 1) * STRIDE_H + WINDOW_H)
#define COLUMNS ((TQ - 1) * STRIDE_W + WINDOW_W)
#define LEFT (-PAD_W)  // first column that is read, from the tile's own first one
#define OUTSIDE EMPTY
#else
// windows that reach into the tile: the first, from h0 / STRIDE_H on, and their number
#define FIRST_P CEIL_DIV(PAD_H - WINDOW_H + 1, STRIDE_H)
#define FIRST_Q CEIL_DIV(PAD_W - WINDOW_W + 1, STRIDE_W)
#define NP (FLOOR_DIV(TH - 1 + PAD_H, STRIDE_H) - FIRST_P + 1)
#define NQ (FLOOR_DIV(TW - 1 + PAD_W, STRIDE_W) - FIRST_Q + 1)
#define TOP (FIRST_P * STRIDE_H - PAD_H)
#define LEFT (FIRST_Q * STRIDE_W - PAD_W)
#define ROWS ((NP - 1) * STRIDE_H + WINDOW_H)
#define COLUMNS ((NQ - 1) * STRIDE_W + WINDOW_W)
#define OUTSIDE (-INFINITY_OF(real))
#endif

// COLUMNS numbers of a row of x from column w0 + LEFT on; w0 is a multiple of VW, and so is W where VW > 1.
DEVICE void read_row(const GLOBAL T *row, int w0, bool inside, real *line) {
    UNROLL for (int g = FLOOR_DIV(LEFT, VW); g <= FLOOR_DIV(LEFT + COLUMNS - 1, VW); ++g) {
        const int w = w0 + g * VW;
        if (VW > 1 && g * VW >= LEFT && g * VW + VW <= LEFT + COLUMNS) {
            vreal v = VSPLAT(OUTSIDE);
            if (inside && INSIDE(w, W)) v = VLOAD(row, w);
            UNROLL for (int j = 0; j < VW; ++j) line[g * VW + j - LEFT] = LANE(v, j);
        } else {
            UNROLL for (int j = 0; j < VW; ++j) {
                const int i = g * VW + j - LEFT;
                if (i >= 0 && i < COLUMNS) line[i] = inside && INSIDE(w + j, W) ? LOAD(row, w + j) : OUTSIDE;
            }
        }
    }
}

#define TILE(rows, columns)                                                                                \
    const idx_t id = (idx_t)GRP(0) * GROUP + LID(0);                                                       \
    if (id >= ITEMS) return;                                                                               \
    const int tile_column = id % (columns), tile_row = id / (columns) % (rows);                            \
    const idx_t plane = id / (columns) / (rows), c = plane % C, n = plane / C;

#ifdef FORWARD
KERNEL WG_SIZE(GROUP, 1, 1)
pooling_forward_tile(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, y), const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, y);
    TILE(P_TILES, Q_TILES)
    const int p0 = tile_row * TP, q0 = tile_column * TQ;
    const GLOBAL T *from = x + (n * X_N + c * X_C);
    GLOBAL T *to = y + (n * Y_N + c * Y_C);
    real lines[ROWS * COLUMNS], best[TP * TQ];

    UNROLL for (int i = 0; i < ROWS; ++i) {
        const int h = p0 * STRIDE_H - PAD_H + i;
        read_row(from + (INSIDE(h, H) ? h : 0) * X_H, q0 * STRIDE_W, INSIDE(h, H), lines + i * COLUMNS);
    }
    UNROLL for (int t = 0; t < TP * TQ; ++t) best[t] = EMPTY;
    UNROLL for (int i = 0; i < ROWS; ++i) {
        UNROLL for (int t = 0; t < TQ; ++t) {
            real fold = EMPTY;
            UNROLL for (int s = 0; s < WINDOW_W; ++s) fold = FOLD(fold, lines[i * COLUMNS + t * STRIDE_W + s]);
            UNROLL for (int u = 0; u < TP; ++u)
                if (i >= u * STRIDE_H && i < u * STRIDE_H + WINDOW_H)
                    best[u * TQ + t] = FOLD(best[u * TQ + t], fold);
        }
    }
    UNROLL for (int u = 0; u < TP; ++u) {
        const int p = p0 + u;
        if (p >= P) continue;
#ifndef MODE_MAX
        UNROLL for (int t = 0; t < TQ; ++t) best[u * TQ + t] = best[u * TQ + t] * SHARE(0, p, q0 + t);
#endif
#ifdef Y_VECTORS
        vreal v;
        UNROLL for (int t = 0; t < TQ; ++t) LANE(v, t) = best[u * TQ + t];
        VBLEND(to, p * Y_H + q0, alpha, v, beta);
#else
        UNROLL for (int t = 0; t < TQ; ++t)
            if (q0 + t < Q) BLEND(to, p * Y_H + (q0 + t) * Y_W, alpha, best[u * TQ + t], beta);
#endif
    }
}
#endif

#ifdef BACKWARD
KERNEL WG_SIZE(GROUP, 1, 1)
pooling_backward_tile(TENSOR_RESTRICT(const T, dy),
#ifdef MODE_MAX
                      TENSOR_RESTRICT(const T, x),
#endif
                      TENSOR_RESTRICT(T, dx), const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESTRICT(const T, dy);
#ifdef MODE_MAX
    BIND_RESTRICT(const T, x);
#endif
    BIND_RESTRICT(T, dx);
    TILE(H_TILES, W_TILES)
    const int h0 = tile_row * TH, w0 = tile_column * TW;
    const int p0 = tile_row * (TH / STRIDE_H) + FIRST_P, q0 = tile_column * (TW / STRIDE_W) + FIRST_Q;
    const GLOBAL T *gradient = dy + (n * Y_N + c * Y_C);
    GLOBAL T *to = dx + (n * X_N + c * X_C);
    real g[NP * NQ], total[TH * TW];
#ifdef MODE_MAX
    const GLOBAL T *from = x + (n * X_N + c * X_C);
    real lines[ROWS * COLUMNS], best[NP * NQ];
    int place[NP * NQ];

    UNROLL for (int i = 0; i < ROWS; ++i) {
        const int h = h0 + TOP + i;
        read_row(from + (INSIDE(h, H) ? h : 0) * X_H, w0, INSIDE(h, H), lines + i * COLUMNS);
    }
#endif
    UNROLL for (int k = 0; k < NP * NQ; ++k) {
        const int p = p0 + k / NQ, q = q0 + k % NQ;
        g[k] = INSIDE(p, P) && INSIDE(q, Q) ? LOAD(gradient, p * Y_H + q * Y_W) : (real)0;
    }
    UNROLL for (int j = 0; j < TH * TW; ++j) total[j] = 0;
#ifdef MODE_MAX
    UNROLL for (int k = 0; k < NP * NQ; ++k) {
        best[k] = -INFINITY_OF(real);
        place[k] = -1;
    }
    UNROLL for (int i = 0; i < ROWS; ++i) {
        UNROLL for (int l = 0; l < NQ; ++l) {
            real fold = -INFINITY_OF(real);
            int at = 0;
            UNROLL for (int s = 0; s < WINDOW_W; ++s) {
                const real v = lines[i * COLUMNS + l * STRIDE_W + s];
                at = KEEPS(fold, v, at, s);
                fold = KEEPS(fold, v, fold, v);
            }
            UNROLL for (int k = 0; k < NP; ++k)
                if (i >= k * STRIDE_H && i < k * STRIDE_H + WINDOW_H) {
                    const int here = at + (i - k * STRIDE_H) * WINDOW_W;
                    place[k * NQ + l] = KEEPS(best[k * NQ + l], fold, place[k * NQ + l], here);
                    best[k * NQ + l] = KEEPS(best[k * NQ + l], fold, best[k * NQ + l], fold);
                }
        }
    }
#endif
#ifdef MODE_MAX
    int all_won = 0;
    UNROLL for (int k = 0; k < NP * NQ; ++k) all_won |= place[k];
    if (all_won < 0)  // windows outside, of padding, of NaN or of -inf
        _Pragma("unroll 1") for (int k = 0; k < NP * NQ; ++k) {
            const int p = p0 + k / NQ, q = q0 + k % NQ;
            if (!INSIDE(p, P) || !INSIDE(q, Q)) continue;
            const int first = first_cell(from, 0, p * STRIDE_H - PAD_H, q * STRIDE_W - PAD_W);
            UNROLL for (int m = 0; m < NP * NQ; ++m)  // places stay in registers
                if (m == k && place[m] < 0) place[m] = first;
        }
#endif
    UNROLL for (int k = 0; k < NP * NQ; ++k) {
#ifndef MODE_MAX
        const real part = g[k] * SHARE(0, p0 + k / NQ, q0 + k % NQ);
#endif
        UNROLL for (int j = 0; j < TH * TW; ++j) {
            const int r = j / TW - (TOP + k / NQ * STRIDE_H), s = j % TW - (LEFT + k % NQ * STRIDE_W);
            if (r >= 0 && r < WINDOW_H && s >= 0 && s < WINDOW_W) {
#ifdef MODE_MAX
                total[j] += place[k] == r * WINDOW_W + s ? g[k] : (real)0;
#else
                total[j] += part;
#endif
            }
        }
    }
    UNROLL for (int i = 0; i < TH; ++i) {
        if (h0 + i >= H) continue;
        UNROLL for (int j = 0; j < TW; j += VW) {
#if VW > 1
            vreal v;
            UNROLL for (int l = 0; l < VW; ++l) LANE(v, l) = total[i * TW + j + l];
            if (w0 + j < W) VBLEND(to, (h0 + i) * X_H + w0 + j, alpha, v, beta);
#else
            if (w0 + j < W) BLEND(to, (h0 + i) * X_H + w0 + j, alpha, total[i * TW + j], beta);
#endif
        }
    }
}
#endif
