// Where a convolution reads its image: pixels of the output, taps of the filter, and their sum, an input element.
//
//   input coordinate = pixel * STEP + START + tap * TAP            in each of the dimensions d, h, w
//
// Forward and filter gradient: STEP = stride, START = -padding, TAP = dilation; the pixels are those of y.
// Data gradient (the input is dy, the pixels are those of dx): p * stride = h + padding - r * dilation has an integer
// solution for some taps r only. The pixels with equal h % stride, a phase, share these taps: r = first, first + hop, ...
// with hop = stride / gcd(stride, dilation). Within a phase (h = phase + stride * hh) the gradient is a convolution
// with STEP = 1, START = (phase + padding - first * dilation) / stride and TAP = -dilation / gcd. All phases have the
// same pixel grid (h / stride, rounded up); what lies outside of dx is not stored.
//
// Offsets are kept modulo 2^32: sums with a negative START come out right, and 2^31 elements fit.

typedef struct {
    u32 offset;   // of the input element that tap 0 of channel 0 meets
    int d, h, w;  // its coordinates
} Pixel;

// taps of the work-group's phase, and where they start
typedef struct {
    int d, h, w;                    // phase
    int first_d, first_h, first_w;  // first tap
    int taps_d, taps_h, taps_w;     // number of taps
    int start_d, start_h, start_w;
} Phase;

#define FAR_OUT (-(1 << 30))  // a coordinate that is outside with any tap

#ifdef DATA_GRADIENT
DEVICE int first_tap(int phase, int padding, int dilation, int stride, int hop, int size) {
    for (int r = 0; r < hop; ++r) {
        if ((phase + padding - r * dilation) % stride == 0) return r < size ? r : size;
    }
    return size;
}
#define PHASE_TAPS(x, X)                                                                                   \
    p.first_##x = first_tap(p.x, PADDING_##X, DILATION_##X, PHASES_##X, HOP_##X, SIZE_##X);                \
    p.taps_##x = (SIZE_##X - p.first_##x + HOP_##X - 1) / HOP_##X;                                         \
    p.start_##x = (p.x + PADDING_##X - p.first_##x * DILATION_##X) / PHASES_##X;

DEVICE Phase phase_of(int index) {
    Phase p;
    p.w = index % PHASES_W;
    p.h = index / PHASES_W % PHASES_H;
    p.d = index / PHASES_W / PHASES_H;
    PHASE_TAPS(d, D)
    PHASE_TAPS(h, H)
    PHASE_TAPS(w, W)
    return p;
}
#else
DEVICE Phase phase_of(int index) {
    Phase p;
    p.d = p.h = p.w = p.first_d = p.first_h = p.first_w = 0;
    p.taps_d = SIZE_D;
    p.taps_h = SIZE_H;
    p.taps_w = SIZE_W;
    p.start_d = START_D;
    p.start_h = START_H;
    p.start_w = START_W;
    return p;
}
#endif

// the pixel number `index` of (n, PIXELS_D, PIXELS_H, PIXELS_W)
DEVICE Pixel pixel_of(u32 index, const Phase *phase) {
    Pixel p;
    const u32 row = index / PIXELS_W;
    const u32 plane = row / PIXELS_H;
    const u32 n = plane / PIXELS_D;
    p.w = (int)(index % PIXELS_W) * STEP_W + phase->start_w;
    p.h = (int)(row % PIXELS_H) * STEP_H + phase->start_h;
    p.d = (int)(plane % PIXELS_D) * STEP_D + phase->start_d;
    p.offset = n * IN_N + (u32)p.d * IN_D + (u32)p.h * IN_H + (u32)p.w * IN_W;
    return p;
}

// CHECK_x is 0 where no pixel can leave the input in that dimension
DEVICE int inside(const Pixel *p, int d, int h, int w) {
    int in = 1;
#if CHECK_D
    in = in && (u32)(p->d + d) < (u32)EXTENT_D;
#endif
#if CHECK_H
    in = in && (u32)(p->h + h) < (u32)EXTENT_H;
#endif
#if CHECK_W
    in = in && (u32)(p->w + w) < (u32)EXTENT_W;
#endif
    return in;
}

// what a tap adds to the offset
#define TAP_OFFSET(d, h, w) ((u32)(d)*IN_D + (u32)(h)*IN_H + (u32)(w)*IN_W)

#ifdef FLIP
#define FILTER_INDEX(r, size) ((size)-1 - (r))
#else
#define FILTER_INDEX(r, size) (r)
#endif
