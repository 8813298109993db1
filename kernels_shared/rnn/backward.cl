// One step of a recurrent layer backwards on a GPU, both directions: the gradients of the gates of the step after, times R
// (rnn/product.h), are what this step's outputs get from there; then the cell (rnn/cell.h). Columns of a tile are units.
//
// With FINISH the gradients of the initial state of rows `before_rows` to `rows`, whose first step starts at row `after`.

#include "common/types.h"
#define VGET(p, i) ((p)[i])
#define VPUT(p, i, v) ((p)[i] = (v))
#define SGET(p, i) LOAD(p, i)
#define SPUT(p, i, v) STORE(p, i, v)
#include "rnn/cell.h"
#include "rnn/product.h"
#include "rnn/arguments.h"
#define PACKED_T real
#include "rnn/backward_arguments.h"

KERNEL WG_SIZE(GROUP_SIZE, 1, 1)
rnn_backward_step(BACKWARD_TENSORS, BACKWARD_NUMBERS, const int tiles, STEP_NUMBERS(_1), STEP_NUMBERS(_2)) {
    GRID_WAIT();
    BACKWARD_BIND
    LOCAL real4 pool[POOL];
    const int lid = LID(0);
    const int panel = GRP(0) % panels, m0 = GRP(0) / panels % tiles * BM, d = GRP(0) / panels / tiles;
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    real own[OWN];
    States states;
    states.from = gates + gates_start + (after * width + d * hidden) * SLOTS;
    states.begin = 0;
    states.pitch = width * SLOTS;
    states.begin_pitch = 0;
    states.rows = states.before_rows = after_rows;
    states.jump = R_JUMP;
    states.skip = R_SKIP;
    const int depth = GATES * hidden;
    step_product(pool, &states, packed + ((i64)d * panels + panel) * depth * BN, m0, depth, lid, own);
    const int tx = TILE_TX(lid % ITEMS), ty = TILE_TY(lid % ITEMS), part = lid / ITEMS;
    UNROLL for (int o = 0; o < OWN; ++o) {
        const int row = m0 + OWN_ROW(part, ty, o), unit = panel * BN + OWN_COLUMN(part, tx, o), count = 1;
        if (row >= rows || unit >= hidden) continue;
#ifdef FINISH
        if (row < before_rows) continue;
#endif
        const real sum = own[o];
#include "rnn/backward_unit.h"
    }
}
