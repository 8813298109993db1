// What attention's kernels share: their arguments, which scores count, and what is added to them and drawn for them.
//
// Score (i, j) of a head: row i of queries, column j of keys. Bands and the lengths of sequences leave each row an interval
// of columns, and each column an interval of rows; what else there is comes by defines of the host, types as in common/stored.h:
//
//   ROWS_T COLUMNS_T   types of the lengths of sequences, (b) each, ROWS_STEP and COLUMNS_STEP apart; with RAGGED the table has them
//   ROWS_SUMMED COLUMNS_SUMMED   they are sums of the lengths before each sequence, (b + 1)
//   BIAS_T         something is added
//   ALIBI          slope(head) * (j - i) is added
//   BLOCK_MASK     a bit for each block of 128 x 128 scores
//   WINDOWS        each row has columns of its own: six numbers for each of sq rows, [first, end, least first of this row and
//                  those behind it, greatest end of those up to it, greatest first of those up to it, least end of this row and
//                  those behind it][row]; and, where there are gradients of keys, four for each of skv columns: the first row
//                  that sees any of those up to it and the end of them, the same of rows that see all (attention/multi_head.cl)
//   DRAWN          dropout by Philox: kept where the word of score ((b * heads + h) * sq + i) * skv + j is <= last_kept
//   MASK_T         dropout by a mask
//   SINK_T         a score for each head that has no value
//
// ATTENTION declares these arguments, ATTENTION_BIND(at) fills a struct with them; the host states them in the same order
// (backends/attention/operands.py); tensors are as attention/placed.h says. `numbers` are what attention/start.cl has left in
// memory: each at the place of its name (ATTN_SCALE ...), a define of the host, and 1 where the program states none. `words` are
// the seed and the offset of random numbers.

#include "common/stored.h"
#include "common/philox.h"
#include "attention/placed.h"

#define PD_FIELDS(type, x) \
    GLOBAL type *x;        \
    i64 x##_b, x##_h, x##_s, x##_d;
#define PD_TAKE(at, type, x) \
    BIND(type, x);           \
    at.x = x;                \
    at.x##_b = x##_b;        \
    at.x##_h = x##_h;        \
    at.x##_s = x##_s;        \
    at.x##_d = x##_d;
#ifdef ROWS_SUMMED
#define ROWS_AT(of, b) SUMMED_AT(of, b, ROWS_STEP)
#else
#define ROWS_AT(of, b) of[(b) * ROWS_STEP]
#endif
#ifdef COLUMNS_SUMMED
#define COLUMNS_AT(of, b) SUMMED_AT(of, b, COLUMNS_STEP)
#else
#define COLUMNS_AT(of, b) of[(b) * COLUMNS_STEP]
#endif
#if defined(RAGGED)
#define PD_LENGTHS PD_RAGGED
#define PD_BIND_LENGTHS(at) \
    PD_BIND_RAGGED          \
    at.ragged = ragged;
#elif defined(ROWS_T)
#define PD_LENGTHS , TENSOR(const ELEMENT(ROWS_T), rows_of), TENSOR(const ELEMENT(COLUMNS_T), columns_of)
#define PD_BIND_LENGTHS(at)                    \
    BIND(const ELEMENT(ROWS_T), rows_of);    \
    BIND(const ELEMENT(COLUMNS_T), columns_of); \
    at.rows_of = rows_of;                      \
    at.columns_of = columns_of;
#else
#define PD_LENGTHS
#define PD_BIND_LENGTHS(at)
#endif
#ifdef BIAS_T
#define PD_BIAS , PLACED(const ELEMENT(BIAS_T), bias)
#define PD_BIND_BIAS(at) PD_TAKE(at, const ELEMENT(BIAS_T), bias)
#else
#define PD_BIAS
#define PD_BIND_BIAS(at)
#endif
#ifdef BLOCK_MASK
#define PD_BLOCKS , PLACED(const byte, blocks)
#define PD_BIND_BLOCKS(at) PD_TAKE(at, const byte, blocks)
#else
#define PD_BLOCKS
#define PD_BIND_BLOCKS(at)
#endif
#ifdef WINDOWS
#define PD_WINDOWS , TENSOR(const int, windows)
#define PD_BIND_WINDOWS(at)   \
    BIND(const int, windows); \
    at.windows = windows;
#else
#define PD_WINDOWS
#define PD_BIND_WINDOWS(at)
#endif
#if defined(BLOCK_MASK) || defined(WINDOWS)
#define MASKED  // scores within bands and lengths are asked for one by one
#endif
#ifdef SINK_T
#define PD_SINK , TENSOR(const ELEMENT(SINK_T), sink), const i64 sink_h
#define PD_BIND_SINK(at)               \
    BIND(const ELEMENT(SINK_T), sink); \
    at.sink = sink;                    \
    at.sink_h = sink_h;
#else
#define PD_SINK
#define PD_BIND_SINK(at)
#endif
#if defined(DRAWN)
#define DROPS
#define PD_DROPOUT , const u32 last_kept
#define PD_BIND_DROPOUT(at) at.last_kept = last_kept;
#elif defined(MASK_T)
#define DROPS
#define PD_DROPOUT , PLACED(const ELEMENT(MASK_T), mask)
#define PD_BIND_DROPOUT(at) PD_TAKE(at, const ELEMENT(MASK_T), mask)
#else
#define PD_DROPOUT
#define PD_BIND_DROPOUT(at)
#endif

#define ATTENTION                                                                                                          \
    const int heads, const int sq, const int skv, const int left, const int right, const int bottom, TENSOR(const real, numbers), \
        TENSOR(const u32, words) PD_LENGTHS PD_BIAS PD_BLOCKS PD_WINDOWS PD_SINK PD_DROPOUT
#define ATTENTION_BIND(at)    \
    attention at;             \
    BIND(const real, numbers); \
    BIND(const u32, words);   \
    at.heads = heads;         \
    at.sq = sq;               \
    at.skv = skv;             \
    at.left = left;           \
    at.right = right;         \
    at.bottom = bottom;       \
    at.numbers = numbers;     \
    at.words = words;         \
    PD_BIND_LENGTHS(at) PD_BIND_BIAS(at) PD_BIND_BLOCKS(at) PD_BIND_WINDOWS(at) PD_BIND_SINK(at) PD_BIND_DROPOUT(at)

typedef struct {
    int heads, sq, skv, left, right, bottom;
    const GLOBAL real *numbers;
    const GLOBAL u32 *words;
#if defined(RAGGED)
    const GLOBAL i64 *ragged;
#elif defined(ROWS_T)
    const GLOBAL ELEMENT(ROWS_T) *rows_of;
    const GLOBAL ELEMENT(COLUMNS_T) *columns_of;
#endif
#ifdef BIAS_T
    PD_FIELDS(const ELEMENT(BIAS_T), bias)
#endif
#ifdef BLOCK_MASK
    PD_FIELDS(const byte, blocks)
#endif
#ifdef WINDOWS
    const GLOBAL int *windows;
#endif
#ifdef SINK_T
    const GLOBAL ELEMENT(SINK_T) *sink;
    i64 sink_h;
#endif
#ifdef DRAWN
    u32 last_kept;
#elif defined(MASK_T)
    PD_FIELDS(const ELEMENT(MASK_T), mask)
#endif
} attention;

// One head of one sequence: its rows and columns, and how far the diagonal is moved.
typedef struct {
    int b, h, rows, columns, offset;
    real slope;
} sequence;

DEVICE int least(int a, int b) { return a < b ? a : b; }
DEVICE int most(int a, int b) { return a > b ? a : b; }

DEVICE sequence the_sequence(const attention *at, int b, int h) {
    sequence one;
    one.b = b;
    one.h = h;
#if defined(RAGGED)
    const GLOBAL i64 *ragged = at->ragged;
    const int rows = (int)RAGGED_BEGIN(b, 0), columns = (int)RAGGED_ROWS(b, 0);
#elif defined(ROWS_T)
    const int rows = (int)ROWS_AT(at->rows_of, b), columns = (int)COLUMNS_AT(at->columns_of, b);
#else
    const int rows = at->sq, columns = at->skv;
#endif
    one.rows = least(rows, at->sq);
    one.columns = least(columns, at->skv);
    one.offset = at->bottom ? columns - rows : 0;
    one.slope = 0;
#ifdef ALIBI
    int power = 1;
    while (2 * power <= at->heads) power *= 2;
    const real step = h < power ? (real)(8 * (h + 1)) : (real)(4 * (2 * (h - power) + 1));
    one.slope = exp(step / power * (real)-0.69314718055994530942);
#endif
    return one;
}

// Row i sees columns first_column .. end_column - 1, column j is seen by rows first_row .. end_row - 1; both ends grow
#ifdef WINDOWS
#define WINDOW(at, which, i) at->windows[(which) * at->sq + least(i, at->sq - 1)]
#define WINDOW_OF_COLUMN(at, which, j) at->windows[6 * at->sq + (which) * at->skv + least(j, at->skv - 1)]
DEVICE int first_column(const attention *at, const sequence *of, int i) { return WINDOW(at, 2, i); }
DEVICE int end_column(const attention *at, const sequence *of, int i) {
    return i < of->rows ? least(of->columns, WINDOW(at, 3, i)) : 0;
}
DEVICE int first_row(const attention *at, const sequence *of, int j) { return WINDOW_OF_COLUMN(at, 0, j); }
DEVICE int end_row(const attention *at, const sequence *of, int j) {
    return j < of->columns ? least(of->rows, WINDOW_OF_COLUMN(at, 1, j)) : 0;
}
DEVICE bool in_mask(const attention *at, const sequence *of, int i, int j) { return j >= WINDOW(at, 0, i) && j < WINDOW(at, 1, i); }
// Rows from `first` to `last` all see the columns inner_column .. inner_end - 1, which no block of a mask hides; and so on
DEVICE int inner_column(const attention *at, const sequence *of, int last) { return WINDOW(at, 4, last); }
DEVICE int inner_end(const attention *at, const sequence *of, int first) {
    return first < of->rows ? least(of->columns, WINDOW(at, 5, first)) : 0;
}
DEVICE int inner_row(const attention *at, const sequence *of, int last) { return WINDOW_OF_COLUMN(at, 2, last); }
DEVICE int inner_end_row(const attention *at, const sequence *of, int first) {
    return first < of->columns ? least(of->rows, WINDOW_OF_COLUMN(at, 3, first)) : 0;
}
#else
DEVICE int first_column(const attention *at, const sequence *of, int i) { return most(0, i + of->offset - at->left + 1); }
DEVICE int end_column(const attention *at, const sequence *of, int i) {
    return i < of->rows ? least(of->columns, i + of->offset + at->right + 1) : 0;
}
DEVICE int first_row(const attention *at, const sequence *of, int j) { return most(0, j - of->offset - at->right); }
DEVICE int end_row(const attention *at, const sequence *of, int j) {
    return j < of->columns ? least(of->rows, j - of->offset + at->left) : 0;
}
#define inner_column first_column
#define inner_end end_column
#define inner_row first_row
#define inner_end_row end_row
#endif

#ifdef BLOCK_MASK
DEVICE bool in_mask(const attention *at, const sequence *of, int i, int j) {
    const GLOBAL byte *row = at->blocks + of->b * at->blocks_b + of->h * at->blocks_h + (i / 128) * at->blocks_s;
    return row[(j / 1024) * at->blocks_d] >> (j / 128 % 8) & 1;
}
#endif

// The columns that row i itself sees, of which a mask may hide some
typedef struct {
    int begin, end;
} interval;
DEVICE interval columns_of_row(const attention *at, const sequence *of, int i) {
    interval one;
#ifdef WINDOWS
    one.begin = WINDOW(at, 0, i);
    one.end = i < of->rows ? least(of->columns, WINDOW(at, 1, i)) : 0;
#else
    one.begin = first_column(at, of, i);
    one.end = end_column(at, of, i);
#endif
    return one;
}
DEVICE bool counts_within(const attention *at, const sequence *of, interval seen, int i, int j) {
    if (j < seen.begin || j >= seen.end) return false;
#ifdef BLOCK_MASK
    return in_mask(at, of, i, j);
#else
    return true;
#endif
}
DEVICE bool counts(const attention *at, const sequence *of, int i, int j) {
    return counts_within(at, of, columns_of_row(at, of, i), i, j);
}

// What is added to a score that counts
DEVICE real added(const attention *at, const sequence *of, int i, int j) {
    real sum = of->slope * (j - i);
#ifdef BIAS_T
    sum += GET(BIAS_T, at->bias, of->b * at->bias_b + of->h * at->bias_h + i * at->bias_s + j * at->bias_d);
#endif
    return sum;
}

#ifdef DRAWN
DEVICE bool is_kept(const attention *at, const sequence *of, int i, int j) {
    const u64 place = (((u64)of->b * at->heads + of->h) * at->sq + i) * at->skv + j;
    u32 drawn[4];
    drawn[0] = (u32)(place >> 2);
    drawn[1] = 0;
    drawn[2] = at->words[2];
    drawn[3] = at->words[3];
    philox4x32(drawn, at->words[0], at->words[1]);
    const u32 which = (u32)place & 3;
    return (which == 0 ? drawn[0] : which == 1 ? drawn[1] : which == 2 ? drawn[2] : drawn[3]) <= at->last_kept;
}
#endif

// What a probability is multiplied by before it meets the values
DEVICE real drop_factor(const attention *at, const sequence *of, int i, int j) {
#if defined(DRAWN)
    return is_kept(at, of, i, j) ? at->numbers[DROPOUT_SCALE] : (real)0;
#elif defined(MASK_T)
    const i64 place = of->b * at->mask_b + of->h * at->mask_h + i * at->mask_s + j * at->mask_d;
    return GET(MASK_T, at->mask, place) * at->numbers[DROPOUT_SCALE];
#else
    return 1;
#endif
}
