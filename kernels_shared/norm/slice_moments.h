// The first pass over a slice of a row; after norm/norm.h.

// Moments of the slice of a work-group; pivots[o] is where its means count from.
DEVICE void slice_moments_0(GLOBAL T *x, GLOBAL real *means, GLOBAL real *squares, GLOBAL real *pivots,
                            LOCAL_ARG real *scratch, int first, int group, int lid) {
    SLICE_PROLOGUE(group)
    const u32 from = X_OUTER(o);
    vreal mean = VSPLAT(0), square = VSPLAT(0);
    part pivot = PART_SPLAT(0);
    real n = 0;

    if (inside) {
        vreal head = VLOAD(x, from + X_REDUCE(0));
        pivot = FOLD_FIRST(head);
    }
    for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal d[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) {
            d[i] = VSPLAT(0);
            if (r + i * TR < end) d[i] = VLOAD(x, from + X_REDUCE(r + i * TR)) - pivot;
        }
        const u32 left = (end - r + TR - 1) / TR;
        const real valid = left < ROUNDS ? (real)left : (real)ROUNDS;
        ADD_BLOCK(n, mean, square, d, valid)
    }
    moments m = fold_moments(mean, square, n);
    m = tile_moments(m, n * UNIT, SLICE_NUMBERS(slice), scratch, scratch + SCRATCH, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
        part_store(means, slice, o, m.mean);
        part_store(squares, slice, o, m.squares);
        if (slice == 0) part_store(pivots, 0, o, pivot);
    }
}

// The same of squares alone (RMS).
DEVICE void slice_moments_1(GLOBAL T *x, GLOBAL real *means, GLOBAL real *squares, GLOBAL real *pivots,
                            LOCAL_ARG real *scratch, int first, int group, int lid) {
    SLICE_PROLOGUE(group)
    const u32 from = X_OUTER(o);
    vreal mean = VSPLAT(0), square = VSPLAT(0);
    for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) {
            v[i] = VSPLAT(0);
            if (r + i * TR < end) v[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
        }
        vreal block = v[0] * v[0];
        UNROLL for (int i = 1; i < ROUNDS; ++i) block = block + v[i] * v[i];
        square = square + block;
    }
    const part sum = tile_sum(fold_sum(square), scratch, lid);
    if (inside && TILE_REDUCE(lid) == 0) part_store(squares, slice, o, sum);
}
#define slice_moments PD_CAT(slice_moments_, RMS)
