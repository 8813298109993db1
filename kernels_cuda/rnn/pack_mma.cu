// R of a layer in the order of rnn/product_mma.h: packed[direction][panel][k / 32][column / 8][lane][8], zeros beyond the units.
// TURNED, for gradients: a column is a unit and k runs over the gates' rows; else k runs over the hidden state.
//
// Also rows of states in T, as the steps read them: rnn_pad.
//
// Defines: GATES; BN UNIT_COLUMNS as in rnn/product_mma.h.

#include "common/types.h"

#define NT (BN / 8)
#define UNITS (BN / UNIT_COLUMNS)

KERNEL WG_SIZE(256, 1, 1)
rnn_pack_mma(TENSOR(const T, w), TENSOR(T, packed), const i64 w_start, const i64 w_direction, const int hidden,
             const int depth, const int panels, const i64 size) {
    GRID_WAIT();
    const i64 at = (i64)GRP(0) * 256 + LID(0);
    if (at >= size) return;
    const int lane = (int)(at / 8 % 32), tile = (int)(at / 256 % NT), blocks = (depth + 31) / 32;
    const int k = (int)(at / 256 / NT % blocks) * 32 + lane % 4 * 8 + (int)(at % 8);
    const i64 rest = at / 256 / NT / blocks;
    const int panel = (int)(rest % panels), column = lane / 4;
    const i64 from = w_start + rest / panels * w_direction;
    const int own = UNIT_COLUMNS == 4 ? tile / 2 * 4 + column / 2 : tile * 8 + column;
    const int unit = panel * UNITS + own, gate = UNIT_COLUMNS == 4 ? tile % 2 * 2 + column % 2 : 0;
    T v = 0;
#ifdef TURNED
    if (unit < hidden && k < depth) v = w[from + (i64)k * hidden + unit];
#else
    if (unit < hidden && k < depth && gate < GATES) v = w[from + ((i64)gate * hidden + unit) * hidden + k];
#endif
    packed[at] = v;
}

// to[row][pitch] = from[row][hidden] rounded, zeros beyond
KERNEL WG_SIZE(256, 1, 1)
rnn_pad(TENSOR(const real, from), TENSOR(T, to), const int hidden, const int pitch, const i64 size) {
    GRID_WAIT();
    const i64 at = (i64)GRP(0) * 256 + LID(0);
    if (at >= size) return;
    const int k = (int)(at % pitch);
    STORE(to, at, k < hidden ? from[at / pitch * hidden + k] : (real)0);
}
