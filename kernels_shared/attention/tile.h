// Attention on GPUs: a work-group has TX by TY work-items, and a tile of BR rows by BC columns of scores.
//
//            lane x: columns x, x + TX, ...            a work-item's scores: RM rows by CN columns, in registers
//          +---+---+---+---+---+---+---+---+
//   lane y |   |   |   |   |   |   |   |   |           what is multiplied lies in local memory, a row every D + 1 (or
//          +---+---+---+---+---+---+---+---+           DV + 1) numbers, so that a column's rows are in different banks
//
// Host defines: TX, TY, RM, CN; D and DV, the lengths of rows of queries and of values; types as in attention/attention.h.

#include "common/types.h"
#include "attention/attention.h"

#define ITEMS (TX * TY)
#define BR (TY * RM)
#define BC (TX * CN)
#define ROW(i) (y + TY * (i))
#define COLUMN(j) (x + TX * (j))
#define EACH_ROW(i) UNROLL for (int i = 0; i < RM; ++i)
#define EACH_COLUMN(j) UNROLL for (int j = 0; j < CN; ++j)

// Rows of a tensor to local memory: `count` of them from `row` on, zeros up to `rows`
#define LOAD_TILE(type, to, from, row, count, rows, length, step_s, step_d, factor)                     \
    UNROLL_AT_MOST(4)                                                                                    \
    for (int place = LID(0); place < (rows) * (length); place += ITEMS) {                                \
        const int r = place / (length), n = place % (length);                                            \
        real number = 0;                                                                                 \
        if (r < (count)) number = GET(type, from, ((row) + r) * step_s + n * step_d) * factor;           \
        to[r * ((length) + 1) + n] = number;                                                             \
    }

// s[RM][CN] = rows of a times rows of b, both in local memory
DEVICE void multiply_tile(real s[RM][CN], const LOCAL_ARG real *a, const LOCAL_ARG real *b, int length, int x, int y) {
    EACH_ROW(i) EACH_COLUMN(j) s[i][j] = 0;
    UNROLL_AT_MOST(4)
    for (int n = 0; n < length; ++n) {
        real of_row[RM], of_column[CN];
        EACH_ROW(i) of_row[i] = a[ROW(i) * (length + 1) + n];
        EACH_COLUMN(j) of_column[j] = b[COLUMN(j) * (length + 1) + n];
        EACH_ROW(i) EACH_COLUMN(j) s[i][j] += of_row[i] * of_column[j];
    }
}

// c[RM][wide] += p, BR rows of `depth` numbers in local memory, times `depth` rows of b, `length` numbers each
#define ADD_PRODUCT(c, wide, p, b, depth, length)                                        \
    UNROLL_AT_MOST(4)                                                                    \
    for (int t = 0; t < (depth); ++t) {                                                  \
        real of_row[RM];                                                                 \
        EACH_ROW(i) of_row[i] = p[ROW(i) * (BC + 1) + t];                                \
        UNROLL for (int m = 0; m < (wide); ++m) {                                        \
            const int n = x + TX * m;                                                    \
            const real number = n < (length) ? b[t * ((length) + 1) + n] : (real)0;      \
            EACH_ROW(i) c[i][m] += of_row[i] * number;                                   \
        }                                                                                \
    }
