// Input for a band of pixels, copied to scratch on the stack and dealt out by stride: a tap is a shift by a constant.
//
//     x scratch [channel][t][row % PERIOD_H][column % PERIOD_W]
//     +-------------------------+
//     |  row 0            | pad |      tap (t, r, s) meets a pixel of row p, column q, at p * PITCH + q + SHIFT_OF(t, r, s);
//     |  row 1            |     |      what lies outside of the image is zero
//     |   ..              |     |
//     +-------------------------+
//
// Of a data gradient (conv/geometry.h) taps are counted from the last one, so that they go forwards in the image.
// Defines: those of conv/geometry.h and conv/cpu.h, and what conv_direct_cpu.py adds.

#define SCRATCH_SPACE __private
#include "conv/cpu.h"
#include "conv/geometry.h"

#define SUB_ROWS (BAND + (MAX_TAPS_H - 1) / PERIOD_H * SHIFT_H)
#define SUB_PLANE (SUB_ROWS * PITCH)
#define CHANNEL_SCRATCH (MAX_TAPS_D * PERIOD_H * PERIOD_W * SUB_PLANE + VW)

typedef struct {
    int n, group, m0, o, p0, q0;
} Place;

// the d, h or w of the first tap's input for pixel 0, and the index in the filter of tap `tap`
#ifdef DATA_GRADIENT
#define FIRST(phase, x, X) ((phase)->start_##x + ((phase)->taps_##x - 1) * TAP_##X)
#define FORWARD_TAP(X) (-(TAP_##X))
#define TAP_INDEX(phase, x, X, tap) ((phase)->first_##x + ((phase)->taps_##x - 1 - (tap)) * HOP_##X)
#else
#define FIRST(phase, x, X) ((phase)->start_##x)
#define FORWARD_TAP(X) TAP_##X
#define TAP_INDEX(phase, x, X, tap) (tap)
#endif

// where tap (t, r, s) finds pixel 0
#define SHIFT_OF(t, r, s)                                                                                     \
    ((((t) * PERIOD_H + (r) % PERIOD_H) * PERIOD_W + (s) % PERIOD_W) * SUB_PLANE +                         \
     (r) / PERIOD_H * (SHIFT_H * PITCH) + (s) / PERIOD_W * SHIFT_W)

// scratch for `channels` channels from ch0 on
DEVICE void fill(__private real *x, const GLOBAL T *in, const Place *at, const Phase *phase, int ch0, int channels) {
    const int image = at->n * IN_N + (at->group * CHANNELS + ch0) * IN_C;
    const int first_w = at->q0 * STEP_W + FIRST(phase, w, W);
#if IN_C == 1 && IN_W != 1
    {
#else
    for (int ch = 0; ch < channels; ++ch) {
#endif
        for (int t = 0; t < phase->taps_d; ++t)
            for (int ih = 0; ih < PERIOD_H; ++ih)
                for (int iw = 0; iw < PERIOD_W; ++iw)
                    for (int row = 0; row < SUB_ROWS; ++row) {
                        const int d = at->o * STEP_D + FIRST(phase, d, D) + t * FORWARD_TAP(D);
                        const int h = (at->p0 + row) * STEP_H + FIRST(phase, h, H) + ih * FORWARD_TAP(H);
                        const int in_row = d >= 0 && d < EXTENT_D && h >= 0 && h < EXTENT_H;
                        const int w = first_w + iw * FORWARD_TAP(W);
                        const int to = (((t * PERIOD_H + ih) * PERIOD_W + iw) * SUB_ROWS + row) * PITCH;
#if IN_C == 1 && IN_W != 1
                        const int from = in_row ? image + d * IN_D + h * IN_H : 0;
                        copy_channels(x + to, CHANNEL_SCRATCH, in, from, w, STEP_W, PITCH, in_row ? EXTENT_W : 0, IN_W,
                                      channels, IN_SPAN);
#else
                        const int from = in_row ? image + ch * IN_C + d * IN_D + h * IN_H : 0;
                        copy_row(x + ch * CHANNEL_SCRATCH + to, in, from, w, STEP_W, PITCH, in_row ? EXTENT_W : 0, IN_W,
                                 IN_SPAN);
#endif
                    }
    }
}
