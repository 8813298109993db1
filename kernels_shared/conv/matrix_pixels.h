// Slices of conv/matrix.cl where K is pixels: rows are filters of dy, columns are (tap, c) of x, and both tensors have their
// channels fastest. A work-item loads VE channels, a chunk, of PART neighbouring pixels and turns them over in registers into
// half a chunk of VE rows each.
//
//   Where pixels of a slice lie in either tensor is looked up once, a slice ahead (`places`): of x, then of dy.
//
// Defines: COUNT (pixels) CPAD KPAD (channels of a group, padded, of x and of dy).

#define PART (VE / 2)
#define A_UNITS (BM * 8 / VE)
#define UNITS ((BM + BN) * 8 / VE)
#define EACH ((UNITS + ITEMS - 1) / ITEMS)
#define NEXT (EACH * PART)
#define LOADER_LOCAL LOCAL Pixel places[4 * BK];
#define LOADER_ARGS , places

typedef struct {
    u32 pixel;  // of the next slice: the first
    int slice;
    u32 from[EACH];                                        // of a unit: its channel, and its tap's offset
    int in[EACH], table[EACH], d[EACH], h[EACH], w[EACH];  // whether there are such channels; pixels; the tap
    int reads[NEXT];                                       // as in conv/matrix_image.h
} Loader;

DEVICE int slices_of(const Phase *phase) { return (int)(((u32)COUNT + BK - 1) / BK); }

DEVICE void place_slice(const Loader *l, int item, const Phase *phase, LOCAL_ARG Pixel *places) {
    if (item >= 2 * BK) return;
    const u32 pixel = l->pixel + (u32)(item % BK);
    Pixel p = pixel_of(pixel, phase);
    if (item >= BK) {
        p.offset = pixel * (GROUPS * KPAD);
        p.d = p.h = p.w = 0;
    }
    if (pixel >= (u32)COUNT) p.d = p.h = p.w = FAR_OUT;
    places[l->slice % 2 * (2 * BK) + item] = p;
}

DEVICE void start_loader(Loader *l, int item, int z, u32 m0, u32 n0, int first, const Phase *phase,
                         LOCAL_ARG Pixel *places) {
    l->pixel = (u32)first * BK;
    l->slice = 0;
    UNROLL for (int i = 0; i < EACH; ++i) {
        const int unit = item + i * ITEMS, part = unit % 8 * PART;
        const u32 m = m0 + (u32)(unit / 8 * VE), n = n0 + (u32)((unit - A_UNITS) / 8 * VE);
        const int row = unit < A_UNITS, tap = row ? 0 : (int)(n / CPAD);
        l->table[i] = row * BK + part;
        l->d[i] = tap / (SIZE_H * SIZE_W) * TAP_D;
        l->h[i] = tap / SIZE_W % SIZE_H * TAP_H;
        l->w[i] = tap % SIZE_W * TAP_W;
        l->in[i] = row ? m < KPAD : unit < UNITS && n < COLS;
        l->from[i] = row ? (u32)z * KPAD + m : TAP_OFFSET(l->d[i], l->h[i], l->w[i]) + (u32)z * CPAD + n % CPAD;
    }
    place_slice(l, item, phase, places);
    BARRIER();
}

DEVICE void load_slice(Loader *l, int item, const GLOBAL E *image, const GLOBAL E *gradient, const Phase *phase,
                       Chunk *next, LOCAL_ARG Pixel *places) {
    const LOCAL_ARG Pixel *pixels = places + l->slice % 2 * (2 * BK);
    UNROLL for (int i = 0; i < EACH; ++i) {
        const GLOBAL E *from = item + i * ITEMS < A_UNITS ? gradient : image;
        UNROLL for (int p = 0; p < PART; ++p) {
            const Pixel pixel = pixels[l->table[i] + p];
            const int reads = l->in[i] && inside(&pixel, l->d[i], l->h[i], l->w[i]);
            l->reads[i * PART + p] = reads;
            next[i * PART + p] = *(const GLOBAL Chunk *)(from + (reads ? pixel.offset + l->from[i] : 0u));
        }
    }
    l->pixel += BK;
    ++l->slice;
    place_slice(l, item, phase, places);
}

#ifdef DTYPE_FLOAT
#define TURNED(e, p) next[p][e]
#else
#define TURNED(e, p) ((e) % 2 ? next[2 * (p)][(e) / 2] >> 16 | (next[2 * (p) + 1][(e) / 2] & 0xffff0000u)          \
                              : (next[2 * (p)][(e) / 2] & 0xffffu) | next[2 * (p) + 1][(e) / 2] << 16)
#endif

DEVICE void store_slice(const Loader *l, int item, LOCAL_ARG Chunk *slice, Chunk *next) {
    const Chunk none = (Chunk)(0);
    UNROLL for (int i = 0; i < EACH; ++i, next += PART) {
        const int unit = item + i * ITEMS, chunk = unit % 8 / 2;
        if (UNITS % ITEMS != 0 && unit >= UNITS) break;
        UNROLL for (int p = 0; p < PART; ++p) next[p] = l->reads[i * PART + p] ? next[p] : none;
        UNROLL for (int e = 0; e < VE; ++e) {
            const int row = unit / 8 * VE + e;
            const int place = row < BM ? PLACE(FRAG_PLACE(row), chunk) : BM * CHUNKS + PLACE(row - BM, chunk);
            Half turned;
            turned.x = TURNED(e, 0);
            turned.y = TURNED(e, 1);
            ((LOCAL_ARG Half *)slice)[2 * place + unit % 2] = turned;
        }
    }
}
