// dx of the slice of work-group `group`: included in a kernel where the sums of all slices lie in sums and products, and `first`,
// `lid` and `scratch` are known.
SLICE_PROLOGUE(group)
const u32 from = X_OUTER(o), at = DY_OUTER(o), to = DX_OUTER(o);
part pivot = PART_SPLAT(0), rest = PART_SPLAT(0), inverse = PART_SPLAT(0);
part sum = PART_SPLAT(0), product = PART_SPLAT(0);

if (inside) {
    LOAD_STATS
}
for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
    sum = sum + part_load(sums, k, o);
    product = product + part_load(products, k, o);
}
sum = tile_sum(sum, scratch, lid);
product = tile_sum(product, scratch + SCRATCH, lid);
if (inside && slice == 0 && TILE_REDUCE(lid) == 0) STORE_GRADIENTS(product * inverse, sum)
const part shift = sum / (real)COUNT, slope = inverse * inverse * product / (real)COUNT;
const part gain = GAIN(inverse);
for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
    vreal a[ROUNDS], g[ROUNDS];
    UNROLL for (int i = 0; i < ROUNDS; ++i)
        if (r + i * TR < end) {
            a[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
            g[i] = VLOAD(dy, at + DY_REDUCE(r + i * TR));
        }
    UNROLL for (int i = 0; i < ROUNDS; ++i)
        if (r + i * TR < end) {
            const vreal weighted = WEIGHTED(g[i], r + i * TR);
            VBLEND(dx, to + DX_REDUCE(r + i * TR), alpha,
                   (WITHOUT_MEAN(weighted, shift) - CENTRED(a[i]) * slope) * gain, beta);
        }
}
