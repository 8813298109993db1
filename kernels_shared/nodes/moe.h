// What products of a mixture of experts have in common: expert e has the rows from offset[e] up to offset[e + 1], the last one all that
// are left.
//
// Host defines, besides nodes/items.h's: ROWS, WIDTH, OUT, EXPERTS, sizes; O_0, the offsets' stride; X_1 X_2, W_0 W_1 W_2, Y_1 Y_2, strides of
// rows, of the experts' matrices (or their gradient) and of the result (or its gradient); X_T W_T Y_T, types by name (common/stored.h).
#include "nodes/items.h"

DEVICE i64 start_of(const GLOBAL int *offset, i64 e) {
    const i64 start = e < EXPERTS ? (i64)offset[e * O_0] : (i64)ROWS;
    return start < 0 ? 0 : start > (i64)ROWS ? (i64)ROWS : start;
}
