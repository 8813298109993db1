// Gradients of a recurrent layer's biases: sums over all rows of the gates' gradients, added to dw. W and R get the same,
// but for a GRU's new memory, whose R has slot 3.
//
//   GPU: a work-group sums 32 columns, SHARES work-items each      CPU: a work-group of one sums LANES columns
//
// Many rows are summed in parts first (rnn_bias_parts): sums[part][column], of which the same is then taken, one part a row.
//
// Rows are DIRECTIONS * SLOTS * hidden columns. dw: the biases of direction d begin at start + d * (W_BIAS + R_BIAS) * GATES *
// hidden; W_BIAS and R_BIAS tell whether W and R have any.

#include "common/types.h"

#define IN_FLIGHT 8  // rows that a GPU's work-item reads before it adds
#define ADD_TO(place, sum) STORE(dw, place, LOAD(dw, place) + (sum))

DEVICE void add_bias(GLOBAL T *dw, i64 start, int hidden, int column, real sum) {
    const int unit = column % hidden, slot = column / hidden % SLOTS, d = column / hidden / SLOTS;
    const i64 w = start + (i64)d * (W_BIAS + R_BIAS) * GATES * hidden + unit, r = w + W_BIAS * GATES * hidden;
    if (W_BIAS && slot < GATES) ADD_TO(w + slot * hidden, sum);
    if (R_BIAS && (SLOTS == GATES || slot < GATES - 1)) ADD_TO(r + slot * hidden, sum);
    if (R_BIAS && SLOTS > GATES && slot == GATES) ADD_TO(r + (GATES - 1) * hidden, sum);
}

#ifdef SCHEDULE_CPU
KERNEL WG_SIZE(1, 1, 1)
rnn_bias_gradient(TENSOR(const real, gates), TENSOR(T, dw), const i64 gates_start, const i64 start, const int hidden,
                  const int rows, const int columns) {
    GRID_WAIT();
    BIND(const real, gates);
    BIND(T, dw);
    const int first = GRP(0) * LANES, last = first + LANES < columns ? first + LANES : columns;
    const GLOBAL real *from = gates + gates_start;
    real sums[LANES];
    for (int j = 0; j < LANES; ++j) sums[j] = 0;
    if (last - first == LANES) {
        for (int row = 0; row < rows; ++row)
            for (int j = 0; j < LANES; ++j) sums[j] += from[(i64)row * columns + first + j];
    } else {
        for (int row = 0; row < rows; ++row)
            for (int j = first; j < last; ++j) sums[j - first] += from[(i64)row * columns + j];
    }
    for (int j = first; j < last; ++j) add_bias(dw, start, hidden, j, sums[j - first]);
}
#else
KERNEL WG_SIZE(32 * SHARES, 1, 1)
rnn_bias_gradient(TENSOR(const real, gates), TENSOR(T, dw), const i64 gates_start, const i64 start, const int hidden,
                  const int rows, const int columns) {
    GRID_WAIT();
    BIND(const real, gates);
    BIND(T, dw);
    LOCAL real sums[32 * SHARES];
    const int x = LID(0) % 32, y = LID(0) / 32, column = GRP(0) * 32 + x;
    const GLOBAL real *from = gates + gates_start + column;
    real sum[IN_FLIGHT];
    UNROLL for (int k = 0; k < IN_FLIGHT; ++k) sum[k] = 0;
    if (column < columns) {
        int row = y;
        for (; row + (IN_FLIGHT - 1) * SHARES < rows; row += IN_FLIGHT * SHARES)
            UNROLL for (int k = 0; k < IN_FLIGHT; ++k) sum[k] += from[(i64)(row + k * SHARES) * columns];
        for (; row < rows; row += SHARES) sum[0] += from[(i64)row * columns];
    }
    UNROLL for (int k = 1; k < IN_FLIGHT; ++k) sum[0] += sum[k];
    sums[LID(0)] = sum[0];
    BARRIER();
    if (y == 0 && column < columns) {
        real total = 0;
        for (int k = 0; k < SHARES; ++k) total += sums[k * 32 + x];
        add_bias(dw, start, hidden, column, total);
    }
}

#define WIDE 128  // columns of a work-group, four of a work-item, of every eighth row
#ifdef ROUNDED    // besides, all numbers as T, for products
#define ROUNDED_TENSOR , TENSOR(T, rounded)
#define ROUNDED_BIND BIND(T, rounded);
#define KEEP_ROUNDED(at, v) STORE(rounded, at, v)
#else
#define ROUNDED_TENSOR
#define ROUNDED_BIND
#define KEEP_ROUNDED(at, v)
#endif
KERNEL WG_SIZE(256, 1, 1)
rnn_bias_parts(TENSOR(const real, gates), TENSOR(real, sums) ROUNDED_TENSOR, const i64 gates_start, const int rows,
               const int columns, const int parts) {
    GRID_WAIT();
    BIND(const real, gates);
    BIND(real, sums);
    ROUNDED_BIND
    LOCAL real found[8 * WIDE];
    const int blocks = (columns + WIDE - 1) / WIDE, first = GRP(0) % blocks * WIDE, part = GRP(0) / blocks;
    const int x = LID(0) % 32, y = LID(0) / 32, end = (int)((i64)rows * (part + 1) / parts);
    const GLOBAL real *from = gates + gates_start;
    real sum[4];
    UNROLL for (int c = 0; c < 4; ++c) sum[c] = 0;
    for (int row = (int)((i64)rows * part / parts) + y; row < end; row += 16) {
        real v[2][4];
        UNROLL for (int k = 0; k < 2; ++k) {
            UNROLL for (int c = 0; c < 4; ++c) {
                const int column = first + c * 32 + x;
                v[k][c] = row + 8 * k < end && column < columns ? from[(i64)(row + 8 * k) * columns + column] : (real)0;
            }
        }
        UNROLL for (int k = 0; k < 2; ++k) {
            UNROLL for (int c = 0; c < 4; ++c) {
                const int column = first + c * 32 + x;
                sum[c] += v[k][c];
                if (row + 8 * k < end && column < columns) { KEEP_ROUNDED((i64)(row + 8 * k) * columns + column, v[k][c]); }
            }
        }
    }
    UNROLL for (int c = 0; c < 4; ++c) found[y * WIDE + c * 32 + x] = sum[c];
    BARRIER();
    if (LID(0) < WIDE && first + LID(0) < columns) {
        real total = 0;
        for (int k = 0; k < 8; ++k) total += found[k * WIDE + LID(0)];
        sums[(i64)part * columns + first + LID(0)] = total;
    }
}
#endif
