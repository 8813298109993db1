// Dropout for GPUs: draw a mask into the reserve space, apply one to a tensor, or both at once.
//
// The mask has a bit per element, in logical order; a unit is a byte of it and the 8 elements that it tells about, which
// have two Philox blocks:
//
//   unit u      element 8u .. 8u+3  words of block 2u     bits 0..3 of byte u      1 = kept
//               element 8u+4 .. +7  words of block 2u+1   bits 4..7
//
//   dropout     work-item l of group g takes units g*ITEMS*WG + l + {0, WG, ...}; with APPLY the tensors are one run each.
//               The mask's bits beyond the last element, up to a whole word of 32, are zeros.
//   dropout_apply   any strides: work-item i takes vector i of the output's memory and looks each element's bit up
//
// Host defines
//   DRAW          draw the mask (else it is read)        APPLY   there are tensors: x -> y
//   CONSTANT_BITS  the byte of a mask that needs no random numbers: 0 or 255
//   COUNTS_DRAW   the work-group, or with GRID_FENCED the last one to finish, counts the draw; else dropout_advance,
//                 launched after, does
//   ITEMS, WG     units of a work-item and work-items of a group
//   INNER, ROW_*, STEP_*   rows of dropout_apply, as in tensor/elementwise.cl; BITS is the mask, counted in bits
//   TALL          dropout_apply where neighbours in memory are not neighbours in logical order, such as channels of NHWC: a
//                 work-item takes TALL places one above the other, whose bits are neighbours, of a vector of channels.
//                 HEIGHT places in BLOCKS, TALL_X and TALL_Y apart
#include "common/types.h"
#include "tensor/dropout_states.h"
#ifdef GRID_FENCED
#include "common/counters.h"
#endif


#ifdef DRAW
DEVICE u32 draw_unit(u32 unit, u32 seed0, u32 seed1, u32 draw0, u32 draw1, u32 threshold) {
#ifdef CONSTANT_BITS
    return CONSTANT_BITS;
#else
    u32 bits = 0;
    UNROLL for (int half_unit = 0; half_unit < 2; ++half_unit) {
        u32 words[4];
        words[0] = 2 * unit + half_unit;
        words[1] = 0;
        words[2] = draw0;
        words[3] = draw1;
        philox4x32(words, seed0, seed1);
        UNROLL for (int j = 0; j < 4; ++j) bits |= (u32)(words[j] >= threshold) << (4 * half_unit + j);
    }
    return bits;
#endif
}
#endif

#ifdef APPLY
#if VW == 8
#define EACH_VECTOR(k) const int k = 0;
#else
#define EACH_VECTOR(k) UNROLL for (int k = 0; k < 8 / VW; ++k)
#endif
#define TENSORS TENSOR(const T, x), TENSOR(T, y), const real scale,
#else
#define TENSORS
#endif
#ifdef DRAW
#define STATES , TENSOR(u8, states), const u32 threshold
#else
#define STATES
#endif

#if defined(DRAW) || defined(APPLY)
KERNEL WG_SIZE(WG, 1, 1) dropout(TENSORS TENSOR(u8, mask), const u32 n STATES) {
    GRID_WAIT();
    BIND(u8, mask);
    const u32 units = (n + 31) / 32 * 4;
    const u32 first = (u32)GRP(0) * (ITEMS * WG) + (u32)LID(0);
#ifdef APPLY
    BIND(const T, x);
    BIND(T, y);
    vreal v[ITEMS * 8 / VW];
    UNROLL for (int i = 0; i < ITEMS; ++i) {
        const u32 place = (first + i * WG) * 8;
        EACH_VECTOR(k) {
            v[i * 8 / VW + k] = VSPLAT(0);
            if (place + 8 <= n) v[i * 8 / VW + k] = VLOAD(x, place + k * VW);
        }
    }
#endif
#ifdef DRAW
    BIND(u8, states);
    GLOBAL u32 *state = (GLOBAL u32 *)states;
    const u32 seed0 = state[0], seed1 = state[1], draw0 = state[STATE_DRAW], draw1 = state[STATE_DRAW + 1];
#endif
    UNROLL for (int i = 0; i < ITEMS; ++i) {
        const u32 unit = first + i * WG;
        if (unit < units) {
#ifdef DRAW
            u32 bits = draw_unit(unit, seed0, seed1, draw0, draw1, threshold);
            const u32 inside = unit * 8 >= n ? 0 : n - unit * 8;
            if (inside < 8) bits &= (1u << inside) - 1u;
            mask[unit] = (u8)bits;
#else
            const u32 bits = mask[unit];
#endif
#ifdef APPLY
            const u32 place = unit * 8;
            if (place + 8 <= n) {
                EACH_VECTOR(k) {
                    vreal result = v[i * 8 / VW + k] * scale;
                    UNROLL for (int l = 0; l < VW; ++l)
                        if ((bits >> (k * VW + l) & 1u) == 0) LANE(result, l) = 0;
                    VSTORE(y, place + k * VW, result);
                }
            } else {
                for (u32 j = 0; place + j < n; ++j)
                    STORE(y, place + j, bits >> j & 1u ? LOAD(x, place + j) * scale : (real)0);
            }
#endif
        }
    }
#if defined(DRAW) && defined(COUNTS_DRAW)
    GLOBAL_BARRIER();  // all have read the states
    if (LID(0) == 0) {
#ifdef GRID_FENCED
        if (COUNT_ORDERED((GLOBAL int *)(state + STATE_ARRIVED)) == NGRP(0) - 1) {
            state[STATE_ARRIVED] = 0;
            next_draw(state);
        }
#else
        next_draw(state);
#endif
    }
#endif
}
#endif

#ifdef TALL
KERNEL WG_SIZE(WG, 1, 1)
dropout_apply(TENSOR(const T, x), TENSOR(T, y), const real scale, TENSOR(u8, mask), const u32 n) {
    GRID_WAIT();
    BIND(const T, x);
    BIND(T, y);
    BIND(u8, mask);
    const u32 i = (u32)GRP(0) * WG + (u32)LID(0);
    if (i >= n) return;
    const u32 column = i % (INNER / VW) * VW, start = i / (INNER / VW) % BLOCKS * TALL, row = i / (INNER / VW) / BLOCKS;
    const u32 count = HEIGHT - start < TALL ? HEIGHT - start : TALL;
    const u32 from = ROW_X(row) + start * TALL_X + column, to = ROW_Y(row) + start * TALL_Y + column;
    u32 bits[VW];
    UNROLL for (int l = 0; l < VW; ++l)
        bits[l] = mask_bits((const GLOBAL u32 *)mask, ROW_BITS(row) + start + (column + l) * STEP_BITS, count);
    for (u32 k = 0; k < count; k += 4) {
        vreal v[4];
        UNROLL for (int j = 0; j < 4; ++j) {
            v[j] = VSPLAT(0);
            if (k + j < count) v[j] = VLOAD(x, from + (k + j) * TALL_X) * scale;
        }
        UNROLL for (int j = 0; j < 4; ++j) {
            if (k + j < count) {
                UNROLL for (int l = 0; l < VW; ++l)
                    if ((bits[l] >> (k + j) & 1) == 0) LANE(v[j], l) = 0;
                VSTORE(y, to + (k + j) * TALL_Y, v[j]);
            }
        }
    }
}
#elif defined(INNER)
KERNEL WG_SIZE(WG, 1, 1)
dropout_apply(TENSOR(const T, x), TENSOR(T, y), const real scale, TENSOR(u8, mask), const u32 n) {
    GRID_WAIT();
    BIND(const T, x);
    BIND(T, y);
    BIND(u8, mask);
    const u32 first = (u32)GRP(0) * (ITEMS * WG) + (u32)LID(0);
    UNROLL for (int j = 0; j < ITEMS; ++j) {
        const u32 v = first + j * WG;
        if (v >= n / VW) continue;
        const u32 row = v / (INNER / VW), column = v % (INNER / VW) * VW;
        const u32 bit = ROW_BITS(row) + column * STEP_BITS;
        vreal result = VLOAD(x, ROW_X(row) + column * STEP_X) * scale;
        UNROLL for (int l = 0; l < VW; ++l) {
            const u32 at = bit + l * STEP_BITS;
            if ((mask[at / 8] >> at % 8 & 1) == 0) LANE(result, l) = 0;
        }
        VSTORE(y, ROW_Y(row) + column * STEP_Y, result);
    }
}
#endif

KERNEL WG_SIZE(1, 1, 1) dropout_advance(TENSOR(u8, states)) {
    GRID_WAIT();
    BIND(u8, states);
    next_draw((GLOBAL u32 *)states);
}

KERNEL WG_SIZE(1, 1, 1) dropout_seed(TENSOR(u8, states), const u32 seed0, const u32 seed1) {
    GRID_WAIT();
    BIND(u8, states);
    GLOBAL u32 *state = (GLOBAL u32 *)states;
    state[0] = seed0;
    state[1] = seed1;
    UNROLL for (int i = 2; i < 8; ++i) state[i] = 0;
}
