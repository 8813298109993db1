// One step of a recurrent layer backwards on a CPU, as rnn/backward.cl has it. A work-group of one takes PANELS_EACH panels
// of one direction with all rows of the step.

#include "rnn/step_cpu.h"
#include "rnn/cell.h"
#include "rnn/arguments.h"
#define PACKED_T real
#include "rnn/backward_arguments.h"

KERNEL WG_SIZE(1, 1, 1)
rnn_backward_step(BACKWARD_TENSORS, TENSOR(real, scratch), BACKWARD_NUMBERS, STEP_NUMBERS(_1), STEP_NUMBERS(_2)) {
    BACKWARD_BIND
    BIND(real, scratch);
    GLOBAL real *tile = scratch + (i64)GRP(0) * MR * PANEL;
    const int blocks = (panels + PANELS_EACH - 1) / PANELS_EACH;
    const int d = GRP(0) / blocks, p0 = GRP(0) % blocks * PANELS_EACH, p1 = MIN(p0 + PANELS_EACH, panels);
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    States states;
    states.from = states.begin = gates + gates_start + (after * width + d * hidden) * SLOTS;
    states.pitch = width * SLOTS;
    states.begin_pitch = 0;
    states.rows = states.before_rows = after_rows;
    for (int panel = p0; panel < p1; ++panel) {
        const GLOBAL real *b = packed + ((i64)d * panels + panel) * (GATES * hidden) * PANEL;
        for (int m0 = 0; m0 < rows; m0 += MR) {
#ifndef FINISH
            for (int v = 0; v < PANEL_VECTORS; ++v)
                prefetch_rows(gates + gates_start + (first * width + d * hidden) * SLOTS + (panel * PANEL_VECTORS + v) * VW, m0, rows,
                              width * SLOTS, SLOTS, hidden);
#endif
            if (m0 < after_rows) multiply_states(tile, &states, m0, 0, b, R_JUMP, 0);
            if (m0 < after_rows && R_SKIP)
                multiply_states(tile, &states, m0, R_JUMP + R_SKIP, b + (i64)R_JUMP * PANEL, GATES * hidden - R_JUMP, 1);
            for (int i = 0; i < MR && m0 + i < rows; ++i)
                for (int v = 0; v < PANEL_VECTORS; ++v) {
                    const int row = m0 + i, unit = (panel * PANEL_VECTORS + v) * VW, count = hidden - unit;
                    if (count <= 0) break;
#ifdef FINISH
                    if (row < before_rows) continue;
#endif
                    const vreal sum = RLOAD(tile + i * PANEL + v * VW);
#include "rnn/backward_unit.h"
                }
        }
    }
}
