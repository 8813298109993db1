// Adds the parts of a product on tensor cores in order and blends the sums into the output.
//
// Defines: those of conv/column.h, ROWS COLS GROUPS PHASES SPLITS OUT_M PART_SIZE PART_PITCH; PARTS_BY_ROWS;
// for a filter gradient FILTER_GRADIENT CHANNELS CPAD.

#include "common/types.h"
#include "conv/geometry.h"
#include "conv/column.h"
#include "conv/epilogue.h"

KERNEL WG_SIZE(256, 1, 1)
conv_mma_reduce(TENSOR_RESTRICT(const float, parts), TENSOR(T, out), const float alpha, const float beta EPILOGUE_TENSORS) {
    GRID_WAIT();
    BIND_RESTRICT(const float, parts);
    BIND(T, out);
    EPILOGUE_BIND
    const i64 i = (i64)(u32)GRP(0) * 256 + (u32)LID(0);
    const u32 z = (u32)(i / ((i64)ROWS * COLS)), e = (u32)(i % ((i64)ROWS * COLS));
    if (z >= GROUPS * PHASES) return;
#ifdef PARTS_BY_ROWS
    const u32 row = e % ROWS, col = e / ROWS;
    i64 at = (i64)col * PART_PITCH + row;
#else
    const u32 row = e / COLS, col = e % COLS;
    i64 at = (i64)row * PART_PITCH + col;
#endif
    const Phase phase = phase_of(z % PHASES);
#ifdef FILTER_GRADIENT
    u32 tap = col / CHANNELS;
#ifdef FLIP
    tap = COLS / CHANNELS - 1 - tap;
#endif
    at = (i64)row * PART_PITCH + tap * CPAD + col % CHANNELS;
    const Column column = column_of(col, &phase);
    const i64 channel = z * ROWS + row;
#else
    const Column column = column_of(row, &phase);
    const i64 channel = z / PHASES * COLS + col;
#endif
    const i64 to = channel * OUT_M + column.offset;
    float sum = 0;
    at += (i64)z * PART_SIZE;
    UNROLL for (int split = 0; split < SPLITS; ++split) sum += parts[at + (i64)split * (GROUPS * PHASES) * PART_SIZE];
    if (column.in) FINISH(out, to, channel * Z_M + Z_COLUMN(column), channel * BIAS_C, alpha, sum, beta);
}
