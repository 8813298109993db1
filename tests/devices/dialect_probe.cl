// One operation of the dialect, applied lane by lane or vector by vector; tests/devices/test_dialect.py writes PROBE.
#include "common/types.h"

CONSTANT int one_two[2] = {1, 2};
DEVICE real read(const LOCAL_ARG real *RESTRICT p, u64 i) { return p[i] * one_two[i & 0]; }

KERNEL WG_SIZE(4, 1, 1) probe(TENSOR(const T, x), TENSOR(const T, y), TENSOR(T, out), const real s, const u32 n) {
    GRID_WAIT();
    BIND(const T, x);
    BIND(const T, y);
    BIND(T, out);
    LOCAL real shared[4 * VW];
    const u32 i = ((u32)GRP(0) * (u32)LSZ(0) + (u32)LID(0)) * VW;
    if (NGRP(0) * LSZ(0) * VW < (int)n) return;  // the host made too few groups: uniform, so no barrier is missed
    const vreal a = VLOAD(x, i), b = VLOAD(y, i);
    UNROLL for (int j = 0; j < VW; ++j) shared[LID(0) * VW + j] = LOAD(x, i + j);
    BARRIER();
    PROBE
}
