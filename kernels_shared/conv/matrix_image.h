// Slices of conv/matrix.cl where K is taps and channels: rows are a packed filter (conv/mma_pack_filter.h), columns are
// pixels, whose taps are gathered. K lies in chunks in both, so a work-item moves chunk `item % CHUNKS` of some rows and columns.
//
// WHOLE_TAPS: a slice's channels belong to one tap, the same for all, so that the place in K is the work-group's.
//
// Defines: CPAD FILTER_PITCH CHECK_D CHECK_H CHECK_W.

#define PASS (ITEMS / CHUNKS)  // rows that the group loads at once
#define A_NEXT (BM / PASS)
#define B_NEXT (BN / PASS)
#define NEXT (A_NEXT + B_NEXT)
#define WHOLE_TAPS (CPAD % BK == 0)
#define LOADER_LOCAL
#define LOADER_ARGS

typedef struct {
    int channel, d, h, w, k;  // of the next slice: the tap, the channel, and their place in K
    int own;                  // of this item's chunk, from there on
    int all;                  // elements of K
    Pixel pixels[B_NEXT];
    u32 image;                    // of the group's first channel
    i64 row;                      // of the filter's first element
    int a_place, b_place, a_rows;  // in a slice; rows left
    int reads[NEXT];               // whether what was loaded counts, else it is zero: told as it is stored, to wait for it no sooner
} Loader;

DEVICE int taps_of(const Phase *phase) { return phase->taps_d * phase->taps_h * phase->taps_w; }
DEVICE int slices_of(const Phase *phase) { return (taps_of(phase) * CPAD + BK - 1) / BK; }

DEVICE void start_loader(Loader *l, int item, int z, u32 m0, u32 n0, int first, const Phase *phase) {
    const int chunk = item % CHUNKS, row = item / CHUNKS;
    const int k = first * BK + (WHOLE_TAPS ? 0 : chunk * VE), tap = k / CPAD;
    const int wide = phase->taps_w > 0 ? phase->taps_w : 1, high = phase->taps_h > 0 ? phase->taps_h : 1;
    l->k = k;
    l->own = WHOLE_TAPS ? chunk * VE : 0;
    l->channel = k % CPAD;
    l->w = tap % wide;
    l->h = tap / wide % high;
    l->d = tap / wide / high;
    l->all = taps_of(phase) * CPAD;
    l->image = (u32)(z / PHASES * CPAD);
    l->row = ((i64)z * ROWS + m0 + row) * FILTER_PITCH;
    l->a_rows = (int)ROWS - (int)m0 - row;
    l->a_place = PLACE(FRAG_PLACE(row), chunk);
    l->b_place = PLACE(row, chunk);
    UNROLL for (int i = 0; i < B_NEXT; ++i) {
        const u32 n = n0 + row + i * PASS;
        l->pixels[i] = pixel_of(n, phase);
        if (n >= (u32)COLS) l->pixels[i].d = l->pixels[i].h = l->pixels[i].w = FAR_OUT;
    }
}

#define NEXT_PLACE(i) \
    ((i) < A_NEXT ? l->a_place + (i) * PASS * CHUNKS : BM * CHUNKS + l->b_place + ((i) - A_NEXT) * PASS * CHUNKS)
#ifdef ASYNC  // `next` is the slice
#define NEXT_TYPE LOCAL_ARG Chunk
#define LOAD_NEXT(i, from) copy_chunk(next + NEXT_PLACE(i), from, l->reads[i])
#else
#define NEXT_TYPE Chunk
#define LOAD_NEXT(i, from) next[i] = *(const GLOBAL Chunk *)(from)
#endif

DEVICE void load_slice(Loader *l, int item, const GLOBAL E *image, const GLOBAL E *rows, const Phase *phase, NEXT_TYPE *next) {
    const int in = WHOLE_TAPS || l->k < l->all;
    UNROLL for (int i = 0; i < A_NEXT; ++i) {
        l->reads[i] = in && i * PASS < l->a_rows;
        const i64 at = l->reads[i] ? l->row + i * PASS * FILTER_PITCH + l->k + l->own : 0;
        LOAD_NEXT(i, rows + at);
    }
    const int d = l->d * TAP_D, h = l->h * TAP_H, w = l->w * TAP_W;
    const u32 hop = TAP_OFFSET(d, h, w) + (u32)(l->channel + l->own) + l->image;
    UNROLL for (int i = 0; i < B_NEXT; ++i) {
        l->reads[A_NEXT + i] = in && inside(&l->pixels[i], d, h, w);
        const u32 at = l->reads[A_NEXT + i] ? l->pixels[i].offset + hop : 0u;
        LOAD_NEXT(A_NEXT + i, image + at);
    }
    l->k += BK;
    l->channel += BK;
    while (l->channel >= CPAD) {
        l->channel -= CPAD;
        if (++l->w < phase->taps_w) continue;
        l->w = 0;
        if (++l->h < phase->taps_h) continue;
        l->h = 0;
        ++l->d;
    }
}

#ifndef ASYNC
DEVICE void store_slice(const Loader *l, int item, LOCAL_ARG Chunk *slice, const Chunk *next) {
    const Chunk none = (Chunk)(0);
    UNROLL for (int i = 0; i < NEXT; ++i) slice[NEXT_PLACE(i)] = l->reads[i] ? next[i] : none;
}
#endif
