// R of a layer in the order of rnn/product_mma.h: packed[direction][panel][k / 32][column / 8][lane][8], zeros beyond the units.
// TURNED, for gradients: a column is a unit and k runs over the gates' rows; else k runs over the hidden state.
//
// Also rows of states in T, as the steps read them: rnn_pad.
//
// Defines: GATES; BN UNIT_COLUMNS as in rnn/product_mma.h.

#include "common/types.h"

#define NT (BN / 8)
#define UNITS (BN / UNIT_COLUMNS)

struct alignas(16) Eight {
    T v[8];
};

// a work-item has a lane's eight numbers
KERNEL WG_SIZE(256, 1, 1)
rnn_pack_mma(TENSOR(const T, w), TENSOR(T, packed), const i64 w_start, const i64 w_direction, const int hidden,
             const int depth, const int panels, const i64 vectors) {
    GRID_WAIT();
    const i64 at = (i64)GRP(0) * 256 + LID(0);
    if (at >= vectors) return;
    const u32 vector = (u32)at, blocks = (depth + 31) / 32, lane = vector % 32, tile = vector / 32 % NT;
    const int k = (int)(vector / 32 / NT % blocks * 32 + lane % 4 * 8), column = (int)(lane / 4);
    const u32 rest = vector / 32 / NT / blocks;
    const int own = UNIT_COLUMNS == 4 ? (int)(tile / 2) * 4 + column / 2 : (int)tile * 8 + column;
    const int unit = (int)(rest % panels) * UNITS + own, gate = UNIT_COLUMNS == 4 ? (int)(tile % 2) * 2 + column % 2 : 0;
    const T *from = w + w_start + rest / panels * w_direction;
    Eight found;
    UNROLL for (int e = 0; e < 8; ++e) found.v[e] = 0;
#ifdef TURNED
    if (unit < hidden) {
        from += (i64)k * hidden + unit;
        UNROLL for (int e = 0; e < 8; ++e) if (k + e < depth) found.v[e] = from[(i64)e * hidden];
    }
#else
    if (unit < hidden && gate < GATES) {
        from += ((i64)gate * hidden + unit) * hidden + k;
        UNROLL for (int e = 0; e < 8; ++e) if (k + e < depth) found.v[e] = from[e];
    }
#endif
    *(Eight *)(packed + at * 8) = found;
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
