// Depthwise convolution of channels-last tensors on a CPU, forward and data gradient: the image is read where it lies.
//
// A work-group of one takes BAND rows of y and CHUNK vectors of channels, whose taps it copies to the stack. A register tile is MR
// pixels of a row and one vector of channels:
//
//     low                      one row of taps after the other, of those that meet the image: each number of it that lies inside
//      |                       is a load by a constant from the tile's first column. Which do, the compiler knows: of all tiles
//   0  | x  x  x  x  x  x ..   of a row only the first one reaches over the left border, only the last one over the right one.
//      | c0 c1 c2 c3 ..        The host has chosen MR so.
//
// Defines: those of conv/geometry.h and conv/depthwise_taps.h; MR, VW and the storage type, which is that of sums; IMAGES, BAND,
// BANDS; CHANNELS_IN_ALL, BLOCKS (vectors of channels), CHUNK, CHUNKS.

#define SCRATCH_SPACE __private
#include "conv/cpu.h"
#include "conv/geometry.h"
#include "conv/depthwise_taps.h"

#define REST (CHANNELS_IN_ALL % VW)  // channels of the last vector, which begins VW before the end
#define TILES ((OUT_W + MR - 1) / MR)
#define LAST_Q ((TILES - 1) * MR)
#define FAR (1 << 28)

// Whether a tap meets anything for a pixel, and the place that it does; of pixels that many rows of phases later the same
#ifdef DATA_GRADIENT
#define MEETS(X, pixel, tap) (((pixel) + PADDING_##X - (tap) * DILATION_##X) % PHASES_##X == 0)
#define PLACE(X, pixel, tap) (((pixel) + PADDING_##X - (tap) * DILATION_##X) / PHASES_##X)
#define COLUMNS_BEFORE(q) ((q) / PHASES_W)
#else
#define MEETS(X, pixel, tap) 1
#define PLACE(X, pixel, tap) ((pixel) * STEP_##X + START_##X + (tap) * TAP_##X)
#define COLUMNS_BEFORE(q) ((q) * STEP_W)
#endif

// Rows of taps that meet the image for a row of y: where the row of the image begins, and the first of the taps
typedef struct {
    int count, from[SIZE_D * SIZE_H], tap[SIZE_D * SIZE_H];
} rows_t;

DEVICE void find_rows(rows_t *rows, int depth, int height) {
    rows->count = 0;
    for (int t = 0; t < SIZE_D; ++t) {
        const int d = PLACE(D, depth, t);
        if (!MEETS(D, depth, t) || d < 0 || d >= EXTENT_D) continue;
        for (int r = 0; r < SIZE_H; ++r) {
            const int h = PLACE(H, height, r);
            if (!MEETS(H, height, r) || h < 0 || h >= EXTENT_H) continue;
            rows->from[rows->count] = d * IN_D + h * IN_H;
            rows->tap[rows->count++] = (FILTER_INDEX(t, SIZE_D) * SIZE_H + FILTER_INDEX(r, SIZE_H)) * (SIZE_W * VW);
        }
    }
}

// The last REST lanes
DEVICE void store_rest(GLOBAL T *to, const vreal v, const real alpha, const real beta) {
#if 2 * REST == VW && VW > 2
    typedef real upper_t __attribute__((ext_vector_type(VW / 2), aligned(sizeof(real))));
    GLOBAL upper_t *at = (GLOBAL upper_t *)(to + REST);
    *at = beta == 0 ? v.hi * alpha : v.hi * alpha + *at * beta;
#else
    vreal lanes = v;
    for (int j = VW - REST; j < VW; ++j) BLEND(to, j, alpha, LANE(lanes, j), beta);
#endif
}

#define START_PIXEL(i) vreal c##i = (vreal)((real)0);
#define ADD_PIXEL(i)                                                                                                 \
    if (i < pixels && MEETS(W, i, s) && PLACE(W, i, s) >= low && PLACE(W, i, s) < high)                              \
        c##i = v * VLOAD(at, PLACE(W, i, s) * IN_W) + c##i;
#define STORE_PIXEL(i)                                                                                               \
    if (i < pixels) {                                                                                                \
        if (rest) store_rest(to + i * OUT_3, c##i, alpha, beta);                                                     \
        else VBLEND(to, i * OUT_3, alpha, c##i, beta);                                                               \
    }

// y[pixels] = sum over taps; columns from low to high are inside
DEVICE void sum_taps(GLOBAL T *to, const GLOBAL T *x, const __private real *taps, const rows_t *rows, const int low, const int high,
                     const int pixels, int rest, real alpha, real beta) {
    ROWS(START_PIXEL)
    for (int row = 0; row < rows->count; ++row) {
        const GLOBAL T *at = x + rows->from[row];
        const __private real *tap = taps + rows->tap[row];
        UNROLL for (int s = 0; s < SIZE_W; ++s) {
            const vreal v = RLOAD(tap + FILTER_INDEX(s, SIZE_W) * VW);
            ROWS(ADD_PIXEL)
        }
    }
    ROWS(STORE_PIXEL)
}

#define TILE_PARAMS GLOBAL T *to, const GLOBAL T *x, const __private real *taps, const rows_t *rows, int rest, real alpha, real beta
#define LAST_HIGH (EXTENT_W - COLUMNS_BEFORE(LAST_Q))
NOINLINE void sum_first(TILE_PARAMS) {
    sum_taps(to, x, taps, rows, 0, TILES == 1 ? LAST_HIGH : FAR, MIN(MR, OUT_W), rest, alpha, beta);
}
#if TILES > 1
NOINLINE void sum_last(TILE_PARAMS) {
    sum_taps(to, x, taps, rows, -FAR, LAST_HIGH, OUT_W - LAST_Q, rest, alpha, beta);
}
#endif
#if TILES > 2
NOINLINE void sum_inner(TILE_PARAMS) { sum_taps(to, x, taps, rows, -FAR, FAR, MR, rest, alpha, beta); }
#endif

KERNEL WG_SIZE(1, 1, 1) conv_depthwise_in_place(TENSOR_RESTRICT(const T, w), TENSOR_RESTRICT(const T, in), TENSOR(T, out),
                                                const real alpha, const real beta) {
    BIND_RESTRICT(const T, w);
    BIND_RESTRICT(const T, in);
    BIND(T, out);
    const int block0 = GRP(0) % CHUNKS * CHUNK, blocks = MIN(CHUNK, BLOCKS - block0);
    const int p0 = GRP(0) / CHUNKS % BANDS * BAND, n = GRP(0) / (CHUNKS * BANDS) % IMAGES;
    const int depth = GRP(0) / (CHUNKS * BANDS * IMAGES);  // of `out`
    real taps[CHUNK * TAPS * VW + BEYOND];
    for (int b = 0; b < blocks; ++b) load_taps(taps + b * (TAPS * VW), w, MIN((block0 + b) * VW, CHANNELS_IN_ALL - VW));
    for (int p = p0; p < MIN(p0 + BAND, OUT_H); ++p) {
        rows_t rows;
        find_rows(&rows, depth, p);
        for (int q = 0; q < OUT_W; q += MR)
            for (int b = 0; b < blocks; ++b) {
                const int first = (block0 + b) * VW, c0 = MIN(first, CHANNELS_IN_ALL - VW);
                const GLOBAL T *x = in + (n * (i64)IN_N + c0 + COLUMNS_BEFORE(q) * (i64)IN_W);
                GLOBAL T *to = out + (n * (i64)OUT_0 + c0 + depth * (i64)OUT_1 + p * (i64)OUT_2 + q * (i64)OUT_3);
                const __private real *own = taps + b * (TAPS * VW);
                if (q == 0) sum_first(to, x, own, &rows, first - c0, alpha, beta);
#if TILES > 2
                else if (q < LAST_Q) sum_inner(to, x, own, &rows, first - c0, alpha, beta);
#endif
#if TILES > 1
                else sum_last(to, x, own, &rows, first - c0, alpha, beta);
#endif
            }
    }
}
