// What the pooling kernels of both schedules share: the geometry that the host bakes in, and the modes.

#include "common/types.h"

#define NONE ((real)-1)
#define WINDOW (WINDOW_D * WINDOW_H * WINDOW_W)

// WINNER: where the winner of a window is noted, in the order of the work-items
#ifdef CHANNELS_LAST
#define CHANNELS VW   // channels of a work-item
#define WINNER(n, c, o, p, q) (((((n)*O + (o)) * P + (p)) * Q + (q)) * C + (c))
#else
#define CHANNELS 1
#define WINNER(n, c, o, p, q) (((((n)*C + (c)) * O + (o)) * P + (p)) * Q + (q))
#endif

#ifdef MODE_MAX
#define EMPTY LOWEST_STORED
#ifdef PROPAGATE_NAN
#define FOLD(best, v) PICK((best) == (best), PICK((v) <= (best), best, v), best)
#else
#define FOLD(best, v) PICK((v) > (best), v, best)
#endif
#else
#define EMPTY ((real)0)
#define FOLD(best, v) ((best) + (v))
#endif

// `other` where v beats `best`, else `old`; a later equal value does not replace an earlier one
#ifdef PROPAGATE_NAN
#define KEEPS(best, v, old, other) PICK((best) == (best), PICK((v) <= (best), old, other), old)
#else
#define KEEPS(best, v, old, other) PICK((v) > (best), other, old)
#endif

#define INSIDE(i, size) ((u32)(i) < (u32)(size))

#ifdef MODE_MAX
// Winner of a window in which nothing is above -inf: its first cell inside the image that is no NaN; NONE without one. `x` is
// the image's first cell. It is asked for so seldom that its code should be small.
DEVICE int first_cell(const GLOBAL T *x, int first_d, int first_h, int first_w) {
    _Pragma("unroll 1") for (int d = 0; d < WINDOW_D; ++d) {
        _Pragma("unroll 1") for (int r = 0; r < WINDOW_H; ++r) {
            _Pragma("unroll 1") for (int s = 0; s < WINDOW_W; ++s) {
                if (!INSIDE(first_d + d, D) || !INSIDE(first_h + r, H) || !INSIDE(first_w + s, W)) continue;
                const real v = LOAD(x, (first_d + d) * X_D + (first_h + r) * X_H + (first_w + s) * X_W);
                if (v == v) return (d * WINDOW_H + r) * WINDOW_W + s;
            }
        }
    }
    return (int)NONE;
}
#endif

// Cells of a window along one dimension that lie inside the image.
DEVICE int cells(int first, int window, int size) {
    const int low = first > 0 ? first : 0, high = first + window < size ? first + window : size;
    return high > low ? high - low : 0;
}

#ifdef MODE_EXCLUDE
#define SHARE(o, p, q)                                                                                     \
    share(cells((o)*STRIDE_D - PAD_D, WINDOW_D, D) * cells((p)*STRIDE_H - PAD_H, WINDOW_H, H) *            \
          cells((q)*STRIDE_W - PAD_W, WINDOW_W, W))
DEVICE real share(int count) { return count > 0 ? (real)1 / (real)count : (real)0; }
#else
#define SHARE(o, p, q) ((real)1 / (real)WINDOW)
#endif

// Windows o with o * stride - pad <= last and first < o * stride - pad + window: the lowest, and a bound of their number.
#define LOWEST_WINDOW(first, pad, window, stride)                                                          \
    ((first) + (pad) - (window) + 1 <= 0 ? 0 : ((first) + (pad) - (window) + (stride)) / (stride))
#define MOST_WINDOWS(cells, window, stride) (((window) + (cells)-2) / (stride) + 1)
