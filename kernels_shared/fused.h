// What generated kernels (backends/fusion) begin with: fused_numbers.h, with the types that it needs.
#define VW LANES
#include "types.h"
#include "fused_numbers.h"
