// What the CPU schedules of convolution share: the register tile, and copies of tensor rows into packed scratch.
//
// A work-group is one work-item, which owns whole blocks of the result. Its inner loop is one register tile:
//
//              b0        ..  b[NV-1]         NV vectors of VW lanes: NR = NV * VW columns
//            +-------------------------+
//   a[0]     | c0_0      ..  c0_[NV-1] |
//    ..      |  ..            ..       |     MR rows; MR * NV vectors stay in registers, every one a named variable,
//   a[MR-1]  | c[MR-1]_0 ..            |     because compilers spill arrays of vectors
//            +-------------------------+
//
// Its loop is compiled alone (NOINLINE): inlined, LLVM splits it and moves its sums between registers and memory.
//
// Defines: MR (1 to 14), NV (1 to 4), VW and the storage type; SCRATCH_SPACE where scratch is not in the workspace.

// RUN_TIME_SIZES: so many of the sizes come as an argument of the kernel, so that one text serves many shapes. Their names stand for
// elements of `sizes`, which every function that uses one takes; what an inner loop or a condition of the text needs stays a number.

#ifdef RUN_TIME_SIZES
typedef struct {
    int v[RUN_TIME_SIZES];
} sizes_t;
#define SIZES_GIVEN , const sizes_t given
#define SIZES_BIND                                                                                           \
    const sizes_t own = given; /* no store can change it */                                                  \
    const sizes_t *sizes = &own;
#define SIZES_PARAMS , const sizes_t *sizes
#define SIZES_ARGS , sizes
#else
#define SIZES_GIVEN
#define SIZES_BIND
#define SIZES_PARAMS
#define SIZES_ARGS
#endif

#include "common/types.h"
#include "common/lanes.h"
#include "conv/prologue.h"

#define NR (NV * VW)
#ifndef SCRATCH_SPACE
#define SCRATCH_SPACE GLOBAL
#endif
// Scratch is read and written through a vector type without alignment, and products are left to the compiler to fuse: PoCL
// does not inline the functions vload, vstore, fma and min on processors that its built-in library was not compiled for.
typedef vreal unaligned_t __attribute__((aligned(sizeof(real))));
#define RLOAD(p) (*(const SCRATCH_SPACE unaligned_t *)(p))
#define RSTORE(v, p) (*(SCRATCH_SPACE unaligned_t *)(p) = (v))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
// Asks for the line at p, which may lie outside of its buffer; OpenCL's own prefetch does nothing on PoCL
#ifdef __x86_64__
#define PREFETCH(p) __builtin_prefetch((const void *)(size_t)(p), 0, 3)
#else
#define PREFETCH(p)
#endif
// Work-groups take tiles from a counter, because PoCL deals out half of all work-groups at once: a core that is slow would
// keep its half. Which work-group computes a tile makes no difference to the result.
#define TAKE_TILE(counter) atomic_inc(counter)

#define COLS_1(F, i) F(i, 0)
#define COLS_2(F, i) F(i, 0) F(i, 1)
#define COLS_3(F, i) F(i, 0) F(i, 1) F(i, 2)
#define COLS_4(F, i) F(i, 0) F(i, 1) F(i, 2) F(i, 3)
#define COLS(F, i) PD_CAT(COLS_, NV)(F, i)
#define ROWS_1(F) F(0)
#define ROWS_2(F) ROWS_1(F) F(1)
#define ROWS_3(F) ROWS_2(F) F(2)
#define ROWS_4(F) ROWS_3(F) F(3)
#define ROWS_5(F) ROWS_4(F) F(4)
#define ROWS_6(F) ROWS_5(F) F(5)
#define ROWS_7(F) ROWS_6(F) F(6)
#define ROWS_8(F) ROWS_7(F) F(7)
#define ROWS_9(F) ROWS_8(F) F(8)
#define ROWS_10(F) ROWS_9(F) F(9)
#define ROWS_11(F) ROWS_10(F) F(10)
#define ROWS_12(F) ROWS_11(F) F(11)
#define ROWS_13(F) ROWS_12(F) F(12)
#define ROWS_14(F) ROWS_13(F) F(13)
#define ROWS(F) PD_CAT(ROWS_, MR)(F)

#define DECLARE_VECTOR(i, j) vreal c##i##_##j = (vreal)((real)0);
#define ADD_VECTOR(i, j) c##i##_##j += RLOAD(c + i * pitch + j * VW);
#define WRITE_VECTOR(i, j) RSTORE(c##i##_##j, c + i * pitch + j * VW);
#define FMA_VECTOR(i, j) c##i##_##j = a##i * b##j + c##i##_##j;
#define LOAD_B(unused, j) const vreal b##j = RLOAD(b + j * VW);
#define DECLARE_ROW(i) COLS(DECLARE_VECTOR, i)
#define ADD_ROW(i) COLS(ADD_VECTOR, i)
#define WRITE_ROW(i) COLS(WRITE_VECTOR, i)

// Scratch holds what was computed before. Columns of a register tile that no value is copied to are cleared once: their sums
// are not stored, but numbers that happen to be denormal there make each product a hundred times as slow.
DEVICE void clear_scratch(SCRATCH_SPACE real *scratch, const int count) {
    const vreal zero = (vreal)((real)0);
    for (int i = 0; i < count; i += VW) RSTORE(zero, scratch + i);
}

// Fill dst[0 .. count) with src[first + q * step], q = 0, 1, ..., of a row of `size` elements that are `stride` apart, and
// with zeros where first + q * step is outside of the row. Writes up to VW - 1 elements beyond, never reads beyond `span`.
NOINLINE void copy_row(SCRATCH_SPACE real *dst, const GLOBAL T *src, int row, int first, const int step, int count, int size,
                     const int stride, const int span IMAGE_PARAMS) {
    const vreal zero = (vreal)((real)0);
    int low = first < 0 ? (step - 1 - first) / step : 0;
    int high = first < size ? (size - 1 - first) / step + 1 : 0;
    low = low < count ? low : count;
    high = high < count ? high : count;
    high = high > low ? high : low;
    for (int q = 0; q < low; q += VW) RSTORE(zero, dst + q);
    int q = low;
    if (stride * step == 1) {
        const int start = row + first;
        for (; q < high && start + q <= span - VW; q += VW) RSTORE(IMAGE_VLOAD(src, start + q, VW), dst + q);
    }
    if (stride * step == 2) {
        const int start = row + first * stride;
        for (; q < high && start + 2 * q <= span - 2 * VW; q += VW)
            RSTORE((vreal)(IMAGE_VLOAD(src, start + 2 * q, VW).even, IMAGE_VLOAD(src, start + 2 * q + VW, VW).even), dst + q);
    }
    for (; q < high; ++q) dst[q] = IMAGE_LOAD(src, row, (first + q * step) * stride);
    for (q = high; q < count; q += VW) RSTORE(zero, dst + q);
}

// The same for `channels` neighbours in memory at once, each to its own row of dst: VW pixels by VW channels at a time
NOINLINE void copy_channels(SCRATCH_SPACE real *dst, const int pitch, const GLOBAL T *src, int row, int first, const int step,
                          int count, int size, const int stride, int channels, const int span IMAGE_PARAMS) {
    int ch = 0;
    for (; ch <= channels - VW; ch += VW)
        for (int q = 0; q < count; q += VW) {
            vreal block[VW];
            UNROLL for (int j = 0; j < VW; ++j) {
                const int at = first + (q + j) * step;
                block[j] = at >= 0 && at < size ? IMAGE_VLOAD(src, row + at * stride + ch, VW) : (vreal)((real)0);
            }
            transpose(block);
            UNROLL for (int i = 0; i < VW; ++i) RSTORE(block[i], dst + (ch + i) * pitch + q);
        }
    for (; ch < channels; ++ch) copy_row(dst + ch * pitch, src, row + ch, first, step, count, size, stride, span IMAGE_ARGS);
}
