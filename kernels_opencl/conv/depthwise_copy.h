// Copies of pixels to scratch, VW channels of each side by side, for conv/depthwise_cpu.cl: where they do not lie so, blocks of VW
// pixels by VW channels are transposed.
//
// Defines: X_ROWS and EXTENT_W, rows that are copied at a time and columns of the image; conv/cpu.h is to be included before.

#include "conv/depthwise_taps.h"

#if 2 * EXTENT_W <= VW  // an image's rows together are fewer vectors than each by itself
#define FLAT (X_ROWS * EXTENT_W * VW + BEYOND)
#else
#define FLAT 0
#endif

// Copy `rows` rows of `columns` pixels of VW channels, from `from` on, to rows that are `pitch` pixels apart; and up to VW - 1
// vectors behind each row
DEVICE void copy_pixels(__private real *to, const int pitch, const GLOBAL T *in, int from, const int in_c, const int in_h,
                        const int in_w, int rows, const int columns, const int span) {
    if (in_c == 1) {
        for (int row = 0; row < rows; ++row)
            for (int q = 0; q < columns; ++q) {
                const GLOBAL T *pixel = in + (from + row * in_h + q * in_w);
                PREFETCH(pixel + in_h);
                RSTORE(VLOAD(pixel, 0), to + (row * pitch + q) * VW);
            }
    } else if (in_h == columns && pitch == columns) {
        copy_run(to, in, from, in_c, rows * columns, span);
#if FLAT
    } else if (in_h == columns && 2 * columns <= VW) {
        real flat[FLAT];
        copy_run(flat, in, from, in_c, rows * columns, span);
        for (int row = 0; row < rows; ++row)
            for (int i = 0; i < columns * VW; i += VW)
                RSTORE(RLOAD(flat + row * columns * VW + i), to + row * pitch * VW + i);
#endif
    } else {
        for (int row = 0; row < rows; ++row) copy_run(to + row * pitch * VW, in, from + row * in_h, in_c, columns, span);
    }
}
