// The random states of dropout, in words: seed (low, high), draw (low, high), work-groups that are through, nothing (3).
#include "common/philox.h"

#define STATE_DRAW 2
#define STATE_ARRIVED 4

typedef unsigned char u8;

DEVICE void next_draw(GLOBAL u32 *state) {
    state[STATE_DRAW] += 1;
    if (state[STATE_DRAW] == 0) state[STATE_DRAW + 1] += 1;
}

#ifdef TALL
// Bits `at` .. `at + count - 1` of the mask, at most 32: the words that hold them, and no others, are read.
DEVICE u32 mask_bits(const GLOBAL u32 *words, u32 at, u32 count) {
    const u32 shift = at % 32;
    u32 bits = words[at / 32] >> shift;
    if (shift + count > 32) bits |= words[at / 32 + 1] << (32 - shift);
    return bits;
}
#endif
