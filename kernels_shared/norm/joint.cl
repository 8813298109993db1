// Moments of slices of rows and y in one launch; norm/forward.cl says what for.

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/forward.h"
#include "norm/slice_moments.h"
#include "common/pieces.h"

KERNEL WG_SIZE(GROUP, 1, 1) norm_joint(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL int slot[1];
    LOCAL real scratch[2 * SCRATCH];
    BIND_PARAMETERS;
    const int first = 0, own = GRP(0) / SLICES * SLICES;  // the first slice of its tile
    counters += GRP(0) / SLICES * PIECE_COUNTERS;
    const int lid = LID(0);
    start_group(counters, lid);
    slice_moments(x, means, squares, pivots, scratch, first, GRP(0), lid);
    int piece = gather_groups(counters, slot, lid, SLICES);
    while (piece < SLICES) {
        const int next = reserve_piece(counters, lid), group = own + piece;
#include "norm/apply_slice.h"
        piece = next_piece(slot, lid, next);
    }
    close_pieces(counters, leave_pieces(counters, lid), SLICES);
}
