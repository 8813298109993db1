// dw += the sums of the columns of rows, for the biases of queries, keys, values and outputs of multi-head attention, which lie one
// after another in dw
//
//   group = part of the rows * blocks + block           LANES work-items side by side, with VW columns each
//           rows of a part  |  lane 0 | lane 1 | ...    WG / LANES rows at a time
//
// With PARTS parts the sums of each go to memory, [part][column], which the last work-group of a block adds up in order
// (GRID_FENCED), or mha_bias_gradient of attention/multi_head.cl. Host defines: these, and those of common/types.h.

#include "common/types.h"
#ifdef GRID_FENCED
#include "common/last_group.h"
#endif
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define DEEP (WG / LANES)
#define COLUMNS (LANES * VW)
#define BLOCKS(columns) (((columns) + COLUMNS - 1) / COLUMNS)
#define SUMMED(x) TENSOR(const T, x), const i64 x##_step, const i64 x##_rows, const int x##_columns
#define ADD_DW(i, sum) STORE(dw, i, LOAD(dw, i) + (sum))
#define GO_ON(x)                            \
    if (block >= BLOCKS(columns)) {         \
        block -= BLOCKS(columns);           \
        first += columns;                   \
        rows = x;                           \
        step = x##_step;                    \
        count = x##_rows;                   \
        columns = x##_columns;              \
    }
KERNEL WG_SIZE(WG, 1, 1)
mha_bias_sums(SUMMED(q), SUMMED(k), SUMMED(v), SUMMED(o), TENSOR(T, dw)
#if PARTS > 1
              , TENSOR(real, sums)
#ifdef GRID_FENCED
              , TENSOR(int, arrived)
#endif
#endif
) {
    GRID_WAIT();
    LOCAL real found[WG * VW];
    BIND(const T, q);
    BIND(const T, k);
    BIND(const T, v);
    BIND(const T, o);
    BIND(T, dw);
    const int blocks = BLOCKS(q_columns) + BLOCKS(k_columns) + BLOCKS(v_columns) + BLOCKS(o_columns);
    const int lid = LID(0), lane = lid % LANES, part = GRP(0) / blocks, whole = GRP(0) % blocks;
    int block = whole, first = 0, columns = q_columns;
    const GLOBAL T *rows = q;
    i64 step = q_step, count = q_rows;
    GO_ON(k)
    GO_ON(v)
    GO_ON(o)
    const i64 each = (count + PARTS - 1) / PARTS, end = LEAST((part + 1) * each, count);
    const int column = block * COLUMNS + lane * VW;
    vreal sum[4];
    UNROLL for (int i = 0; i < 4; ++i) sum[i] = VSPLAT(0);
    if (column < columns) {
        i64 row = part * each + lid / LANES;
        for (; row + 3 * DEEP < end; row += 4 * DEEP) {
            UNROLL for (int i = 0; i < 4; ++i) sum[i] = sum[i] + VLOAD(rows, (row + i * DEEP) * step + column);
        }
        for (; row < end; row += DEEP) sum[0] = sum[0] + VLOAD(rows, row * step + column);
    }
    sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    UNROLL for (int j = 0; j < VW; ++j) found[lid * VW + j] = LANE(sum[0], j);
#if WG > 1
    BARRIER();
#endif
    const int left = LEAST(columns - block * COLUMNS, COLUMNS), from = first + block * COLUMNS;
    for (int i = lid; i < left; i += WG) {
        real total = found[i];
        for (int other = 1; other < DEEP; ++other) total += found[other * COLUMNS + i];
#if PARTS == 1
        ADD_DW(from + i, total);
    }
#else
        BIND(real, sums);
        sums[part * (q_columns + k_columns + v_columns + o_columns) + from + i] = total;
    }
#ifdef GRID_FENCED
    BIND(int, arrived);
    LOCAL int slot;
    if (!last_group(arrived + whole, &slot, lid, PARTS)) return;
    BIND(real, sums);
    for (int i = lid; i < left; i += WG) {
        real total = 0;
        for (int p = 0; p < PARTS; ++p) total += sums[p * (q_columns + k_columns + v_columns + o_columns) + from + i];
        ADD_DW(from + i, total);
    }
#endif
#endif
}
