// Where a column of a product lies in the output: pixels (n, d, h, w), or elements (c, t, r, s) of a filter, in the order
// COLUMNS_0 .. COLUMNS_3 with strides OUT_0 .. OUT_3.
// Z_STRIDES: and in the epilogue's z, with strides Z_0 .. Z_3.

typedef struct {
    u32 offset;
#ifdef Z_STRIDES
    u32 z;
#endif
    int in;  // 0: no such element
} Column;

#ifdef Z_STRIDES
#define Z_COLUMN(column) ((column).z)
#else
#define Z_M OUT_M
#define Z_COLUMN(column) ((column).offset)
#endif

DEVICE Column column_of(u32 index, const Phase *phase) {
    Column column;
    const u32 i3 = index % COLUMNS_3;
    const u32 i2 = index / COLUMNS_3 % COLUMNS_2;
    const u32 i1 = index / COLUMNS_3 / COLUMNS_2 % COLUMNS_1;
    const u32 i0 = index / COLUMNS_3 / COLUMNS_2 / COLUMNS_1;
    column.in = index < GEMM_N;
#ifdef DATA_GRADIENT
    const u32 d = i1 * PHASES_D + (u32)phase->d;
    const u32 h = i2 * PHASES_H + (u32)phase->h;
    const u32 w = i3 * PHASES_W + (u32)phase->w;
    column.in = column.in && d < OUT_D && h < OUT_H && w < OUT_W;
    column.offset = i0 * OUT_0 + d * OUT_1 + h * OUT_2 + w * OUT_3;
#else
    column.offset = i0 * OUT_0 + i1 * OUT_1 + i2 * OUT_2 + i3 * OUT_3;
#endif
#ifdef Z_STRIDES
    column.z = i0 * Z_0 + i1 * Z_1 + i2 * Z_2 + i3 * Z_3;
#endif
    return column;
}
