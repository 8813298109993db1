// One step of a recurrent layer on tensor cores, both directions: R h' of all gates (rnn/product_mma.h), then the cell
// (rnn/cell.h). What is multiplied are states rounded to T: rounded[row][direction][pitch], and rounded0 of the beginning;
// everything else is kept in float32, as in rnn/forward.cl.

#include "common/types.h"
#include "common/mma.h"
#define VGET(p, i) ((p)[i])
#define VPUT(p, i, v) ((p)[i] = (v))
#define SPUT(p, i, v) STORE(p, i, v)
#include "rnn/cell.h"
#include "rnn/product_mma.h"
#include "rnn/arguments.h"

KERNEL WG_SIZE(GROUP_SIZE, 1, 1)
rnn_forward_step_mma(TENSOR(const T, packed), TENSOR(const real, bias), TENSOR(real, gates), TENSOR(real, cells),
                     TENSOR(real, h), TENSOR(const real, h0), TENSOR(const real, c0), TENSOR(T, rounded),
                     TENSOR(const T, rounded0) Y_ARG HY_ARG CY_ARG, const i64 gates_start, const i64 cells_start,
                     const i64 h_start, const i64 state_start, const int hidden, const int batch, const int pitch,
                     const i64 rounded_start, const int panels, const int tiles, STEP_NUMBERS(_1), STEP_NUMBERS(_2)) {
    GRID_WAIT();
    LOCAL __align__(16) float sums[SUMS_SIZE];
    const int lid = LID(0);
    const int panel = GRP(0) % panels, m0 = GRP(0) / panels % tiles * BM, d = GRP(0) / panels / tiles;
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    States states;
    states.from = rounded + ((i64)before * DIRECTIONS + d) * pitch;
    states.begin = rounded0 + rounded_start + (i64)d * batch * pitch;
    states.pitch = (i64)DIRECTIONS * pitch;
    states.begin_pitch = pitch;
    states.rows = rows;
    states.before_rows = before_rows;
    step_product(sums, &states, packed + ((i64)d * panels + panel) * pitch * BN, m0, pitch / 32, lid);
    for (int o = lid; o < BM * UNITS; o += GROUP_SIZE) {
        const int row = m0 + o / UNITS, unit = panel * UNITS + o % UNITS;
        if (row >= rows || unit >= hidden) continue;
        const int count = 1;
        real own[UNIT_COLUMNS];
        UNROLL for (int g = 0; g < UNIT_COLUMNS; ++g) own[g] = sum_of_parts(sums, o / UNITS, o % UNITS * UNIT_COLUMNS + g);
#define SUM_OF(gate) own[(gate) < UNIT_COLUMNS ? (gate) : 0]
#include "rnn/forward_unit.h"
        T *to = rounded + ((i64)(first + row) * DIRECTIONS + d) * pitch;
        STORE(to, unit, value);
        if (unit == hidden - 1) {
            for (int k = hidden; k < pitch; ++k) STORE(to, k, (real)0);
        }
    }
}
