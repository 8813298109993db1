// What attention's kernels on tensor cores share: rows of tensors in local memory, and scores as operands.
//
// A work-group has WARPS sub-groups of 32 with STEPS rows of product steps each, 16 rows of scores: what is read of the columns
// serves all of them. Rows of D (or DV) elements of T lie PITCH(D) bytes apart: an odd number of chunks of 16, so that ldmatrix
// meets every bank once. What is beyond the sequences, or beyond D or DV in a row, is zeros.
//
// A lane's scores of a step: rows lane / 4 and 8 below, columns 2 * (lane % 4) and the next of each run of eight.

#include "common/types.h"
#include "common/mma.h"
#include "attention/attention.h"

#define ITEMS (WARPS * 32)
#define WARP_ROWS (STEPS * 16)
#define BR (WARPS * WARP_ROWS)
#define WIDE(n) (((n) + 15) / 16 * 16)
#define PITCH(n) (WIDE(n) * 2 + 16)
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f

#ifdef DTYPE_BFLOAT16
#define PD_PACK "cvt.rn.bf16x2.f32"
#else
#define PD_PACK "cvt.rn.f16x2.f32"
#endif
#include "attention/mma_registers.h"

// Whether rows can be copied in chunks of 16 bytes, as far as addresses go
DEVICE bool in_chunks(const void *p, i64 step, i64 step_d) { return (u64)p % 16 == 0 && step % 8 == 0 && step_d == 1; }

// Copy the first `count` of ROWS rows, which begin at row_at(row), to byte `to` of local memory, one number after the other
template <int ROWS, int LENGTH, class RowAt>
DEVICE void copy_elements(unsigned char *tiles, u32 to, int count, i64 step_d, RowAt row_at) {
    const int per_row = WIDE(LENGTH) / 8;  // chunks
    for (int place = threadIdx.x; place < ROWS * per_row; place += ITEMS) {
        const int row = place / per_row, chunk = place % per_row;
        const T *from = row < count ? row_at(row) : (const T *)0;
        UNROLL for (int e = 0; e < 8; ++e) {
            const int n = chunk * 8 + e;
            *(T *)(tiles + to + row * PITCH(LENGTH) + 2 * n) = row < count && n < LENGTH ? from[n * step_d] : (T)0;
        }
    }
}

// Copy rows `first` .. `first` + ROWS - 1 of a tensor, of which `count` are there, to byte `to` of local memory
template <int ROWS, int LENGTH>
DEVICE void copy_rows(unsigned char *tiles, u32 to, const T *from, i64 step, i64 step_d, int first, int count) {
    const int per_row = WIDE(LENGTH) / 8;  // chunks
    if (LENGTH % 8 == 0 && ITEMS % per_row == 0 && in_chunks(from, step, step_d)) {
        const int chunk = threadIdx.x % per_row, apart = ITEMS / per_row;
        int row = threadIdx.x / per_row;
        const T *at = from + (first + row) * step + chunk * 8;
        u32 into = local_address(tiles) + to + row * PITCH(LENGTH) + chunk * 16;
        const bool within = chunk * 8 < LENGTH;
        UNROLL for (int n = 0; n < (ROWS + apart - 1) / apart; ++n, row += apart) {
            const bool reads = row < count && within;
            if (ROWS % apart == 0 || row < ROWS) copy_chunk(into, reads ? at : from, reads);
            at += apart * step;
            into += apart * PITCH(LENGTH);
        }
        return;
    }
    copy_elements<ROWS, LENGTH>(tiles, to, count, step_d, [&](int row) { return from + (first + row) * step; });
}

// Copy numbers `first` .. `first` + BC - 1, of which those before `count` are there, to byte `to` of local memory; all multiples of 4
DEVICE void copy_numbers(unsigned char *tiles, u32 to, const float *from, int first, int count) {
    for (int place = threadIdx.x; place < BC / 4; place += ITEMS) {
        const bool reads = first + 4 * place < count;
        copy_chunk(local_address(tiles) + to + 16 * place, (const T *)(reads ? from + first + 4 * place : from), reads);
    }
}

// Places in local memory that a lane gives to ldmatrix, for rows from byte `at` on: of the left operand, of the right one whose
// rows are columns of the result, and of one whose rows are summed over
DEVICE u32 left_place(u32 at, int lane, const int pitch) { return at + lane % 16 * pitch + lane / 16 * 16; }
DEVICE u32 right_place(u32 at, int lane, const int pitch) {
    return at + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 16;
}
DEVICE u32 summed_place(u32 at, int lane, const int pitch) { return at + lane % 16 * pitch + lane / 16 * 16; }

// Two neighbouring tiles of results, 8 columns each, become a left operand
DEVICE void pack_operand(u32 *a, const float *first, const float *second) {
    a[0] = pack_two(first[0], first[1]);
    a[1] = pack_two(first[2], first[3]);
    a[2] = pack_two(second[0], second[1]);
    a[3] = pack_two(second[2], second[3]);
}

// Left operands of 16 numbers of each row from byte `left` on
DEVICE void load_left(u32 (*a)[4], u32 left, const int pitch) {
    UNROLL for (int m = 0; m < STEPS; ++m) load_matrices(a[m], left + m * 16 * pitch);
}

// scores[STEPS][columns / 8][4] += rows times `columns` rows, 16 numbers each
template <int COLUMNS> DEVICE void multiply_step(float (*scores)[COLUMNS / 8][4], const u32 (*a)[4], u32 right, const int pitch) {
    UNROLL for (int n = 0; n < COLUMNS / 8; n += 2) {
        u32 two[4];
        load_matrices(two, right + n * 8 * pitch);
        UNROLL for (int m = 0; m < STEPS; ++m) {
            multiply(scores[m][n], a[m], two[0], two[1]);
            multiply(scores[m][n + 1], a[m], two[2], two[3]);
        }
    }
}

template <int TILES> DEVICE void set_zero(float (*sums)[TILES][4]) {
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int n = 0; n < TILES; ++n) {
            UNROLL for (int e = 0; e < 4; ++e) sums[m][n][e] = 0;
        }
    }
}

// scores[STEPS][columns / 8][4] = rows times `columns` rows, `length` numbers each
template <int COLUMNS, int LENGTH> DEVICE void multiply_scores(float (*scores)[COLUMNS / 8][4], u32 left, u32 right) {
    set_zero<COLUMNS / 8>(scores);
    UNROLL for (int step = 0; step < WIDE(LENGTH) / 16; ++step) {
        u32 a[STEPS][4];
        load_left(a, left + step * 32, PITCH(LENGTH));
        multiply_step<COLUMNS>(scores, a, right + step * 32, PITCH(LENGTH));
    }
}

// out[STEPS][length / 8][4] += weights[STEPS][rows / 8][4], rounded, times `rows` rows of `length` numbers
template <int ROWS, int LENGTH>
DEVICE void add_product(float (*out)[WIDE(LENGTH) / 8][4], const float (*weights)[ROWS / 8][4], u32 summed) {
    UNROLL for (int step = 0; step < ROWS / 16; ++step) {
        u32 a[STEPS][4];
        UNROLL for (int m = 0; m < STEPS; ++m) pack_operand(a[m], weights[m][2 * step], weights[m][2 * step + 1]);
        UNROLL for (int n = 0; n < WIDE(LENGTH) / 8; n += 2) {
            u32 two[4];
            load_matrices_transposed(two, summed + step * 16 * PITCH(LENGTH) + n * 16);
            UNROLL for (int m = 0; m < STEPS; ++m) {
                multiply(out[m][n], a[m], two[0], two[1]);
                multiply(out[m][n + 1], a[m], two[2], two[3]);
            }
        }
    }
}

// Of a sub-group's rows `first` .. `last`, as places along the columns: where any score counts, begin .. end - 1, and where all
// do, all_begin .. all_end - 1 (bands and lengths alone; the rows of the tile are queries)
typedef struct {
    int begin, end, all_begin, all_end;
} span;
DEVICE span span_of_rows(const attention *at, const sequence *of, int first, int last) {
    const bool there = first < of->rows, whole = last < of->rows;
    return {first_column(at, of, first), there ? end_column(at, of, least(last, of->rows - 1)) : 0, inner_column(at, of, last),
            whole ? inner_end(at, of, first) : 0};
}
// The same of keys, along the queries
DEVICE span span_of_columns(const attention *at, const sequence *of, int first, int last) {
    const bool there = first < of->columns, whole = last < of->columns;
    return {first_row(at, of, first), there ? end_row(at, of, least(last, of->columns - 1)) : 0, inner_row(at, of, last),
            whole ? inner_end_row(at, of, first) : 0};
}
DEVICE bool meets(const span &s, int t, int count) { return t < s.end && t + count > s.begin; }
DEVICE bool holds(const span &s, int t, int count) { return t >= s.all_begin && t + count <= s.all_end; }
