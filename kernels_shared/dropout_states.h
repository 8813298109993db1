// The random states of dropout, in words: seed (low, high), draw (low, high), work-groups that are through, nothing (3).
#include "philox.h"

#define STATE_DRAW 2
#define STATE_ARRIVED 4

typedef unsigned char u8;

DEVICE void next_draw(GLOBAL u32 *state) {
    state[STATE_DRAW] += 1;
    if (state[STATE_DRAW] == 0) state[STATE_DRAW + 1] += 1;
}
