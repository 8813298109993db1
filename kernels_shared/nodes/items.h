// What kernels of single nodes have in common: a work-item for each number of a result, several of them on CPUs.
//
// Host defines: ITEMS, work-items of a group; COUNT, numbers of the result; DTYPE_FLOAT or DTYPE_DOUBLE.
#include "common/types.h"
#include "common/stored.h"

#define EACH_NUMBER(i) for (i64 i = (i64)GRP(0) * ITEMS + LID(0); i < (i64)(COUNT); i += (i64)NGRP(0) * ITEMS)
