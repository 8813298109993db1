// One step of a recurrent layer on a CPU, both directions: R h' of all gates, then the cell (rnn/cell.h).
//
// A work-group of one takes PANELS_EACH panels of one direction with all rows of the step; the panel stays in the cache.

#include "rnn/step_cpu.h"
#include "rnn/cell.h"
#include "rnn/arguments.h"

KERNEL WG_SIZE(1, 1, 1)
rnn_forward_step(TENSOR(const real, packed), TENSOR(const real, bias), TENSOR(real, gates), TENSOR(real, cells),
                 TENSOR(real, h), TENSOR(const real, h0), TENSOR(const real, c0) Y_ARG HY_ARG CY_ARG,
                 TENSOR(real, scratch), const i64 gates_start, const i64 cells_start, const i64 h_start,
                 const i64 state_start, const int hidden, const int batch, const int panels, STEP_NUMBERS(_1),
                 STEP_NUMBERS(_2)) {
    BIND(const real, packed);
    BIND(const real, bias);
    BIND(real, gates);
    BIND(real, cells);
    BIND(real, h);
    BIND(const real, h0);
    BIND(const real, c0);
    Y_BIND HY_BIND CY_BIND
    BIND(real, scratch);
    GLOBAL real *tile = scratch + (i64)GRP(0) * MR * PANEL;
    const int blocks = (panels + PANELS_EACH - 1) / PANELS_EACH;
    const int d = GRP(0) / blocks, p0 = GRP(0) % blocks * PANELS_EACH, p1 = MIN(p0 + PANELS_EACH, panels);
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    States states;
    states.from = h + h_start + before * width + d * hidden;
    states.begin = h0 + state;
    states.pitch = width;
    states.begin_pitch = hidden;
    states.rows = rows;
    states.before_rows = before_rows;
    for (int panel = p0; panel < p1; ++panel) {
        const GLOBAL real *b = packed + ((i64)d * panels + panel) * hidden * PANEL;
        for (int m0 = 0; m0 < rows; m0 += MR) {
            prefetch_rows(gates + gates_start + (first * width + d * hidden) * SLOTS + panel * (GATE_VECTORS * VW), m0, rows,
                          width * SLOTS, GATES, hidden);
            multiply_states(tile, &states, m0, 0, b, hidden, 0);
            for (int i = 0; i < MR && m0 + i < rows; ++i)
                for (int v = 0; v < GATE_VECTORS; ++v) {
                    const int row = m0 + i, unit = (panel * GATE_VECTORS + v) * VW, count = hidden - unit;
                    if (count <= 0) break;
                    const GLOBAL real *sums = tile + i * PANEL + v * VW;
#define SUM_OF(gate) RLOAD(sums + ((gate) < GATES ? (gate) : 0) * GATE_VECTORS * VW)
#include "rnn/forward_unit.h"
                }
        }
    }
}
