// Sums of slices of rows and dx in one launch; norm/backward.cl says what for.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/backward.h"
#include "common/pieces.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_backward_joint(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL int slot[1];
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int first = 0, own = GRP(0) / SLICES * SLICES;  // the first slice of its tile
    counters += GRP(0) / SLICES * PIECE_COUNTERS;
    const int lid = LID(0);
    start_group(counters, lid);
    {
#include "norm/sum_slice.h"
    }
    int piece = gather_groups(counters, slot, lid, SLICES);
    while (piece < SLICES) {
        const int next = reserve_piece(counters, lid), group = own + piece;
#include "norm/dx_slice.h"
        piece = next_piece(slot, lid, next);
    }
    close_pieces(counters, leave_pieces(counters, lid), SLICES);
}
