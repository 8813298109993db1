// Elementwise operations on GPUs; tensor/elementwise.h has the operations and the defines.
//
//   flat:      work-item l of group g takes vectors  g*ITEMS*WG + l + {0, WG, 2*WG, ...}   (coalesced, all loads first)
//   rows:      work-item i takes vector i of rows*INNER/VW
#include "tensor/elementwise.h"

#ifdef RUN
#include "common/runs.h"
#define RUN_VALUES(p, ROW, i) run_values(LOAD(p, ROW(RUN_OF(i))), LOAD(p, ROW(RUN_OF((i) + VW - 1))), i)
#define FLAT_STEP(step) step
#define FLAT_IN(IN, ROW, step, i) ((step) ? IN(i) : IN(ROW(RUN_OF(i))))
#else
#define RUN_VALUES(p, ROW, i) VSPLAT(LOAD(p, i))
#define FLAT_STEP(step) 1
#define FLAT_IN(IN, ROW, step, i) IN(i)
#endif

#ifdef LAYOUT_FLAT
KERNEL WG_SIZE(WG, 1, 1) elementwise(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const idx_t first = ((idx_t)GRP(0) * (ITEMS * WG) + (idx_t)LID(0)) * VW;
    vreal a[ITEMS], b[ITEMS], prior[ITEMS];
    UNROLL for (int j = 0; j < ITEMS; ++j) {
        const idx_t i = first + j * (WG * VW);
        a[j] = b[j] = prior[j] = VSPLAT(0);
        if (i + VW <= n) {
            a[j] = VIN0(i, FLAT_STEP(STEP_IN0));
            b[j] = VIN1(i, FLAT_STEP(STEP_IN1));
            if (READS_PRIOR) prior[j] = VLOAD(out, i);
        }
    }
    UNROLL for (int j = 0; j < ITEMS; ++j) {
        const idx_t i = first + j * (WG * VW);
        if (i + VW <= n) {
            VSTORE(out, i, ADD_PRIOR(RESULT(a[j], b[j]), prior[j]));
        } else if (i < n) {  // the last, partial vector: one work-item fills lanes of zeros
            vreal va = VSPLAT(0), vb = VSPLAT(0), vp = VSPLAT(0);
            UNROLL for (int l = 0; l < VW; ++l) {
                if (i + l < n) {
                    LANE(va, l) = FLAT_IN(IN0, ROW_IN0, STEP_IN0, i + l);
                    LANE(vb, l) = FLAT_IN(IN1, ROW_IN1, STEP_IN1, i + l);
                    if (READS_PRIOR) LANE(vp, l) = LOAD(out, i + l);
                }
            }
            vreal result = ADD_PRIOR(RESULT(va, vb), vp);
            UNROLL for (int l = 0; l < VW; ++l)
                if (i + l < n) STORE(out, i + l, LANE(result, l));
        }
    }
}
#else
KERNEL WG_SIZE(WG, 1, 1) elementwise(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    const idx_t first = (idx_t)GRP(0) * (ITEMS * WG) + (idx_t)LID(0);
    UNROLL for (int j = 0; j < ITEMS; ++j) {
        const idx_t v = first + j * WG;
        if (v >= n / VW) continue;
        const idx_t row = v / (INNER / VW), column = v % (INNER / VW) * VW;
        const idx_t o = ROW_OUT(row) + column * STEP_OUT;
        const vreal a = VIN0(ROW_IN0(row) + column * STEP_IN0, STEP_IN0);
        const vreal b = VIN1(ROW_IN1(row) + column * STEP_IN1, STEP_IN1);
        vreal result = RESULT(a, b);
        if (READS_PRIOR) result = ADD_PRIOR(result, VLOAD(out, o));
        VSTORE(out, o, result);
    }
}
#endif
