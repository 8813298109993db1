// Text that was written for a graph around a product: what comes before it (conv/prologue.h) and after it (conv/epilogue.h).
#ifndef LANES
#define LANES EPILOGUE_LANES
#include "fusion/fused_numbers.h"
#include "generated.h"
#endif
