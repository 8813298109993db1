// Matrix products in 16 bits on tensor cores, with the arguments of gemm/gemm.cl and its parts of K: c[z] = a[z] b[z], or
// c[z] += a[z] b[z]. Sums are float32; a side in float32 is rounded to T on its way.
//
//   slice of BK numbers of k, in local memory, in chunks of 8 elements, so that ldmatrix meets no bank twice:
//     along k        [line][chunk of k ^ line / 2]          else       [k][chunk of lines ^ k]
//   three slices: one is multiplied, one is there, one is on its way
//
// Defines: BM BN WM WN (of a warp); A_ALONG_K A_VECTOR B_ALONG_K B_VECTOR (chunks are aligned and whole); A_STORED B_STORED C_STORED,
// SPLITS as in gemm/gemm.cl.

#include "common/types.h"
#include "common/mma.h"
#include "gemm/operands.h"

#define BK 32
#define K_CHUNKS (BK / 8)
#define WARPS_M (BM / WM)
#define ITEMS (WARPS_M * (BN / WN) * 32)
#define MT (WM / 16)
#define NT (WN / 8)
#define SLICES 3
#define SLICE_BYTES ((BM + BN) * BK * 2)
#define TILES_M ((m + BM - 1) / BM)
#define TILES_N ((n + BN - 1) / BN)

// What a work-item brings of one side to local memory. S: the element in global memory; 16-bit elements in whole chunks are copied
// past the registers.
template <typename S, bool ALONG, bool VECTOR, int LINES> struct Side {
    typedef S Element;
    enum { along_k = ALONG, vector = VECTOR, width = LINES, each = LINES * K_CHUNKS / ITEMS, async = sizeof(S) == 2 && VECTOR };
    const S *from;
    int step, first_line, lines, end;
    S raw[async ? 1 : each][8];
};

template <class D> DEVICE int line_of(int chunk) { return D::along_k ? chunk / K_CHUNKS : chunk % (D::width / 8) * 8; }
template <class D> DEVICE int k_of(int chunk) { return D::along_k ? chunk % K_CHUNKS * 8 : chunk / (D::width / 8); }
template <class D> DEVICE u32 place_of(int line, int k) {
    return D::along_k ? line * (BK * 2) + (((k / 8) ^ (line / 2 % K_CHUNKS)) * 16) : k * (D::width * 2) + (((line / 8) ^ (k % 8)) * 16);
}
template <class D> DEVICE u32 place_of_chunk(int chunk) { return place_of<D>(line_of<D>(chunk), k_of<D>(chunk)); }

template <class D> DEVICE void load_side(D &side, int item, int k0, u32 slice) {
    typedef typename D::Element S;
    UNROLL for (int e = 0; e < D::each; ++e) {
        const int chunk = item + e * ITEMS, line = side.first_line + line_of<D>(chunk), k = k0 + k_of<D>(chunk);
        const bool in = line < side.lines && k < side.end;
        const S *at = side.from + (!in ? 0 : D::along_k ? (i64)line * side.step + k : (i64)k * side.step + line);
        if (D::async) {
            copy_chunk(slice + place_of_chunk<D>(chunk), (const E *)at, in);
        } else if (D::vector) {
            const Four none = {{0, 0, 0, 0}};
            *(Four *)&side.raw[e][0] = in ? *(const Four *)at : none;
            *(Four *)&side.raw[e][4] = in ? *(const Four *)(at + 4) : none;
        } else {
            const int count = !in ? 0 : D::along_k ? side.end - k : side.lines - line;
            UNROLL for (int i = 0; i < 8; ++i) side.raw[e][i] = i < count ? at[i] : (S)0;
        }
    }
}
DEVICE u32 stored_bits(unsigned short v) { return v; }
DEVICE u32 stored_bits(float v) {
    T rounded;
    STORE(&rounded, 0, v);
    return rounded;
}
template <class D> DEVICE void store_side(const D &side, int item, u32 slice) {
    if (D::async) return;
    UNROLL for (int e = 0; e < D::each; ++e) {
        u32 words[4];
        UNROLL for (int i = 0; i < 4; ++i) words[i] = stored_bits(side.raw[e][2 * i]) | stored_bits(side.raw[e][2 * i + 1]) << 16;
        store_chunk(slice + place_of_chunk<D>(item + e * ITEMS), words);
    }
}
// 16 lines from `line` on by 16 numbers of k: 8 x 8 matrices, in the order lines, k (a) or k, lines (b)
template <class D> DEVICE void fragments(u32 *v, u32 slice, int lane, int line, int k, bool lines_first) {
    const int low = lane / 8 % 2 * 8, high = lane / 16 * 8;
    const int to_line = lines_first ? low : high, to_k = lines_first ? high : low;
    if (D::along_k) load_matrices(v, slice + place_of<D>(line + lane % 8 + to_line, k + to_k));
    else load_matrices_transposed(v, slice + place_of<D>(line + to_line, k + lane % 8 + to_k));
}

KERNEL WG_SIZE(ITEMS, 1, 1)
gemm_mma(TENSOR(const a_t, a_all), TENSOR(const b_t, b_all), TENSOR(out_t, c_all), const i64 a_first, const i64 b_first,
         const i64 c_first, const i64 a_batch, const i64 b_batch, const i64 c_batch, const int a_step, const int b_step,
         const int c_step, const int m, const int n, const int depth, const int accumulate) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    const int item = LID(0), lane = item % 32, warp = item / 32;
    const int m0 = GRP(0) % TILES_M * BM, n0 = GRP(0) / TILES_M % TILES_N * BN, part = GRP(0) / TILES_M / TILES_N;
    const int split = part % SPLITS, row = warp % WARPS_M * WM, column = warp / WARPS_M * WN;
    const i64 z = part / SPLITS;
    const int each = ((depth + BK - 1) / BK + SPLITS - 1) / SPLITS * BK;
    const int first = split * each, end = first + each < depth ? first + each : depth;
    const u32 slices = local_address(tiles);
    typedef Side<a_t, A_ALONG_K, A_VECTOR, BM> Left;
    typedef Side<b_t, B_ALONG_K, B_VECTOR, BN> Right;
    Left a;
    Right b;
    a.from = a_all + a_first + z * a_batch;
    a.step = a_step, a.first_line = m0, a.lines = m, a.end = end;
    b.from = b_all + b_first + z * b_batch;
    b.step = b_step, b.first_line = n0, b.lines = n, b.end = end;
    float acc[MT][NT][4];
    UNROLL for (int i = 0; i < MT; ++i)
        UNROLL for (int j = 0; j < NT; ++j)
            UNROLL for (int e = 0; e < 4; ++e) acc[i][j][e] = 0;

    UNROLL for (int s = 0; s < SLICES - 1; ++s) {
        const u32 to = slices + s * SLICE_BYTES;
        load_side(a, item, first + s * BK, to);
        load_side(b, item, first + s * BK, to + BM * BK * 2);
        copies_issued();
        store_side(a, item, to);
        store_side(b, item, to + BM * BK * 2);
    }
    int slice = 0;
    for (int k0 = first; k0 < end; k0 += BK) {
        copies_wait<SLICES - 2>();
        BARRIER();
        const u32 now = slices + slice * SLICE_BYTES, next = slices + (slice + SLICES - 1) % SLICES * SLICE_BYTES;
        slice = (slice + 1) % SLICES;
        const int ahead = k0 + (SLICES - 1) * BK;
        load_side(a, item, ahead, next);
        load_side(b, item, ahead, next + BM * BK * 2);
        copies_issued();
        UNROLL for (int k = 0; k < BK; k += 16) {
            u32 left[MT][4], right[NT / 2][4];
            UNROLL for (int i = 0; i < MT; ++i) fragments<Left>(left[i], now, lane, row + 16 * i, k, true);
            UNROLL for (int j = 0; j < NT / 2; ++j)
                fragments<Right>(right[j], now + BM * BK * 2, lane, column + 16 * j, k, false);
            UNROLL for (int i = 0; i < MT; ++i)
                UNROLL for (int j = 0; j < NT; ++j)
                    multiply(acc[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
        }
        store_side(a, item, next);
        store_side(b, item, next + BM * BK * 2);
    }
    copies_wait<0>();
#if SPLITS > 1
    out_t *to = c_all + (split * (i64)(NGRP(0) / (TILES_M * TILES_N) / SPLITS) + z) * m * n;
    const int pitch = n;
#else
    out_t *to = c_all + c_first + z * c_batch;
    const int pitch = c_step;
#endif
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) {
                const int at_row = m0 + row + 16 * i + lane / 4 + e / 2 * 8, line = n0 + column + 8 * j + lane % 4 * 2 + e % 2;
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
