// R of a layer in the order in which the steps on a GPU read it: packed[direction][panel][k][COLUMNS], zeros beyond the
// units. Forward, a column is a gate of a unit and k runs over the hidden state; TURNED, for gradients, a column is a unit
// and k runs over the gates' rows.
//
// Defines: GATES; COLUMNS of a panel, its UNITS, and COLUMN_UNIT(c), COLUMN_GATE(c), the unit and the gate of column c.

#include "common/types.h"

KERNEL WG_SIZE(256, 1, 1)
rnn_pack(TENSOR(const T, w), TENSOR(real, packed), const i64 w_start, const i64 w_direction, const int hidden,
         const int depth, const int panels, const i64 size) {
    GRID_WAIT();
    BIND(const T, w);
    BIND(real, packed);
    const i64 at = (i64)GRP(0) * 256 + LID(0);
    if (at >= size) return;
    const int c = (int)(at % COLUMNS);
    const int k = (int)(at / COLUMNS % depth);
    const int panel = (int)(at / COLUMNS / depth % panels);
    const i64 from = w_start + at / COLUMNS / depth / panels * w_direction;
    const int unit = panel * UNITS + COLUMN_UNIT(c);
    real v = 0;
#ifdef TURNED
    if (unit < hidden) v = LOAD(w, from + (i64)k * hidden + unit);
#else
    const int gate = COLUMN_GATE(c);
    if (unit < hidden && gate < GATES) v = LOAD(w, from + ((i64)gate * hidden + unit) * hidden + k);
#endif
    packed[at] = v;
}
