// The second pass over the slice of work-group `group`: included in a kernel where the parts of all slices lie in means, squares
// and pivots, and `first`, `lid` and `scratch` are known.
SLICE_PROLOGUE(group)
const u32 from = X_OUTER(o), to = Y_OUTER(o);
const moments m = RMS ? merge_squares(squares, o, inside, scratch, lid)
                      : merge_slices(means, squares, o, inside, scratch, scratch + SCRATCH, lid);
const part inverse = (real)1 / sqrt(m.squares / (real)COUNT + epsilon);
const part pivot = !RMS && inside ? part_load(pivots, 0, o) : PART_SPLAT(0);
if (inside && slice == 0 && TILE_REDUCE(lid) == 0) {
    STORE_RUNNING(pivot + m.mean, m.squares)
    STORE_SAVED(pivot + m.mean, inverse)
}
GAIN_AND_SHIFT(inverse)
for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
    vreal v[ROUNDS];
    UNROLL for (int i = 0; i < ROUNDS; ++i)
        if (r + i * TR < end) v[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
    UNROLL for (int i = 0; i < ROUNDS; ++i)
        if (r + i * TR < end) {
            const vreal centred = RMS ? v[i] : v[i] - pivot - m.mean;
            VBLEND(y, to + Y_REDUCE(r + i * TR), alpha, AFFINE(centred, r + i * TR), beta);
        }
}
