// Slices of the filter-gradient product: kk runs over the pixels of all images.
//
//   a[kk][row] = dy[pixel(kk), filter row]                 b[kk][column] = x[pixel(kk) + channel and tap(column)]
//
// LANES_ALONG_K: neighbouring work-items load neighbouring pixels (NCHW); otherwise neighbouring rows and columns, which
// are channels (NHWC). What each of its columns means, a work-item keeps in registers.

#define A_EACH (BK * BM / ITEMS)
#define B_EACH (BK * BN / ITEMS)
#define TABLE_SIZE 1
#define NEEDS_TABLE 0
#define NEXT_TABLE(fill)
#define TABLE_HALF 0
typedef T A_TYPE;

#ifdef LANES_ALONG_K
#define LOAD_KK(item, e, width, each) ((item) % BK)
#define LOAD_LINE(item, e, width, each) ((item) / BK + (e) * (ITEMS / BK))
#define COLUMNS_EACH B_EACH
#else
// up to four neighbouring lines of one kk: one pixel serves them, and four are stored as a vector
#define CHUNK(each) ((each) < 4 ? (each) : 4)
#define CHUNKS(width, each) ((width) / CHUNK(each))
#define LOAD_KK(item, e, width, each) ((item) / CHUNKS(width, each) + (e) / CHUNK(each) * (ITEMS / CHUNKS(width, each)))
#define LOAD_LINE(item, e, width, each) ((item) % CHUNKS(width, each) * CHUNK(each) + (e) % CHUNK(each))
#define COLUMNS_EACH CHUNK(B_EACH)
#endif

typedef struct {
    Phase phase;
    u32 m0, n0;
    u32 x_first, dy_first;
    u32 offset[COLUMNS_EACH];  // of channel and tap, for each column that the work-item loads
    int d[COLUMNS_EACH], h[COLUMNS_EACH], w[COLUMNS_EACH];
} Loader;

// what a work-item has loaded for the next slice
typedef real NextA;

DEVICE int slices_of(const Phase *phase) { return (int)(((u32)GEMM_K + BK - 1) / BK); }

DEVICE void start_loader(Loader *l, int item, int group, int phase, u32 m0, u32 n0, int slice) {
    l->phase = phase_of(phase);
    l->m0 = m0;
    l->n0 = n0;
    l->x_first = (u32)group * CHANNELS * IN_C;
    l->dy_first = (u32)group * GEMM_M * DY_K;
    UNROLL for (int e = 0; e < COLUMNS_EACH; ++e) {
        const u32 column = n0 + LOAD_LINE(item, e, BN, B_EACH);
        const int i3 = (int)(column % COLUMNS_3);
        const int i2 = (int)(column / COLUMNS_3 % COLUMNS_2);
        const int i1 = (int)(column / COLUMNS_3 / COLUMNS_2 % COLUMNS_1);
        const int i0 = (int)(column / COLUMNS_3 / COLUMNS_2 / COLUMNS_1);
#ifdef CHANNEL_LAST
        const int c = i3, t = i0, r = i1, s = i2;
#else
        const int c = i0, t = i1, r = i2, s = i3;
#endif
        l->d[e] = FILTER_INDEX(t, SIZE_D) * TAP_D;
        l->h[e] = FILTER_INDEX(r, SIZE_H) * TAP_H;
        l->w[e] = FILTER_INDEX(s, SIZE_W) * TAP_W;
        l->offset[e] = l->x_first + (u32)c * IN_C + TAP_OFFSET(l->d[e], l->h[e], l->w[e]);
        if (column >= GEMM_N) l->h[e] = FAR_OUT;
    }
}

DEVICE void fill_table(LOCAL_ARG int4 *table, const Loader *l, int item, int slice) {}

DEVICE void load_slice(Loader *l, int item, const GLOBAL T *dy, const GLOBAL T *x,
                       const LOCAL_ARG int4 *table, int slice, NextA a_next[A_EACH],
                       real b_next[B_EACH] IMAGE_PARAMS FILTER_PARAMS) {
    UNROLL for (int e = 0; e < A_EACH; ++e) {
        const u32 kk = (u32)slice * BK + LOAD_KK(item, e, BM, A_EACH);
        const u32 m = l->m0 + LOAD_LINE(item, e, BM, A_EACH);
        const u32 row = kk / PIXELS_W;
        const u32 plane = row / PIXELS_H;
        const u32 at = plane / PIXELS_D * DY_N + plane % PIXELS_D * DY_D + row % PIXELS_H * DY_H + kk % PIXELS_W * DY_W;
        real v = 0;
        if (kk < (u32)GEMM_K && m < GEMM_M) v = FILTER_LOAD(dy, l->dy_first + at + m * DY_K, 0);
        a_next[e] = v;
    }
    UNROLL for (int e = 0; e < B_EACH; ++e) {
        const u32 kk = (u32)slice * BK + LOAD_KK(item, e, BN, B_EACH);
        const int own = e % COLUMNS_EACH;
        const Pixel pixel = pixel_of(kk, &l->phase);
        real v = 0;
        if (kk < (u32)GEMM_K && inside(&pixel, l->d[own], l->h[own], l->w[own])) {
            v = IMAGE_LOAD(x, pixel.offset + l->offset[own], 0);
        }
        b_next[e] = v;
    }
}

// the `each` values of a work-item to one side of the slice
DEVICE void store_side(LOCAL_ARG real4 *side, int item, int width, int pitch, int each, const real *next) {
    LOCAL_ARG real *to = (LOCAL_ARG real *)side;
#ifndef LANES_ALONG_K
    if (each % 4 == 0) {
        UNROLL for (int e = 0; e < each; e += 4) {
            real4 v;
            v.x = next[e];
            v.y = next[e + 1];
            v.z = next[e + 2];
            v.w = next[e + 3];
            side[(LOAD_KK(item, e, width, each) * pitch + LOAD_LINE(item, e, width, each)) / 4] = v;
        }
        return;
    }
#endif
    UNROLL for (int e = 0; e < each; ++e) {
        to[LOAD_KK(item, e, width, each) * pitch + LOAD_LINE(item, e, width, each)] = next[e];
    }
}

DEVICE void store_slice(const Loader *l, int item, LOCAL_ARG real4 *a, LOCAL_ARG real4 *b,
                        const NextA a_next[A_EACH], const real b_next[B_EACH]) {
    store_side(a, item, BM, A_PITCH, A_EACH, a_next);
    store_side(b, item, BN, B_PITCH, B_EACH, b_next);
}
