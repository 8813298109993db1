// Points sorted by the cells that they lie in (grid/bins.cl), and how a pixel gathers those around it; include after
// grid/sample.h.
//
//   starts   per image (h + 1) (w + 2) numbers: where the points of each cell of a row start, and the row's end
//   points   per image p q places for points: those of a row of cells lie side by side, cell by cell, and within a cell by
//            their numbers; the rows lie in any order
//
// A work-item makes CHANNELS vectors of VW channels of one pixel; the points of the four cells around it are two runs:
//
//                 cell (i-1, j-1) | cell (i-1, j)        a run: columns j - 1 and j of row i - 1
//                 ------------- pixel (i, j) ---
//                 cell (i, j-1)   | cell (i, j)          a run: columns j - 1 and j of row i

#ifdef DTYPE_DOUBLE
#define POINT_ALIGNED
#else
#define POINT_ALIGNED __attribute__((aligned(16)))
#endif

typedef struct POINT_ALIGNED {
    real u, v;
    u32 s, unused;  // number in its image
} Point;

DEVICE Point point_of(Place at, u32 s) {
    Point point;
    point.u = at.u;
    point.v = at.v;
    point.s = s;
    point.unused = 0;
    return point;
}

#ifdef CHANNELS
#ifndef SORTED_IN
#define SORTED_IN GLOBAL  // where starts and points lie
#endif
// dx of pixel (i, j), channels first, first + step, ..; dys, to, start and points are those of the image (and pixel)
DEVICE void gather(const GLOBAL T *dys, GLOBAL T *to, const SORTED_IN int *start, const SORTED_IN Point *points, u32 i, u32 j,
                   int first, int step, int channels, int w, u32 q, idx_t x_c, idx_t y_c, idx_t y_h, idx_t y_w,
                   real alpha, real beta) {
    vreal sum[CHANNELS];
    UNROLL for (int k = 0; k < CHANNELS; ++k) sum[k] = VSPLAT(0);
    for (u32 row = i; row < i + 2; ++row) {
        const u32 cell = row * CELL_PITCH(w) + j;
        const int end = start[cell + 2];
        for (int e = start[cell]; e < end; ++e) {
            const Point point = points[e];
            const real weight = ((real)1 - fabs(point.u - (real)j)) * ((real)1 - fabs(point.v - (real)i));
            const GLOBAL T *source = dys + (ROW_OF(point.s) * y_h + (point.s - ROW_OF(point.s) * q) * y_w);
            UNROLL for (int k = 0; k < CHANNELS; ++k) {
                const int c = first + k * step;
                if (c < channels) sum[k] = sum[k] + VLOAD(source, (idx_t)c * y_c) * weight;
            }
        }
    }
    UNROLL for (int k = 0; k < CHANNELS; ++k) {
        const int c = first + k * step;
        if (c < channels) VBLEND(to, (idx_t)c * x_c, alpha, sum[k], beta);
    }
}
#endif
