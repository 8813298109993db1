#include "types.h"

KERNEL WG_SIZE(1, 1, 1) set_flat(TENSOR(T, y), const real value, const int n) {
    BIND(T, y);
    for (int i = 0; i < n; ++i) STORE(y, i, value);
}
