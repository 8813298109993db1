// Gradient of softmax as a CPU likes it: dx = y * (dy - sum(y * dy)), or dy - exp(y) * sum(dy) for LOG.
//
// A work-group takes up to COLUMNS neighbouring columns of REDUCE numbers each and reads them twice, the second time from a cache:
//
//            first ... first + count            sums
//   r = 0    [ y, dy: vectors, rest ]     ->    [ ... ]    of ROUND rows at a time, so that rounding errors stay small
//   r = 1    [ y, dy: vectors, rest ]
//
// Host defines: Y_OUTER(i), DX_OUTER(i) (first element of the columns' row i), Y_REDUCE(r), DX_REDUCE(r), REDUCE, LENGTH (columns of
// a row), COLUMNS, BLOCKS (of COLUMNS in a row); ALGORITHM; STREAMED where the tensors are larger than caches.

#include "common/types.h"

#define ROUND 32
#define TERM(y, dy) PD_CAT(TERM_, ALGORITHM)(y, dy)
#define TERM_ACCURATE(y, dy) ((y) * (dy))
#define TERM_FAST(y, dy) ((y) * (dy))
#define TERM_LOG(y, dy) (dy)
#define RESULT(y, dy, sum, EXP) PD_CAT(RESULT_, ALGORITHM)(y, dy, sum, EXP)
#define RESULT_ACCURATE(y, dy, sum, EXP) ((y) * ((dy) - (sum)))
#define RESULT_FAST(y, dy, sum, EXP) ((y) * ((dy) - (sum)))
#define RESULT_LOG(y, dy, sum, EXP) ((dy) - EXP(y) * (sum))
#ifdef STREAMED
#define STREAMS(p) (beta == (real)0 && dx != y && dx != dy && VSTREAM_TAKES(p))
#else
#define STREAMS(p) 0
#endif

typedef vreal vreal_at __attribute__((aligned(sizeof(real))));
#define LANES(p) (*(vreal_at *)(p))

KERNEL WG_SIZE(1, 1, 1)
softmax_backward(TENSOR(const T, y), TENSOR(const T, dy), TENSOR(T, dx), const real alpha, const real beta) {
    BIND(const T, y);
    BIND(const T, dy);
    BIND(T, dx);
    const idx_t row = (idx_t)GRP(0) / BLOCKS, first = (idx_t)GRP(0) % BLOCKS * COLUMNS;
    const int count = LENGTH - first < COLUMNS ? LENGTH - first : COLUMNS;
    const idx_t from = Y_OUTER(row) + first, to = DX_OUTER(row) + first;
    real sum[COLUMNS], part[COLUMNS];

    for (int j = 0; j < COLUMNS; ++j) sum[j] = part[j] = 0;
    for (idx_t r = 0; r < REDUCE; ++r) {
        const idx_t in = from + Y_REDUCE(r);
        int j = 0;
        for (; j + VW <= count; j += VW) LANES(part + j) += TERM(VLOAD(y, in + j), VLOAD(dy, in + j));
        for (; j < count; ++j) part[j] += TERM(LOAD(y, in + j), LOAD(dy, in + j));
        if (r % ROUND == ROUND - 1 || r == REDUCE - 1) {
            for (j = 0; j < COLUMNS; ++j) {
                sum[j] += part[j];
                part[j] = 0;
            }
        }
    }
    for (idx_t r = 0; r < REDUCE; ++r) {
        const idx_t in = from + Y_REDUCE(r), out = to + DX_REDUCE(r);
        const bool streams = STREAMS(dx + out);
        int j = 0;
        for (; j + VW <= count; j += VW) {
            const vreal value = RESULT(VLOAD(y, in + j), VLOAD(dy, in + j), LANES(sum + j), VEXP);
            if (streams) VSTREAM(dx, out + j, value * alpha);
            else VBLEND(dx, out + j, alpha, value, beta);
        }
        for (; j < count; ++j) {
            const real value = RESULT(LOAD(y, in + j), LOAD(dy, in + j), sum[j], exp);
            BLEND(dx, out + j, alpha, value, beta);
        }
    }
}
