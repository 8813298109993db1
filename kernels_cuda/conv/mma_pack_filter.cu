// Packing of filters for conv/mma.cu in a launch of its own; defines: see conv/mma_pack_filter.h.

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#include "conv/prologue.h"
#include "conv/mma_element.h"
#include "conv/mma_pack_filter.h"

KERNEL WG_SIZE(256, 1, 1) pack_filter(const T *__restrict__ filter, E *__restrict__ packed FILTER_TENSORS) {
    GRID_WAIT();
    FILTER_BIND
    LOCAL E tile[PACK_PLACES];
    pack_piece(filter, packed, tile, blockIdx.x, threadIdx.x, 256 FILTER_ARGS);
}
