// A step's rows from m0 on of a panel's units backwards, of direction d: included where rnn/arguments.h has the step's numbers.
{
    States states;
    states.from = rounded + ((i64)after * DIRECTIONS + d) * pitch;
    states.begin = 0;
    states.pitch = (i64)DIRECTIONS * pitch;
    states.begin_pitch = 0;
    states.rows = states.before_rows = after_rows;
    step_product(sums, &states, columns, m0, pitch / 32, lid);
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
