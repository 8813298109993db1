// Rows for a CPU: what is normalised together is LINES lines of LINE contiguous numbers each; norm/rows_cpu.cl draws them.

#include "norm/cpu.h"

// Where a work-group makes whole rows it makes SHARE of them.
#define FOR_ROWS                                                                                           \
    const u32 first = (u32)GRP(0) * SHARE, last = OUTER - first < SHARE ? OUTER : first + SHARE;           \
    const u32 slice = 0, begin = 0, end = REDUCE;                                                          \
    const bool inside = true;                                                                              \
    for (u32 o = first; o < last; ++o)
#define SLICE_OF(group)                                                                                    \
    const u32 o = (group) / SLICES, slice = (group) % SLICES;                                              \
    const u32 begin = slice * LENGTH, end = slice == SLICES - 1 ? REDUCE : begin + LENGTH;                 \
    const bool inside = true;
#define ROW_NUMBERS(k) ((real)((k) == SLICES - 1 ? REDUCE - (SLICES - 1) * LENGTH : LENGTH))
#define PIVOT(x, from) (REDUCE > 0 ? LOAD(x, (from) + X_LINE(0)) : (real)0)

// Moments of row o from those of its slices.
#define MERGED(all, means, squares_of, o)                                                                  \
    sample all = {0, 0, 0};                                                                                \
    for (u32 k = 0; k < SLICES; ++k) {                                                                     \
        const sample part_ = {ROW_NUMBERS(k), means[(o) * SLICES + k], squares_of[(o) * SLICES + k]};      \
        all = united(all, part_);                                                                          \
    }

#define TAIL (LINE % VW)
#define WALK(begin, end)                                                                                   \
    for (u32 at_ = (begin), line = at_ / LINE, i0 = at_ % LINE, count = 0;                                 \
         at_ < (end) && (count = LINE - i0 < (end) - at_ ? LINE - i0 : (end) - at_, true);                 \
         at_ += count, ++line, i0 = 0)

// The last vector of a line, of which the TAIL last lanes are its end.
#if TAIL && LINE >= VW
#define TAIL_VECTOR(p, count) VLOAD(p, (i64)(count) - VW)
#elif TAIL
DEVICE vreal tail_vector(const GLOBAL T *p) {
    real lanes[VW] __attribute__((aligned(64)));
    for (int j = 0; j < VW - LINE; ++j) lanes[j] = 0;
    for (int j = 0; j < LINE; ++j) lanes[VW - LINE + j] = LOAD(p, j);
    return *(const vreal *)lanes;
}
#define TAIL_VECTOR(p, count) tail_vector(p)
#endif
#if VW > 1
DEVICE vreal only_tail(vreal v) {
    UNROLL for (int j = 0; j < VW - TAIL; ++j) LANE(v, j) = 0;
    return v;
}
#endif

// Moments of x - pivot over numbers begin .. end of row o (their squares only with RMS); a slice ends where a line does, or at
// a multiple of BLOCK * VW within it.
DEVICE sample row_moments(const GLOBAL T *x, u32 from, u32 begin, u32 end, real pivot) {
    real n = 0, tails = 0;
    vreal mean = VSPLAT(0), squares = VSPLAT(0), tail_mean = VSPLAT(0), tail_squares = VSPLAT(0);

    WALK(begin, end) {
        const GLOBAL T *p = x + (from + X_LINE(line) + i0);
        u32 j = 0;
        vreal d[BLOCK];
        for (; j + BLOCK * VW <= count; j += BLOCK * VW) {
            UNROLL for (int i = 0; i < BLOCK; ++i) d[i] = VLOAD(p, j + i * VW) - pivot;
            if (RMS) squares = squares + SQUARES(d);
            else ADD_BLOCK(n, mean, squares, d, (real)BLOCK)
        }
        const u32 left = (count - j) / VW;
        if (left > 0) {
            UNROLL for (int i = 0; i < BLOCK; ++i) d[i] = i < left ? VLOAD(p, j + i * VW) - pivot : VSPLAT(0);
            if (RMS) squares = squares + SQUARES(d);
            else ADD_BLOCK(n, mean, squares, d, (real)left)
            j += left * VW;
        }
#if TAIL
        if (j < count) {
            const vreal last = TAIL_VECTOR(p, count) - pivot;
            if (RMS) {
                tail_squares = tail_squares + last * last;
            } else {
                tails += (real)1;
                const vreal step = last - tail_mean;
                tail_mean = tail_mean + step * ((real)1 / tails);
                tail_squares = tail_squares + step * (last - tail_mean);
            }
        }
#endif
    }
    sample whole = {n * VW, 0, 0}, rest = {tails * TAIL, 0, 0};
    if (RMS) {
        whole.squares = FOLD(squares);
#if TAIL
        whole.squares += FOLD(only_tail(tail_squares));
#endif
        return whole;
    }
    whole.mean = FOLD(mean) * ((real)1 / VW);
    const vreal away = mean - whole.mean;
    whole.squares = FOLD(squares + away * away * n);
#if TAIL
    rest.mean = FOLD(only_tail(tail_mean)) * ((real)1 / TAIL);
    const vreal tail_away = tail_mean - rest.mean;
    rest.squares = FOLD(only_tail(tail_squares + tail_away * tail_away * tails));
#endif
    return united(whole, rest);
}
