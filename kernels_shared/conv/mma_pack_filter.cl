// Packing of filters for tensor cores in a launch of its own; defines: see conv/mma_pack_filter.h.

#include "common/types.h"
#include "common/mma.h"
#include "conv/geometry.h"
#include "conv/prologue.h"
#include "conv/mma_element.h"
#include "conv/mma_pack_filter.h"

KERNEL WG_SIZE(256, 1, 1) pack_filter(TENSOR_RESTRICT(const E, filter), TENSOR_RESTRICT(E, packed) FILTER_TENSORS) {
    GRID_WAIT();
    BIND_RESTRICT(const E, filter);
    BIND_RESTRICT(E, packed);
    FILTER_BIND
    LOCAL E tile[PACK_PLACES];
    pack_piece(filter, packed, tile, (u32)GRP(0), LID(0), 256 FILTER_ARGS);
}
