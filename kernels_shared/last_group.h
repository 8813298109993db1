// The last of several work-groups of a launch goes on with what all of them wrote, on devices with the feature grid_fence.

#include "counters.h"

// Whether one work-item, which speaks for its work-group and calls it alone, is the last of `count`. What the others wrote
// themselves before is there for the last, which leaves the counter, of a CountersArg, a zero again.
DEVICE bool last_item(GLOBAL int *arrived, int count) {
    const bool last = COUNT_ORDERED(arrived) == count - 1;
    if (last) arrived[0] = 0;
    return last;
}

// Whether the work-group is the last of `count` that come here; all its work-items call it. What all of them wrote before
// is there for the last. `slot` is an int in local memory.
DEVICE int last_group(GLOBAL int *arrived, LOCAL_ARG int *slot, int item, int count) {
    GLOBAL_BARRIER();
    if (item == 0) slot[0] = last_item(arrived, count);
    GLOBAL_BARRIER();
    return slot[0];
}
