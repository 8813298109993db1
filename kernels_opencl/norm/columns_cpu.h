// Columns for a CPU: neighbouring numbers are normalised apart from each other; norm/columns_cpu.cl draws them.

#include "norm/cpu.h"

// A work-group is one panel of one slice of one outer block `b`.
#define COLUMN_PROLOGUE                                                                                    \
    const u32 slice = (u32)GRP(0) % SLICES, panel = (u32)GRP(0) / SLICES % PANELS;                         \
    const u32 b = (u32)GRP(0) / (SLICES * PANELS);                                                         \
    const u32 begin = slice * LENGTH, end = slice == SLICES - 1 ? REDUCE : begin + LENGTH;                 \
    const int vectors = panel == PANELS - 1 ? VECTORS - (PANELS - 1) * PANEL : PANEL;
// First column of vector v of the panel. The last vector of all ends where the columns end, so it may begin before its turn:
// those lanes do what the vector before does, and only the FRESH last ones are stored in y or dx.
#define COLUMN(v) (IS_SHORT(v) ? COLUMNS - VW : (panel * PANEL + (v)) * VW)
#define FRESH (COLUMNS % VW)
#define IS_SHORT(v) (FRESH && panel * PANEL + (v) == VECTORS - 1)
#define PART_AT(v) (b * COLUMNS + COLUMN(v))
#define SLICE_ROWS(k) ((real)((k) == SLICES - 1 ? REDUCE - (SLICES - 1) * LENGTH : LENGTH))

// parameters and statistics of the columns of a vector
#define PD_COLUMNS(type, LOAD1, LOAD_ALL)                                                                  \
    DEVICE vreal column_read_##type(const GLOBAL type *p, u32 at, u32 step) {                              \
        vreal v;                                                                                           \
        if (step == 1) return LOAD_ALL(p, at);                                                             \
        for (int j = 0; j < VW; ++j) LANE(v, j) = LOAD1(p, at + j * step);                                 \
        return v;                                                                                          \
    }                                                                                                      \
    DEVICE void column_blend_##type(GLOBAL type *p, u32 at, u32 step, real alpha, vreal value, real beta,  \
                                    int first) {                                                           \
        for (int j = first; j < VW; ++j) blend_##type(p, at + j * step, alpha, LANE(value, j), beta);      \
    }
PD_COLUMNS(real, REAL_LOAD, NUMBERS_AT)
PD_COLUMNS(T, LOAD, VLOAD)
#define COLUMN_READ(p, NAME, v)                                                                            \
    OF_TYPE(column_read_, NAME##_TYPE)(p, NAME##_OUTER(b) + COLUMN(v) * NAME##_STEP, NAME##_STEP)
#define FIRST_LANE(v) (IS_SHORT(v) ? VW - FRESH : 0)
#define COLUMN_BLEND(p, NAME, v, alpha, value, beta)                                                       \
    OF_TYPE(column_blend_, NAME##_TYPE)(p, NAME##_OUTER(b) + COLUMN(v) * NAME##_STEP, NAME##_STEP, alpha, value, beta, \
                                        FIRST_LANE(v))
#define COLUMN_WRITE(p, NAME, v, value) COLUMN_BLEND(p, NAME, v, (real)1, value, (real)0)

// dst of a vector, or of its fresh lanes
#define COLUMN_STORE(p, i, v, value, beta)                                                                 \
    if (IS_SHORT(v)) {                                                                                     \
        vreal all_ = value;                                                                                \
        for (int j_ = VW - FRESH; j_ < VW; ++j_) BLEND(p, (i) + j_, alpha, LANE(all_, j_), beta);          \
    } else {                                                                                               \
        VBLEND(p, i, alpha, value, beta);                                                                  \
    }

// Moments of rows begin .. end, column by column, of x - pivot: BLOCK rows of all vectors of the panel at a time.
DEVICE void column_moments(const GLOBAL T *x, u32 from, u32 panel, int vectors, u32 begin, u32 end,
                           const vreal *pivots, vreal *means, vreal *squares) {
    real n = 0;
    for (int v = 0; v < vectors; ++v) means[v] = squares[v] = VSPLAT(0);
    for (u32 r = begin; r < end; r += BLOCK) {
        const u32 rows = end - r < BLOCK ? end - r : BLOCK;
        const real valid = (real)rows, share = valid / (n + valid), weight = n * share, part_ = (real)1 / valid;
        const GLOBAL T *row[BLOCK];
        for (int i = 0; i < BLOCK; ++i) row[i] = x + (from + X_REDUCE(i < rows ? r + i : r));
        for (int v = 0; v < vectors; ++v) {
            const u32 at = COLUMN(v);
            const vreal pivot = pivots[v];
            vreal d[BLOCK];
            UNROLL for (int i = 0; i < BLOCK; ++i) d[i] = i < rows ? VLOAD(row[i], at) - pivot : VSPLAT(0);
            if (RMS) {
                squares[v] = squares[v] + SQUARES(d);
                continue;
            }
            const vreal center = ((d[0] + d[1]) + (d[2] + d[3])) * part_;
            vreal square = VSPLAT(0);
            UNROLL for (int i = 0; i < BLOCK; ++i) {
                const vreal away = d[i] - center;
                if (i < rows) square = square + away * away;
            }
            const vreal step = center - means[v];
            means[v] = means[v] + step * share;
            squares[v] = squares[v] + square + step * step * weight;
        }
        n += valid;
    }
}

// The same from the parts of all slices; parts lie as [slice][outer block][column].
DEVICE void merged_moments(const GLOBAL real *part_means, const GLOBAL real *part_squares, u32 at, vreal *mean,
                           vreal *squares) {
    vreal m = NUMBERS_AT(part_means, at), s = NUMBERS_AT(part_squares, at);
    real n = SLICE_ROWS(0);
    for (u32 k = 1; k < SLICES; ++k) {
        const real more = SLICE_ROWS(k), share = more / (n + more);
        const vreal step = NUMBERS_AT(part_means, at + k * (BLOCKS * COLUMNS)) - m;
        m = m + step * share;
        s = s + NUMBERS_AT(part_squares, at + k * (BLOCKS * COLUMNS)) + step * step * (n * share);
        n += more;
    }
    *mean = m;
    *squares = s;
}
