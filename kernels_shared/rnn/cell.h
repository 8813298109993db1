// What a recurrent cell does with the sums of its gates, forward and backward, for a vector of hidden units at a time.
//
// One row of a step: slots of `hidden` numbers each, in memory [row][direction][slot][hidden] (rnn_layout.py).
//
//   plain     h = f(wx + rh)                         slot 0: sums, then their gradient
//   LSTM      c = f K(c') + i n, h = o tanh(K(c))    slots i, f, n (new memory), o; K keeps within the limits, if any
//   GRU       h = (1 - u) n + u h'                   slots r, u (update), n, q = R h' + b_R of the new memory
//             n = tanh(wx + r q)
//
// Defines: CELL_RELU, CELL_TANH, CELL_LSTM or CELL_GRU; TRAINING where slots are kept. CLIP_LOW, CLIP_HIGH: the limits that
// an LSTM's cells are read with; they are stored as they are. NaN stays NaN, and a limit that is reached has no gradient.
// VGET(p, i), VPUT(p, i, v): a vector of real in memory, of which `count` lanes exist.

#include "common/exponentials.h"

#if defined(CELL_LSTM)
#define GATES 4
#define SLOTS 4
#elif defined(CELL_GRU)
#define GATES 3
#define SLOTS 4
#else
#define GATES 1
#define SLOTS 1
#endif

#ifdef CLIP_LOW
#define AT_LEAST(c) PICK((c) < CLIP_LOW, VSPLAT(CLIP_LOW), c)
#define ABOVE(c, v) PICK((c) > CLIP_LOW, v, VSPLAT(0))
#else
#define AT_LEAST(c) (c)
#define ABOVE(c, v) (v)
#endif
#ifdef CLIP_HIGH
#define AT_MOST(c) PICK((c) > CLIP_HIGH, VSPLAT(CLIP_HIGH), c)
#define BELOW(c, v) PICK((c) < CLIP_HIGH, v, VSPLAT(0))
#else
#define AT_MOST(c) (c)
#define BELOW(c, v) (v)
#endif

DEVICE vreal clipped(vreal c) {
    const vreal least = AT_LEAST(c);
    return AT_MOST(least);
}
// The gradient v of what was read of cells, as that of the cells.
DEVICE vreal moving(vreal c, vreal v) {
    const vreal least = ABOVE(c, v);
    return BELOW(c, least);
}

DEVICE vreal sigmoid(vreal v) { return VSPLAT(1) / (pd_exp(-v) + (real)1); }

#ifdef TRAINING
#define KEEP(slot, v) VPUT(gates, (slot) * hidden, v)
#else
#define KEEP(slot, v)
#endif
#define SUM(slot, product) (VGET(gates, (slot) * hidden) + VGET(bias, (slot) * hidden) + (product))

// Returns h. `gates` holds W x of each gate at the unit, `bias` the biases in the same order (of a GRU's slots n and q
// those of W and of R); p0 .. p3 are R h' of each gate, h and c the state before, which c leaves as the cells now.
DEVICE vreal cell_forward(GLOBAL real *gates, const GLOBAL real *bias, int hidden, int count, vreal h, vreal *c,
                          vreal p0, vreal p1, vreal p2, vreal p3) {
#if defined(CELL_LSTM)
    const vreal i = sigmoid(SUM(0, p0)), f = sigmoid(SUM(1, p1)), n = pd_tanh(SUM(2, p2)), o = sigmoid(SUM(3, p3));
    KEEP(0, i);
    KEEP(1, f);
    KEEP(2, n);
    KEEP(3, o);
    *c = f * clipped(*c) + i * n;
    return o * pd_tanh(clipped(*c));
#elif defined(CELL_GRU)
    const vreal r = sigmoid(SUM(0, p0)), u = sigmoid(SUM(1, p1)), q = p2 + VGET(bias, 3 * hidden);
    const vreal n = pd_tanh(SUM(2, r * q));
    KEEP(0, r);
    KEEP(1, u);
    KEEP(2, n);
    KEEP(3, q);
    return n + u * (h - n);
#elif defined(CELL_TANH)
    return pd_tanh(SUM(0, p0));
#else
    return fmax(SUM(0, p0), VSPLAT(0));
#endif
}

// Replaces the slots by the gradients of what their functions were given, and returns what is carried on to the state
// before: the gradient of an LSTM's cells, or what a GRU's hidden state gets directly. `carry` is what came so of the
// state after, dh the gradient of h; h, c, and h0, c0 before, as in the forward pass.
DEVICE vreal cell_backward(GLOBAL real *gates, int hidden, int count, vreal dh, vreal carry, vreal h, vreal h0, vreal c,
                           vreal c0) {
#if defined(CELL_LSTM)
    const vreal i = VGET(gates, 0), f = VGET(gates, hidden), n = VGET(gates, 2 * hidden), o = VGET(gates, 3 * hidden);
    const vreal t = pd_tanh(clipped(c)), dc = carry + moving(c, dh * o * (VSPLAT(1) - t * t));
    VPUT(gates, 0, dc * n * i * (VSPLAT(1) - i));
    VPUT(gates, hidden, dc * clipped(c0) * f * (VSPLAT(1) - f));
    VPUT(gates, 2 * hidden, dc * i * (VSPLAT(1) - n * n));
    VPUT(gates, 3 * hidden, dh * t * o * (VSPLAT(1) - o));
    return moving(c0, dc * f);
#elif defined(CELL_GRU)
    const vreal r = VGET(gates, 0), u = VGET(gates, hidden), n = VGET(gates, 2 * hidden), q = VGET(gates, 3 * hidden);
    const vreal dn = dh * (VSPLAT(1) - u) * (VSPLAT(1) - n * n);
    VPUT(gates, 0, dn * q * r * (VSPLAT(1) - r));
    VPUT(gates, hidden, dh * (h0 - n) * u * (VSPLAT(1) - u));
    VPUT(gates, 2 * hidden, dn);
    VPUT(gates, 3 * hidden, dn * r);
    return dh * u;
#elif defined(CELL_TANH)
    VPUT(gates, 0, dh * (VSPLAT(1) - h * h));
    return carry;
#else
    VPUT(gates, 0, PICK(h > (real)0, dh, VSPLAT(0)));
    return carry;
#endif
}
