// One step of a recurrent layer backwards on tensor cores, both directions: the gradients of the gates of the step after,
// rounded to T, times R (rnn/product_mma.h), are what this step's outputs get from there; then the cell (rnn/cell.h).
//
//   rounded[row][direction][pitch]     the gradients that R's rows got, gate by gate, zeros beyond
//
// With FINISH the gradients of the initial state of rows `before_rows` to `rows`, whose first step starts at row `after`.

#include "common/types.h"
#include "common/mma.h"
#define VGET(p, i) ((p)[i])
#define VPUT(p, i, v) ((p)[i] = (v))
#define SGET(p, i) LOAD(p, i)
#define SPUT(p, i, v) STORE(p, i, v)
#include "rnn/cell.h"
#include "rnn/product_mma.h"
#include "rnn/arguments.h"
#define PACKED_STORED
#include "rnn/backward_arguments.h"

KERNEL WG_SIZE(GROUP_SIZE, 1, 1)
rnn_backward_step_mma(BACKWARD_TENSORS, TENSOR(T, rounded), BACKWARD_NUMBERS, const int tiles, const int pitch,
                      STEP_NUMBERS(_1), STEP_NUMBERS(_2)) {
    GRID_WAIT();
    LOCAL __align__(16) float sums[SUMS_SIZE];
    const int lid = LID(0);
    const int panel = GRP(0) % panels, m0 = GRP(0) / panels % tiles * BM, d = GRP(0) / panels / tiles;
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    States states;
    states.from = rounded + ((i64)after * DIRECTIONS + d) * pitch;
    states.begin = 0;
    states.pitch = (i64)DIRECTIONS * pitch;
    states.begin_pitch = 0;
    states.rows = states.before_rows = after_rows;
    step_product(sums, &states, packed + ((i64)d * panels + panel) * pitch * BN, m0, pitch / 32, lid);
    for (int o = lid; o < BM * UNITS; o += GROUP_SIZE) {
        const int row = m0 + o / UNITS, unit = panel * UNITS + o % UNITS, count = 1;
        if (row >= rows || unit >= hidden) continue;
#ifdef FINISH
        if (row < before_rows) continue;
#endif
        const real sum = sum_of_parts(sums, o / UNITS, o % UNITS);
#include "rnn/backward_unit.h"
#ifndef FINISH
        T *to = rounded + ((i64)(first + row) * DIRECTIONS + d) * pitch;
        const real *own = gates + gates_start + ((first + row) * width + d * hidden) * SLOTS + unit;
        UNROLL for (int g = 0; g < GATES; ++g) STORE(to, g * hidden + unit, own[(g * hidden >= R_JUMP ? g + 1 : g) * hidden]);
        if (unit == hidden - 1) {
            for (int k = GATES * hidden; k < pitch; ++k) STORE(to, k, (real)0);
        }
#endif
    }
}
