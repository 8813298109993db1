// A step's rows from m0 on of a panel's units, of direction d: included where rnn/arguments.h has the step's numbers.
{
    States states;
    states.from = rounded + ((i64)before * DIRECTIONS + d) * pitch;
    states.begin = rounded0 + rounded_start + (i64)d * batch * pitch;
    states.pitch = (i64)DIRECTIONS * pitch;
    states.begin_pitch = pitch;
    states.rows = rows;
    states.before_rows = before_rows;
    step_product(sums, &states, columns, m0, pitch / 32, lid);
    for (int o = lid; o < BM * UNITS; o += GROUP_SIZE) {
        const int row = m0 + o / UNITS, unit = panel * UNITS + o % UNITS, count = 1;
        if (row >= rows || unit >= hidden) continue;
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
