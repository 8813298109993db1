// Matrix products on CPUs: c[z] = a[z] b[z], or c[z] += a[z] b[z]; operands as in kernels_shared/gemm/gemm.cl.
//
//   packed b [z][panel][k][NR], zeros beyond n      packed a [z][panel][k][MR], where a does not run along k or is
//                                                   to be converted; else a is read where it lies
//
// A work-group computes a block of BLOCK_M x BLOCK_N results, for one block of BLOCK_K after the other; register tiles
// are drawn in conv/cpu.h. Tiles that reach beyond c go through a scratch tile of the work-group.

#include "conv/cpu.h"
#include "gemm/operands.h"

#ifdef A_STORED
#define A_VGET(p, i) VLOAD(p, i)
#else
#define A_VGET(p, i) RLOAD((p) + (i))
#endif
#ifdef B_STORED
#define B_VGET(p, i) VLOAD(p, i)
#else
#define B_VGET(p, i) RLOAD((p) + (i))
#endif

KERNEL WG_SIZE(1, 1, 1)
gemm_cpu_pack_b(TENSOR(const b_t, b_all), TENSOR(real, packed_all), const i64 b_first, const i64 b_batch,
                const int b_step, const int n, const int depth) {
    BIND(const b_t, b_all);
    BIND(real, packed_all);
    const int n0 = GRP(0) * NR, k0 = GRP(1) * PACK_K, z = GRP(2);
    const int columns = MIN(n - n0, NR), end = MIN(k0 + PACK_K, depth);
    const GLOBAL b_t *b = b_all + b_first + z * b_batch;
    GLOBAL real *packed = packed_all + ((i64)z * NGRP(0) + GRP(0)) * depth * NR;
#if B_ALONG_K
    for (int j = 0; j < NR; j += VW) {
        int k = k0;
        for (; columns - j >= VW && k <= end - VW; k += VW) {
            vreal block[VW];
            UNROLL for (int i = 0; i < VW; ++i) block[i] = B_VGET(b, (i64)(n0 + j + i) * b_step + k);
            transpose(block);
            UNROLL for (int i = 0; i < VW; ++i) RSTORE(block[i], packed + (i64)(k + i) * NR + j);
        }
        for (; k < end; ++k)
            for (int i = j; i < j + VW; ++i)
                packed[(i64)k * NR + i] = i < columns ? B_GET(b, (i64)(n0 + i) * b_step + k) : (real)0;
    }
#else
    for (int k = k0; k < end; ++k) {
        const i64 from = (i64)k * b_step + n0;
        GLOBAL real *to = packed + (i64)k * NR;
        int j = 0;
        for (; j <= columns - VW; j += VW) RSTORE(B_VGET(b, from + j), to + j);
        for (; j < NR; ++j) to[j] = j < columns ? B_GET(b, from + j) : (real)0;
    }
#endif
}

#ifdef PACKED_A
// a work-group packs PACK_PANELS panels side by side, which are neighbours where a runs along m
KERNEL WG_SIZE(1, 1, 1)
gemm_cpu_pack_a(TENSOR(const a_t, a_all), TENSOR(real, packed_all), const i64 a_first, const i64 a_batch,
                const int a_step, const int m, const int depth) {
    BIND(const a_t, a_all);
    BIND(real, packed_all);
    const int panels = (m + MR - 1) / MR, first = GRP(0) * PACK_PANELS, last = MIN(first + PACK_PANELS, panels);
    const int k0 = GRP(1) * PACK_K, end = MIN(k0 + PACK_K, depth), z = GRP(2);
    const GLOBAL a_t *a = a_all + a_first + z * a_batch;
    GLOBAL real *packed = packed_all + (i64)z * panels * depth * MR;
#if A_ALONG_K
    for (int panel = first; panel < last; ++panel)
        for (int i = 0; i < MR; ++i) {
            const int row = panel * MR + i;
            GLOBAL real *to = packed + (i64)panel * depth * MR + i;
            int k = k0;
            for (; row < m && k <= end - VW; k += VW) {
                const vreal v = A_VGET(a, (i64)row * a_step + k);
                UNROLL for (int j = 0; j < VW; ++j) to[(i64)(k + j) * MR] = LANE(v, j);
            }
            for (; k < end; ++k) to[(i64)k * MR] = row < m ? A_GET(a, (i64)row * a_step + k) : (real)0;
        }
#else
    for (int k = k0; k < end; ++k)
        for (int panel = first; panel < last; ++panel) {
            const int row = panel * MR;
            const GLOBAL a_t *from = a + (i64)k * a_step + row;
            GLOBAL real *to = packed + ((i64)panel * depth + k) * MR;
#define PACK_ROW(i) to[i] = row + i < m ? A_GET(from, i) : (real)0;
            ROWS(PACK_ROW)
        }
#endif
}
#endif

// c[MR][pitch] (+)= a * b[depth][NR]; rows of a beyond `rows` repeat the last one
NOINLINE void multiply_tile(GLOBAL real *c, const GLOBAL real *a, const GLOBAL real *b, const int pitch, int a_step,
                            int rows, int depth, int add) {
#ifdef PACKED_A
#define START_ROW(i) const GLOBAL real *a_row##i = a + i;
#define A_NEXT MR
#else
#define START_ROW(i) const GLOBAL real *a_row##i = a + (i64)MIN(i, rows - 1) * a_step;
#define A_NEXT 1
#endif
#define STEP_ROW(i) { const vreal a##i = (vreal)(a_row##i[at]); COLS(FMA_VECTOR, i) }
    ROWS(START_ROW)
    ROWS(DECLARE_ROW)
    i64 at = 0;
    for (int k = 0; k < depth; ++k) {
        COLS(LOAD_B, 0)
        ROWS(STEP_ROW)
        at += A_NEXT;
        b += NR;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    ROWS(WRITE_ROW)
}

KERNEL WG_SIZE(1, 1, 1)
gemm_cpu(TENSOR(const real, a_all), TENSOR(const real, packed_all), TENSOR(c_t, c_all), TENSOR(real, scratch),
         const i64 a_first, const i64 c_first, const i64 a_batch, const i64 c_batch, const int a_step, const int c_step,
         const int m, const int n, const int depth, const int accumulate) {
    BIND(const real, a_all);
    BIND(const real, packed_all);
    BIND(c_t, c_all);
    BIND(real, scratch);
    const int blocks_m = (m + BLOCK_M - 1) / BLOCK_M, blocks_n = (n + BLOCK_N - 1) / BLOCK_N;
    const int panels = (n + NR - 1) / NR, z = GRP(0) / (blocks_m * blocks_n);
    const int m0 = GRP(0) % blocks_m * BLOCK_M, n0 = GRP(0) / blocks_m % blocks_n * BLOCK_N;
    const int m1 = MIN(m0 + BLOCK_M, m), n1 = MIN(n0 + BLOCK_N, n);
    GLOBAL real *tile = scratch + (i64)GRP(0) * MR * NR;
    GLOBAL c_t *c = c_all + c_first + z * c_batch;
    for (int k0 = 0; k0 == 0 || k0 < depth; k0 += BLOCK_K) {
        const int k = MIN(BLOCK_K, depth - k0), add = accumulate || k0 > 0;
        for (int j = n0; j < n1; j += NR) {
            const GLOBAL real *b = packed_all + (((i64)z * panels + j / NR) * depth + k0) * NR;
            for (int i = m0; i < m1; i += MR) {
#ifdef PACKED_A
                const i64 rows_before = ((i64)z * ((m + MR - 1) / MR) + i / MR) * MR;
                const GLOBAL real *a = a_all + rows_before * depth + (i64)k0 * MR;
#else
                const GLOBAL real *a = a_all + a_first + z * a_batch + (i64)i * a_step + k0;
#endif
                GLOBAL c_t *to = c + (i64)i * c_step + j;
                const int rows = MIN(MR, m1 - i), columns = MIN(NR, n1 - j);
#ifndef C_STORED
                if (rows == MR && columns == NR) {
                    multiply_tile(to, a, b, c_step, a_step, rows, k, add);
                    continue;
                }
#endif
                multiply_tile(tile, a, b, NR, a_step, rows, k, 0);
                for (int y = 0; y < rows; ++y)
                    for (int x = 0; x < columns; ++x) {
                        const i64 place = (i64)y * c_step + x;
                        const real v = tile[y * NR + x];
                        C_PUT(to, place, add ? C_GET(to, place) + v : v);
                    }
            }
        }
    }
}
