// out[o] = sum of TERM(o, r) over r < TERMS, divided by DIVISOR, for o < RESULTS; in an order that does not depend on the device's.
//
// A work-group adds LENGTH terms of one result. With one SLICE that is the result; else parts[slice * RESULTS + o] takes the sum,
// and a second launch with TERM PARTS adds these up.
//
//   work-items   0 1 2 .. ITEMS-1 | 0 1 2 ..      each adds every ITEMS-th term, BLOCK of them before they join its sum; then a tree
//
// OPERATION, the terms:
//   PARTS          parts of the first launch
//   PRELU          x > 0 ? 0 : x * dy
//   SOFT_MARGIN    log(1 + exp(-x * target))
//   MULTI_MARGIN   of row o (ROWS), or of all rows and classes: weight[t] * max(0, margin - x[n, t] + x[n, c]) ** P, c other than
//                  t = target[n]; NaN where t is no class
// Besides items.h's defines: AT_t(o, r) of tensors in terms; STEP_n and STEP_c of x, STEP_t and STEP_w of target and weight.
#include "items/items.h"

#define BLOCK 64
#define IN_TERM(t, o, r) IN_AT(t, PD_CAT(AT_, t)(o, r))

#ifdef MULTI
#ifdef ROWS
#define ROW(o, r) (o)
#define COLUMN(r) (r)
#else
#define ROW(o, r) ((r) / CLASSES)
#define COLUMN(r) ((r) % CLASSES)
#endif
#endif

KERNEL WG_SIZE(ITEMS, 1, 1)
sum_terms(PARAMETER_LIST) {
    GRID_WAIT();
    LOCAL real scratch[ITEMS];
    BIND_PARAMETERS;
    const int lid = LID(0);
    const i64 o = (i64)GRP(0) / SLICES, slice = (i64)GRP(0) % SLICES, first = slice * (i64)(LENGTH);
    const i64 end = slice == SLICES - 1 ? (i64)(TERMS) : first + (i64)(LENGTH);
    real total = (real)0, block = (real)0;
    int inside = 0;
    for (i64 r = first + lid; r < end; r += ITEMS) {
        real term;
#if defined(PARTS)
        term = parts[r * (i64)(RESULTS) + o];
#elif defined(PRELU)
        const real v = IN_TERM(x, o, r);
        term = v > (real)0 ? (real)0 : v * IN_TERM(dy, o, r);
#elif defined(SOFT_MARGIN)
        const real v = -IN_TERM(x, o, r) * IN_TERM(target, o, r);
        term = (v < (real)0 ? (real)0 : v) + log1p(exp(-fabs(v)));
#else
        const i64 n = ROW(o, r), c = COLUMN(r), t = (i64)target[n * STEP_t];
        if (t < 0 || t >= CLASSES) {
            term = NAN_OF(real);
        } else {
            const real m = margin - IN_AT(x, n * STEP_n + t * STEP_c) + IN_AT(x, n * STEP_n + c * STEP_c);
            const real w = IN_AT(weight, t * STEP_w);
            term = c == t || m < (real)0 ? (real)0 : P == 2 ? w * m * m : w * m;
        }
#endif
        block += term;
        if (++inside == BLOCK) {
            total += block;
            block = (real)0;
            inside = 0;
        }
    }
    scratch[lid] = total + block;
    BARRIER();
    for (int step = ITEMS / 2; step > 0; step /= 2) {
        if (lid < step) scratch[lid] += scratch[lid + step];
        BARRIER();
    }
    if (lid == 0) {
#if SLICES > 1
        parts[slice * (i64)(RESULTS) + o] = scratch[0];
#else
        OUT(out, o, scratch[0] / (real)(DIVISOR));
#endif
    }
}
