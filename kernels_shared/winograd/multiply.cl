// The 36 products of Winograd's F(4x4, 3x3), one for each plane and group: out[z] = a[z]' b[z], everything padded to
// whole tiles (gemm/tile.h), so there is nothing to check.
//
//   a[z][kk][ROWS], b[z][kk][COLUMNS]       forward and data gradient: kk are channels
//   a[z][ROWS][kk], b[z][COLUMNS][kk]       ALONG_K, the filter gradient: kk are tiles, turned over on the way
//
// The tile of work-group (z, split, columns, rows) goes to out[split][z][ROWS][COLUMNS]; with `accumulate` it is added
// to what is there, which sums over launches in their order.

#include "common/types.h"
#include "gemm/tile.h"

#define A_EACH (BM * BK / 4 / ITEMS)
#define B_EACH (BN * BK / 4 / ITEMS)

// a side's vectors of four: where they lie in the slice, and in memory
#ifdef ALONG_K
#define VECTOR_LINE(v) ((v) / (BK / 4))
#define VECTOR_KK(v) ((v) % (BK / 4) * 4)
#define VECTOR_FROM(v, width, lines) ((i64)VECTOR_LINE(v) * depth + VECTOR_KK(v))
#define STORE_SIDE(side, pitch, width, next, each)                                                         \
    UNROLL for (int e = 0; e < each; ++e) {                                                                \
        LOCAL_ARG real *to = (LOCAL_ARG real *)(side) + VECTOR_KK(item + e * ITEMS) * pitch +              \
                             VECTOR_LINE(item + e * ITEMS);                                                \
        to[0] = next[e].x;                                                                                 \
        to[pitch] = next[e].y;                                                                             \
        to[2 * pitch] = next[e].z;                                                                         \
        to[3 * pitch] = next[e].w;                                                                         \
    }
#else
#define VECTOR_FROM(v, width, lines) ((i64)((v) / (width / 4)) * lines + (v) % (width / 4) * 4)
#define STORE_SIDE(side, pitch, width, next, each)                                                         \
    UNROLL for (int e = 0; e < each; ++e) {                                                                \
        const int v = item + e * ITEMS;                                                                    \
        (side)[v / (width / 4) * (pitch / 4) + v % (width / 4)] = next[e];                                 \
    }
#endif
#define LOAD_SIDES()                                                                                       \
    UNROLL for (int e = 0; e < A_EACH; ++e) {                                                              \
        a_next[e] = *(const GLOBAL real4 *)(a_from + VECTOR_FROM(item + e * ITEMS, BM, rows));             \
    }                                                                                                      \
    UNROLL for (int e = 0; e < B_EACH; ++e) {                                                              \
        b_next[e] = *(const GLOBAL real4 *)(b_from + VECTOR_FROM(item + e * ITEMS, BN, columns));          \
    }

KERNEL TILE_WG_SIZE
winograd_multiply(TENSOR_RESTRICT(const real, a_all), TENSOR_RESTRICT(const real, b_all), TENSOR_RESTRICT(real, out),
                  const int products, const int rows, const int columns, const int depth, const int splits,
                  const int accumulate) {
    GRID_WAIT();
    BIND_RESTRICT(const real, a_all);
    BIND_RESTRICT(const real, b_all);
    BIND_RESTRICT(real, out);
    LOCAL real4 a[2 * BK * A_PITCH / 4];
    LOCAL real4 b[2 * BK * B_PITCH / 4];
    const int item = LID(0);
    const int tx = TILE_TX(item);
    const int ty = TILE_TY(item);
    const int m0 = GRP(0) % (rows / BM) * BM;
    const int n0 = GRP(0) / (rows / BM) % (columns / BN) * BN;
    const int part = GRP(0) / (rows / BM) / (columns / BN);
    const int split = part % splits;
    const i64 z = part / splits;
    const int each = (depth / BK + splits - 1) / splits;
    const int first = split * each;
    const int last = first + each < depth / BK ? first + each : depth / BK;
#ifdef ALONG_K
    const GLOBAL real *a_from = a_all + (z * rows + m0) * depth + first * BK;
    const GLOBAL real *b_from = b_all + (z * columns + n0) * depth + first * BK;
#else
    const GLOBAL real *a_from = a_all + (z * depth + first * BK) * rows + m0;
    const GLOBAL real *b_from = b_all + (z * depth + first * BK) * columns + n0;
#endif
    real4 a_next[A_EACH];
    real4 b_next[B_EACH];
    real acc[TM][TN];
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    if (first < last) {
        LOAD_SIDES()
        STORE_SIDE(a, A_PITCH, BM, a_next, A_EACH)
        STORE_SIDE(b, B_PITCH, BN, b_next, B_EACH)
    }
    BARRIER();
    for (int slice = first; slice < last; ++slice) {
        const int side = (slice - first) & 1;
        const int more = slice + 1 < last;
        if (more) {
#ifdef ALONG_K
            a_from += BK;
            b_from += BK;
#else
            a_from += (i64)BK * rows;
            b_from += (i64)BK * columns;
#endif
            LOAD_SIDES()
        }
        multiply_slice(a + side * (BK * A_PITCH / 4), b + side * (BK * B_PITCH / 4), tx, ty, acc);
        if (more) {
            LOCAL_ARG real4 *a_to = a + (1 - side) * (BK * A_PITCH / 4);
            LOCAL_ARG real4 *b_to = b + (1 - side) * (BK * B_PITCH / 4);
            STORE_SIDE(a_to, A_PITCH, BM, a_next, A_EACH)
            STORE_SIDE(b_to, B_PITCH, BN, b_next, B_EACH)
        }
        BARRIER();
    }
    GLOBAL real *to = out + ((split * (i64)products + z) * rows + m0) * columns + n0;
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; j += 4) {
            GLOBAL real4 *place = (GLOBAL real4 *)(to + (i64)TILE_ROW(ty, i) * columns + TILE_COLUMN(tx, j));
            real4 v;
            v.x = acc[i][j];
            v.y = acc[i][j + 1];
            v.z = acc[i][j + 2];
            v.w = acc[i][j + 3];
            if (accumulate) {
                const real4 before = *place;
                v.x += before.x;
                v.y += before.y;
                v.z += before.z;
                v.w += before.w;
            }
            *place = v;
        }
    }
}
