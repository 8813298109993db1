// Dropout for CPUs: as kernels_shared/tensor/dropout.cl, in words of the mask and explicit vectors.
//
//   word w of the mask    elements 32w .. 32w+31     blocks 8w .. 8w+7, drawn at once: lane l of the four vectors that
//                                                    Philox returns has elements 4l .. 4l+3
//
//   dropout         a work-group is one work-item and takes `chunk` words; with APPLY the tensors are one run each
//   dropout_apply   any strides: a work-group takes `chunk` rows of the output's memory, or with TALL blocks of rows
//
// Host defines as there (VW is 8 for float, 4 for double: PoCL 3.0 cannot split stores of 16 halves).
#define PHILOX_LANES 8
#include "common/types.h"
#include "tensor/dropout_states.h"

#if defined(DTYPE_DOUBLE)
#define LANE_WORD ulong
#else
#define LANE_WORD uint
#endif
typedef PD_CAT(LANE_WORD, VW) lane_bits;
#if VW == 8
#define LANE_BITS ((lane_bits)(1, 2, 4, 8, 16, 32, 64, 128))
#else
#define LANE_BITS ((lane_bits)(1, 2, 4, 8))
#endif
#define KEPT(v, bits) (((lane_bits)(bits) & LANE_BITS) != (lane_bits)(0) ? (v) : VSPLAT(0))

#ifdef DRAW
DEVICE u32 draw_word(u32 word, u32 seed0, u32 seed1, u32 draw0, u32 draw1, u32 threshold) {
#ifdef CONSTANT_BITS
    return CONSTANT_BITS * 0x01010101u;
#else
    const philox_lanes lanes = (philox_lanes)(0, 1, 2, 3, 4, 5, 6, 7);
    const philox_lanes first = (philox_lanes)(1, 1 << 4, 1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 28);
    philox_lanes words[4], bits = 0;
    words[0] = (philox_lanes)((u64)word * 8) + lanes;
    words[1] = 0;
    words[2] = draw0;
    words[3] = draw1;
    philox4x32_lanes(words, seed0, seed1);
    UNROLL for (int j = 0; j < 4; ++j)
        bits |= words[j] >= (philox_lanes)threshold ? first << j : (philox_lanes)(0);
    const ulong4 half_bits = bits.lo | bits.hi;
    const ulong2 rest = half_bits.lo | half_bits.hi;
    return (u32)(rest.x | rest.y);
#endif
}
#endif

#ifdef APPLY
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
KERNEL WG_SIZE(1, 1, 1) dropout(TENSORS TENSOR(u8, mask), const u32 n STATES, const u32 chunk) {
    BIND(u8, mask);
    GLOBAL u32 *mask_words = (GLOBAL u32 *)mask;
    const u32 words = (n + 31) / 32, first = (u32)GRP(0) * chunk;
    const u32 last = words - first < chunk ? words : first + chunk;
#ifdef APPLY
    BIND(const T, x);
    BIND(T, y);
#endif
#ifdef DRAW
    BIND(u8, states);
    GLOBAL u32 *state = (GLOBAL u32 *)states;
    const u32 seed0 = state[0], seed1 = state[1], draw0 = state[STATE_DRAW], draw1 = state[STATE_DRAW + 1];
#endif
    for (u32 word = first; word < last; ++word) {
        const size_t place = (size_t)word * 32;
#ifdef DRAW
        u32 bits = draw_word(word, seed0, seed1, draw0, draw1, threshold);
        if (place + 32 > n) bits &= (1u << (n - place)) - 1u;
        mask_words[word] = bits;
#else
        const u32 bits = mask_words[word];
#endif
#ifdef APPLY
        if (place + 32 <= n) {
            UNROLL for (int k = 0; k < 32; k += VW)
                VSTORE(y, place + k, KEPT(VLOAD(x, place + k) * scale, bits >> k));
        } else {
            for (u32 j = 0; place + j < n; ++j)
                STORE(y, place + j, bits >> j & 1u ? LOAD(x, place + j) * scale : (real)0);
        }
#endif
    }
#ifdef COUNTS_DRAW
    next_draw(state);
#endif
}
#endif

#ifdef TALL
#define SIDE 16
KERNEL WG_SIZE(1, 1, 1)
dropout_apply(TENSOR(const T, x), TENSOR(T, y), const real scale, TENSOR(u8, mask), const u32 blocks, const u32 chunk) {
    BIND(const T, x);
    BIND(T, y);
    BIND(u8, mask);
    const GLOBAL u32 *words = (const GLOBAL u32 *)mask;
    const u32 first = (u32)GRP(0) * chunk, last = blocks - first < chunk ? blocks : first + chunk;
    for (u32 block = first; block < last; ++block) {
        const u32 row = block / BLOCKS, start = block % BLOCKS * TALL;
        const u32 count = HEIGHT - start < TALL ? HEIGHT - start : TALL;
        const size_t from = ROW_X(row) + (size_t)start * TALL_X, to = ROW_Y(row) + (size_t)start * TALL_Y;
        const u32 bit = ROW_BITS(row) + start;
        u32 i = 0;
        while (i + VW <= INNER) {  // some vectors side by side, so that memory is read in its order
            lane_bits bits[SIDE];
            const u32 vectors = (INNER - i) / VW < SIDE ? (INNER - i) / VW : SIDE;
            for (u32 c = 0; c < vectors * VW; ++c)
                ((LANE_WORD *)bits)[c] = mask_bits(words, bit + (i + c) * STEP_BITS, count);
            for (u32 k = 0; k < count; ++k) {
                for (u32 c = 0; c < vectors; ++c) {
                    const vreal v = VLOAD(x, from + k * TALL_X + i + c * VW) * scale;
                    const lane_bits kept = bits[c] << (31 - k) & (lane_bits)(0x80000000u);
                    VSTORE(y, to + k * TALL_Y + i + c * VW, kept != (lane_bits)(0) ? v : VSPLAT(0));
                }
            }
            i += vectors * VW;
        }
        for (; i < INNER; ++i) {
            const u32 bits = mask_bits(words, bit + i * STEP_BITS, count);
            for (u32 k = 0; k < count; ++k)
                STORE(y, to + k * TALL_Y + i, bits >> k & 1 ? LOAD(x, from + k * TALL_X + i) * scale : (real)0);
        }
    }
}
#elif defined(INNER)
// VW bits of the mask from bit `at` on, STEP_BITS apart; reads only bytes that hold one of them
DEVICE u32 vector_bits(const GLOBAL u8 *mask, u32 at) {
#if STEP_BITS == 1
    const u32 byte = at / 8, shift = at % 8;
    return (mask[byte] | (shift + VW > 8 ? (u32)mask[byte + 1] << 8 : 0)) >> shift;
#else
    u32 bits = 0;
    UNROLL for (int l = 0; l < VW; ++l) {
        const u32 bit = at + l * STEP_BITS;
        bits |= (u32)(mask[bit / 8] >> bit % 8 & 1) << l;
    }
    return bits;
#endif
}

KERNEL WG_SIZE(1, 1, 1)
dropout_apply(TENSOR(const T, x), TENSOR(T, y), const real scale, TENSOR(u8, mask), const u32 rows, const u32 chunk) {
    BIND(const T, x);
    BIND(T, y);
    BIND(u8, mask);
    const u32 first = (u32)GRP(0) * chunk, last = rows - first < chunk ? rows : first + chunk;
    for (u32 row = first; row < last; ++row) {
        const size_t from = ROW_X(row), to = ROW_Y(row);
        const u32 bit = ROW_BITS(row);
        u32 i = 0;
#if STEP_X == 1 && STEP_Y == 1
        for (; i + VW <= INNER; i += VW)
            VSTORE(y, to + i, KEPT(VLOAD(x, from + i) * scale, vector_bits(mask, bit + i * STEP_BITS)));
#endif
        for (; i < INNER; ++i) {
            const u32 at = bit + i * STEP_BITS;
            const real v = LOAD(x, from + i * STEP_X) * scale;
            STORE(y, to + i * STEP_Y, mask[at / 8] >> at % 8 & 1 ? v : (real)0);
        }
    }
}
#endif
