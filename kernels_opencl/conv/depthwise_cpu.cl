// Depthwise convolution on a CPU, all directions, of channels-last tensors and of plain ones: a vector is VW channels of a pixel.
//
// A work-group of one takes VW channels. What a band of rows meets is copied to scratch on the stack, with zeros around it;
// where pixels and not channels lie side by side, blocks of VW by VW are transposed, and so is the result:
//
//     x [t][row][column][VW]                      taps [t][r][s][VW]
//     +---+-----------+---+
//     | 0 |     0     | 0 |     forward, data gradient   MR pixels of a row in registers, tap after tap; then the band
//     +---+-----------+---+     y [row][column][VW] of all phases is stored
//     | 0 |  image    | 0 |
//     +---+-----------+---+     filter gradient          MR by NV taps (columns, rows) in registers, pixel after pixel of a
//                               band of dy [row][column][VW]; a work-group adds up all images
//
// The last vector of channels begins VW before the end, and only what the one before has not stored is stored.
// Defines: those of conv/direct_cpu.h; LOW_H, LOW_W: the first row and column of x for pixel 0; X_ROWS, X_COLUMNS, X_PLANES: what
// x holds; IMAGES, BLOCKS (of channels), CHANNELS_IN_ALL; OUT_SPAN.

#include "conv/direct_cpu.h"

#define X_ROW (X_COLUMNS * VW)
#define X_PLANE (X_ROWS * X_ROW)

#include "conv/depthwise_copy.h"

// of taps 0 .. count: those that meet the image from `first` on
DEVICE int low_tap(int first, const int step) { return first >= 0 ? 0 : (step - 1 - first) / step; }
DEVICE int high_tap(int first, const int step, int count, int extent) {
    const int high = first >= extent ? 0 : (extent - 1 - first) / step + 1;
    return high < count ? high : count;
}

// x from row `h0` of an image's plane on
DEVICE void fill_plane(__private real *x, const GLOBAL T *in, int plane, int h0) {
    const int first = MAX(h0, 0), end = MIN(h0 + X_ROWS, EXTENT_H);
    copy_pixels(x + (first - h0) * X_ROW - LOW_W * VW, X_COLUMNS, in, plane + first * IN_H, IN_C, IN_H, IN_W, end - first,
                EXTENT_W, IN_SPAN);
    for (int row = 0; row < X_ROWS; ++row) {
        __private real *to = x + row * X_ROW;
        const int inside = h0 + row >= 0 && h0 + row < EXTENT_H;
        clear_scratch(to, inside ? -LOW_W * VW : X_ROW);
        if (inside) clear_scratch(to + (EXTENT_W - LOW_W) * VW, (X_COLUMNS - EXTENT_W + LOW_W) * VW);
    }
}

#ifdef FILTER_GRADIENT_SUM
#define TAP_ROWS ((SIZE_H + NV - 1) / NV)
#define DECLARE_TAP(i) COLS(DECLARE_VECTOR, i)
#define TAP_VECTOR(i, j) c##i##_##j = v * RLOAD(at + ((j) * (TAP_H * X_ROW) + (i) * (TAP_W * VW))) + c##i##_##j;
#define TAP_COLUMN(i) COLS(TAP_VECTOR, i)
#define SUM_VECTOR(i, j) RSTORE(c##i##_##j + RLOAD(sums + ((j) * MR + (i)) * VW), sums + ((j) * MR + (i)) * VW);
#define SUM_TAP(i) COLS(SUM_VECTOR, i)

// sums[NV][MR][VW] += dy times x, over rows of pixels
NOINLINE void add_products(__private real *sums, const __private real *x, const __private real *dy, int rows) {
    ROWS(DECLARE_TAP)
    for (int row = 0; row < rows; ++row) {
        const __private real *at = x + row * (STEP_H * X_ROW);
        for (int q = 0; q < PIXELS_W; ++q) {
            const vreal v = RLOAD(dy);
            ROWS(TAP_COLUMN)
            dy += VW;
            at += STEP_W * VW;
        }
    }
    ROWS(SUM_TAP)
}

KERNEL WG_SIZE(1, 1, 1) conv_depthwise_cpu(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR(T, dw),
                                           const real alpha, const real beta) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND(T, dw);
    const int c0 = MIN(GRP(0) * VW, CHANNELS_IN_ALL - VW), done = GRP(0) * VW - c0;
    real image[X_PLANE + BEYOND], pixels[BAND * PIXELS_W * VW + BEYOND], sums[SIZE_D * TAP_ROWS * NV * MR * VW];
    for (int i = 0; i < SIZE_D * TAP_ROWS * NV * MR * VW; ++i) sums[i] = 0;
    for (int band = 0; band < IMAGES * PIXELS_D * BANDS; ++band) {
        const int n = band / (PIXELS_D * BANDS), o = band / BANDS % PIXELS_D, p0 = band % BANDS * BAND;
        const int rows = MIN(BAND, PIXELS_H - p0), d = o * STEP_D + START_D;
        copy_pixels(pixels, PIXELS_W, dy, n * OUT_0 + c0 * OUT_M + o * OUT_1 + p0 * OUT_2, OUT_M, OUT_2, OUT_3, rows, PIXELS_W,
                    OUT_SPAN);
        for (int t = low_tap(d, TAP_D); t < high_tap(d, TAP_D, SIZE_D, EXTENT_D); ++t) {
            fill_plane(image, x, n * IN_N + c0 * IN_C + (d + t * TAP_D) * IN_D, p0 * STEP_H + LOW_H);
            for (int r = 0; r < TAP_ROWS; ++r)
                add_products(sums + (t * TAP_ROWS + r) * (NV * MR * VW), image + r * (NV * TAP_H * X_ROW), pixels, rows);
        }
    }
    for (int i = 0; i < TAPS; ++i) {
        const int t = i / (SIZE_H * SIZE_W), r = i / SIZE_W % SIZE_H, s = i % SIZE_W;
        const int to = FILTER_INDEX(t, SIZE_D) * FILTER_D + FILTER_INDEX(r, SIZE_H) * FILTER_H + FILTER_INDEX(s, SIZE_W) * FILTER_W;
        for (int j = done; j < VW; ++j)
            BLEND(dw, (c0 + j) * FILTER_M + to, alpha, sums[((t * TAP_ROWS * NV + r) * MR + s) * VW + j], beta);
    }
}
#else
// from one tap of a phase to the next, in the filter as it is
#ifdef DATA_GRADIENT
#define TAP_STEP(X) FILTER_STEP(-(HOP_##X))
#else
#define TAP_STEP(X) FILTER_STEP(1)
#endif
#ifdef FLIP
#define FILTER_STEP(step) (-(step))
#else
#define FILTER_STEP(step) (step)
#endif
#define FIRST_TAP(phase, x, X) FILTER_INDEX(TAP_INDEX(phase, x, X, 0), SIZE_##X)
#define Y_ROW (OUT_W * VW)

#define START_PIXEL(i) vreal c##i = (vreal)((real)0);
#define ADD_PIXEL(i) c##i = v * RLOAD(at + (i) * (STEP_W * VW)) + c##i;
#define WRITE_PIXEL(i) RSTORE(c##i, y + (i) * (PHASES_W * VW));

// y[MR pixels] = sum over taps
NOINLINE void add_taps(__private real *y, const __private real *x, const __private real *tap, int planes, int rows, int columns) {
    ROWS(START_PIXEL)
    for (int t = 0; t < planes; ++t)
        for (int r = 0; r < rows; ++r) {
            const __private real *v_at = tap + (t * (TAP_STEP(D) * SIZE_H) + r * TAP_STEP(H)) * (SIZE_W * VW);
            const __private real *at = x + t * X_PLANE + r * (FORWARD_TAP(H) * X_ROW);
#if PHASES_W == 1
            UNROLL for (int s = 0; s < SIZE_W; ++s) {
#else
            for (int s = 0; s < columns; ++s) {
#endif
                const vreal v = RLOAD(v_at);
                ROWS(ADD_PIXEL)
                v_at += TAP_STEP(W) * VW;
                at += FORWARD_TAP(W) * VW;
            }
        }
    ROWS(WRITE_PIXEL)
}

// Rows of y, from element `to` of channel `done` on, where it is `done` lanes in
DEVICE void store_rows(GLOBAL T *out, const __private real *y, int to, int rows, int done, real alpha, real beta) {
#if OUT_M == 1
    for (int row = 0; row < rows; ++row)
        for (int q = 0; q < OUT_W; ++q, y += VW) {
            const int at = to + row * OUT_2 + q * OUT_3;
            if (done == 0)
                VBLEND(out, at, alpha, RLOAD(y), beta);
            else
                for (int j = done; j < VW; ++j) BLEND(out, at + j, alpha, y[j], beta);
        }
#else
    const int runs = OUT_2 == OUT_W ? 1 : rows, length = OUT_2 == OUT_W ? rows * OUT_W : OUT_W;
    for (int run = 0; run < runs; ++run)
        for (int q = 0; q < length; q += VW) {
            vreal block[VW];
            const __private real *pixel = y + (run * OUT_W + q) * VW;
            const int at = to + run * OUT_2 + q;
            if (done == 0 && q + VW <= length) {
                UNROLL for (int j = 0; j < VW; ++j) block[j] = RLOAD(pixel + j * VW);
                transpose(block);
                UNROLL for (int i = 0; i < VW; ++i) VBLEND(out, at + i * OUT_M, alpha, block[i], beta);
            } else {
                for (int i = done; i < VW; ++i)
                    for (int j = 0; j < MIN(VW, length - q); ++j) BLEND(out, at + i * OUT_M + j, alpha, pixel[j * VW + i], beta);
            }
        }
#endif
}

KERNEL WG_SIZE(1, 1, 1) conv_depthwise_cpu(TENSOR_RESTRICT(const T, w), TENSOR_RESTRICT(const T, in), TENSOR(T, out),
                                           const real alpha, const real beta) {
    BIND_RESTRICT(const T, w);
    BIND_RESTRICT(const T, in);
    BIND(T, out);
    const int block = GRP(0) % BLOCKS * VW, p0 = GRP(0) / BLOCKS % BANDS * BAND, n = GRP(0) / (BLOCKS * BANDS) % IMAGES;
    const int depth = GRP(0) / (BLOCKS * BANDS * IMAGES);  // of `out`
    const int c0 = MIN(block, CHANNELS_IN_ALL - VW);
    const int h0 = p0 * STEP_H + LOW_H, rows = MIN(BAND * PHASES_H, OUT_H - p0 * PHASES_H);
    real x[X_PLANES * X_PLANE + BEYOND], y[BAND * PHASES_H * Y_ROW + MR * PHASES_W * VW + BEYOND], taps[TAPS * VW + BEYOND];
    load_taps(taps, w, c0);
    Phase phase = phase_of(depth % PHASES_D * (PHASES_H * PHASES_W));
    const int d = depth / PHASES_D * STEP_D + FIRST(&phase, d, D);
    const int t0 = low_tap(d, FORWARD_TAP(D)), t1 = high_tap(d, FORWARD_TAP(D), phase.taps_d, EXTENT_D);
    for (int t = t0; t < t1; ++t)
        fill_plane(x + (t - t0) * X_PLANE, in, n * IN_N + c0 * IN_C + (d + t * FORWARD_TAP(D)) * IN_D, h0);
    for (int row = 0; row < rows; ++row)
        for (int phase_w = 0; phase_w < PHASES_W; ++phase_w) {
            phase = phase_of((depth % PHASES_D * PHASES_H + row % PHASES_H) * PHASES_W + phase_w);
            const int h = (p0 + row / PHASES_H) * STEP_H + FIRST(&phase, h, H);
            const int r0 = low_tap(h, FORWARD_TAP(H)), r1 = high_tap(h, FORWARD_TAP(H), phase.taps_h, EXTENT_H);
            const __private real *from = x + (h + r0 * FORWARD_TAP(H) - h0) * X_ROW + (FIRST(&phase, w, W) - LOW_W) * VW;
            const int tap = ((FIRST_TAP(&phase, d, D) + t0 * TAP_STEP(D)) * SIZE_H + FIRST_TAP(&phase, h, H) + r0 * TAP_STEP(H)) *
                                SIZE_W + FIRST_TAP(&phase, w, W);
            for (int q = 0; q * PHASES_W + phase_w < OUT_W; q += MR)
                add_taps(y + row * Y_ROW + (q * PHASES_W + phase_w) * VW, from + q * (STEP_W * VW), taps + tap * VW, t1 - t0,
                         r1 - r0, phase.taps_w);
        }
    const int to = n * OUT_0 + c0 * OUT_M + depth * OUT_1 + p0 * (PHASES_H * OUT_2);
    store_rows(out, y, to, rows, block - c0, alpha, beta);
}
#endif
