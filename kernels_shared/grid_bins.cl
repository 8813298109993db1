// The points of a grid sorted by the cell of the image that they lie in, that is by their first pixel (i, j), -1 <= i < h,
// -1 <= j < w: a counting sort.
//
//   clear   zeroes the counters
//   count   counts the points of every cell; the counter's old value is a point's slot      (slots vary from run to run)
//   scan    turns an image's counts into where each cell's points start
//   fill    writes every point's number to its slot
//   order   sorts each cell's points by number (now nothing varies any more), and notes their u and v
//
// bins_local does all of it, one work-group an image, with the counters in local memory (CELLS of them, a multiple of WG);
// larger images take a launch for each step.
//
//   starts   per image (h + 1) (w + 1) + 1 numbers: where each cell's points start, and the end
//   order    per image p q numbers of points, sorted by cell
//   us, vs   the same points' places
//
// Defines: WG; LOCAL_BINS and CELLS for bins_local.

#include "types.h"
#include "grid_sample.h"

#define BIN_SIZES                                                                                          \
    const int h, const int w, const u32 q, const u32 points, const idx_t g_n, const idx_t g_h,             \
        const idx_t g_w, const idx_t g_2

#define PLACE_OF(n, s)                                                                                     \
    place_of(LOAD(grid, (n) * g_n + (s) / q * g_h + (s) % q * g_w),                                        \
             LOAD(grid, (n) * g_n + (s) / q * g_h + (s) % q * g_w + g_2), h, w)
#define STARTS(w, h) (((u32)(h) + 1) * ((u32)(w) + 1) + 1)
#define MOST 64  // points of a cell that one work-item sorts

// A work-item sorts the points [from, to) of a cell.
DEVICE void sort_cell(GLOBAL u32 *order, int from, int to) {
    for (int e = from + 1; e < to; ++e) {
        const u32 s = order[e];
        int k = e;
        for (; k > from && order[k - 1] > s; --k) order[k] = order[k - 1];
        order[k] = s;
    }
}

// The whole work-group finds the points [begin, end) of a full cell anew, in order: a prefix sum over those between the
// first and the last that are of the cell.
DEVICE void refill_cell(GLOBAL u32 *order, u32 cell, int begin, int end, const GLOBAL T *grid, u32 n, BIN_SIZES,
                        LOCAL_ARG u32 *low, LOCAL_ARG u32 *high, int lid) {
    u32 least = points, most = 0;
    for (int e = begin + lid; e < end; e += WG) {
        const u32 s = order[e];
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    low[lid] = least;
    high[lid] = most;
    GLOBAL_BARRIER();  // the order has been read
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
            mine = place.inside && CELL(place, w) == cell;
        }
        low[lid] = mine;
        BARRIER();
        for (int step = 1; step < WG; step *= 2) {
            const u32 other = lid >= step ? low[lid - step] : 0;
            BARRIER();
            low[lid] += other;
            BARRIER();
        }
        if (mine) order[at + low[lid] - 1] = s;
        at += low[WG - 1];
        BARRIER();
    }
}

// Notes where point number e of the order lies.
#define NOTE(n, e)                                                                                         \
    do {                                                                                                   \
        const u32 s_ = order[e];                                                                           \
        const Place at_ = PLACE_OF(n, s_);                                                                 \
        us[e] = at_.u;                                                                                     \
        vs[e] = at_.v;                                                                                     \
    } while (0)

#ifdef LOCAL_BINS
#define EACH (CELLS / WG)
KERNEL WG_SIZE(WG, 1, 1)
bins_local(TENSOR(const T, grid), TENSOR(int, starts), TENSOR(int, slots), TENSOR(u32, order), TENSOR(real, us),
           TENSOR(real, vs), BIN_SIZES) {
    LOCAL int counts[CELLS + 1];
    LOCAL u32 low[WG], high[WG];
    LOCAL int any;
    BIND(const T, grid);
    BIND(int, starts);
    BIND(int, slots);
    BIND(u32, order);
    BIND(real, us);
    BIND(real, vs);
    const int lid = LID(0), cells = (int)STARTS(w, h) - 1;
    const u32 n = GRP(0);
    starts += (idx_t)n * STARTS(w, h);
    slots += (idx_t)n * points;
    order += (idx_t)n * points;
    us += (idx_t)n * points;
    vs += (idx_t)n * points;

    for (int c = lid; c <= CELLS; c += WG) counts[c] = 0;
    if (lid == 0) any = 0;
    BARRIER();
    for (u32 s = lid; s < points; s += WG) {
        const Place at = PLACE_OF(n, s);
        if (at.inside) slots[s] = ATOMIC_INC(counts + CELL(at, w));
    }
    BARRIER();
    int mine[EACH], total = 0;
    UNROLL for (int k = 0; k < EACH; ++k) {
        mine[k] = counts[lid * EACH + k];
        total += mine[k];
        if (mine[k] > MOST) any = 1;
    }
    low[lid] = total;
    BARRIER();
    for (int step = 1; step < WG; step *= 2) {
        const u32 other = lid >= step ? low[lid - step] : 0;
        BARRIER();
        low[lid] += other;
        BARRIER();
    }
    int before = (int)low[lid] - total;
    UNROLL for (int k = 0; k < EACH; ++k) {
        const int c = lid * EACH + k;
        counts[c] = before;
        if (c <= cells) starts[c] = before;
        before += mine[k];
    }
    if (lid == WG - 1) counts[CELLS] = before;
    if (lid == WG - 1 && cells == CELLS) starts[cells] = before;
    BARRIER();
    for (u32 s = lid; s < points; s += WG) {
        const Place at = PLACE_OF(n, s);
        if (at.inside) order[counts[CELL(at, w)] + slots[s]] = s;
    }
    GLOBAL_BARRIER();
    for (int c = lid; c < cells; c += WG)
        if (counts[c + 1] - counts[c] <= MOST) sort_cell(order, counts[c], counts[c + 1]);
    if (any) {
        for (int c = 0; c < cells; ++c)
            if (counts[c + 1] - counts[c] > MOST)
                refill_cell(order, c, counts[c], counts[c + 1], grid, n, h, w, q, points, g_n, g_h, g_w, g_2, low, high,
                            lid);
    }
    GLOBAL_BARRIER();
    for (int e = lid; e < counts[cells]; e += WG) NOTE(n, e);
}
#else

KERNEL WG_SIZE(WG, 1, 1) bins_clear(TENSOR(int, starts), const idx_t count) {
    BIND(int, starts);
    const idx_t i = (idx_t)GRP(0) * WG + LID(0);
    if (i < count) starts[i] = 0;
}

KERNEL WG_SIZE(WG, 1, 1)
bins_count(TENSOR(const T, grid), TENSOR(int, starts), TENSOR(int, slots), BIN_SIZES, const idx_t count) {
    BIND(const T, grid);
    BIND(int, starts);
    BIND(int, slots);
    const idx_t id = (idx_t)GRP(0) * WG + LID(0);
    const u32 n = id / points, s = id - (idx_t)n * points;
    if (id >= count) return;
    const Place at = PLACE_OF(n, s);
    if (at.inside) slots[id] = ATOMIC_INC(starts + ((idx_t)n * STARTS(w, h) + CELL(at, w)));
}

// One work-group an image; every work-item takes EACH neighbouring counters at a time.
#define EACH 4
KERNEL WG_SIZE(WG, 1, 1) bins_scan(TENSOR(int, starts), const int h, const int w) {
    LOCAL int sums[WG];
    BIND(int, starts);
    const int lid = LID(0);
    const u32 cells = STARTS(w, h);
    GLOBAL int *counts = starts + (idx_t)GRP(0) * cells;
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
                                   TENSOR(u32, order), BIN_SIZES, const idx_t count) {
    BIND(const T, grid);
    BIND(const int, starts);
    BIND(const int, slots);
    BIND(u32, order);
    const idx_t id = (idx_t)GRP(0) * WG + LID(0);
    const u32 n = id / points, s = id - (idx_t)n * points;
    if (id >= count) return;
    const Place at = PLACE_OF(n, s);
    if (at.inside) order[(idx_t)n * points + starts[(idx_t)n * STARTS(w, h) + CELL(at, w)] + slots[id]] = s;
}

// A work-group sorts the points of WG cells, each work-item those of one unless they are too many.
KERNEL WG_SIZE(WG, 1, 1) bins_order(TENSOR(const T, grid), TENSOR(const int, starts), TENSOR(u32, order),
                                    TENSOR(real, us), TENSOR(real, vs), BIN_SIZES, const u32 tiles) {
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
    const GLOBAL int *start = starts + (idx_t)n * STARTS(w, h);
    order += (idx_t)n * points;
    us += (idx_t)n * points;
    vs += (idx_t)n * points;
    const int from = first + lid < cells ? start[first + lid] : 0;
    const int to = first + lid < cells ? start[first + lid + 1] : 0;

    if (lid == 0) any = 0;
    BARRIER();
    many[lid] = to - from > MOST;
    if (many[lid])
        any = 1;
    else
        sort_cell(order, from, to);
    BARRIER();
    if (any) {
        for (int cell = 0; cell < WG; ++cell)
            if (many[cell])
                refill_cell(order, first + cell, start[first + cell], start[first + cell + 1], grid, n, h, w, q, points,
                            g_n, g_h, g_w, g_2, low, high, lid);
    }
    const int begin = start[first], end = start[first + WG < cells ? first + WG : cells];
    GLOBAL_BARRIER();
    for (int e = begin + lid; e < end; e += WG) NOTE(n, e);
}
#endif
