// Matrix products on AMD's matrix cores, with the arguments of gemm/gemm.cl and its parts of K: c[z] = a[z] b[z], or c[z] += a[z] b[z]
//
// Both operands hold T: what they have is multiplied as it is (common/mma_tile.h).
//
// Defines: those of common/mma_tile.h; A_ALONG_K A_VECTOR B_ALONG_K B_VECTOR, C_STORED, SPLITS, as in gemm/gemm.cl; a vector is a
// chunk here.

#include "common/types.h"
#include "common/mma.h"
#include "common/mma_tile.h"
#include "gemm/operands.h"

#define PART (VE / 2)
#define TILES_M ((m + BM - 1) / BM)
#define TILES_N ((n + BN - 1) / BN)
typedef E Elements __attribute__((ext_vector_type(VE)));
typedef Chunk LooseChunk __attribute__((aligned(2)));

// Half a chunk of line e, of VE lines and PART neighbours in k
#ifdef DTYPE_FLOAT
#define TURNED(e, p) chunks[p][e]
#else
#define TURNED(e, p) ((e) % 2 ? chunks[2 * (p)][(e) / 2] >> 16 | (chunks[2 * (p) + 1][(e) / 2] & 0xffff0000u)      \
                              : (chunks[2 * (p)][(e) / 2] & 0xffffu) | chunks[2 * (p) + 1][(e) / 2] << 16)
#endif
DEVICE Half turned_half(const Chunk chunks[PART], int e) {
    Half v;
    v.x = TURNED(e, 0);
    v.y = TURNED(e, 1);
    return v;
}

#define SIDE(name) a_##name
#define SIDE_LINES BM
#define SIDE_ALONG_K A_ALONG_K
#define SIDE_VECTOR A_VECTOR
#define SIDE_ROW(line) FRAG_PLACE(line)
#include "gemm/matrix_side.h"
#define SIDE(name) b_##name
#define SIDE_LINES BN
#define SIDE_ALONG_K B_ALONG_K
#define SIDE_VECTOR B_VECTOR
#define SIDE_ROW(line) (line)
#include "gemm/matrix_side.h"

#define LOAD_SLICES(k0)                                                       \
    a_load(&a_next, a_from, a_step, item, m0, m, k0, depth);           \
    b_load(&b_next, b_from, b_step, item, n0, n, k0, depth);
#define STORE_SLICE(slice, k0)                                         \
    a_store(&a_next, slice, item, m0, m, k0, depth);                   \
    b_store(&b_next, (slice) + BM * CHUNKS, item, n0, n, k0, depth);

KERNEL WG_SIZE(ITEMS, 1, 1)
gemm_matrix(TENSOR_RESTRICT(const a_t, a_all), TENSOR_RESTRICT(const b_t, b_all), TENSOR(out_t, c_all), const i64 a_first,
            const i64 b_first, const i64 c_first, const i64 a_batch, const i64 b_batch, const i64 c_batch, const int a_step,
            const int b_step, const int c_step, const int m, const int n, const int depth, const int accumulate) {
    GRID_WAIT();
    BIND_RESTRICT(const a_t, a_all);
    BIND_RESTRICT(const b_t, b_all);
    BIND(out_t, c_all);
    LOCAL Chunk slices[2 * SLICE];
    const int item = LID(0), lane = item % WAVE;
    const int m0 = GRP(0) % TILES_M * BM, n0 = GRP(0) / TILES_M % TILES_N * BN, part = GRP(0) / TILES_M / TILES_N;
    const int split = part % SPLITS;
    const i64 z = part / SPLITS;
    const int each = ((depth + BK - 1) / BK + SPLITS - 1) / SPLITS * BK;
    const int first = split * each, end = first + each < depth ? first + each : depth;
    const GLOBAL E *a_from = (const GLOBAL E *)(a_all + a_first + z * a_batch);
    const GLOBAL E *b_from = (const GLOBAL E *)(b_all + b_first + z * b_batch);
    const int row = PART_M(item), column = PART_N(item);
    const int a_at = first_row(lane, row), b_at = first_column(lane, column);

    Sums acc[MT][NT];
    clear_sums(acc);
    a_Next a_next;
    b_Next b_next;
    if (first < end) {
        LOAD_SLICES(first)
        STORE_SLICE(slices, first)
    }
    BARRIER();
    int side = 0;
    UNROLL_AT_MOST(1)
    for (int k0 = first; k0 < end; k0 += BK) {
        const int more = k0 + BK < end;
        if (more) {
            LOAD_SLICES(k0 + BK)
        }
        multiply_slice(slices + side * SLICE, a_at, b_at, acc);
        side = 1 - side;
        if (more) {
            STORE_SLICE(slices + side * SLICE, k0 + BK)
        }
        BARRIER();
    }
#if SPLITS > 1
    GLOBAL out_t *to = c_all + (split * (i64)(NGRP(0) / (TILES_M * TILES_N) / SPLITS) + z) * m * n;
    const int pitch = n;
#else
    GLOBAL out_t *to = c_all + c_first + z * c_batch;
    const int pitch = c_step;
#endif
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            const int line = n0 + column + SUM_COLUMN(lane, j);
            UNROLL for (int e = 0; e < SUMS; ++e) {
                const int at_row = m0 + row + SUM_ROW(lane, i) + e;
                if (at_row >= m || line >= n) continue;
                const i64 at = (i64)at_row * pitch + line;
#if SPLITS > 1
                to[at] = acc[i][j][e];
#else
                C_PUT(to, at, accumulate ? C_GET(to, at) + acc[i][j][e] : acc[i][j][e]);
#endif
            }
        }
    }
}
