// state_step_out = state_step + 1, or the same where the step was skipped; after every work-item has read it.
//
// Host defines, besides items.h's: HAS_FOUND where there is such a tensor.
#include "items/items.h"

KERNEL WG_SIZE(1, 1, 1)
count_step(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    bool skipped = false;
#ifdef HAS_FOUND
    skipped = found_inf[0] != 0;
#endif
    if (LID(0) == 0) state_step_out[0] = state_step[0] + (skipped ? 0 : 1);
}
