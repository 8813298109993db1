// The points of a grid sorted by the cell of the image that they lie in: a counting sort, for grid/points.h.
//
//   clear   zeroes the counters
//   count   (sampler_grid in grid/sample.cl, which visits the points anyway) counts the points of every cell; the counter's
//           old value is a point's slot                                       (slots vary from run to run)
//   scan    a work-group for each row of cells turns its counts into where each cell's points start. Rows take their
//           places in the order in which they come                            (which varies, too, and matters to no one)
//   fill    writes every point to its slot
//   order   sorts each cell's points by number: now nothing varies any more
//
// bins_local does all of it, one work-group an image, with the counters in local memory (CELLS of them, a multiple of WG);
// larger images take a launch for each step. Small ones are not sorted here: grid/small.cl makes their gradients in one launch.
//
// Defines: WG; EACH, or LOCAL_BINS and CELLS for bins_local.

#include "common/types.h"
#include "grid/sample.h"
#include "grid/points.h"

#define BIN_SIZES                                                                                          \
    const int h, const int w, const u32 q, const u32 places, const idx_t g_n, const idx_t g_h,             \
        const idx_t g_w, const idx_t g_2

#define PLACE_OF(n, s)                                                                                     \
    place_of(LOAD(grid, (n) * g_n + ROW_OF(s) * g_h + ((s) - ROW_OF(s) * q) * g_w),                        \
             LOAD(grid, (n) * g_n + ROW_OF(s) * g_h + ((s) - ROW_OF(s) * q) * g_w + g_2), h, w)
#define MOST 64  // points of a cell that one work-item sorts

// A work-item sorts the points [from, to) of a cell.
DEVICE void sort_cell(GLOBAL Point *points, int from, int to) {
    for (int e = from + 1; e < to; ++e) {
        const Point point = points[e];
        int k = e;
        for (; k > from && points[k - 1].s > point.s; --k) points[k] = points[k - 1];
        if (k < e) points[k] = point;
    }
}

// The whole work-group finds the points [begin, end) of a full cell anew, in order: a prefix sum over those between the
// first and the last that are of the cell.
DEVICE void refill_cell(GLOBAL Point *points, u32 cell, int begin, int end, const GLOBAL T *grid, u32 n, BIN_SIZES,
                        LOCAL_ARG u32 *low, LOCAL_ARG u32 *high, int lid) {
    u32 least = places, most = 0;
    for (int e = begin + lid; e < end; e += WG) {
        const u32 s = points[e].s;
        least = s < least ? s : least;
        most = s > most ? s : most;
    }
    low[lid] = least;
    high[lid] = most;
    GLOBAL_BARRIER();  // the points have been read
    for (int k = 0; k < WG; ++k) {
        least = low[k] < least ? low[k] : least;
        most = high[k] > most ? high[k] : most;
    }
    BARRIER();
    int to = begin;
    for (u32 base = least; base <= most; base += WG) {
        const u32 s = base + lid;
        const Place at = PLACE_OF(n, s <= most ? s : most);
        const int mine = s <= most && at.inside && CELL(at, w) == cell;
        low[lid] = mine;
        BARRIER();
        for (int step = 1; step < WG; step *= 2) {
            const u32 other = lid >= step ? low[lid - step] : 0;
            BARRIER();
            low[lid] += other;
            BARRIER();
        }
        if (mine) points[to + low[lid] - 1] = point_of(at, s);
        to += low[WG - 1];
        BARRIER();
    }
}

#ifdef LOCAL_BINS
#define EACH (CELLS / WG)
KERNEL WG_SIZE(WG, 1, 1)
bins_local(TENSOR(const T, grid), TENSOR(int, starts), TENSOR(int, slots), TENSOR(real, sorted), BIN_SIZES) {
    GRID_WAIT();
    LOCAL int counts[CELLS + 1];
    LOCAL u32 low[WG], high[WG];
    LOCAL int any;
    BIND(const T, grid);
    BIND(int, starts);
    BIND(int, slots);
    BIND(real, sorted);
    const int lid = LID(0), cells = (int)CELLS_OF(h, w);
    const u32 n = GRP(0);
    GLOBAL Point *points = (GLOBAL Point *)sorted + (idx_t)n * places;
    starts += (idx_t)n * CELLS_OF(h, w);
    slots += (idx_t)n * places;

    for (int c = lid; c <= CELLS; c += WG) counts[c] = 0;
    if (lid == 0) any = 0;
    BARRIER();
    for (u32 s = lid; s < places; s += WG) {
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
        if (c < cells) starts[c] = before;
        before += mine[k];
    }
    if (lid == WG - 1) counts[CELLS] = before;
    BARRIER();
    for (u32 s = lid; s < places; s += WG) {
        const Place at = PLACE_OF(n, s);
        if (at.inside) points[counts[CELL(at, w)] + slots[s]] = point_of(at, s);
    }
    GLOBAL_BARRIER();
    for (int c = lid; c < cells; c += WG)
        if (counts[c + 1] - counts[c] <= MOST) sort_cell(points, counts[c], counts[c + 1]);
    if (any) {
        for (int c = 0; c < cells; ++c)
            if (counts[c + 1] - counts[c] > MOST)
                refill_cell(points, c, counts[c], counts[c + 1], grid, n, h, w, q, places, g_n, g_h, g_w, g_2, low,
                            high, lid);
    }
}
#else

// A work-item clears EACH counters; behind the counters lie those of each image's points that rows have taken.
KERNEL WG_SIZE(WG, 1, 1) bins_clear(TENSOR(int, starts), const idx_t count) {
    GRID_WAIT();
    BIND(int, starts);
    const idx_t first = (idx_t)GRP(0) * (WG * EACH) + LID(0);
    UNROLL for (int k = 0; k < EACH; ++k)
        if (first + k * WG < count) starts[first + k * WG] = 0;
}

// Every work-item takes EACH neighbouring counters of a row at a time; the last counter, which counts nothing, becomes the
// row's end.
KERNEL WG_SIZE(WG, 1, 1) bins_scan(TENSOR(int, starts), TENSOR(int, taken), const int h, const int w) {
    GRID_WAIT();
    LOCAL int sums[WG];
    LOCAL int place;
    BIND(int, starts);
    BIND(int, taken);
    const int lid = LID(0);
    const u32 pitch = CELL_PITCH(w);
    GLOBAL int *counts = starts + (idx_t)GRP(0) * pitch;
    const bool at_once = pitch <= WG * EACH;
    int mine[EACH], total = 0, before = 0;

    if (!at_once) {
        for (u32 c = lid; c < pitch; c += WG) total += counts[c];
        sums[lid] = total;
        BARRIER();
        for (int step = WG / 2; step > 0; step /= 2) {
            if (lid < step) sums[lid] += sums[lid + step];
            BARRIER();
        }
        if (lid == 0) place = ATOMIC_TAKE(taken + GRP(0) / (h + 1), sums[0]);
        GLOBAL_BARRIER();  // others write the counters that were read above
        before = place;
    }
    for (u32 base = 0; base < pitch; base += WG * EACH) {
        const u32 first = base + lid * EACH;
        total = 0;
        UNROLL for (int k = 0; k < EACH; ++k) {
            mine[k] = first + k < pitch ? counts[first + k] : 0;
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
        if (at_once) {
            if (lid == WG - 1) place = ATOMIC_TAKE(taken + GRP(0) / (h + 1), sums[lid]);
            BARRIER();
            before = place;
        }
        int at = before + sums[lid] - total;
        UNROLL for (int k = 0; k < EACH; ++k) {
            if (first + k < pitch) counts[first + k] = at;
            at += mine[k];
        }
        before += sums[WG - 1];
        BARRIER();
    }
}

KERNEL WG_SIZE(WG, 1, 1) bins_fill(TENSOR(const T, grid), TENSOR(const int, starts), TENSOR(const int, slots),
                                   TENSOR(real, sorted), BIN_SIZES, const idx_t count) {
    GRID_WAIT();
    BIND(const T, grid);
    BIND(const int, starts);
    BIND(const int, slots);
    BIND(real, sorted);
    const idx_t id = (idx_t)GRP(0) * WG + LID(0);
    if (id >= count) return;
    const u32 n = id / places, s = id - (idx_t)n * places;
    const Place at = PLACE_OF(n, s);
    if (at.inside) {
        GLOBAL Point *points = (GLOBAL Point *)sorted + (idx_t)n * places;
        points[starts[(idx_t)n * CELLS_OF(h, w) + CELL(at, w)] + slots[id]] = point_of(at, s);
    }
}

// A work-group sorts the points of WG cells, each work-item those of one unless they are too many.
KERNEL WG_SIZE(WG, 1, 1) bins_order(TENSOR(const T, grid), TENSOR(const int, starts), TENSOR(real, sorted), BIN_SIZES,
                                    const u32 tiles) {
    GRID_WAIT();
    LOCAL u32 low[WG], high[WG];
    LOCAL int many[WG];
    LOCAL int any;
    BIND(const T, grid);
    BIND(const int, starts);
    BIND(real, sorted);
    const int lid = LID(0);
    const u32 n = (u32)GRP(0) / tiles, first = ((u32)GRP(0) - n * tiles) * WG, cell = first + lid;
    const GLOBAL int *start = starts + (idx_t)n * CELLS_OF(h, w);
    GLOBAL Point *points = (GLOBAL Point *)sorted + (idx_t)n * places;
    const bool real_cell = cell < CELLS_OF(h, w) && cell % CELL_PITCH(w) < CELL_PITCH(w) - 1;  // no row's end
    const int from = real_cell ? start[cell] : 0, to = real_cell ? start[cell + 1] : 0;

    if (lid == 0) any = 0;
    BARRIER();
    many[lid] = to - from > MOST;
    if (many[lid])
        any = 1;
    else
        sort_cell(points, from, to);
    BARRIER();
    if (any) {
        for (int c = 0; c < WG; ++c)
            if (many[c])
                refill_cell(points, first + c, start[first + c], start[first + c + 1], grid, n, h, w, q, places, g_n,
                            g_h, g_w, g_2, low, high, lid);
    }
}
#endif
