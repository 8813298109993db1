// Random numbers of a graph: work-item i draws the four words of Philox block i, which elements 4i to 4i + 3 have (philox.h).
//
// The output is one run of elements in logical order.
//
// Host defines
//   OUT_T           the output's type by name (stored.h)
//   BELOW           BERNOULLI: words up to this one give 1, others 0; else numbers are MINIMUM + SPAN * word / 2^32
//   START_ARGUMENTS, START_BIND, START_NUMBERS   seed and offset, as in attention_start.cl
//   ITEMS           work-items of a group
#include "types.h"
#include "stored.h"
#include "philox.h"

#define PARTS(place, a, b, c, d)              \
    words[place] = (u32)(a) | (u32)(b) << 16; \
    words[place + 1] = (u32)(c) | (u32)(d) << 16;
#define WORDS(place, value)         \
    words[place] = (u32)(i64)value; \
    words[place + 1] = (u32)((i64)value >> 32);

#ifdef BELOW
#define NUMBER_OF(word) ((word) <= BELOW ? (real)1 : (real)0)
#else
#define NUMBER_OF(word) ((real)(MINIMUM) + (real)(SPAN) * ((real)(word) * (real)2.3283064365386963e-10))
#endif

KERNEL WG_SIZE(ITEMS, 1, 1)
random_numbers(TENSOR(ELEMENT(OUT_T), y), const i64 size START_ARGUMENTS) {
    GRID_WAIT();
    BIND(ELEMENT(OUT_T), y);
    START_BIND
    u32 words[4];
    START_NUMBERS
    const i64 block = (i64)GRP(0) * ITEMS + LID(0), first = 4 * block;
    if (first < size) {
        u32 drawn[4];
        drawn[0] = (u32)block;
        drawn[1] = 0;
        drawn[2] = words[2];
        drawn[3] = words[3];
        philox4x32(drawn, words[0], words[1]);
        UNROLL for (int j = 0; j < 4; ++j) {
            if (first + j < size) PUT(OUT_T, y, first + j, NUMBER_OF(drawn[j]));
        }
    }
}
