// Queries, keys, values and the output's gradient as attention's CPU kernels read them (attention/cpu.h): a work-group packs
// PACK_ROWS rows of a head, or the NR rows of a panel. What lies beyond the sequences is not read, and zeros.
//
// Host defines: X_T; LENGTH_T with the lengths of sequences, LENGTH_STEP apart (LENGTH_SUMMED: sums of them), or RAGGED with a table that has them (attention/placed.h), RAGGED_x
// and SIDE, 0 for rows of queries and 1 for those of keys; FACTOR, the place of the number that makes true numbers of it.

#include "conv/cpu.h"
#include "common/stored.h"
#include "attention/placed.h"

typedef vreal unaligned_private __attribute__((aligned(sizeof(real))));
#if defined(RAGGED)
#define PD_LENGTH PD_RAGGED
#define BIND_LENGTH PD_BIND_RAGGED
#define ROWS_OF(b) MIN(rows, (int)ragged[2 * (b) * RAGGED + SIDE])
#elif defined(LENGTH_T)
#define PD_LENGTH , TENSOR(const ELEMENT(LENGTH_T), lengths)
#define BIND_LENGTH BIND(const ELEMENT(LENGTH_T), lengths);
#ifdef LENGTH_SUMMED
#define ROWS_OF(b) MIN(rows, (int)SUMMED_AT(lengths, b, LENGTH_STEP))
#else
#define ROWS_OF(b) MIN(rows, (int)lengths[(b) * LENGTH_STEP])
#endif
#else
#define PD_LENGTH
#define BIND_LENGTH
#define ROWS_OF(b) rows
#endif
#define ARGUMENTS                                                                                                       \
    PLACED(const ELEMENT(X_T), x), TENSOR(real, packed), TENSOR(const real, numbers), const int heads, const int rows, \
        const int length, const int padded, const int pitch PD_LENGTH

#ifdef PACK_ROWS
KERNEL WG_SIZE(1, 1, 1) attention_pack_rows(ARGUMENTS) {
    BIND(const ELEMENT(X_T), x);
    BIND(real, packed);
    BIND(const real, numbers);
    BIND_LENGTH
    const int blocks = (padded + PACK_ROWS - 1) / PACK_ROWS, z = GRP(0) / blocks, first = GRP(0) % blocks * PACK_ROWS;
    const int b = z / heads, h = z % heads, alive = ROWS_OF(b);
    const real factor = numbers[FACTOR];
    for (int i = first; i < MIN(first + PACK_ROWS, padded); ++i) {
        GLOBAL real *to = packed + ((i64)z * padded + i) * pitch;
        const GLOBAL ELEMENT(X_T) *from = OF(x, b, h) + i * x_s;
        int k = 0;
        if (i < alive && x_d == 1)
            for (; k < length; ++k) to[k] = GET(X_T, from, k) * factor;
        else if (i < alive)
            for (; k < length; ++k) to[k] = GET(X_T, from, k * x_d) * factor;
        for (; k < pitch; ++k) to[k] = 0;
    }
}
#else
KERNEL WG_SIZE(1, 1, 1) attention_pack_panels(ARGUMENTS) {
    BIND(const ELEMENT(X_T), x);
    BIND(real, packed);
    BIND(const real, numbers);
    BIND_LENGTH
    const int panels = padded / NR, z = GRP(0) / panels, first = GRP(0) % panels * NR;
    const int b = z / heads, h = z % heads, columns = MIN(MAX(ROWS_OF(b) - first, 0), NR);
    const real factor = numbers[FACTOR];
    GLOBAL real *to = packed + ((i64)z * padded + first) * length;
    const GLOBAL ELEMENT(X_T) *from = OF(x, b, h) + first * x_s;
    int j = 0;
    if (x_d == 1) {
        for (; j + VW <= columns; j += VW) {
            int k = 0;
            for (; k + VW <= length; k += VW) {
                vreal block[VW];
                UNROLL for (int lane = 0; lane < VW; ++lane) {
                    real line[VW];
                    for (int t = 0; t < VW; ++t) line[t] = GET(X_T, from, (j + lane) * x_s + k + t);
                    block[lane] = *(unaligned_private *)line * factor;
                }
                transpose(block);
                UNROLL for (int t = 0; t < VW; ++t) RSTORE(block[t], to + (k + t) * NR + j);
            }
            for (; k < length; ++k)
                for (int lane = 0; lane < VW; ++lane) to[k * NR + j + lane] = GET(X_T, from, (j + lane) * x_s + k) * factor;
        }
    }
    for (int k = 0; k < length; ++k) {
        for (int t = j; t < columns; ++t) to[k * NR + t] = GET(X_T, from, t * x_s + k * x_d) * factor;
        for (int t = columns; t < NR; ++t) to[k * NR + t] = 0;
    }
}
#endif
