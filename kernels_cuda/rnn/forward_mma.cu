// Steps of a recurrent layer on tensor cores, both directions: R h' of all gates (rnn/product_mma.h), then the cell
// (rnn/cell.h). What is multiplied are states rounded to T: rounded[row][direction][pitch], and rounded0 of the beginning;
// everything else is kept in float32, as in rnn/forward.cl.
//
// One launch a step, work-group = ((direction, tile of rows), panel). Or, PERSISTENT, one of all steps of sequences of one
// length, work-group = ((direction, row block), panel): it goes through every row_blocks-th tile of rows, then waits for the
// panels of the same rows, whose states it reads next.

#include "common/types.h"
#include "common/mma.h"
#define VGET(p, i) ((p)[i])
#define VPUT(p, i, v) ((p)[i] = (v))
#define SPUT(p, i, v) STORE(p, i, v)
#include "rnn/cell.h"
#include "rnn/product_mma.h"
#include "rnn/arguments.h"

#define FORWARD_TENSORS                                                                                    \
    TENSOR(const T, packed), TENSOR(const real, bias), TENSOR(real, gates), TENSOR(real, cells), TENSOR(real, h), \
        TENSOR(const real, h0), TENSOR(const real, c0), TENSOR(T, rounded), TENSOR(const T, rounded0) Y_ARG HY_ARG CY_ARG
#define FORWARD_NUMBERS                                                                                    \
    const i64 gates_start, const i64 cells_start, const i64 h_start, const i64 state_start, const int hidden, \
        const int batch, const int pitch, const i64 rounded_start, const int panels

#ifdef PERSISTENT
KERNEL WG_RESIDENT(GROUP_SIZE, 1)
rnn_forward_steps_mma(FORWARD_TENSORS, FORWARD_NUMBERS, const int row_blocks, const int steps, TENSOR(int, arrived)) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    float *sums = (float *)tiles;
    const int lid = LID(0);
    const int panel = GRP(0) % panels, block = GRP(0) / panels % row_blocks, d = GRP(0) / panels / row_blocks;
    const int rows = batch;
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    const Panel columns = panel_of(packed + ((i64)d * panels + panel) * pitch * BN, pitch * BN / 8,
                                   local_address(tiles) + SUMS_SIZE * 4, lid);
    int *counter = arrived + d * row_blocks + block;
    for (int step = 0; step < steps; ++step) {
        const int t = d ? steps - 1 - step : step, first = t * batch, before = (d ? t + 1 : t - 1) * batch;
        const int before_rows = step ? batch : 0, after_rows = step + 1 < steps ? batch : 0;
        if (step) meet(counter, panels, step, lid);
        for (int m0 = block * BM; m0 < rows; m0 += row_blocks * BM) {
#include "rnn/forward_tile.h"
            BARRIER();
        }
    }
    part_for_good(counter, panels, steps, lid);
}
#else
KERNEL WG_SIZE(GROUP_SIZE, 1, 1)
rnn_forward_step_mma(FORWARD_TENSORS, FORWARD_NUMBERS, const int row_tiles, STEP_NUMBERS(_1), STEP_NUMBERS(_2)) {
    GRID_WAIT();
    LOCAL __align__(16) float sums[SUMS_SIZE];
    const int lid = LID(0);
    const int panel = GRP(0) % panels, m0 = GRP(0) / panels % row_tiles * BM, d = GRP(0) / panels / row_tiles;
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    const Panel columns = packed + ((i64)d * panels + panel) * pitch * BN;
#include "rnn/forward_tile.h"
}
#endif
