// The last of several work-groups of a launch goes on with what all of them wrote, on devices with the feature grid_fence.

#include "common/counters.h"

// Whether the work-group is the last of `count` that come here; all its work-items call it. What all of them wrote before
// is there for the last, which leaves the counter, of a CountersArg, a zero again. `slot` is an int in local memory.
DEVICE int last_group(GLOBAL int *arrived, LOCAL_ARG int *slot, int item, int count) {
    GLOBAL_BARRIER();
    if (item == 0) {
        slot[0] = COUNT_ORDERED(arrived) == count - 1;
        if (slot[0]) arrived[0] = 0;
    }
    GLOBAL_BARRIER();
    return slot[0];
}
