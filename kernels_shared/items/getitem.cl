// dx[i] = the sum of dy over the chain of number i's row, in order, added to dx with ADD. A row that nothing points to stays as it is.
//
// Host defines, besides items.h's: CHAINED where there are indices; then AT_head(i), the row of number i, head and next as chains.cl
// makes them, and ROW, how far apart rows are in dy.
#include "items/items.h"

KERNEL WG_SIZE(ITEMS, 1, 1)
getitem(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    EACH_NUMBER(i) {
        real sum = ADD ? IN(dx, i) : (real)0;
#ifdef CHAINED
        const i64 first = (i64)head[AT_head(i)], from = AT_dy(i);
        for (i64 s = first; s >= 0; s = (i64)next[s]) sum += IN_AT(dy, from + s * (i64)(ROW));
        if (first >= 0) OUT(dx, i, sum);
#else
        sum += IN(dy, i);
        OUT(dx, i, sum);
#endif
    }
}
