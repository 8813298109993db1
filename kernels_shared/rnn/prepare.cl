// What surrounds the steps of recurrent networks: sums of biases, initial states, and the small passes that are no matrix
// products. One work-item an element; on CPUs a work-group of one takes CHUNK of them.
//
// Defines: GATES, SLOTS and DIRECTIONS of the network.

#include "common/types.h"

#ifdef SCHEDULE_CPU
#define PREPARE_SIZE WG_SIZE(1, 1, 1)
#define EACH_ELEMENT(size)                                                                                 \
    const i64 last = (GRP(0) + (i64)1) * CHUNK < (size) ? (GRP(0) + (i64)1) * CHUNK : (size);              \
    for (i64 at = (i64)GRP(0) * CHUNK; at < last; ++at)
#else
#define PREPARE_SIZE WG_SIZE(256, 1, 1)
#define EACH_ELEMENT(size)                                                                                 \
    const i64 at = (i64)GRP(0) * 256 + LID(0);                                                             \
    if (at < (size))
#endif

// W_BIAS, R_BIAS: whether W and R have biases
#ifndef W_BIAS
#define W_BIAS 1
#define R_BIAS 1
#endif
#define BIAS_OF_W(place) (W_BIAS ? LOAD(w, place) : (real)0)
#define BIAS_OF_R(place) (R_BIAS ? LOAD(w, place) : (real)0)

// bias[direction][SLOTS][hidden]: of W and R together, but for a GRU's new memory, which has them apart
KERNEL PREPARE_SIZE
rnn_bias(TENSOR(const T, w), TENSOR(real, bias), const i64 w_start, const int hidden, const i64 size) {
    GRID_WAIT();
    BIND(const T, w);
    BIND(real, bias);
    EACH_ELEMENT(size) {
        const int slot = (int)(at / hidden % SLOTS), unit = (int)(at % hidden);
        const i64 own = w_start + at / hidden / SLOTS * (W_BIAS + R_BIAS) * GATES * hidden + unit;
        const i64 other = own + W_BIAS * GATES * hidden;
        real v;
        if (SLOTS > GATES && slot >= GATES - 1) {
            v = slot == GATES ? BIAS_OF_R(other + (GATES - 1) * hidden) : BIAS_OF_W(own + slot * hidden);
        } else {
            v = BIAS_OF_W(own + slot * hidden) + BIAS_OF_R(other + slot * hidden);
        }
        bias[at] = v;
    }
}

KERNEL PREPARE_SIZE rnn_zero(TENSOR(real, state), const i64 size) {
    GRID_WAIT();
    BIND(real, state);
    EACH_ELEMENT(size) state[at] = 0;
}

KERNEL PREPARE_SIZE rnn_widen(TENSOR(const T, from), TENSOR(real, to), const i64 size) {
    GRID_WAIT();
    BIND(const T, from);
    BIND(real, to);
    EACH_ELEMENT(size) to[at] = LOAD(from, at);
}

KERNEL PREPARE_SIZE rnn_round(TENSOR(const real, from), TENSOR(T, to), const i64 size) {
    GRID_WAIT();
    BIND(const real, from);
    BIND(T, to);
    EACH_ELEMENT(size) STORE(to, at, from[at]);
}

// gates[row][direction][slot][hidden] = x[row][hidden] for every gate: the first layer without a matrix
KERNEL PREPARE_SIZE
rnn_spread(TENSOR(const T, x), TENSOR(real, gates), const i64 gates_start, const int hidden, const i64 size) {
    GRID_WAIT();
    BIND(const T, x);
    BIND(real, gates);
    EACH_ELEMENT(size) {
        const int unit = (int)(at % hidden);
        const i64 row = at / hidden / SLOTS / DIRECTIONS;
        gates[gates_start + at] = LOAD(x, row * hidden + unit);
    }
}

// and its gradient: dx[row][hidden] = sum over directions and gates
KERNEL PREPARE_SIZE
rnn_gather(TENSOR(const real, gates), TENSOR(T, dx), const i64 gates_start, const int hidden, const i64 size) {
    GRID_WAIT();
    BIND(const real, gates);
    BIND(T, dx);
    EACH_ELEMENT(size) {
        const GLOBAL real *from = gates + gates_start + at / hidden * (DIRECTIONS * SLOTS) * hidden + at % hidden;
        real sum = 0;
        for (int d = 0; d < DIRECTIONS; ++d)
            for (int g = 0; g < GATES; ++g) sum += from[(d * SLOTS + g) * hidden];
        STORE(dx, at, sum);
    }
}
