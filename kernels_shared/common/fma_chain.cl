// How many multiply-adds a device can do in a second: for benchmarks, which need a ceiling to compare with.
//
//   each work-item   v0 = v0 * f + g    ..    v[CHAINS-1] = v[CHAINS-1] * f + g     rounds * STEPS times, in registers
//
// Defines: CHAINS (enough to hide the latency of one), STEPS (unrolled), WG, VW and the storage type.

#include "common/types.h"

KERNEL WG_SIZE(WG, 1, 1) fma_chain(TENSOR(T, out), const real factor, const int rounds) {
    GRID_WAIT();
    BIND(T, out);
    const vreal f = VSPLAT(factor);
    const vreal g = VSPLAT((real)GRP(0));
    vreal v[CHAINS];
    UNROLL for (int i = 0; i < CHAINS; ++i) v[i] = VSPLAT((real)(LID(0) + i));
    for (int round = 0; round < rounds; ++round) {
        UNROLL for (int step = 0; step < STEPS; ++step) {
            UNROLL for (int i = 0; i < CHAINS; ++i) v[i] = v[i] * f + g;
        }
    }
    real sum = 0;
    UNROLL for (int i = 0; i < CHAINS; ++i) {
        UNROLL for (int j = 0; j < VW; ++j) sum += LANE(v[i], j);
    }
    if (sum == (real)-1) STORE(out, 0, sum);  // never, but the compiler cannot know
}
