// Matrix products on GPUs: c[z] = a[z] b[z], or c[z] += a[z] b[z], for any sizes; gemm/tile.h draws the tile.
//
//   a[m][k] (A_ALONG_K) or a[k][m]      b[n][k] (B_ALONG_K) or b[k][n]      c[m][n]; rows are a_step, b_step, c_step apart
//
// Each work-group computes a BM x BN tile of one of SPLITS parts of K. Per slice of BK: load slice s+1 into registers,
// multiply slice s, store s+1 to the other half of local memory. With several parts the tiles go to `c` as
// [split][z][m][n], and gemm_reduce adds them in their order: results do not vary.
//
// Defines: A_STORED, B_STORED, C_STORED: that matrix holds T, else it holds real.
//          A_VECTOR, B_VECTOR: four neighbours are aligned, and either all inside or all outside.

#include "common/types.h"
#define GEMM_M m
#define GEMM_N n
#include "gemm/tile.h"
#include "gemm/operands.h"

#define A_COUNT (BM * BK / 4)
#define B_COUNT (BN * BK / 4)
#define A_EACH ((A_COUNT + ITEMS - 1) / ITEMS)
#define B_EACH ((B_COUNT + ITEMS - 1) / ITEMS)

// vector v of a slice of `width` lines: its first line and its first kk
#define LINE_OF(v, width, along_k) ((along_k) ? (v) / (BK / 4) : (v) % (width / 4) * 4)
#define KK_OF(v, width, along_k) ((along_k) ? (v) % (BK / 4) * 4 : (v) / (width / 4))

#define PD_GEMM_LOAD(name, type, GET, along_k, vector)                                                     \
    DEVICE real4 name(const GLOBAL type *p, int step, int line, int lines, int kk, int depth) {            \
        real4 v;                                                                                           \
        v.x = v.y = v.z = v.w = 0;                                                                         \
        if (line >= lines || kk >= depth) return v;                                                        \
        const i64 at = (along_k) ? (i64)line * step + kk : (i64)kk * step + line;                          \
        if (vector) return *(const GLOBAL real4 *)(p + at);                                                \
        const int rest = (along_k) ? depth - kk : lines - line;                                            \
        v.x = GET(p, at);                                                                                  \
        if (rest > 1) v.y = GET(p, at + 1);                                                                \
        if (rest > 2) v.z = GET(p, at + 2);                                                                \
        if (rest > 3) v.w = GET(p, at + 3);                                                                \
        return v;                                                                                          \
    }
PD_GEMM_LOAD(load_a, a_t, A_GET, A_ALONG_K, A_VECTOR)
PD_GEMM_LOAD(load_b, b_t, B_GET, B_ALONG_K, B_VECTOR)

#define LOAD_SLICES(k0)                                                                                    \
    UNROLL for (int e = 0; e < A_EACH; ++e) {                                                              \
        const int v = item + e * ITEMS;                                                                    \
        a_next[e] = load_a(a_from, a_step, m0 + LINE_OF(v, BM, A_ALONG_K), m, (k0) + KK_OF(v, BM, A_ALONG_K), end); \
    }                                                                                                      \
    UNROLL for (int e = 0; e < B_EACH; ++e) {                                                              \
        const int v = item + e * ITEMS;                                                                    \
        b_next[e] = load_b(b_from, b_step, n0 + LINE_OF(v, BN, B_ALONG_K), n, (k0) + KK_OF(v, BN, B_ALONG_K), end); \
    }
#define STORE_SLICE(side, pitch, width, count, each, next, along_k)                                        \
    UNROLL for (int e = 0; e < each; ++e) {                                                                \
        const int v = item + e * ITEMS;                                                                    \
        if ((count) % ITEMS && v >= (count)) break;                                                        \
        const int at = KK_OF(v, width, along_k) * (pitch) + LINE_OF(v, width, along_k);                    \
        if (along_k) {                                                                                     \
            LOCAL_ARG real *to = (LOCAL_ARG real *)(side) + at;                                            \
            to[0] = next[e].x;                                                                             \
            to[pitch] = next[e].y;                                                                         \
            to[2 * (pitch)] = next[e].z;                                                                   \
            to[3 * (pitch)] = next[e].w;                                                                   \
        } else {                                                                                           \
            (side)[at / 4] = next[e];                                                                      \
        }                                                                                                  \
    }

KERNEL TILE_WG_SIZE
gemm(TENSOR_RESTRICT(const a_t, a_all), TENSOR_RESTRICT(const b_t, b_all), TENSOR(out_t, c_all), const i64 a_first,
     const i64 b_first, const i64 c_first, const i64 a_batch, const i64 b_batch, const i64 c_batch, const int a_step,
     const int b_step, const int c_step, const int m, const int n, const int depth, const int accumulate) {
    GRID_WAIT();
    BIND_RESTRICT(const a_t, a_all);
    BIND_RESTRICT(const b_t, b_all);
    BIND(out_t, c_all);
    LOCAL real4 a[2 * BK * A_PITCH / 4];
    LOCAL real4 b[2 * BK * B_PITCH / 4];
    const int item = LID(0);
    const int tx = TILE_TX(item);
    const int ty = TILE_TY(item);
    const int m0 = GRP(0) % TILES_M * BM;
    const int n0 = (int)(GRP(0) / TILES_M % TILES_N) * BN;
    const int part = (int)(GRP(0) / TILES_M / TILES_N);
    const int split = part % SPLITS;
    const i64 z = part / SPLITS;
    const int each = ((depth + BK - 1) / BK + SPLITS - 1) / SPLITS * BK;
    const int first = split * each;
    const int end = first + each < depth ? first + each : depth;
    const GLOBAL a_t *a_from = a_all + a_first + z * a_batch;
    const GLOBAL b_t *b_from = b_all + b_first + z * b_batch;
    real4 a_next[A_EACH];
    real4 b_next[B_EACH];
    real acc[TM][TN];
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    if (first < end) {
        LOAD_SLICES(first)
        STORE_SLICE(a, A_PITCH, BM, A_COUNT, A_EACH, a_next, A_ALONG_K)
        STORE_SLICE(b, B_PITCH, BN, B_COUNT, B_EACH, b_next, B_ALONG_K)
    }
    BARRIER();
    int side = 0;
    for (int k0 = first; k0 < end; k0 += BK) {
        const int more = k0 + BK < end;
        if (more) {
            LOAD_SLICES(k0 + BK)
        }
        multiply_slice(a + side * (BK * A_PITCH / 4), b + side * (BK * B_PITCH / 4), tx, ty, acc);
        side = 1 - side;
        if (more) {
            LOCAL_ARG real4 *a_to = a + side * (BK * A_PITCH / 4);
            LOCAL_ARG real4 *b_to = b + side * (BK * B_PITCH / 4);
            STORE_SLICE(a_to, A_PITCH, BM, A_COUNT, A_EACH, a_next, A_ALONG_K)
            STORE_SLICE(b_to, B_PITCH, BN, B_COUNT, B_EACH, b_next, B_ALONG_K)
        }
        BARRIER();
    }
#if SPLITS > 1
    GLOBAL out_t *to = c_all + (split * (i64)(NGRP(0) / (int)(TILES_M * TILES_N) / SPLITS) + z) * m * n;
    const int pitch = n;
#else
    GLOBAL out_t *to = c_all + c_first + z * c_batch;
    const int pitch = c_step;
#endif
    UNROLL for (int i = 0; i < TM; ++i) {
        const int row = m0 + TILE_ROW(ty, i);
        UNROLL for (int j = 0; j < TN; ++j) {
            const int column = n0 + TILE_COLUMN(tx, j);
            if (row < m && column < n) {
                const i64 at = (i64)row * pitch + column;
#if SPLITS > 1
                to[at] = acc[i][j];
#else
                C_PUT(to, at, accumulate ? C_GET(to, at) + acc[i][j] : acc[i][j]);
#endif
            }
        }
    }
}

#if SPLITS > 1
// one work-item an element
KERNEL WG_SIZE(256, 1, 1)
gemm_reduce(TENSOR_RESTRICT(const real, partial), TENSOR(c_t, c_all), const i64 c_first, const i64 c_batch,
            const int c_step, const int m, const int n, const int batches, const int accumulate) {
    GRID_WAIT();
    BIND_RESTRICT(const real, partial);
    BIND(c_t, c_all);
    const i64 i = (i64)GRP(0) * 256 + LID(0);
    const i64 size = (i64)m * n * batches;
    if (i >= size) return;
    real sum = 0;
    for (int split = 0; split < SPLITS; ++split) sum += partial[split * size + i];
    const i64 z = i / ((i64)m * n);
    GLOBAL c_t *to = c_all + c_first + z * c_batch;
    const i64 at = i / n % m * c_step + i % n;
    C_PUT(to, at, accumulate ? C_GET(to, at) + sum : sum);
}
#endif
