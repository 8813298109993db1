// Before attention: the numbers that a program states, wherever it has them, are brought together in memory, and the counter
// from which CPUs take tiles begins at 0. One work-item.
//
// Host defines: START_ARGUMENTS, START_BIND, and START_NUMBERS with NUMBER(place, value), WORDS(place, i64) or
// PARTS(place, four numbers of 16 bits) for each.

#include "common/types.h"
#include "common/stored.h"

#define NUMBER(place, value) numbers[place] = value;
#define PARTS(place, a, b, c, d)              \
    words[place] = (u32)(a) | (u32)(b) << 16; \
    words[place + 1] = (u32)(c) | (u32)(d) << 16;
#define WORDS(place, value)         \
    words[place] = (u32)(i64)value; \
    words[place + 1] = (u32)((i64)value >> 32);

KERNEL WG_SIZE(1, 1, 1)
attention_start(TENSOR(real, numbers), TENSOR(u32, words), TENSOR(int, next_tile) START_ARGUMENTS) {
    GRID_WAIT();
    BIND(real, numbers);
    BIND(u32, words);
    BIND(int, next_tile);
    START_BIND
    START_NUMBERS
    *next_tile = 0;
}
