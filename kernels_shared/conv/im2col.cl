// The matrix of a convolution's input, spelt out: every pixel that a tap meets, zero outside of the image.
//
//   columns[n, c, t*O + o, r*P + p, s*Q + q] = x[n, c, o*STEP + START + t*TAP, p*.. + r*.., q*.. + s*..]
//
//          Q    Q    Q                       As a tensor it is the image of a convolution with the same filter, without
//        +----+----+----+                    padding, stride 1 and dilations (O, P, Q): each tap meets a block of its
//      P |0, 0|0, 1|0, 2|   taps (r, s)      own. Any engine then makes the matrix product, with any layout of filter
//        +----+----+----+                    and result.
//      P |1, 0|1, 1|1, 2|
//        +----+----+----+                    GPU: a work-item writes one element. CPU: a work-group of one writes
//                                            CHUNK rows of Q, which are one tap each.
// Defines: sizes as in conv/geometry.h, CHANNELS of x, ROWS (rows of Q in all), CHUNK on CPUs.

#include "common/types.h"

// where a row of Q starts in x (its coordinate in w may lie outside), or -1 where the row is outside
typedef struct {
    u32 offset;
    int w, in;
} Row;

DEVICE Row row_of(u32 row) {
    const int s = (int)(row % SIZE_W);
    row /= SIZE_W;
    const int p = (int)(row % PIXELS_H), r = (int)(row / PIXELS_H % SIZE_H);
    row /= PIXELS_H * SIZE_H;
    const int o = (int)(row % PIXELS_D), t = (int)(row / PIXELS_D % SIZE_D);
    row /= PIXELS_D * SIZE_D;
    const int d = o * STEP_D + START_D + t * TAP_D, h = p * STEP_H + START_H + r * TAP_H;
    Row at;
    at.w = START_W + s * TAP_W;
    at.in = (u32)d < (u32)EXTENT_D && (u32)h < (u32)EXTENT_H;
    at.offset = row / CHANNELS * IN_N + row % CHANNELS * IN_C + (u32)d * IN_D + (u32)h * IN_H + (u32)at.w * IN_W;
    return at;
}

#ifdef CHUNK
KERNEL WG_SIZE(1, 1, 1) im2col(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, columns)) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, columns);
    const u32 first = (u32)GRP(0) * CHUNK;
    for (u32 row = first; row < first + CHUNK && row < ROWS; ++row) {
        const Row at = row_of(row);
        GLOBAL T *to = columns + (i64)row * PIXELS_W;
        int low = at.w < 0 ? (STEP_W - 1 - at.w) / STEP_W : 0;
        int high = at.w < EXTENT_W ? (EXTENT_W - 1 - at.w) / STEP_W + 1 : 0;
        if (!at.in || high <= low) low = high = PIXELS_W;
        if (low > PIXELS_W) low = PIXELS_W;
        if (high > PIXELS_W) high = PIXELS_W;
        const GLOBAL T *from = x + (u32)(at.offset + (u32)low * (STEP_W * IN_W));
        int q = 0;
        for (; q < low; ++q) STORE(to, q, 0);
        for (; q < high; ++q) STORE(to, q, LOAD(from, (q - low) * (STEP_W * IN_W)));
        for (; q < PIXELS_W; ++q) STORE(to, q, 0);
    }
}
#else
KERNEL WG_SIZE(256, 1, 1) im2col(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, columns)) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, columns);
    const u32 i = (u32)GRP(0) * 256 + (u32)LID(0);
    if (i / PIXELS_W >= ROWS) return;
    const Row at = row_of(i / PIXELS_W);
    const u32 q = i % PIXELS_W;
    real v = 0;
    if (at.in && (u32)(at.w + (int)q * STEP_W) < (u32)EXTENT_W) v = LOAD(x, at.offset + q * (STEP_W * IN_W));
    STORE(columns, i, v);
}
#endif
