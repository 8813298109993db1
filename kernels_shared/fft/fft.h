// The Fourier transform of one L x L tile of real numbers, in scratch memory.
//
//   real tile           half of the rows            transposed, then the
//                       transformed (down)          other way (down again)
//        L                  HALF   HALF                 HALF   HALF
//   +---------+          +------+------+             +------+------+
//   | re | im |  fft     |  re  |  im  |   split     |  re  |  im  |        A row is PITCH numbers, L of them in use: HALF
//   |    |    | ------>  L rows |      |  ------->   L rows |      | fft    real parts, then HALF imaginary ones.
//   |    |    |          |      |      |             |      |      | --->
//   +---------+          +------+------+             +------+------+
//
// Columns m and m + HALF of the tile count as one complex column, which is why nothing has to be moved before the first
// transform. `split` takes the two spectra apart (Hermitian symmetry) and transposes, so that both transforms run down
// the rows and their vectors (or neighbouring work-items) lie along them. Of L frequencies 0 .. L/2 are kept; those of 0
// and L/2 are real after the first transform and share column 0 as one complex number. `join` is the inverse of `split`;
// an inverse transform is the same one with real and imaginary parts exchanged, and without a factor.
//
// The transform is Stockham's, in passes of radix 8 and 4, each from one buffer to another, so no bits are reversed.
//   [C. Van Loan, "Computational Frameworks for the Fast Fourier Transform", SIAM 1992, section 1.7]
// With FEW (for filters) rows and columns of a tile from L / RADIX on are zero: the first pass then only copies.
//
// Defines: FEW or nothing, L (8, 16, ... 256), PITCH (numbers from row to row), VW (divides HALF), ITEMS (work-items of a tile), WAVES
// (cos(2 pi t / L) for t < 5 L / 4), and SCRATCH_LOCAL or SCRATCH_GLOBAL (otherwise scratch is private).

#include "common/lanes.h"

#define HALF (L / 2)
#define COLUMNS (HALF / VW)

#if defined(SCRATCH_LOCAL)
#define SPACE LOCAL_ARG
#elif defined(SCRATCH_GLOBAL)
#define SPACE GLOBAL
#else
#define SPACE
#endif

#if ITEMS == 1
#define SYNC()
#elif defined(SCRATCH_GLOBAL) && defined(PD_OPENCL)
#define SYNC() barrier(CLK_GLOBAL_MEM_FENCE)
#else
#define SYNC() BARRIER()
#endif

#if L == 16 || L == 32
#define RADIX 4  // of the first pass; conv_fft.py knows it, too
#else
#define RADIX 8
#endif

#define VAT(p) (*(SPACE vreal *)(p))

CONSTANT real WAVE[] = {WAVES};

// exp(-2 pi i t / L)
#define WAVE_RE(t) WAVE[t]
#define WAVE_IM(t) WAVE[(t) + L / 4]

#define COMPLEX_GET(q, radix)                                                                              \
    re[q] = VAT(f + (q) * (L / radix) * PITCH + re_at);                                                    \
    im[q] = VAT(f + (q) * (L / radix) * PITCH + im_at);
#define COMPLEX_PUT(q, v)                                                                                  \
    VAT(t + (q) * ns * PITCH + re_at) = re[v];                                                             \
    VAT(t + (q) * ns * PITCH + im_at) = im[v];
#define COMPLEX_TURN(q, radix)                                                                             \
    {                                                                                                      \
        const real c = WAVE_RE((q) * k * (L / radix / ns)), s = WAVE_IM((q) * k * (L / radix / ns));       \
        const vreal turned = re[q] * c - im[q] * s;                                                        \
        im[q] = re[q] * s + im[q] * c;                                                                     \
        re[q] = turned;                                                                                    \
    }

// x[a], x[b] = x[a] + x[b], x[a] - x[b]
#define COMPLEX_CROSS(a, b)                                                                                \
    {                                                                                                      \
        const vreal u = re[a] - re[b], v = im[a] - im[b];                                                  \
        re[a] = re[a] + re[b];                                                                             \
        im[a] = im[a] + im[b];                                                                             \
        re[b] = u;                                                                                         \
        im[b] = v;                                                                                         \
    }

// x[a], x[b] = x[a] - i x[b], x[a] + i x[b]
#define COMPLEX_CROSS_I(a, b)                                                                              \
    {                                                                                                      \
        const vreal u = re[a] - im[b], v = im[a] + re[b];                                                  \
        re[a] = re[a] + im[b];                                                                             \
        im[a] = im[a] - re[b];                                                                             \
        re[b] = u;                                                                                         \
        im[b] = v;                                                                                         \
    }

// One pass: butterflies of `radix` rows L / radix apart, whose transforms of length ns are done, to rows ns apart.
DEVICE void pass4(SPACE real *to, SPACE real *from, const int ns, const int re_at, const int im_at, const int item) {
    for (int unit = item; unit < L / 4 * COLUMNS; unit += ITEMS) {
        const int j = unit / COLUMNS, column = unit % COLUMNS * VW, k = j % ns;
        SPACE real *f = from + j * PITCH + column;
        SPACE real *t = to + ((j - k) * 4 + k) * PITCH + column;
        vreal re[4], im[4];
        COMPLEX_GET(0, 4) COMPLEX_GET(1, 4) COMPLEX_GET(2, 4) COMPLEX_GET(3, 4)
        if (ns > 1) {
            COMPLEX_TURN(1, 4) COMPLEX_TURN(2, 4) COMPLEX_TURN(3, 4)
        }
        COMPLEX_CROSS(0, 2) COMPLEX_CROSS(1, 3)
        COMPLEX_CROSS(0, 1) COMPLEX_CROSS_I(2, 3)
        COMPLEX_PUT(0, 0) COMPLEX_PUT(1, 2) COMPLEX_PUT(2, 1) COMPLEX_PUT(3, 3)
    }
    SYNC();
}

DEVICE void pass8(SPACE real *to, SPACE real *from, const int ns, const int re_at, const int im_at, const int item) {
    const real root = (real)0.70710678118654752440;
    for (int unit = item; unit < L / 8 * COLUMNS; unit += ITEMS) {
        const int j = unit / COLUMNS, column = unit % COLUMNS * VW, k = j % ns;
        SPACE real *f = from + j * PITCH + column;
        SPACE real *t = to + ((j - k) * 8 + k) * PITCH + column;
        vreal re[8], im[8];
        COMPLEX_GET(0, 8) COMPLEX_GET(1, 8) COMPLEX_GET(2, 8) COMPLEX_GET(3, 8)
        COMPLEX_GET(4, 8) COMPLEX_GET(5, 8) COMPLEX_GET(6, 8) COMPLEX_GET(7, 8)
        if (ns > 1) {
            COMPLEX_TURN(1, 8) COMPLEX_TURN(2, 8) COMPLEX_TURN(3, 8) COMPLEX_TURN(4, 8)
            COMPLEX_TURN(5, 8) COMPLEX_TURN(6, 8) COMPLEX_TURN(7, 8)
        }
        COMPLEX_CROSS(0, 4) COMPLEX_CROSS(1, 5) COMPLEX_CROSS(2, 6) COMPLEX_CROSS(3, 7)
        {  // x[5] *= (1 - i) / sqrt 2,  x[6] *= -i (as part of the cross),  x[7] *= (-1 - i) / sqrt 2
            const vreal u = re[5] + im[5], v = im[5] - re[5];
            re[5] = u * root;
            im[5] = v * root;
            const vreal x = im[7] - re[7], y = re[7] + im[7];
            re[7] = x * root;
            im[7] = y * -root;
        }
        COMPLEX_CROSS(0, 2) COMPLEX_CROSS(1, 3)
        COMPLEX_CROSS_I(4, 6) COMPLEX_CROSS(5, 7)
        COMPLEX_CROSS(0, 1) COMPLEX_CROSS_I(2, 3)
        COMPLEX_CROSS(4, 5) COMPLEX_CROSS_I(6, 7)
        COMPLEX_PUT(0, 0) COMPLEX_PUT(1, 4) COMPLEX_PUT(2, 2) COMPLEX_PUT(3, 6)
        COMPLEX_PUT(4, 1) COMPLEX_PUT(5, 5) COMPLEX_PUT(6, 3) COMPLEX_PUT(7, 7)
    }
    SYNC();
}

// The first pass where only the first row of each butterfly is not zero
DEVICE void pass_few(SPACE real *to, SPACE real *from, const int re_at, const int im_at, const int item) {
    for (int unit = item; unit < L / RADIX * COLUMNS; unit += ITEMS) {
        const int j = unit / COLUMNS, column = unit % COLUMNS * VW;
        SPACE real *f = from + j * PITCH + column;
        SPACE real *t = to + j * RADIX * PITCH + column;
        const vreal re = VAT(f + re_at), im = VAT(f + im_at);
        UNROLL for (int q = 0; q < RADIX; ++q) {
            VAT(t + q * PITCH + re_at) = re;
            VAT(t + q * PITCH + im_at) = im;
        }
    }
    SYNC();
}

// Transform every column of a, using b. The result is in AFTER(a, b): in b after an odd number of passes.
#if L == 8 || L >= 128
#define AFTER(a, b) (b)
#define BEFORE(a, b) (a)
#else
#define AFTER(a, b) (a)
#define BEFORE(a, b) (b)
#endif

DEVICE void fft(SPACE real *a, SPACE real *b, const int re_at, const int im_at, const int item) {
#ifdef FEW
    pass_few(b, a, re_at, im_at, item);
#elif RADIX == 4
    pass4(b, a, 1, re_at, im_at, item);
#else
    pass8(b, a, 1, re_at, im_at, item);
#endif
#if L == 16
    pass4(a, b, 4, re_at, im_at, item);
#elif L == 32
    pass8(a, b, 4, re_at, im_at, item);
#elif L == 64
    pass8(a, b, 8, re_at, im_at, item);
#elif L == 128
    pass4(a, b, 8, re_at, im_at, item);
    pass4(b, a, 32, re_at, im_at, item);
#elif L == 256
    pass8(a, b, 8, re_at, im_at, item);
    pass4(b, a, 64, re_at, im_at, item);
#endif
}

// From the transforms z of columns m + i (m + HALF) to rows m and m + HALF of their spectra, VW x VW at a time
#ifdef FEW
#define SPLIT_COLUMNS ((L / RADIX + VW - 1) / VW)  // of columns that are not zero; the other halves are
#else
#define SPLIT_COLUMNS COLUMNS
#endif

DEVICE void split(SPACE real *to, SPACE real *from, const int item) {
    for (int unit = item; unit < COLUMNS * SPLIT_COLUMNS; unit += ITEMS) {
        const int m = unit % SPLIT_COLUMNS * VW, f = unit / SPLIT_COLUMNS * VW;
        vreal a_re[VW], a_im[VW], b_re[VW], b_im[VW];
        UNROLL for (int i = 0; i < VW; ++i) {
            SPACE real *z = from + (f + i) * PITCH + m;
            SPACE real *y = from + (f + i == 0 ? HALF : L - f - i) * PITCH + m;
            const vreal z_re = VAT(z), z_im = VAT(z + HALF), y_re = VAT(y), y_im = VAT(y + HALF);
            if (f + i == 0) {
                a_re[i] = z_re;
                a_im[i] = y_re;
                b_re[i] = z_im;
                b_im[i] = y_im;
            } else {
                a_re[i] = (z_re + y_re) * (real)0.5;
                a_im[i] = (z_im - y_im) * (real)0.5;
                b_re[i] = (z_im + y_im) * (real)0.5;
                b_im[i] = (y_re - z_re) * (real)0.5;
            }
        }
        transpose(a_re);
        transpose(a_im);
        UNROLL for (int i = 0; i < VW; ++i) {
            SPACE real *a = to + (m + i) * PITCH + f;
            VAT(a) = a_re[i];
            VAT(a + HALF) = a_im[i];
        }
#ifndef FEW
        transpose(b_re);
        transpose(b_im);
        UNROLL for (int i = 0; i < VW; ++i) {
            SPACE real *b = to + (m + HALF + i) * PITCH + f;
            VAT(b) = b_re[i];
            VAT(b + HALF) = b_im[i];
        }
#endif
    }
    SYNC();
}

DEVICE void join(SPACE real *to, SPACE real *from, const int item) {
    for (int unit = item; unit < COLUMNS * COLUMNS; unit += ITEMS) {
        const int f = unit % COLUMNS * VW, m = unit / COLUMNS * VW;
        vreal a_re[VW], a_im[VW], b_re[VW], b_im[VW];
        UNROLL for (int i = 0; i < VW; ++i) {
            SPACE real *a = from + (m + i) * PITCH + f;
            a_re[i] = VAT(a);
            a_im[i] = VAT(a + HALF);
            b_re[i] = VAT(a + HALF * PITCH);
            b_im[i] = VAT(a + HALF * PITCH + HALF);
        }
        transpose(a_re);
        transpose(a_im);
        transpose(b_re);
        transpose(b_im);
        UNROLL for (int i = 0; i < VW; ++i) {
            SPACE real *z = to + (f + i) * PITCH + m;
            SPACE real *y = to + (f + i == 0 ? HALF : L - f - i) * PITCH + m;
            if (f + i == 0) {
                VAT(z) = a_re[i];
                VAT(z + HALF) = b_re[i];
                VAT(y) = a_im[i];
                VAT(y + HALF) = b_im[i];
            } else {
                VAT(z) = a_re[i] - b_im[i];
                VAT(z + HALF) = a_im[i] + b_re[i];
                VAT(y) = a_re[i] + b_im[i];
                VAT(y + HALF) = b_re[i] - a_im[i];
            }
        }
    }
    SYNC();
}
