// Text that was written for a graph around a product: what comes before it (prologue.h) and after it (epilogue.h).
#ifndef LANES
#define LANES EPILOGUE_LANES
#include "fused_numbers.h"
#include "generated.h"
#endif
