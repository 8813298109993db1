// One number of the result, or two halves of it, from numbers at the same place. OPERATION is one of
//
//   COPY                  y = x
//   ZERO                  dx = 0
//   GLU, GLU_BACKWARD     the gate lies X_HALF behind its unit, its gradient DX_HALF behind the unit's
//   PRELU_BACKWARD        dx = dy where x > 0, else weight * dy
//   ROPE, ROPE_BACKWARD   pairs (i, i + 1) of even i, turned by tables of TABLE numbers
//   SOFT_MARGIN           loss = log(1 + exp(-x * target)), without overflow
//   SOFT_MARGIN_BACKWARD  dx = -target / (1 + exp(x * target)) * dloss / COUNTED
#include "items/items.h"

#define EACH(i) PD_CAT(EACH_, OPERATION)(i)

#define EACH_COPY(i) OUT(y, i, IN(x, i));

#define EACH_ZERO(i) OUT(dx, i, (real)0);

#define EACH_GLU(i)                                          \
    const i64 at = AT_x(i);                                  \
    OUT(y, i, IN_AT(x, at) / ((real)1 + exp(-IN_AT(x, at + X_HALF))));

// 1 - sigmoid(b) is 1 / (1 + exp(b)), which does not cancel
#define EACH_GLU_BACKWARD(i)                                                                       \
    const i64 at = AT_x(i), to = AT_dx(i);                                                         \
    const real a = IN_AT(x, at), b = IN_AT(x, at + X_HALF), g = IN(dy, i);                         \
    const real open = (real)1 / ((real)1 + exp(-b)), shut = (real)1 / ((real)1 + exp(b));          \
    OUT_AT(dx, to, open * g);                                                                      \
    OUT_AT(dx, to + DX_HALF, shut * open * g * a);

#define EACH_PRELU_BACKWARD(i)                                                  \
    const real g = IN(dy, i);                                                   \
    OUT(dx, i, IN(x, i) > (real)0 ? g : IN(weight, i) * g);

#define EACH_ROPE(i)                                                                               \
    const i64 f = i % TABLE, other = i ^ 1;                                                        \
    const real turned = IN(x, other) * IN(sin_table, f);                                           \
    OUT(y, i, IN(x, i) * IN(cos_table, f) + (i & 1 ? turned : -turned));

#define EACH_ROPE_BACKWARD(i)                                                                      \
    const i64 f = i % TABLE, other = i ^ 1;                                                        \
    const real turned = IN(dy, other) * IN(sin_table, f ^ 1);                                      \
    OUT(dx, i, IN(dy, i) * IN(cos_table, f) + (i & 1 ? -turned : turned));

#define EACH_SOFT_MARGIN(i)                                                                        \
    const real v = -IN(x, i) * IN(target, i);                                                      \
    OUT(loss, i, (v < (real)0 ? (real)0 : v) + log1p(exp(-fabs(v))));

#define EACH_SOFT_MARGIN_BACKWARD(i)                                                               \
    const real t = IN(target, i);                                                                  \
    OUT(dx, i, -t / (exp(IN(x, i) * t) + (real)1) * IN(dloss, i) / (real)(COUNTED));

KERNEL WG_SIZE(ITEMS, 1, 1)
each(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    EACH_NUMBER(i) {
        EACH(i)
    }
}
