// The gather of pool/pooling.cl as a CPU likes it: one work-item makes all rows of one image plane of dx, each in an array
// that the windows over the row scatter into. Windows come in order, so the sums do too.
//
//   dx row  [ . . . . . . . . ]  row h
//             ^ ^ ^                window q of row p, if r = h + PAD_H - p * STRIDE_H is one of its rows
//                 ^ ^ ^            window q + 1

#include "pool/pooling.h"

#define LOW_Q(s) ((s) >= PAD_W ? 0 : (PAD_W - (s) + STRIDE_W - 1) / STRIDE_W)  // windows whose column s is in the image
#define HIGH_Q(s) ((s) > W - 1 + PAD_W ? 0 : (W - 1 + PAD_W - (s)) / STRIDE_W + 1)

KERNEL WG_SIZE(1, 1, 1)
pooling_rows(TENSOR_RESTRICT(T, dy), TENSOR_RESTRICT(T, dx),
#ifdef MODE_MAX
             TENSOR_RESTRICT(WINNER_TYPE, winners),
#endif
             const real alpha, const real beta) {
    BIND_RESTRICT(T, dy);
    BIND_RESTRICT(T, dx);
#ifdef MODE_MAX
    BIND_RESTRICT(WINNER_TYPE, winners);
#endif
    const idx_t plane = GRP(0);
    const int depth = plane % D;
    const idx_t c = plane / D % C, n = plane / D / C;
    const int o0 = LOWEST_WINDOW(depth, PAD_D, WINDOW_D, STRIDE_D);
    real line[W + 1];  // the last one takes what belongs to other rows

    for (int row = 0; row < H; ++row) {
        const int p0 = LOWEST_WINDOW(row, PAD_H, WINDOW_H, STRIDE_H);
        for (int w = 0; w < W; ++w) line[w] = 0;
        for (int o = o0; o < O && o * STRIDE_D - PAD_D <= depth; ++o) {
            for (int p = p0; p < P && p * STRIDE_H - PAD_H <= row; ++p) {
                const GLOBAL T *from = dy + (n * Y_N + c * Y_C + o * Y_D + p * Y_H);
#ifdef MODE_MAX
                const GLOBAL WINNER_TYPE *winner = winners + WINNER(n, c, o, p, 0);
                const int first =
                    ((depth + PAD_D - o * STRIDE_D) * WINDOW_H + row + PAD_H - p * STRIDE_H) * WINDOW_W;
                for (int q = 0; q < Q; ++q) {
                    const int s = (int)winner[q] - first;
                    const int w = INSIDE(s, WINDOW_W) ? q * STRIDE_W - PAD_W + s : W;
                    line[w] += LOAD(from, q * Y_W);
                }
#else
                real part[Q];
                for (int q = 0; q < Q; ++q) part[q] = LOAD(from, q * Y_W) * SHARE(o, p, q);
                for (int s = 0; s < WINDOW_W; ++s) {
                    const int high = HIGH_Q(s) < Q ? HIGH_Q(s) : Q;
                    for (int q = LOW_Q(s); q < high; ++q) line[q * STRIDE_W - PAD_W + s] += part[q];
                }
#endif
            }
        }
        GLOBAL T *to = dx + (n * X_N + c * X_C + depth * X_D + row * X_H);
        if (beta == (real)0)
            for (int w = 0; w < W; ++w) STORE(to, w * X_W, alpha * line[w]);
        else
            for (int w = 0; w < W; ++w) STORE(to, w * X_W, alpha * line[w] + beta * LOAD(to, w * X_W));
    }
}
