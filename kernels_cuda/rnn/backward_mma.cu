// Steps of a recurrent layer backwards on tensor cores, both directions: the gradients of the gates of the step after,
// rounded to T, times R (rnn/product_mma.h), are what this step's outputs get from there; then the cell (rnn/cell.h).
//
//   rounded[row][direction][pitch]     the gradients that R's rows got, gate by gate, zeros beyond
//
// One launch a step or, PERSISTENT, one of all, as in rnn/forward_mma.cu. With FINISH the gradients of the initial state of rows `before_rows` to `rows`, whose first step starts at row `after`.

#include "common/types.h"
#include "common/mma.h"
#define VGET(p, i) ((p)[i])
#define VPUT(p, i, v) ((p)[i] = (v))
#define SGET(p, i) LOAD(p, i)
#define SPUT(p, i, v) STORE(p, i, v)
#include "rnn/cell.h"
#include "rnn/product_mma.h"
#include "rnn/arguments.h"
#define PACKED_T T
#include "rnn/backward_arguments.h"

#ifdef PERSISTENT
KERNEL WG_RESIDENT(GROUP_SIZE, 1)
rnn_backward_steps_mma(BACKWARD_TENSORS, TENSOR(T, rounded), BACKWARD_NUMBERS, const int row_blocks, const int pitch,
                       const int steps, TENSOR(int, arrived)) {
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
        const int t = d ? step : steps - 1 - step, first = t * batch;
        const int before = (d ? t + 1 : t - 1) * batch, after = (d ? t - 1 : t + 1) * batch;
        const int before_rows = step + 1 < steps ? batch : 0, after_rows = step ? batch : 0;
        if (step) meet(counter, panels, step, lid);
        for (int m0 = block * BM; m0 < rows; m0 += row_blocks * BM) {
#include "rnn/backward_tile.h"
            BARRIER();
        }
    }
    part_for_good(counter, panels, steps, lid);
}
#else
KERNEL WG_SIZE(GROUP_SIZE, 1, 1)
rnn_backward_step_mma(BACKWARD_TENSORS, TENSOR(T, rounded), BACKWARD_NUMBERS, const int row_tiles, const int pitch,
                      STEP_NUMBERS(_1), STEP_NUMBERS(_2)) {
    GRID_WAIT();
    LOCAL __align__(16) float sums[SUMS_SIZE];
    const int lid = LID(0);
    const int panel = GRP(0) % panels, m0 = GRP(0) / panels % row_tiles * BM, d = GRP(0) / panels / row_tiles;
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    const Panel columns = packed + ((i64)d * panels + panel) * pitch * BN;
#include "rnn/backward_tile.h"
}
#endif
