// The sampler's gradient dx on a GPU: every pixel gathers the points around it, so no sums meet and the result is deterministic.
//
// Points are sorted by the cell they lie in, that is by their first pixel (i, j), -1 <= i < h, -1 <= j < w: a counting sort.
//
//   bins_clear   zeroes the counters
//   bins_count   counts the points of every cell; the counter's old value is a point's slot    (slots vary from run to run)
//   bins_scan    turns an image's counts into where each cell's points start
//   bins_fill    writes every point's number to its slot
//   bins_order   sorts each cell's points by number (now nothing varies any more), and notes their u, v and places in dy
//   sampler_gather   a work-item makes CHANNELS vectors of VW channels of one pixel: the points of the four cells around
//                it are two runs of neighbours
//
//                 cell (i-1, j-1) | cell (i-1, j)        a run: columns j - 1 and j of row i - 1
//                 ------------- pixel (i, j) ---
//                 cell (i, j-1)   | cell (i, j)          a run: columns j - 1 and j of row i
//
// Defines: WG of the bins' kernels; POINTS, SHARING, CHANNELS, CHANNELS_LAST as in grid_sample.cl, points being pixels.

#include "types.h"
#include "grid_sample.h"

#ifdef BINS
#define BIN_SIZES                                                                                          \
    const int h, const int w, const u32 q, const u32 points, const u32 g_n, const u32 g_h, const u32 g_w,  \
        const u32 g_2

#define PLACE_OF(n, s)                                                                                     \
    place_of(LOAD(grid, (n) * g_n + (s) / q * g_h + (s) % q * g_w),                                        \
             LOAD(grid, (n) * g_n + (s) / q * g_h + (s) % q * g_w + g_2), h, w)
#define STARTS(w, h) (((u32)(h) + 1) * ((u32)(w) + 1) + 1)  // numbers of an image: of every cell, and the end

KERNEL WG_SIZE(WG, 1, 1) bins_clear(TENSOR(int, starts), const u32 count) {
    BIND(int, starts);
    const u32 i = (u32)GRP(0) * WG + LID(0);
    if (i < count) starts[i] = 0;
}

KERNEL WG_SIZE(WG, 1, 1)
bins_count(TENSOR(const T, grid), TENSOR(int, starts), TENSOR(int, slots), BIN_SIZES, const u32 count) {
    BIND(const T, grid);
    BIND(int, starts);
    BIND(int, slots);
    const u32 id = (u32)GRP(0) * WG + LID(0), n = id / points, s = id - n * points;
    if (id >= count) return;
    const Place at = PLACE_OF(n, s);
    if (at.inside) slots[id] = ATOMIC_INC(starts + (n * STARTS(w, h) + CELL(at, w)));
}

// One work-group an image; every work-item takes EACH neighbouring counters at a time.
#define EACH 4
KERNEL WG_SIZE(WG, 1, 1) bins_scan(TENSOR(int, starts), const int h, const int w) {
    LOCAL int sums[WG];
    BIND(int, starts);
    const int lid = LID(0);
    const u32 cells = STARTS(w, h);
    GLOBAL int *counts = starts + (u32)GRP(0) * cells;
    int before = 0;
    for (u32 base = 0; base < cells; base += WG * EACH) {
        const u32 first = base + lid * EACH;
        int mine[EACH], total = 0;
        UNROLL for (int k = 0; k < EACH; ++k) {
            mine[k] = first + k < cells ? counts[first + k] : 0;
            total += mine[k];
        }
        sums[lid] = total;
        BARRIER();
        for (int step = 1; step < WG; step *= 2) {
            const int other = lid >= step ? sums[lid - step] : 0;
            BARRIER();
            sums[lid] += other;
            BARRIER();
        }
        int at = before + sums[lid] - total;
        UNROLL for (int k = 0; k < EACH; ++k) {
            if (first + k < cells) counts[first + k] = at;
            at += mine[k];
        }
        before += sums[WG - 1];
        BARRIER();
    }
}

KERNEL WG_SIZE(WG, 1, 1) bins_fill(TENSOR(const T, grid), TENSOR(const int, starts), TENSOR(const int, slots),
                                   TENSOR(u32, order), BIN_SIZES, const u32 count) {
    BIND(const T, grid);
    BIND(const int, starts);
    BIND(const int, slots);
    BIND(u32, order);
    const u32 id = (u32)GRP(0) * WG + LID(0), n = id / points, s = id - n * points;
    if (id >= count) return;
    const Place at = PLACE_OF(n, s);
    if (at.inside) order[n * points + starts[n * STARTS(w, h) + CELL(at, w)] + slots[id]] = s;
}

// A work-item sorts the points of its cell. Of a cell with more than MOST, the whole work-group finds the points anew, in order.
#define MOST 64
KERNEL WG_SIZE(WG, 1, 1) bins_order(TENSOR(const T, grid), TENSOR(const int, starts), TENSOR(u32, order),
                                    TENSOR(real, us), TENSOR(real, vs), BIN_SIZES, const u32 y_h, const u32 y_w,
                                    const u32 tiles) {
    LOCAL u32 low[WG], high[WG];
    LOCAL int many[WG];
    LOCAL int any;
    BIND(const T, grid);
    BIND(const int, starts);
    BIND(u32, order);
    BIND(real, us);
    BIND(real, vs);
    const int lid = LID(0);
    const u32 n = (u32)GRP(0) / tiles, first = ((u32)GRP(0) - n * tiles) * WG, cells = STARTS(w, h) - 1;
    const GLOBAL int *start = starts + (n * STARTS(w, h));
    GLOBAL u32 *points_of = order + n * points;
    const int from = first + lid < cells ? start[first + lid] : 0;
    const int to = first + lid < cells ? start[first + lid + 1] : 0;

    if (lid == 0) any = 0;
    BARRIER();
    many[lid] = to - from > MOST;
    if (many[lid]) {
        any = 1;
    } else {
        for (int e = from + 1; e < to; ++e) {
            const u32 s = points_of[e];
            int k = e;
            for (; k > from && points_of[k - 1] > s; --k) points_of[k] = points_of[k - 1];
            points_of[k] = s;
        }
    }
    BARRIER();
    if (any) {
        for (int cell = 0; cell < WG; ++cell) {
            if (!many[cell]) continue;
            const int begin = start[first + cell], end = start[first + cell + 1];
            u32 least = points, most = 0;
            for (int e = begin + lid; e < end; e += WG) {
                const u32 s = points_of[e];
                least = s < least ? s : least;
                most = s > most ? s : most;
            }
            low[lid] = least;
            high[lid] = most;
            BARRIER();
            for (int k = 0; k < WG; ++k) {
                least = low[k] < least ? low[k] : least;
                most = high[k] > most ? high[k] : most;
            }
            BARRIER();
            int at = begin;
            for (u32 base = least; base <= most; base += WG) {
                const u32 s = base + lid;
                int mine = 0;
                if (s <= most) {
                    const Place place = PLACE_OF(n, s);
                    mine = place.inside && CELL(place, w) == first + cell;
                }
                low[lid] = mine;
                BARRIER();
                for (int step = 1; step < WG; step *= 2) {
                    const u32 other = lid >= step ? low[lid - step] : 0;
                    BARRIER();
                    low[lid] += other;
                    BARRIER();
                }
                if (mine) points_of[at + low[lid] - 1] = s;
                at += low[WG - 1];
                BARRIER();
            }
        }
        GRID_FENCE();
        BARRIER();
    }
    for (int e = from; e < to; ++e) {
        const u32 s = points_of[e];
        const Place at = PLACE_OF(n, s);
        us[n * points + e] = at.u;
        vs[n * points + e] = at.v;
        points_of[e] = s / q * y_h + s % q * y_w;
    }
}
#endif

#ifdef GATHER
#define GROUP (POINTS * SHARING)
#ifdef CHANNELS_LAST
#define POINT(lid) ((lid) / SHARING)
#define SHARE(lid) ((lid) % SHARING)
#else
#define POINT(lid) ((lid) % POINTS)
#define SHARE(lid) ((lid) / POINTS)
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
sampler_gather(TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(T, dx), TENSOR_RESTRICT(const int, starts),
               TENSOR_RESTRICT(const u32, order), TENSOR_RESTRICT(const real, us), TENSOR_RESTRICT(const real, vs),
               const real alpha, const real beta, SIZES, const u32 tiles, const u32 blocks) {
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(T, dx);
    BIND_RESTRICT(const int, starts);
    BIND_RESTRICT(const u32, order);
    BIND_RESTRICT(const real, us);
    BIND_RESTRICT(const real, vs);
    const int lid = LID(0);
    const u32 tile = (u32)GRP(0) % tiles, rest = (u32)GRP(0) / tiles, n = rest / blocks;
    const u32 pixel = tile * POINTS + POINT(lid), i = pixel / w, j = pixel - i * w;
    if (pixel >= (u32)h * w) return;
    const int first = ((int)(rest - n * blocks) * (CHANNELS * SHARING) + SHARE(lid)) * VW;
    const GLOBAL int *start = starts + n * (((u32)h + 1) * (w + 1) + 1);
    const u32 points = n * ((u32)p * q);
    const GLOBAL T *from = dy + n * y_n;
    GLOBAL T *to = dx + (n * x_n + i * x_h + j * x_w);
    vreal sum[CHANNELS];

    UNROLL for (int k = 0; k < CHANNELS; ++k) sum[k] = VSPLAT(0);
    for (u32 row = i; row < i + 2; ++row) {
        const u32 cell = row * (w + 1) + j;
        const u32 end = points + start[cell + 2];
        for (u32 e = points + start[cell]; e < end; ++e) {
            const real weight = ((real)1 - fabs(us[e] - (real)j)) * ((real)1 - fabs(vs[e] - (real)i));
            const GLOBAL T *source = from + order[e];
            UNROLL for (int k = 0; k < CHANNELS; ++k) {
                const int c = first + k * (SHARING * VW);
                if (c < channels) sum[k] = sum[k] + VLOAD(source, (u32)c * y_c) * weight;
            }
        }
    }
    UNROLL for (int k = 0; k < CHANNELS; ++k) {
        const int c = first + k * (SHARING * VW);
        if (c < channels) VBLEND(to, (u32)c * x_c, alpha, sum[k], beta);
    }
}
#endif
