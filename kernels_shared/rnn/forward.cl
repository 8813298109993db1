// One step of a recurrent layer on a GPU, both directions: R h' of all gates (rnn/product.h), then the cell (rnn/cell.h).
//
//            BN columns: a plain cell's units, or 4 gates of each of BN / 4 units (a GRU's fourth is empty), so that a
//          +----+----+   work-item's four neighbouring columns are all it needs to finish a unit
//    rows  |tile|    |
//      BM  +----+----+   work-group = ((direction, tile of rows), panel)

#include "common/types.h"
#define VGET(p, i) ((p)[i])
#define VPUT(p, i, v) ((p)[i] = (v))
#define SPUT(p, i, v) STORE(p, i, v)
#include "rnn/cell.h"
#include "rnn/product.h"
#include "rnn/arguments.h"

KERNEL WG_SIZE(GROUP_SIZE, 1, 1)
rnn_forward_step(TENSOR(const real, packed), TENSOR(const real, bias), TENSOR(real, gates), TENSOR(real, cells),
                 TENSOR(real, h), TENSOR(const real, h0), TENSOR(const real, c0) Y_ARG HY_ARG CY_ARG,
                 const i64 gates_start, const i64 cells_start, const i64 h_start, const i64 state_start,
                 const int hidden, const int batch, const int panels, const int tiles, STEP_NUMBERS(_1),
                 STEP_NUMBERS(_2)) {
    GRID_WAIT();
    BIND(const real, packed);
    BIND(const real, bias);
    BIND(real, gates);
    BIND(real, cells);
    BIND(real, h);
    BIND(const real, h0);
    BIND(const real, c0);
    Y_BIND HY_BIND CY_BIND
    LOCAL real4 pool[POOL];
    const int lid = LID(0);
    const int panel = GRP(0) % panels, m0 = GRP(0) / panels % tiles * BM, d = GRP(0) / panels / tiles;
    PICK_STEP(d)
    const i64 width = (i64)hidden * DIRECTIONS;
    const i64 state = state_start + (i64)d * batch * hidden;
    real own[OWN];
    States states;
    states.from = h + h_start + before * width + d * hidden;
    states.begin = h0 + state;
    states.pitch = width;
    states.begin_pitch = hidden;
    states.rows = rows;
    states.before_rows = before_rows;
    states.jump = hidden;
    states.skip = 0;
    step_product(pool, &states, packed + ((i64)d * panels + panel) * hidden * BN, m0, hidden, lid, own);
    const int tx = TILE_TX(lid % ITEMS), ty = TILE_TY(lid % ITEMS), part = lid / ITEMS;
    UNROLL for (int o = 0; o < OWN; o += UNIT_COLUMNS) {
        const int row = m0 + OWN_ROW(part, ty, o), unit = (panel * BN + OWN_COLUMN(part, tx, o)) / UNIT_COLUMNS;
        if (row >= rows || unit >= hidden) continue;
        const int count = 1, last = UNIT_COLUMNS - 1;
#define SUM_OF(gate) own[o + ((gate) < last ? (gate) : last)]
#include "rnn/forward_unit.h"
    }
}
