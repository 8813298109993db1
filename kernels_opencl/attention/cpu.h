// What attention's CPU kernels share. A work-group is one work-item with scratch memory of its own, and takes tiles from a counter.
//
//   rows     [z][rows, a multiple of MR][pitch, a multiple of NR]    one head after the other, in real, zeros beyond
//   panels   [z][panel][length][NR]                                  the same turned over: vectors run along rows
//
//                NR columns of a panel of B
//              +----------------------------+
//    A's row   |  MR x NR: register tile    |    of TILE_ROWS x TILE_COLS scores of a work-group
//              +----------------------------+
//
// Every product is one of rows by panels (scores) or of scores by rows. PLAIN_PANELS: queries are few, and
// panels stay the rows of whole vectors that they are: each score is a sum across a vector. Scores are masked a run at a time: one row's
// columns, or (DOWN) one column's rows.

#include "conv/cpu.h"
#include "attention/attention.h"

#define ROUND_UP(a, b) (((a) + (b) - 1) / (b) * (b))

// c[MR][pitch] (+)= a[MR][a_step] * b[depth][b_step], NR columns
NOINLINE void multiply(GLOBAL real *c, const int pitch, const GLOBAL real *a, const int a_step, const GLOBAL real *b,
                       const int b_step, int depth, int add) {
#define START_ROW(i) const GLOBAL real *a_row##i = a + (i64)(i) * a_step;
#define STEP_ROW(i) { const vreal a##i = (vreal)(a_row##i[k]); COLS(FMA_VECTOR, i) }
    ROWS(START_ROW)
    ROWS(DECLARE_ROW)
    for (int k = 0; k < depth; ++k) {
        COLS(LOAD_B, 0)
        ROWS(STEP_ROW)
        b += b_step;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    ROWS(WRITE_ROW)
}

#ifdef PLAIN_PANELS
// Products of a[length] with VW rows of b, of which there are `count`
NOINLINE vreal multiply_across(const GLOBAL real *a, const GLOBAL real *b, const int b_step, int length, int count) {
    vreal sum[VW];
    UNROLL for (int t = 0; t < VW; ++t) sum[t] = VSPLAT(0);
    if (count >= VW)
        for (int k = 0; k < length; k += VW) {
            const vreal x = RLOAD(a + k);
            UNROLL for (int t = 0; t < VW; ++t) sum[t] = x * RLOAD(b + (i64)t * b_step + k) + sum[t];
        }
    else
        for (int t = 0; t < count; ++t)
            for (int k = 0; k < length; k += VW) sum[t] = RLOAD(a + k) * RLOAD(b + (i64)t * b_step + k) + sum[t];
    transpose(sum);
    UNROLL for (int t = 1; t < VW; ++t) sum[0] += sum[t];
    return sum[0];
}
// c[rows][TILE_COLS] = a[rows][pitch] * rows `first` and following of what would be packed in panels; vectors are of the more
DEVICE void multiply_panels(GLOBAL real *c, const GLOBAL real *a, int rows, int pitch, const GLOBAL real *panels, int first,
                            int columns, int length) {
    const GLOBAL real *b = panels + (i64)first * length;
    if (columns >= rows) {
        for (int j = 0; j < columns; j += VW)
            for (int i = 0; i < rows; ++i)
                RSTORE(multiply_across(a + (i64)i * pitch, b + (i64)j * length, length, length, columns - j), c + i * TILE_COLS + j);
        return;
    }
    for (int i = 0; i < rows; i += VW)
        for (int j = 0; j < columns; ++j) {
            vreal found = multiply_across(b + (i64)j * length, a + (i64)i * pitch, pitch, length, rows - i);
            for (int t = 0; t < MIN(VW, rows - i); ++t) c[(i + t) * TILE_COLS + j] = LANE(found, t);
        }
}
#else
// c[rows][TILE_COLS] = a[rows][pitch] * columns `first` (a multiple of NR) and following of panels
DEVICE void multiply_panels(GLOBAL real *c, const GLOBAL real *a, int rows, int pitch, const GLOBAL real *panels, int first,
                            int columns, int length) {
    for (int j = 0; j < columns; j += NR)
        for (int i = 0; i < rows; i += MR)
            multiply(c + i * TILE_COLS + j, TILE_COLS, a + (i64)i * pitch, pitch, panels + (i64)(first + j) * length, NR, length, 0);
}
#endif
// c[rows][pitch] += a[rows][TILE_COLS], `depth` of each, * b[depth][pitch]
DEVICE void multiply_rows(GLOBAL real *c, const GLOBAL real *a, int rows, int depth, const GLOBAL real *b, int pitch) {
    for (int n = 0; n < pitch; n += NR)
        for (int i = 0; i < rows; i += MR)
            multiply(c + (i64)i * pitch + n, pitch, a + i * TILE_COLS, TILE_COLS, b + n, pitch, depth, 1);
}

DEVICE void fill(GLOBAL real *x, int from, int to, real value) {
    for (; from < to && from % VW; ++from) x[from] = value;
    for (; from + VW <= to; from += VW) RSTORE(VSPLAT(value), x + from);
    for (; from < to; ++from) x[from] = value;
}
DEVICE void scale_row(GLOBAL real *x, int count, real factor) {  // count: a multiple of VW
    for (int j = 0; j < count; j += VW) RSTORE(RLOAD(x + j) * factor, x + j);
}
DEVICE real highest(const GLOBAL real *x, int count) {
    vreal top = RLOAD(x);
    for (int j = VW; j < count; j += VW) {
        const vreal v = RLOAD(x + j);
        top = v > top ? v : top;
    }
    real found = LANE(top, 0);
    UNROLL for (int lane = 1; lane < VW; ++lane) found = LANE(top, lane) > found ? LANE(top, lane) : found;
    return found;
}
DEVICE real total(vreal v) {
    real sum = 0;
    UNROLL for (int lane = 0; lane < VW; ++lane) sum += LANE(v, lane);
    return sum;
}

// A run of `count` scores from (i, j) on, along a row or (down) along a column, of which low .. high - 1 lie in its interval:
// scaled, with what is added, and -inf where they do not count. Vectors beyond `count` are written too.
DEVICE void finish_scores(const attention *at, const sequence *of, GLOBAL real *x, int count, int low, int high, int i, int j,
                          const int down, real scale) {
    const int wide = ROUND_UP(count, VW);
    scale_row(x, wide, scale);
#if defined(BIAS_T) || defined(ALIBI)
    for (int t = low; t < high; ++t) x[t] += down ? added(at, of, i + t, j) : added(at, of, i, j + t);
#endif
#ifdef MASKED
    for (int t = low; t < high; ++t)
        if (!(down ? in_mask(at, of, i + t, j) : in_mask(at, of, i, j + t))) x[t] = -INFINITY_OF(real);
#endif
    fill(x, 0, low, -INFINITY_OF(real));
    fill(x, high, wide, -INFINITY_OF(real));
}

#ifdef DROPS
// Multiply the run low .. high - 1 by what dropout makes of it
DEVICE void drop_scores(const attention *at, const sequence *of, GLOBAL real *x, int low, int high, int i, int j, const int down) {
    for (int t = low; t < high; ++t) x[t] *= down ? drop_factor(at, of, i + t, j) : drop_factor(at, of, i, j + t);
}
#else
#define drop_scores(at, of, x, low, high, i, j, down)
#endif

// Numbers of `count` scores as they are after having been stored with a scale, and the largest of them
#ifdef S_T
DEVICE real store_scores(GLOBAL real *x, int count, real scale, real descale, real top) {
    for (int t = 0; t < count; ++t) {
        const real v = x[t], size = v < 0 ? -v : v;
        top = size > top ? size : top;
        x[t] = ROUNDED(S_T, v * scale) * descale;
    }
    return top;
}
#define LARGER(top, found) top = MAX(top, (found) < 0 ? -(found) : (found));
#else
#define LARGER(top, found)
#endif
