// The sums of the slice of a work-group: included in a kernel where `first`, `lid` and `scratch` are known.
SLICE_PROLOGUE(GRP(0))
const u32 from = X_OUTER(o), at = DY_OUTER(o);
part pivot = PART_SPLAT(0), rest = PART_SPLAT(0), inverse = PART_SPLAT(0);
vreal total = VSPLAT(0), product = VSPLAT(0);

if (inside) {
    LOAD_STATS
}
UNROLL_AT_MOST(1)
for (u32 r = r0; r < end && inside; r += ROUNDS * TR) {
    vreal a[ROUNDS], g[ROUNDS];
    UNROLL for (int i = 0; i < ROUNDS; ++i) {
        a[i] = g[i] = VSPLAT(0);
        if (r + i * TR < end) {
            a[i] = VLOAD(x, from + X_REDUCE(r + i * TR));
            g[i] = VLOAD(dy, at + DY_REDUCE(r + i * TR));
        }
    }
    UNROLL for (int i = 0; i < ROUNDS; ++i)
        if (r + i * TR < end) {
            g[i] = WEIGHTED(g[i], r + i * TR);
            a[i] = CENTRED(a[i]) * g[i];
        }
    UNROLL for (int i = 1; i < ROUNDS; ++i) {
        a[0] = a[0] + a[i];
        g[0] = g[0] + g[i];
    }
    total = total + g[0];
    product = product + a[0];
}
const part sum = tile_sum(fold_sum(total), scratch, lid);
const part sum_products = tile_sum(fold_sum(product), scratch + SCRATCH, lid);
if (inside && TILE_REDUCE(lid) == 0) {
    part_store(sums, slice, o, sum);
    part_store(products, slice, o, sum_products);
}
