// Operations on single numbers of tensors with any strides; a work-item for each, by nodes/items.h.
//
// Host defines, besides those of nodes/items.h, for each tensor t of the kernel: T_t, its type by name; AT_t(i), where number i
// is. PARAMETER_LIST and BIND_PARAMETERS declare the kernel's arguments (backends/parameters.py).
#include "nodes/items.h"

#define IN_AT(t, place) GET(PD_CAT(T_, t), t, place)
#define IN(t, i) IN_AT(t, PD_CAT(AT_, t)(i))
#define OUT_AT(t, place, value) PUT(PD_CAT(T_, t), t, place, value)
#define OUT(t, i, value) OUT_AT(t, PD_CAT(AT_, t)(i), value)
