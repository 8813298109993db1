// The product inside a step of a recurrent network on tensor cores: BM rows of states by BN columns of a packed matrix, both in
// T, without local memory until the sums are added. After common/mma.h; in place of rnn/product.h.
//
//   packed [k / 32][column / 8][lane][8]     lane l reads columns l / 4 and numbers 8 * (l % 4) .. + 7 of 32 of k at once; of a
//                                            state's row the same numbers, so that k's order within the 32 does not matter
//   warps = KPARTS (each takes AHEAD blocks of k in turn) x MPARTS (rows); the parts' sums are added through local memory
//   columns    plain cells and gradients: units; else of tiles 2i and 2i + 1, columns 2j, 2j + 1: gates 0, 1 and 2, 3 of unit 4i + j,
//              so that a lane has all sums of a unit
//
// A launch of one step has its sums in local memory that it declares. One of all steps (PERSISTENT) has them at the beginning of
// the launch's local memory; behind them lies its panel where R_CACHED is defined.
//
// Defines: BM BN KPARTS MPARTS AHEAD UNIT_COLUMNS (4 or 1).

#define GROUP_SIZE (32 * KPARTS * MPARTS)
#define MT (BM / 16 / MPARTS)
#define NT (BN / 8)
#define UNITS (BN / UNIT_COLUMNS)
#define SUM_PITCH (BN + 4)
#define SUMS_SIZE (KPARTS * BM * SUM_PITCH)

// Rows of states: the first `before_rows` lie in `from`, the others, up to `rows`, in `begin` or are zero without one.
typedef struct {
    const T *from, *begin;
    i64 pitch, begin_pitch;
    int rows, before_rows;
} States;

DEVICE const T *state_row(const States *states, int row) {
    if (row < states->before_rows) return states->from + row * states->pitch;
    return row < states->rows && states->begin ? states->begin + row * states->begin_pitch : 0;
}
struct alignas(16) Words {
    u32 v[4];
};
DEVICE void load_state(Words *to, const T *from, bool in) {
    const Words none = {{0, 0, 0, 0}};
    if (in) load_fresh(to->v, from);
    else *to = none;
}
#ifdef R_CACHED
typedef u32 Panel;  // a place in local memory
DEVICE void load_columns(Words *to, Panel panel, int place) { load_chunk(to->v, panel + place * 16); }
#else
typedef const T *Panel;
DEVICE void load_columns(Words *to, Panel panel, int place) { *to = *(const Words *)(panel + (i64)place * 8); }
#endif

#ifdef PERSISTENT
#include "common/counters.h"
// Returns where the product finds its panel of `words` vectors of 16 bytes.
DEVICE Panel panel_of(const T *packed, int words, u32 room, int lid) {
#ifdef R_CACHED
    for (int w = lid; w < words; w += GROUP_SIZE) copy_chunk(room + w * 16, (const E *)(packed + (i64)w * 8), true);
    copies_issued();
    copies_wait<0>();
    BARRIER();
    return room;
#else
    return packed;
#endif
}
// Waits until all `members` work-groups that share the counter have come here `round` times; what they wrote is there then.
DEVICE void meet(int *arrived, int members, int round, int lid) {
    BARRIER();
    if (lid == 0) {
        COUNT_WRITTEN(arrived);
        while (READ_COUNTER(arrived) < members * round) PAUSE(20);
    }
    BARRIER();
}
// The end of `rounds` rounds, of which the last is not waited for: whoever comes last leaves the counter a zero.
DEVICE void part_for_good(int *arrived, int members, int rounds, int lid) {
    BARRIER();
    if (lid == 0 && COUNT_ORDERED(arrived) == members * rounds - 1) *arrived = 0;
}
#endif

// sums[part][row][SUM_PITCH] of BM rows from m0 on; `blocks` of 32 numbers of k. All work-items call it.
DEVICE void step_product(float *sums, const States *states, Panel panel, int m0, int blocks, int lid) {
    const int lane = lid % 32, part = lid / 32 % KPARTS, row = lid / 32 / KPARTS * (MT * 16);
    const T *from[MT][2];
    float acc[MT][NT][4];
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int s = 0; s < 2; ++s) {
            from[i][s] = state_row(states, m0 + row + 16 * i + 8 * s + lane / 4);
            if (from[i][s]) from[i][s] += lane % 4 * 8;
        }
        UNROLL for (int j = 0; j < NT; ++j)
            UNROLL for (int e = 0; e < 4; ++e) acc[i][j][e] = 0;
    }
    for (int k = part * AHEAD; k < blocks; k += KPARTS * AHEAD) {
        Words a[AHEAD][MT][2], b[AHEAD][NT];
        UNROLL for (int u = 0; u < AHEAD; ++u) {
            const bool in = k + u < blocks;
            UNROLL for (int i = 0; i < MT; ++i) {
                UNROLL for (int s = 0; s < 2; ++s) load_state(&a[u][i][s], from[i][s] + (k + u) * 32, in && from[i][s]);
            }
            const int at = in ? k + u : 0;  // of no use beyond the last: the rows are zeros
            UNROLL for (int j = 0; j < NT; ++j) load_columns(&b[u][j], panel, (at * NT + j) * 32 + lane);
        }
        UNROLL for (int u = 0; u < AHEAD; ++u) {
            UNROLL for (int i = 0; i < MT; ++i) {
                UNROLL for (int h = 0; h < 2; ++h) {
                    const u32 *low = a[u][i][0].v + 2 * h, *high = a[u][i][1].v + 2 * h;
                    const u32 rows[4] = {low[0], high[0], low[1], high[1]};
                    UNROLL for (int j = 0; j < NT; ++j) multiply(acc[i][j], rows, b[u][j].v[2 * h], b[u][j].v[2 * h + 1]);
                }
            }
        }
    }
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int s = 0; s < 2; ++s) {
                const int column = UNIT_COLUMNS == 4 ? (j / 2 * 4 + lane % 4) * 4 + j % 2 * 2 : j * 8 + lane % 4 * 2;
                float *to = sums + (part * BM + row + 16 * i + 8 * s + lane / 4) * SUM_PITCH + column;
                *(Two *)to = Two{acc[i][j][2 * s], acc[i][j][2 * s + 1]};
            }
        }
    }
    BARRIER();
}
// the sum of all parts at a row and a column of the tile
DEVICE float sum_of_parts(const float *sums, int row, int column) {
    float sum = 0;
    UNROLL for (int p = 0; p < KPARTS; ++p) sum += sums[(p * BM + row) * SUM_PITCH + column];
    return sum;
}
