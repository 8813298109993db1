// y = alpha * x + beta * y on a CPU, where x is contiguous along one axis (b) and y along another (a): VW by VW elements at a time.
//
// A work-group is one work-item and takes TILE by TILE elements of a batch, so that whole lines of both sides are met while they
// are in the cache:
//
//        x: b ->                          y: a ->
//     a  +------+   VW rows of VW      b  +------+
//     |  | tile |   turned over in     |  | tile |
//     v  +------+   registers          v  +------+
//
// Host defines: SIZE_A, SIZE_B; X_STRIDE_A (x's step along a), Y_STRIDE_B (y's step along b); X_BATCH(i), Y_BATCH(i) (first
// element of batch i over all other axes); X_SPAN, elements of x from the first to the last; TILE. RUN_TIME_SIZES as in conv/cpu.h.
#include "conv/cpu.h"

// Up to VW elements of x from `at` on; what lies beyond them is read where it is within x
DEVICE vreal load_few(const GLOBAL T *x, const idx_t at, const idx_t count, const idx_t span) {
    if (at + VW <= span) return VLOAD(x, at);
    vreal v = VSPLAT(0);
    for (idx_t j = 0; j < count; ++j) LANE(v, j) = LOAD(x, at + j);
    return v;
}

// Turn over a block that is not whole, or that is added to what lies in y: x_at and y_at are its first elements
NOINLINE void turn_part(GLOBAL T *y, const GLOBAL T *x, const idx_t y_at, const idx_t x_at, const idx_t y_step, const idx_t x_step,
                        const idx_t rows, const idx_t columns, const idx_t span, const real alpha, const real beta) {
    vreal block[VW];
    for (int i = 0; i < VW; ++i) block[i] = i < rows ? load_few(x, x_at + i * x_step, columns, span) : VSPLAT(0);
    transpose(block);
    for (idx_t j = 0; j < columns; ++j) {
        const idx_t at = y_at + j * y_step;
        if (rows == VW) VBLEND(y, at, alpha, block[j], beta);
        else
            for (idx_t i = 0; i < rows; ++i) BLEND(y, at + i, alpha, LANE(block[j], i), beta);
    }
}

KERNEL WG_SIZE(1, 1, 1)
    transpose_cpu(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, y), const real alpha, const real beta SIZES_GIVEN) {
    SIZES_BIND
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, y);
    const idx_t tiles_a = (SIZE_A + TILE - 1) / TILE, tiles_b = (SIZE_B + TILE - 1) / TILE;
    const idx_t group = GRP(0);
    const idx_t first_b = group % tiles_b * TILE, first_a = group / tiles_b % tiles_a * TILE, batch = group / (tiles_b * tiles_a);
    const idx_t x0 = X_BATCH(batch), y0 = Y_BATCH(batch);
    for (idx_t b = first_b; b < MIN(first_b + TILE, SIZE_B); b += VW)
        for (idx_t a = first_a; a < MIN(first_a + TILE, SIZE_A); a += VW) {
            const idx_t rows = MIN(SIZE_A - a, (idx_t)VW), columns = MIN(SIZE_B - b, (idx_t)VW);
            const idx_t x_at = x0 + a * X_STRIDE_A + b, y_at = y0 + b * Y_STRIDE_B + a;
            if (rows < VW || columns < VW || beta != 0) {
                turn_part(y, x, y_at, x_at, Y_STRIDE_B, X_STRIDE_A, rows, columns, X_SPAN, alpha, beta);
                continue;
            }
            vreal block[VW];
            UNROLL for (int i = 0; i < VW; ++i) block[i] = VLOAD(x, x_at + i * X_STRIDE_A);
            transpose(block);
            UNROLL for (int j = 0; j < VW; ++j) VSTORE(y, y_at + j * Y_STRIDE_B, block[j] * alpha);
        }
}
