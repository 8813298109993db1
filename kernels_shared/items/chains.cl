// Chains of the rows of dy that go to the same row of dx: head[row] is the first of them, next[s] the one after s, -1 none.
//
// Each work-item has PER rows of its own and looks for them through all indices from the last to the first, so that chains are in
// order and nothing is atomic. The first work-item tells of indices that are out of range.
//
//   rows of dx    0 .. PER-1 | PER .. 2 PER-1 | ...      one work-item each
//
// Host defines, besides items.h's: INDICES, how many; COUNTED, the numbers of each, STEP_index0 .. apart; SIZE_index0 .., how far they
// may point; USED, the rows of dy; ROWS, those of dx; STEP_error; PLACE, the type of places in
// chains, INT32 or INT64.
#include "items/items.h"

#define TAKE(bit, t)                                                        \
    {                                                                       \
        i64 v = (i64)t[s * (i64)PD_CAT(STEP_, t)];                          \
        const i64 size = PD_CAT(SIZE_, t);                                  \
        if (v < 0) v += size;                                               \
        if (v < 0 || v >= size) wrong |= 1 << bit;                          \
        row = row * size + v;                                               \
    }

KERNEL WG_SIZE(ITEMS, 1, 1)
chains(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const i64 item = (i64)GRP(0) * ITEMS + LID(0), low = item * (i64)(PER);
    const i64 high = low + (i64)(PER) < (i64)(ROWS) ? low + (i64)(PER) : (i64)(ROWS);
    int all = 0;
    for (i64 row = low; row < high; ++row) head[row] = -1;
    if (low < high || item == 0) {
        for (i64 s = (i64)(COUNTED) - 1; s >= 0; --s) {
            i64 row = 0;
            int wrong = 0;
            TAKE(0, index0)
#if INDICES > 1
            TAKE(1, index1)
#endif
#if INDICES > 2
            TAKE(2, index2)
#endif
#if INDICES > 3
            TAKE(3, index3)
#endif
#if INDICES > 4
            TAKE(4, index4)
#endif
            all |= wrong;
            if (!wrong && s < (i64)(USED) && row >= low && row < high) {
                next[s] = head[row];
                head[row] = (ELEMENT(PLACE))s;
            }
        }
    }
    if (item == 0)
        for (int i = 0; i < INDICES; ++i) error[i * (i64)(STEP_error)] = all >> i & 1 ? -1 : 0;
}
