// Packing of filters for conv_mma.cu in a launch of its own; defines: see conv_mma_pack_filter.h.

#include "types.h"
#include "mma.h"
#include "conv_geometry.h"
#include "prologue.h"
#include "conv_mma_element.h"
#include "conv_mma_pack_filter.h"

KERNEL WG_SIZE(256, 1, 1) pack_filter(const T *__restrict__ filter, E *__restrict__ packed FILTER_TENSORS) {
    GRID_WAIT();
    FILTER_BIND
    LOCAL E tile[PACK_PLACES];
    pack_piece(filter, packed, tile, blockIdx.x, threadIdx.x, 256 FILTER_ARGS);
}
