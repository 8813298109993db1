// Slices of the forward and the data-gradient product.
//
//   a: the filter, packed before as [group and phase][kk][PADDED_M] with zeros where there is nothing: plain vector copies;
//      or, with DIRECT_FILTER, from where it lies: in vectors, where four neighbours along M or K are one (FILTER_ALONG_M,
//      FILTER_ALONG_K: with TAP_SLICES or a single tap), else gathered, for problems that packing would take longer than
//   b: the image, gathered: b[kk][column] = image[pixel(column) + channel and tap(kk)], 0 outside
//
// A work-item loads KK_EACH consecutive kk of COLUMNS_EACH columns, whose pixels stay in registers.
// TAP_SLICES: the BK kk of a slice are channels of one tap, so one check and one offset serve the slice;
//   kk = (channel / BK, tap, channel % BK). Costs nothing where channels are many.
// otherwise kk = (channel, tap), and BK work-items write what each kk means to a table, one slice ahead.

#define A_VECTORS (BK * BM / 4)
#define A_EACH ((A_VECTORS + ITEMS - 1) / ITEMS)
#define B_EACH (BK * BN / ITEMS)
#define COLUMNS_EACH (BN > ITEMS ? BN / ITEMS : 1)
#define KK_EACH (B_EACH / COLUMNS_EACH)
#define TABLE_SIZE (2 * BK)
#ifdef DIRECT_FILTER
typedef T A_TYPE;
#else
typedef real A_TYPE;
#endif

typedef struct {
    Pixel pixel[COLUMNS_EACH];
    Phase phase;
    u32 kk;                            // this item's first kk within a slice
    int channel, tap_d, tap_h, tap_w;  // TAP_SLICES: the next slice
    i64 filter_first;                  // of the group's (packed) filter
    u32 m0;                            // DIRECT_FILTER
    u32 image_first;
} Loader;

// what a work-item has loaded for the next slice
typedef real4 NextA;

#define TAPS_OF(phase) ((phase).taps_d * (phase).taps_h * (phase).taps_w)

DEVICE int slices_of(const Phase *phase) {
#ifdef TAP_SLICES
    return (CHANNELS + BK - 1) / BK * TAPS_OF(*phase);
#else
    return (CHANNELS * TAPS_OF(*phase) + BK - 1) / BK;
#endif
}

DEVICE void start_loader(Loader *l, int item, int group, int phase, u32 m0, u32 n0, int slice) {
    l->kk = item / BN * KK_EACH;
    l->phase = phase_of(phase);
    UNROLL for (int c = 0; c < COLUMNS_EACH; ++c) {
        const u32 column = n0 + item % BN + c * ITEMS;
        l->pixel[c] = pixel_of(column, &l->phase);
        if (column >= GEMM_N) l->pixel[c].h = FAR_OUT;
    }
    l->m0 = m0;
#ifdef DIRECT_FILTER
    l->filter_first = (i64)group * FILTER_G;
#else
    l->filter_first = (i64)(group * PHASES + phase) * MAX_K * PADDED_M + m0;
#endif
    l->image_first = (u32)group * CHANNELS * IN_C;
#ifdef TAP_SLICES
    const int taps = TAPS_OF(l->phase) > 0 ? TAPS_OF(l->phase) : 1;
    const int tap = slice % taps;
    l->channel = slice / taps * BK;
    l->tap_w = tap % (l->phase.taps_w > 0 ? l->phase.taps_w : 1);
    const int row = tap / (l->phase.taps_w > 0 ? l->phase.taps_w : 1);
    l->tap_h = row % (l->phase.taps_h > 0 ? l->phase.taps_h : 1);
    l->tap_d = row / (l->phase.taps_h > 0 ? l->phase.taps_h : 1);
#endif
}

DEVICE real filter_element(const GLOBAL T *filter, i64 first, u32 m, int kk, const Phase *p FILTER_PARAMS) {
    const int row = kk / p->taps_w;
    const int plane = row / p->taps_h;
    const int channel = plane / p->taps_d;
    if (m >= GEMM_M || channel >= CHANNELS) return 0;
    const u32 t = FILTER_INDEX(p->first_d + plane % p->taps_d * HOP_D, SIZE_D);
    const u32 r = FILTER_INDEX(p->first_h + row % p->taps_h * HOP_H, SIZE_H);
    const u32 s = FILTER_INDEX(p->first_w + kk % p->taps_w * HOP_W, SIZE_W);
    return FILTER_LOAD(filter, first,
                       m * FILTER_M + (u32)channel * FILTER_C + t * FILTER_D + r * FILTER_H + s * FILTER_W);
}

#if defined(FILTER_ALONG_M) || defined(FILTER_ALONG_K)
#ifdef TAP_SLICES
#define TAP_OF(l, x) ((l)->tap_##x)
#else
#define TAP_OF(l, x) 0
#endif

// channel 0 and row 0 of the slice's tap
DEVICE i64 tap_of_filter(const Loader *l) {
    const u32 t = FILTER_INDEX(l->phase.first_d + TAP_OF(l, d) * HOP_D, SIZE_D);
    const u32 r = FILTER_INDEX(l->phase.first_h + TAP_OF(l, h) * HOP_H, SIZE_H);
    const u32 s = FILTER_INDEX(l->phase.first_w + TAP_OF(l, w) * HOP_W, SIZE_W);
    return l->filter_first + t * FILTER_D + r * FILTER_H + s * FILTER_W;
}

// A lane reads four rows of a channel, or four channels of a row; then neighbours share a row.
#ifdef FILTER_ALONG_M
#define A_KK(at) ((at) / (BM / 4))
#define A_ROW(at) ((at) % (BM / 4) * 4)
#else
#define A_KK(at) ((at) % (BK / 4) * 4)
#define A_ROW(at) ((at) / (BK / 4))
#endif

DEVICE void load_filter(Loader *l, int item, const GLOBAL T *filter, int slice, NextA a_next[A_EACH] FILTER_PARAMS) {
#ifdef TAP_SLICES
    const int first = l->channel;
#else
    const int first = slice * BK;
#endif
    const GLOBAL T *from = filter + tap_of_filter(l);
    UNROLL for (int v = 0; v < A_EACH; ++v) {
        const int at = item + v * ITEMS;
        const int channel = first + A_KK(at);
        const u32 m = l->m0 + A_ROW(at);
        real4 four;
        four.x = four.y = four.z = four.w = 0;
        if ((A_VECTORS % ITEMS == 0 || at < A_VECTORS) && channel < CHANNELS && m < GEMM_M) {
            four = *(const GLOBAL real4 *)(from + m * FILTER_M + (u32)channel * FILTER_C);
        }
        a_next[v] = four;
    }
}
#elif defined(DIRECT_FILTER)
DEVICE void load_filter(Loader *l, int item, const GLOBAL T *filter, int slice, NextA a_next[A_EACH] FILTER_PARAMS) {
    UNROLL for (int v = 0; v < A_EACH; ++v) {
        const int at = item + v * ITEMS;
        if (A_VECTORS % ITEMS == 0 || at < A_VECTORS) {
            const int kk = slice * BK + at / (BM / 4);
            const u32 m = l->m0 + at % (BM / 4) * 4;
            a_next[v].x = filter_element(filter, l->filter_first, m, kk, &l->phase FILTER_ARGS);
            a_next[v].y = filter_element(filter, l->filter_first, m + 1, kk, &l->phase FILTER_ARGS);
            a_next[v].z = filter_element(filter, l->filter_first, m + 2, kk, &l->phase FILTER_ARGS);
            a_next[v].w = filter_element(filter, l->filter_first, m + 3, kk, &l->phase FILTER_ARGS);
        }
    }
}
#else
DEVICE void load_filter(Loader *l, int item, const GLOBAL real *filter, int slice, NextA a_next[A_EACH] FILTER_PARAMS) {
    UNROLL for (int v = 0; v < A_EACH; ++v) {
        const int at = item + v * ITEMS;
        if (A_VECTORS % ITEMS == 0 || at < A_VECTORS) {
            const i64 row = (i64)slice * BK + at / (BM / 4);
            a_next[v] = *(const GLOBAL real4 *)(filter + l->filter_first + row * PADDED_M + at % (BM / 4) * 4);
        }
    }
}
#endif

#ifdef TAP_SLICES
#define NEEDS_TABLE 0
#define NEXT_TABLE(fill)
#define TABLE_HALF 0
DEVICE void fill_table(LOCAL_ARG int4 *table, const Loader *l, int item, int slice) {}

DEVICE void load_image(Loader *l, const GLOBAL T *image, const LOCAL_ARG int4 *table, real b_next[B_EACH] IMAGE_PARAMS) {
    const int d = l->tap_d * TAP_D;
    const int h = l->tap_h * TAP_H;
    const int w = l->tap_w * TAP_W;
    const int channel = l->channel + (int)l->kk;
    UNROLL for (int c = 0; c < COLUMNS_EACH; ++c) {
        const int in = inside(&l->pixel[c], d, h, w);
        const u32 at = l->image_first + l->pixel[c].offset + TAP_OFFSET(d, h, w) + (u32)channel * IN_C;
#if defined(LOAD_CHANNELS) && defined(PROLOGUE_IMAGE)
        UNROLL for (int j = 0; j < KK_EACH; j += PROLOGUE_RUN) {
            UNROLL for (int e = 0; e < PROLOGUE_RUN; ++e) b_next[c * KK_EACH + j + e] = 0;
            if (in) IMAGE_FILL(b_next + c * KK_EACH + j, at + (u32)j)
        }
#elif defined(LOAD_CHANNELS)
        const GLOBAL T *from = image + at;
        UNROLL for (int j = 0; j < KK_EACH; j += 4) {
            vreal v = VSPLAT(0);
            if (in) v = VLOAD(from, j);
            UNROLL for (int e = 0; e < 4; ++e) b_next[c * KK_EACH + j + e] = LANE(v, e);
        }
#else
        UNROLL for (int j = 0; j < KK_EACH; ++j) {
            real v = 0;
            if (in && (CHANNELS % BK == 0 || channel + j < CHANNELS)) v = IMAGE_LOAD(image, at, (i64)j * IN_C);
            b_next[c * KK_EACH + j] = v;
        }
#endif
    }
    if (++l->tap_w == l->phase.taps_w) {
        l->tap_w = 0;
        if (++l->tap_h == l->phase.taps_h) {
            l->tap_h = 0;
            if (++l->tap_d == l->phase.taps_d) {
                l->tap_d = 0;
                l->channel += BK;
            }
        }
    }
}
#else
#define NEEDS_TABLE 1
#define NEXT_TABLE(fill) fill;
#define TABLE_HALF BK
DEVICE void fill_table(LOCAL_ARG int4 *table, const Loader *l, int item, int slice) {
    if (item < BK) {
        const Phase *p = &l->phase;
        const int kk = slice * BK + item;
        const int taps = TAPS_OF(*p);
        int4 entry;
        entry.x = 0;
        entry.y = entry.z = entry.w = FAR_OUT;
        if (kk < CHANNELS * taps) {
            const int row = kk / p->taps_w;
            const int plane = row / p->taps_h;
            entry.y = plane % p->taps_d * TAP_D;
            entry.z = row % p->taps_h * TAP_H;
            entry.w = kk % p->taps_w * TAP_W;
            entry.x = (int)((u32)(plane / p->taps_d) * IN_C + TAP_OFFSET(entry.y, entry.z, entry.w));
        }
        table[item] = entry;
    }
}

DEVICE void load_image(Loader *l, const GLOBAL T *image, const LOCAL_ARG int4 *table, real b_next[B_EACH] IMAGE_PARAMS) {
    UNROLL for (int j = 0; j < KK_EACH; ++j) {
        const int4 entry = table[l->kk + j];
        UNROLL for (int c = 0; c < COLUMNS_EACH; ++c) {
            real v = 0;
            if (inside(&l->pixel[c], entry.y, entry.z, entry.w)) {
                v = IMAGE_LOAD(image, l->image_first + l->pixel[c].offset + (u32)entry.x, 0);
            }
            b_next[c * KK_EACH + j] = v;
        }
    }
}
#endif

DEVICE void load_slice(Loader *l, int item, const GLOBAL A_TYPE *filter, const GLOBAL T *image,
                       const LOCAL_ARG int4 *table, int slice, NextA a_next[A_EACH], real b_next[B_EACH] IMAGE_PARAMS FILTER_PARAMS) {
    load_filter(l, item, filter, slice, a_next FILTER_ARGS);
    load_image(l, image, table, b_next IMAGE_ARGS);
}

DEVICE void store_slice(const Loader *l, int item, LOCAL_ARG real4 *a, LOCAL_ARG real4 *b,
                        const NextA a_next[A_EACH], const real b_next[B_EACH]) {
    UNROLL for (int v = 0; v < A_EACH; ++v) {
        const int at = item + v * ITEMS;
        if (A_VECTORS % ITEMS != 0 && at >= A_VECTORS) continue;
#ifdef FILTER_ALONG_K
        LOCAL_ARG real *down = (LOCAL_ARG real *)a + A_KK(at) * A_PITCH + A_ROW(at);
        down[0] = a_next[v].x;
        down[A_PITCH] = a_next[v].y;
        down[2 * A_PITCH] = a_next[v].z;
        down[3 * A_PITCH] = a_next[v].w;
#else
        a[at / (BM / 4) * (A_PITCH / 4) + at % (BM / 4)] = a_next[v];
#endif
    }
    LOCAL_ARG real *to = (LOCAL_ARG real *)b;
    UNROLL for (int c = 0; c < COLUMNS_EACH; ++c) {
        UNROLL for (int j = 0; j < KK_EACH; ++j) {
            to[(l->kk + j) * B_PITCH + item % BN + c * ITEMS] = b_next[c * KK_EACH + j];
        }
    }
}
