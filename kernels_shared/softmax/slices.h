// What the sliced kernels have in common: tile `first` + .. of the outer units, one slice of the reduce units.
#define SLICE_PROLOGUE                                                                                     \
    const int lid = LID(0);                                                                                \
    const idx_t slice = (idx_t)GRP(0) % SLICES;                                                                \
    const idx_t o = ((idx_t)first + (idx_t)GRP(0) / SLICES) * TO + TILE_OUTER(lid);                              \
    const idx_t r0 = slice * LENGTH + TILE_REDUCE(lid);                                                      \
    const idx_t end = slice == SLICES - 1 ? REDUCE : slice * LENGTH + LENGTH;                                \
    const bool inside = o < OUTER;

