// What generated kernels (backends/fusion) begin with: fusion/fused_numbers.h, with the types that it needs.
#define VW LANES
#include "common/types.h"
#include "fusion/fused_numbers.h"
