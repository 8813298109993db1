// Slices of the filter-gradient product: kk runs over the pixels of all images.
//
//   a[kk][row] = dy[pixel(kk), filter row]                 b[kk][column] = x[pixel(kk) + channel and tap(column)]
//
// LANES_ALONG_K: neighbouring work-items load neighbouring pixels (NCHW); otherwise neighbouring rows and columns, which
// are channels (NHWC). What each column means is in a table, written once.

#define A_EACH (BK * BM / ITEMS)
#define B_EACH (BK * BN / ITEMS)
#define TABLE_SIZE BN
#define NEEDS_TABLE 1
typedef T A_TYPE;

#ifdef LANES_ALONG_K
#define LOAD_KK(item, e, width, each) ((item) % BK)
#define LOAD_LINE(item, e, width, each) ((item) / BK + (e) * (ITEMS / BK))
#else
#define LOAD_KK(item, e, width, each) ((item) / (width) * (each) + (e))
#define LOAD_LINE(item, e, width, each) ((item) % (width))
#endif

typedef struct {
    Phase phase;
    int item;
    u32 m0, n0;
    u32 x_first, dy_first;
    real a[A_EACH];
    real b[B_EACH];
} Loader;

DEVICE int slices_of(const Phase *phase) { return (int)(((u32)GEMM_K + BK - 1) / BK); }

DEVICE void start_loader(Loader *l, int item, int group, int phase, u32 m0, u32 n0, int slice) {
    l->item = item;
    l->phase = phase_of(phase);
    l->m0 = m0;
    l->n0 = n0;
    l->x_first = (u32)group * CHANNELS * IN_C;
    l->dy_first = (u32)group * GEMM_M * DY_K;
}

DEVICE void fill_table(LOCAL_ARG int4 *table, const Loader *l, int slice) {
    for (int i = l->item; i < BN; i += ITEMS) {
        const u32 column = l->n0 + i;
        const int i3 = (int)(column % COLUMNS_3);
        const int i2 = (int)(column / COLUMNS_3 % COLUMNS_2);
        const int i1 = (int)(column / COLUMNS_3 / COLUMNS_2 % COLUMNS_1);
        const int i0 = (int)(column / COLUMNS_3 / COLUMNS_2 / COLUMNS_1);
#ifdef CHANNEL_LAST
        const int c = i3, t = i0, r = i1, s = i2;
#else
        const int c = i0, t = i1, r = i2, s = i3;
#endif
        int4 entry;
        entry.y = FILTER_INDEX(t, SIZE_D) * TAP_D;
        entry.z = column < GEMM_N ? FILTER_INDEX(r, SIZE_H) * TAP_H : FAR_OUT;
        entry.w = FILTER_INDEX(s, SIZE_W) * TAP_W;
        entry.x = (int)((u32)c * IN_C + TAP_OFFSET(entry.y, entry.z, entry.w));
        table[i] = entry;
    }
}

DEVICE void load_slice(Loader *l, const GLOBAL T *dy, const GLOBAL T *x, const LOCAL_ARG int4 *table, int slice) {
    UNROLL for (int e = 0; e < A_EACH; ++e) {
        const u32 kk = (u32)slice * BK + LOAD_KK(l->item, e, BM, A_EACH);
        const u32 m = l->m0 + LOAD_LINE(l->item, e, BM, A_EACH);
        const u32 row = kk / PIXELS_W;
        const u32 plane = row / PIXELS_H;
        const u32 at = plane / PIXELS_D * DY_N + plane % PIXELS_D * DY_D + row % PIXELS_H * DY_H + kk % PIXELS_W * DY_W;
        real v = 0;
        if (kk < (u32)GEMM_K && m < GEMM_M) v = LOAD(dy, l->dy_first + at + m * DY_K);
        l->a[e] = v;
    }
    UNROLL for (int e = 0; e < B_EACH; ++e) {
        const u32 kk = (u32)slice * BK + LOAD_KK(l->item, e, BN, B_EACH);
        const int4 entry = table[LOAD_LINE(l->item, e, BN, B_EACH)];
        const Pixel pixel = pixel_of(kk, &l->phase);
        real v = 0;
        if (kk < (u32)GEMM_K && inside(&pixel, entry.y, entry.z, entry.w)) {
            v = LOAD(x, l->x_first + pixel.offset + (u32)entry.x);
        }
        l->b[e] = v;
    }
}

DEVICE void store_slice(const Loader *l, LOCAL_ARG real4 *a, LOCAL_ARG real4 *b) {
    LOCAL_ARG real *rows = (LOCAL_ARG real *)a;
    LOCAL_ARG real *columns = (LOCAL_ARG real *)b;
    UNROLL for (int e = 0; e < A_EACH; ++e) {
        rows[LOAD_KK(l->item, e, BM, A_EACH) * A_PITCH + LOAD_LINE(l->item, e, BM, A_EACH)] = l->a[e];
    }
    UNROLL for (int e = 0; e < B_EACH; ++e) {
        columns[LOAD_KK(l->item, e, BN, B_EACH) * B_PITCH + LOAD_LINE(l->item, e, BN, B_EACH)] = l->b[e];
    }
}
