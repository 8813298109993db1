// Between tensors and spectra: tiles of L x L pixels, transformed by fft/fft.h.
//
//    tensor (n, c, d, h, w)                     spectra [block of FB frequencies][tile][re, im][FB]
//   +-----------------------+
//   |  +---------+          |  tile (n, d, th, tw, c) begins at pixel (th * step_h - pad_h, tw * step_w - pad_w);
//   |  | L x L   |          |  of it the first extent_h x extent_w pixels count, where they are inside of the plane
//   |  +---------+          |
//   +-----------------------+
//
// Frequencies are numbered fw * HALF + fh with 0 <= fh < HALF and, for fh = HALF, L * HALF + fw.
// A work-group takes `per` tiles, one after the other or TILES at a time with ITEMS work-items each.
//
// Defines: those of fft/fft.h and common/types.h; FB, TILES, and for SCRATCH_GLOBAL workspace for two buffers per tile in flight.

#include "common/types.h"
#include "fft/fft.h"

#ifdef FEW
#define ROWS_READ (L / RADIX)  // by the first pass
#else
#define ROWS_READ L
#endif
#define TILE_SIZE (L * PITCH)
#define GROUP (ITEMS * TILES)

// Tiles are counted with the channel as the fastest index; the place of a spectrum is a sum over the same indices, in
// which n counts as (n / n_inner, n % n_inner).
#define PLACE_ARGS                                                                                         \
    const int count, const int per, const int channels, const int tiles_w, const int tiles_h,              \
        const int depth, const int frames, const int height, const int width, const int pad_d,             \
        const int pad_h, const int pad_w, const int step_h, const int step_w, const int extent_h,          \
        const int extent_w, const i64 first, const int stride_n, const int stride_c, const int stride_d,   \
        const int stride_h, const int stride_w, const i64 blocks, const int n_inner, const i64 block_outer, \
        const i64 block_n, const i64 block_d, const i64 block_t, const i64 block_c

typedef struct {
    i64 origin;    // element of the tensor at pixel (0, 0) of the plane
    i64 block;     // of the spectra
    int y, x;      // pixel where the tile begins
    int rows;      // rows and columns of the tile that count
    int columns;
} place_t;

#define FIND_PLACE(at, tile)                                                                               \
    place_t at;                                                                                            \
    {                                                                                                      \
        const int c = (tile) % channels, tw = (tile) / channels % tiles_w;                                 \
        const int th = (tile) / channels / tiles_w % tiles_h;                                              \
        const int z = (tile) / channels / tiles_w / tiles_h, d = z % depth, n = z / depth;                 \
        const int frame = d - pad_d;                                                                       \
        at.y = th * step_h - pad_h;                                                                        \
        at.x = tw * step_w - pad_w;                                                                        \
        at.rows = height - at.y < extent_h ? height - at.y : extent_h;                                     \
        at.columns = width - at.x < extent_w ? width - at.x : extent_w;                                    \
        if (frame < 0 || frame >= frames) at.rows = 0;                                                     \
        at.origin = first + (i64)n * stride_n + (i64)c * stride_c + (i64)frame * stride_d;                 \
        at.block = n / n_inner * block_outer + n % n_inner * block_n + d * block_d +                       \
                   (th * tiles_w + tw) * block_t + c * block_c;                                            \
    }

#define SPECTRUM(f, block) (((i64)((f) / FB) * blocks + (block)) * (2 * FB) + (f) % FB)

// scratch: two buffers per tile
#if defined(SCRATCH_LOCAL)
#define SCRATCH LOCAL real scratch[TILES * 2 * TILE_SIZE];
#define SCRATCH_ARG
#define FIRST_BUFFER (scratch + LID(0) / ITEMS * 2 * TILE_SIZE)
#elif defined(SCRATCH_GLOBAL)
#define SCRATCH BIND(real, scratch);
#define SCRATCH_ARG , TENSOR(real, scratch)
#define FIRST_BUFFER (scratch + ((i64)GRP(0) * TILES + LID(0) / ITEMS) * 2 * TILE_SIZE)
#else
#define SCRATCH vreal scratch[2 * TILE_SIZE / VW];
#define SCRATCH_ARG
#define FIRST_BUFFER ((real *)scratch)
#endif

#if VW > 1
typedef vreal unaligned_t __attribute__((aligned(sizeof(real))));
#else
typedef real unaligned_t;
#endif

#if ITEMS == 1 && VW > 1
#if defined(DTYPE_FLOAT) || defined(DTYPE_DOUBLE)
#define STORED_AS_REAL 1
#else
#define STORED_AS_REAL 0
#endif

// Fill the tile row by row; what does not count is zero.
DEVICE void load_tile(SPACE real *to, const GLOBAL T *from, const place_t at, const int stride_h, const int stride_w) {
    const int low = at.x < 0 ? -at.x : 0;
    for (int u = 0; u < ROWS_READ; ++u, to += PITCH) {
        for (int v = 0; v < L; v += VW) VAT(to + v) = (vreal)((real)0);
        if (u >= at.rows || at.y + u < 0) continue;
        const GLOBAL T *row = from + (i64)(at.y + u) * stride_h + (i64)at.x * stride_w;
        int v = low;
#if STORED_AS_REAL
        if (stride_w == 1)
            for (; v <= at.columns - VW; v += VW) *(SPACE unaligned_t *)(to + v) = *(const GLOBAL unaligned_t *)(row + v);
#endif
        for (; v < at.columns; ++v) to[v] = LOAD(row, (i64)v * stride_w);
    }
}

DEVICE void store_tile(GLOBAL T *to, SPACE real *from, const place_t at, const int stride_h, const int stride_w,
                       const real alpha, const real beta) {
    for (int u = 0; u < at.rows; ++u, from += PITCH) {
        GLOBAL T *row = to + (i64)(at.y + u) * stride_h + (i64)at.x * stride_w;
        int v = 0;
#if STORED_AS_REAL
        if (stride_w == 1)
            for (; v <= at.columns - VW; v += VW) {
                vreal value = VAT(from + v) * alpha;
                if (beta != (real)0) value = value + *(const GLOBAL unaligned_t *)(row + v) * beta;
                *(GLOBAL unaligned_t *)(row + v) = value;
            }
#endif
        for (; v < at.columns; ++v) BLEND(row, (i64)v * stride_w, alpha, from[v], beta);
    }
}
#define LOAD_TILE(item) load_tile(a, x + at.origin, at, stride_h, stride_w)
#define STORE_TILE(item) store_tile(y + at.origin, AFTER(a, b), at, stride_h, stride_w, alpha * scale, beta)
#else
DEVICE void load_tile(SPACE real *to, const GLOBAL T *from, const place_t at, const int stride_h, const int stride_w,
                      const int item) {
    for (int i = item; i < ROWS_READ * L; i += ITEMS) {
        const int u = i / L, v = i % L;
        const int in = u < at.rows && v < at.columns && at.y + u >= 0 && at.x + v >= 0;
        to[u * PITCH + v] = in ? LOAD(from, (i64)(at.y + u) * stride_h + (i64)(at.x + v) * stride_w) : (real)0;
    }
    SYNC();
}

DEVICE void store_tile(GLOBAL T *to, SPACE real *from, const place_t at, const int stride_h, const int stride_w,
                       const real alpha, const real beta, const int item) {
    for (int i = item; i < L * L; i += ITEMS) {
        const int u = i / L, v = i % L;
        if (u >= at.rows || v >= at.columns) continue;
        BLEND(to, (i64)(at.y + u) * stride_h + (i64)(at.x + v) * stride_w, alpha, from[u * PITCH + v], beta);
    }
}
#define LOAD_TILE(item) load_tile(a, x + at.origin, at, stride_h, stride_w, item)
#define STORE_TILE(item) store_tile(y + at.origin, AFTER(a, b), at, stride_h, stride_w, alpha * scale, beta, item)
#endif

// Work-items of a group reach every barrier: those beyond the last tile do its work again, without storing it.
#define EACH_TILE                                                                                          \
    const int end = count - GRP(0) * per < per ? count : (GRP(0) + 1) * per;                               \
    for (int base = GRP(0) * per; base < end; base += TILES)

KERNEL WG_SIZE(GROUP, 1, 1)
fft_forward(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(real, spectra) SCRATCH_ARG, PLACE_ARGS) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(real, spectra);
    SCRATCH
    SPACE real *a = FIRST_BUFFER;
    SPACE real *b = a + TILE_SIZE;
    const int item = LID(0) % ITEMS;
    EACH_TILE {
        const int mine = base + LID(0) / ITEMS, active = mine < end;
        FIND_PLACE(at, active ? mine : end - 1)
        LOAD_TILE(item);
        fft(a, b, 0, HALF, item);
        split(BEFORE(a, b), AFTER(a, b), item);
        fft(BEFORE(a, b), AFTER(a, b), 0, HALF, item);
        SPACE real *t = AFTER(BEFORE(a, b), AFTER(a, b));
        // column 0 holds two spectra of real numbers, p + i q: p stays, q goes to the last L frequencies
        for (int f = item; f <= HALF; f += ITEMS) {
            SPACE real *p = t + f * PITCH, *q = t + (L - f) % L * PITCH;
            const real p_re = p[0], p_im = p[HALF], q_re = q[0], q_im = q[HALF];
            const real im = (p_im - q_im) * (real)0.5, last_im = (q_re - p_re) * (real)0.5;
            p[0] = q[0] = (p_re + q_re) * (real)0.5;
            q[HALF] = -im;
            p[HALF] = im;
            if (active) {
                GLOBAL real *s = spectra + SPECTRUM(L * HALF + f, at.block);
                GLOBAL real *r = spectra + SPECTRUM(L * HALF + (L - f) % L, at.block);
                r[0] = s[0] = (p_im + q_im) * (real)0.5;
                r[FB] = -last_im;
                s[FB] = last_im;
            }
        }
        SYNC();
        for (int unit = item; active && unit < L * COLUMNS; unit += ITEMS) {
            const int f = unit * VW;
            SPACE real *p = t + f / HALF * PITCH + f % HALF;
            GLOBAL real *s = spectra + SPECTRUM(f, at.block);
            *(GLOBAL unaligned_t *)s = VAT(p);
            *(GLOBAL unaligned_t *)(s + FB) = VAT(p + HALF);
        }
        SYNC();
    }
}

#ifndef FEW
KERNEL WG_SIZE(GROUP, 1, 1)
fft_inverse(TENSOR(T, y), TENSOR_RESTRICT(const real, spectra) SCRATCH_ARG, PLACE_ARGS, const real alpha, const real beta) {
    GRID_WAIT();
    BIND(T, y);
    BIND_RESTRICT(const real, spectra);
    SCRATCH
    SPACE real *a = FIRST_BUFFER;
    SPACE real *b = a + TILE_SIZE;
    const int item = LID(0) % ITEMS;
    const real scale = (real)1 / (L * L);
    EACH_TILE {
        const int mine = base + LID(0) / ITEMS, active = mine < end;
        FIND_PLACE(at, active ? mine : end - 1)
        SPACE real *t = BEFORE(a, b);
        for (int unit = item; unit < L * COLUMNS; unit += ITEMS) {
            const int f = unit * VW;
            SPACE real *p = t + f / HALF * PITCH + f % HALF;
            const GLOBAL real *s = spectra + SPECTRUM(f, at.block);
            VAT(p) = *(const GLOBAL unaligned_t *)s;
            VAT(p + HALF) = *(const GLOBAL unaligned_t *)(s + FB);
        }
        SYNC();
        for (int f = item; f < L; f += ITEMS) {
            const GLOBAL real *s = spectra + SPECTRUM(L * HALF + f, at.block);
            t[f * PITCH] -= s[FB];
            t[f * PITCH + HALF] += s[0];
        }
        SYNC();
        SPACE real *u = AFTER(a, b);
        fft(t, u, HALF, 0, item);
        join(a, AFTER(t, u), item);
        fft(a, b, HALF, 0, item);
        if (active) STORE_TILE(item);
        SYNC();
    }
}
#endif
