// Random numbers of a graph: work-item i draws the four words of Philox block i, of which elements have one or two each (common/philox.h).
//
// Elements are counted in logical order, element i lies at PLACE(i).
//
// Host defines
//   OUT_T           the output's type by name (common/stored.h)
//   BELOW           BERNOULLI: words up to this one give 1, others 0
//   DEVIATION       NORMAL: numbers are MEAN + DEVIATION * sqrt(-2 log(1 - u)) * cos(2 pi v) of words u and v / 2^32 each (Box and
//                   Muller); element i has words 2i and 2i + 1
//   MINIMUM, SPAN   UNIFORM: numbers are MINIMUM + SPAN * word / 2^32
//   START_ARGUMENTS, START_BIND, START_NUMBERS   seed and offset, as in attention/start.cl
//   PLACE(i)        where element i lies
//   ITEMS           work-items of a group
#include "common/types.h"
#include "common/stored.h"
#include "common/philox.h"

#define PARTS(place, a, b, c, d)              \
    words[place] = (u32)(a) | (u32)(b) << 16; \
    words[place + 1] = (u32)(c) | (u32)(d) << 16;
#define WORDS(place, value)         \
    words[place] = (u32)(i64)value; \
    words[place + 1] = (u32)((i64)value >> 32);

#define FRACTION(word) ((real)(word) * (real)2.3283064365386963e-10)
#if defined(BELOW)
#define NUMBER_OF(drawn, j) (drawn[j] <= BELOW ? (real)1 : (real)0)
#elif defined(DEVIATION)
// Near 1 the distance to it is exact, and angles are from the nearest quarter turn on
DEVICE real normal(u32 first, u32 second) {
    const real power = first < 0x80000000u ? log1p(-FRACTION(first)) : log(FRACTION(0u - first));
    const u32 quarter = (second + 0x20000000u) >> 30;
    const real angle = (real)(int)(second - (quarter << 30)) * (real)1.4629180792671596e-9;  // 2 pi / 2^32
    const real size = (quarter & 1u) != 0 ? sin(angle) : cos(angle);
    const real side = quarter == 1 || quarter == 2 ? -size : size;
    return (real)(MEAN) + (real)(DEVIATION) * sqrt((real)-2 * power) * side;
}
#define NUMBER_OF(drawn, j) normal(drawn[2 * (j)], drawn[2 * (j) + 1])
#else
#define NUMBER_OF(drawn, j) ((real)(MINIMUM) + (real)(SPAN) * FRACTION(drawn[j]))
#endif
#ifdef DEVIATION
#define EACH 2
#else
#define EACH 4
#endif

KERNEL WG_SIZE(ITEMS, 1, 1)
random_numbers(TENSOR(ELEMENT(OUT_T), y), const i64 size START_ARGUMENTS) {
    GRID_WAIT();
    BIND(ELEMENT(OUT_T), y);
    START_BIND
    u32 words[4];
    START_NUMBERS
    const i64 block = (i64)GRP(0) * ITEMS + LID(0), first = EACH * block;
    if (first < size) {
        u32 drawn[4];
        drawn[0] = (u32)block;
        drawn[1] = 0;
        drawn[2] = words[2];
        drawn[3] = words[3];
        philox4x32(drawn, words[0], words[1]);
        UNROLL for (int j = 0; j < EACH; ++j) {
            if (first + j < size) PUT(OUT_T, y, PLACE(first + j), NUMBER_OF(drawn, j));
        }
    }
}
