// The transforms of Winograd's F(4x4, 3x3), not fused: planes lie in the workspace, winograd/multiply.cl is between.
//
//   y = A' [(G w G') o (B' d B)] A            dw = G' [(A dy A') o (B' d B)] G
//
//        | 4  0 -5  0  1  0 |        | 1/4    0    0  |        | 1  0  0  0 |
//        | 0 -4 -4  1  1  0 |        |-1/6  -1/6 -1/6 |        | 1  1  1  1 |
//   B' = | 0  4 -4 -1  1  0 |    G = |-1/6   1/6 -1/6 |    A = | 1 -1  1 -1 |      A. Lavin and S. Gray, CVPR 2016
//        | 0 -2 -1  2  1  0 |        |1/24  1/12  1/6 |        | 1  2  4  8 |
//        | 0  2 -1 -2  1  0 |        |1/24 -1/12  1/6 |        | 1 -2  4 -8 |
//        | 0  4  0 -5  0  1 |        |  0     0    1  |        | 0  0  0  1 |
//
// One work-item a tile (or filter) of one channel; neighbours are neighbouring tiles (or filters), which is the order of
// the planes' memory: plane p of line c is to[((group * 36 + p) * lines + c) * count + tile]. Lines and counts are
// padded to whole tiles of the product and filled with zeros. QUADS: rows of four neighbours are aligned vectors.

#include "common/types.h"

#define PLANES 36
#define FLAT ((u32)GRP(0) * 256 + LID(0))

DEVICE void input_6(const real *d, int step, real *t) {
    const real e = d[4 * step] - 4 * d[2 * step], f = d[3 * step] - 4 * d[step];
    const real g = d[4 * step] - d[2 * step], h = 2 * (d[3 * step] - d[step]);
    t[0] = 4 * d[0] - 5 * d[2 * step] + d[4 * step];
    t[1] = e + f;
    t[2] = e - f;
    t[3] = g + h;
    t[4] = g - h;
    t[5] = 4 * d[step] - 5 * d[3 * step] + d[5 * step];
}
DEVICE void filter_6(const real *g, int step, real *t) {
    const real sixth = (real)1 / 6, twelfth = (real)1 / 12, part = (real)1 / 24;
    const real e = g[0] + g[2 * step], f = part * g[0] + sixth * g[2 * step], h = twelfth * g[step];
    t[0] = (real)0.25 * g[0];
    t[1] = -sixth * (e + g[step]);
    t[2] = -sixth * (e - g[step]);
    t[3] = f + h;
    t[4] = f - h;
    t[5] = g[2 * step];
}
DEVICE void output_4(const real *m, int step, real *t) {
    const real e = m[step] + m[2 * step], f = m[step] - m[2 * step];
    const real g = m[3 * step] + m[4 * step], h = m[3 * step] - m[4 * step];
    t[0] = m[0] + e + g;
    t[1] = f + 2 * h;
    t[2] = e + 4 * g;
    t[3] = f + 8 * h + m[5 * step];
}
DEVICE void gradient_6(const real *y, int step, real *t) {
    const real e = y[0] + y[2 * step], f = y[step] + y[3 * step];
    const real g = y[0] + 4 * y[2 * step], h = 2 * y[step] + 8 * y[3 * step];
    t[0] = y[0];
    t[1] = e + f;
    t[2] = e - f;
    t[3] = g + h;
    t[4] = g - h;
    t[5] = y[3 * step];
}
DEVICE void gradient_3(const real *m, int step, real *t) {
    const real sixth = (real)1 / 6, twelfth = (real)1 / 12, part = (real)1 / 24, quarter = (real)0.25;
    const real e = m[step] + m[2 * step], f = m[2 * step] - m[step];
    const real g = m[3 * step] + m[4 * step], h = m[3 * step] - m[4 * step];
    t[0] = quarter * m[0] - sixth * e + part * g;
    t[1] = sixth * f + twelfth * h;
    t[2] = sixth * (g - e) + m[5 * step];
}
// both dimensions: columns of the `size` x `size` input by FIRST, then the rows of what came out
#define BOTH(transform, from, size, to, sized)                                                             \
    {                                                                                                      \
        real turned[sized * size];                                                                         \
        UNROLL for (int column = 0; column < size; ++column) {                                             \
            real t[6];                                                                                     \
            transform(from + column, size, t);                                                             \
            UNROLL for (int i = 0; i < sized; ++i) turned[i * size + column] = t[i];                       \
        }                                                                                                  \
        UNROLL for (int i = 0; i < sized; ++i) transform(turned + i * size, 1, to + i * sized);            \
    }
// the first tile of a launch's `count` is number `begin`
#define TILE_OF(id)                                                                                        \
    const int tile = begin + (int)((id) % count);                                                          \
    const int line = (int)((id) / count % lines);                                                          \
    const int group = (int)((id) / count / lines);                                                         \
    const int tw = tile % tiles_w, th = tile / tiles_w % tiles_h, n = tile / tiles_w / tiles_h;            \
    const int real_tile = tile < tiles && line < channels;

// B' d B of the image, or A dy A' of the gradient (SIDE 6 or 4: rows and columns of the input)
#define TRANSFORM_TILES(name, SIDE, transform)                                                             \
    KERNEL WG_SIZE(256, 1, 1)                                                                              \
    name(TENSOR_RESTRICT(const T, image), TENSOR_RESTRICT(real, out), const int groups, const int lines,   \
         const int count, const int begin, const int tiles, const int tiles_h, const int tiles_w,          \
         const int channels, const int stride_n, const int stride_c, const int stride_h, const int stride_w, \
         const int extent_h, const int extent_w, const int start_h, const int start_w) {                   \
        BIND_RESTRICT(const T, image);                                                                     \
        BIND_RESTRICT(real, out);                                                                          \
        if (FLAT >= (u32)groups * lines * count) return;                                                   \
        TILE_OF(FLAT)                                                                                      \
        const int h = th * 4 + start_h, w = tw * 4 + start_w;                                              \
        const GLOBAL T *from = image + (i64)n * stride_n + (i64)(group * channels + line) * stride_c +     \
                               (i64)h * stride_h + (i64)w * stride_w;                                      \
        real d[SIDE * SIDE];                                                                               \
        real v[36];                                                                                        \
        UNROLL for (int r = 0; r < SIDE; ++r) {                                                            \
            const int in = real_tile && (u32)(h + r) < (u32)extent_h;                                      \
            UNROLL for (int s = 0; s < SIDE; ++s) {                                                        \
                real pixel = 0;                                                                            \
                if (in && (u32)(w + s) < (u32)extent_w) {                                                  \
                    pixel = LOAD(from, (i64)r * stride_h + (i64)s * stride_w);                             \
                }                                                                                          \
                d[r * SIDE + s] = pixel;                                                                   \
            }                                                                                              \
        }                                                                                                  \
        BOTH(transform, d, SIDE, v, 6)                                                                     \
        const i64 plane = (i64)lines * count;                                                              \
        GLOBAL real *to = out + group * PLANES * plane + FLAT % ((u32)lines * count);                      \
        UNROLL for (int p = 0; p < PLANES; ++p) to[p * plane] = v[p];                                      \
    }
TRANSFORM_TILES(winograd_image, 6, input_6)
TRANSFORM_TILES(winograd_gradient_tiles, 4, gradient_6)

// G w G'; lines are channels, neighbours are filters. Strides are signed: taps may run backwards.
KERNEL WG_SIZE(256, 1, 1)
winograd_filter(TENSOR_RESTRICT(const T, w), TENSOR_RESTRICT(real, out), const int groups, const int lines,
                const int count, const int filters, const int channels, const int group_stride,
                const int filter_stride, const int channel_stride, const int row_stride, const int column_stride,
                const int first) {
    GRID_WAIT();
    BIND_RESTRICT(const T, w);
    BIND_RESTRICT(real, out);
    if (FLAT >= (u32)groups * lines * count) return;
    const int k = (int)(FLAT % count);
    const int c = (int)(FLAT / count % lines);
    const int group = (int)(FLAT / count / lines);
    real g[9];
    real v[36];
    const GLOBAL T *from = w + first + (i64)group * group_stride + (i64)k * filter_stride + (i64)c * channel_stride;
    UNROLL for (int i = 0; i < 9; ++i) {
        real tap = 0;
        if (k < filters && c < channels) tap = LOAD(from, i / 3 * row_stride + i % 3 * column_stride);
        g[i] = tap;
    }
    BOTH(filter_6, g, 3, v, 6)
    const i64 plane = (i64)lines * count;
    GLOBAL real *to = out + group * PLANES * plane + (i64)c * count + k;
    UNROLL for (int p = 0; p < PLANES; ++p) to[p * plane] = v[p];
}

// y = alpha * A' (sum of the splits' m) A + beta * y; lines are filters, neighbours are tiles
KERNEL WG_SIZE(256, 1, 1)
winograd_output(TENSOR_RESTRICT(const real, planes), TENSOR(T, out), const real alpha, const real beta,
                const int splits, const int groups, const int lines, const int count, const int begin, const int tiles,
                const int tiles_h, const int tiles_w, const int channels, const int stride_n, const int stride_c,
                const int stride_h, const int stride_w, const int size_h, const int size_w) {
    GRID_WAIT();
    BIND_RESTRICT(const real, planes);
    BIND(T, out);
    if (FLAT >= (u32)groups * lines * count) return;
    TILE_OF(FLAT)
    if (!real_tile) return;
    const i64 plane = (i64)lines * count;
    const GLOBAL real *from = planes + group * PLANES * plane + (i64)line * count + (tile - begin);
    real m[36];
    real y[16];
    UNROLL for (int p = 0; p < PLANES; ++p) m[p] = from[p * plane];
    for (int split = 1; split < splits; ++split) {
        UNROLL for (int p = 0; p < PLANES; ++p) m[p] += from[(split * (i64)groups * PLANES + p) * plane];
    }
    BOTH(output_4, m, 6, y, 4)
    const int h = th * 4, w = tw * 4;
    GLOBAL T *to = out + (i64)n * stride_n + (i64)(group * channels + line) * stride_c + (i64)h * stride_h +
                   (i64)w * stride_w;
    UNROLL for (int r = 0; r < 4; ++r) {
        if (h + r >= size_h) continue;
#ifdef QUADS
        vreal v;
        UNROLL for (int s = 0; s < 4; ++s) LANE(v, s) = y[r * 4 + s];
        VBLEND(to, (i64)r * stride_h, alpha, v, beta);
#else
        UNROLL for (int s = 0; s < 4; ++s) {
            if (w + s < size_w) BLEND(to, (i64)r * stride_h + (i64)s * stride_w, alpha, y[r * 4 + s], beta);
        }
#endif
    }
}

// dw = alpha * G' (sum of the splits' m) G + beta * dw. A work-group takes 32 filters of 8 channels, and writes their
// elements in dw's order.
KERNEL WG_SIZE(256, 1, 1)
winograd_filter_gradient(TENSOR_RESTRICT(const real, planes), TENSOR(T, dw), const real alpha, const real beta,
                         const int splits, const int groups, const int lines, const int count, const int filters,
                         const int channels, const int group_stride, const int filter_stride,
                         const int channel_stride, const int row_stride, const int column_stride, const int first) {
    GRID_WAIT();
    BIND_RESTRICT(const real, planes);
    BIND(T, dw);
    LOCAL real elements[32 * 73];
    const int k0 = GRP(0) % (count / 32) * 32;
    const int c0 = GRP(0) / (count / 32) % (lines / 8) * 8;
    const int group = GRP(0) / (count / 32) / (lines / 8);
    const int k = LID(0) % 32;
    const int c = LID(0) / 32;
    const i64 plane = (i64)lines * count;
    const GLOBAL real *from = planes + group * PLANES * plane + (i64)(c0 + c) * count + k0 + k;
    real m[36];
    real g[9];
    UNROLL for (int p = 0; p < PLANES; ++p) m[p] = from[p * plane];
    for (int split = 1; split < splits; ++split) {
        UNROLL for (int p = 0; p < PLANES; ++p) m[p] += from[(split * (i64)groups * PLANES + p) * plane];
    }
    BOTH(gradient_3, m, 6, g, 3)
    UNROLL for (int i = 0; i < 9; ++i) elements[k * 73 + c * 9 + i] = g[i];
    BARRIER();
    for (int at = LID(0); at < 32 * 72; at += 256) {
        const int filter = k0 + at / 72;
        const int channel = c0 + at % 72 / 9;
        if (filter >= filters || channel >= channels) continue;
        const i64 to = first + (i64)group * group_stride + (i64)filter * filter_stride + (i64)channel * channel_stride;
        const int r = at % 9 / 3;
        const int s = at % 3;
        BLEND(dw, to + r * row_stride + s * column_stride, alpha, elements[at / 72 * 73 + at % 72], beta);
    }
}
