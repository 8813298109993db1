// What attention computes beside its products, as simple loops: a work-item for each row or score, a work-group for each head.
//
//   attention_dot     of each row [b][h][pitch]: dot, the products of output and its gradient, scaled as the mean of a row's
//                     gradients is; logs, the statistics. 0 beyond the sequences. PER_ROW neighbouring work-items for each row
//   attention_pages   keys or values in pages, copied together
//   attention_ragged  the table of sequences without padding (attention/placed.h), a work-item for each sequence
//   attention_drawn   the mask of dropout, 1 where a probability is kept
//   attention_sink    the gradient to each head's sink
//   attention_most    the largest of the numbers that tiles have left

#include "common/types.h"
#include "attention/attention.h"

#ifdef O_T
KERNEL WG_SIZE(ITEMS, 1, 1)
attention_dot(PLACED(const ELEMENT(O_T), o), PLACED(const ELEMENT(DO_T), grad), PLACED(const ELEMENT(STATS_T), stats),
              TENSOR(real, dot), TENSOR(real, logs), const i64 places, const int pitch, const int length, ATTENTION) {
    GRID_WAIT();
    BIND(const ELEMENT(O_T), o);
    BIND(const ELEMENT(DO_T), grad);
    BIND(const ELEMENT(STATS_T), stats);
    BIND(real, dot);
    BIND(real, logs);
    ATTENTION_BIND(at)
    const int lane = LID(0) % PER_ROW;
    const i64 place = ((i64)GRP(0) * ITEMS + LID(0)) / PER_ROW;
    const int i = (int)(place % pitch), z = (int)(place / pitch), b = z / heads, h = z % heads;
    real sum = 0, logarithm = 0;
    if (place < places && i < the_sequence(&at, b, h).rows) {
        const GLOBAL ELEMENT(O_T) *from = OF(o, b, h) + i * o_s;
        const GLOBAL ELEMENT(DO_T) *with = OF(grad, b, h) + i * grad_s;
        for (int k = lane; k < length; k += PER_ROW) sum += GET(O_T, from, k * o_d) * GET(DO_T, with, k * grad_d);
        sum *= numbers[DESCALE_O] * numbers[DESCALE_DO] * numbers[DROPOUT_SCALE] * numbers[DROPOUT_SCALE_INV];
        logarithm = GET(STATS_T, OF(stats, b, h), i * stats_s);
    }
#if PER_ROW > 1
    LOCAL real parts[ITEMS];
    parts[LID(0)] = sum;
    BARRIER();
    sum = 0;
    UNROLL for (int k = 0; k < PER_ROW; ++k) sum += parts[LID(0) - lane + k];
#endif
    if (lane != 0 || place >= places) return;
    dot[place] = sum;
    logs[place] = logarithm == -INFINITY_OF(real) ? (real)0 : logarithm;  // nothing counts there
}
#endif

#ifdef PAGED_T
KERNEL WG_SIZE(ITEMS, 1, 1)
attention_pages(PLACED(const ELEMENT(PAGED_T), paged), TENSOR(const ELEMENT(TABLE_T), table), const i64 table_b, const i64 table_s,
                TENSOR(ELEMENT(PAGED_T), whole), const i64 places, const int of_heads, const int length, const int page, ATTENTION) {
    GRID_WAIT();
    BIND(const ELEMENT(PAGED_T), paged);
    BIND(const ELEMENT(TABLE_T), table);
    BIND(ELEMENT(PAGED_T), whole);
    ATTENTION_BIND(at)
    const i64 place = (i64)GRP(0) * ITEMS + LID(0);
    if (place >= places) return;
    const int j = (int)(place % skv), z = (int)(place / skv), b = z / of_heads, h = z % of_heads;
    const sequence of = the_sequence(&at, b, 0);
    if (j >= of.columns) return;  // the table need not say where these are
    const i64 number = table[FIRST_OF(table, b) + j / page * table_s];
    const GLOBAL ELEMENT(PAGED_T) *from = OF(paged, number, h) + j % page * paged_s;
    for (int k = 0; k < length; ++k) whole[place * length + k] = from[k * paged_d];
}
#endif

#ifdef RAGGED_PAIRS
// PAIR(place, of, least): tensor `place` has its offsets in `of`, each counting of_each elements, and of_row elements from row to
// row, each of which reaches over of_reach; its sequences have `least` rows at most. What lies beyond its memory is not there.
#define PAIR(place, of, least)                                                                     \
    {                                                                                              \
        const i64 begin = (i64)of[b * of##_step] * of##_each, end = (i64)of[(b + 1) * of##_step] * of##_each; \
        const i64 room = ((i64)of##_high << 20 | (i64)of##_low) - begin - of##_reach;              \
        const i64 wanted = (end - begin) / of##_row, held = room < 0 ? 0 : room / of##_row + 1;    \
        const i64 there = begin < 0 || wanted < 0 ? 0 : wanted < held ? wanted : held;             \
        table[2 * (b * RAGGED + place)] = begin;                                                   \
        table[2 * (b * RAGGED + place) + 1] = there;                                               \
        least = there < least ? there : least;                                                     \
    }
// The same of a table of pages, `page` rows each
#define PAGES(place, of, page)                                           \
    {                                                                    \
        i64 pages = columns;                                             \
        PAIR(place, of, pages)                                           \
        columns = pages * (page) < columns ? pages * (page) : columns;   \
    }
#define OFFSETS(type, of)                                                                                      \
    TENSOR(const ELEMENT(type), of), const i64 of##_step, const i64 of##_each, const i64 of##_row, const i64 of##_reach, \
        const float of##_low, const float of##_high

KERNEL WG_SIZE(ITEMS, 1, 1)
attention_ragged(TENSOR(i64, table), TENSOR(const ELEMENT(ROWS_T), rows_of), TENSOR(const ELEMENT(COLUMNS_T), columns_of),
                 const int batches RAGGED_ARGUMENTS) {
    GRID_WAIT();
    BIND(i64, table);
    BIND(const ELEMENT(ROWS_T), rows_of);
    BIND(const ELEMENT(COLUMNS_T), columns_of);
    RAGGED_BIND
    const i64 b = (i64)GRP(0) * ITEMS + LID(0);
    if (b >= batches) return;
    i64 rows = ROWS_AT(rows_of, b), columns = COLUMNS_AT(columns_of, b), unread = 0;
    RAGGED_PAIRS
    table[2 * b * RAGGED] = rows;
    table[2 * b * RAGGED + 1] = columns;
}
#endif

#ifdef DRAWN_T
KERNEL WG_SIZE(ITEMS, 1, 1) attention_drawn(PLACED(ELEMENT(DRAWN_T), drawn), const i64 scores, ATTENTION) {
    GRID_WAIT();
    BIND(ELEMENT(DRAWN_T), drawn);
    ATTENTION_BIND(at)
    const i64 place = (i64)GRP(0) * ITEMS + LID(0);
    if (place >= scores) return;
    const int j = (int)(place % skv), i = (int)(place / skv % sq), z = (int)(place / ((i64)skv * sq));
    const sequence of = the_sequence(&at, z / heads, z % heads);
    PUT(DRAWN_T, OF(drawn, of.b, of.h), i * drawn_s + j * drawn_d, is_kept(&at, &of, i, j) ? (real)1 : (real)0);
}
#endif

#ifdef DSINK_T
KERNEL WG_SIZE(ITEMS, 1, 1)
attention_sink(TENSOR(ELEMENT(DSINK_T), gradient), const i64 gradient_h, TENSOR(const real, dot), TENSOR(const real, logs),
               const int batches, const int pitch, ATTENTION) {
    GRID_WAIT();
    BIND(ELEMENT(DSINK_T), gradient);
    BIND(const real, dot);
    BIND(const real, logs);
    ATTENTION_BIND(at)
    LOCAL real sums[ITEMS];
    const int h = GRP(0);
    const real token = GET(SINK_T, sink, h * sink_h);
    real sum = 0;
    for (int b = 0; b < batches; ++b) {
        const sequence of = the_sequence(&at, b, h);
        const i64 first = ((i64)b * heads + h) * pitch;
        for (int i = LID(0); i < of.rows; i += ITEMS) sum += exp(token - logs[first + i]) * dot[first + i];
    }
    sums[LID(0)] = sum;
    BARRIER();
    if (LID(0) == 0) {
        real total = 0;
        for (int item = 0; item < ITEMS; ++item) total += sums[item];
        PUT(DSINK_T, gradient, h * gradient_h, -total);
    }
}
#endif

#ifdef MOST_T
KERNEL WG_SIZE(ITEMS, 1, 1)
attention_most(TENSOR(const real, found), TENSOR(ELEMENT(MOST_T), result), const i64 count) {
    GRID_WAIT();
    BIND(const real, found);
    BIND(ELEMENT(MOST_T), result);
    LOCAL real tops[ITEMS];
    real top = 0;
    for (i64 place = LID(0); place < count; place += ITEMS) top = PICK(found[place] > top, found[place], top);
    tops[LID(0)] = top;
    BARRIER();
    if (LID(0) == 0) {
        for (int item = 1; item < ITEMS; ++item) top = PICK(tops[item] > top, tops[item], top);
        PUT(MOST_T, result, 0, top);
    }
}
#endif
