// The matrix product inside a step of a recurrent network on a GPU: BM rows of states by BN columns of a packed matrix.
//
//   packed panel [k][BN]        A work-group has KPARTS times the work-items of a tile (gemm_tile.h). All load slices of
//                               KPARTS * BK; part p multiplies the p-th BK of each, because a step has few tiles and
//                               would else wait for memory. The parts' sums are added through local memory, and every
//                               part finishes TM / KPARTS of its rows.
//
// Defines: BM BN BK TM TN KPARTS; A_VECTOR where four neighbours of a state are aligned.

#define GEMM_M rows
#define GEMM_N columns
#define SLICE (KPARTS * BK)
#define A_PITCH (BM + 4)
#define B_PITCH BN
#include "gemm_tile.h"

#define GROUP_SIZE (ITEMS * KPARTS)
#define PRODUCT_A (BM * SLICE / 4)
#define PRODUCT_B (BN * SLICE / 4)
#define PRODUCT_A_EACH ((PRODUCT_A + GROUP_SIZE - 1) / GROUP_SIZE)
#define PRODUCT_B_EACH ((PRODUCT_B + GROUP_SIZE - 1) / GROUP_SIZE)
#define SIDES (2 * SLICE * (A_PITCH + B_PITCH))
#define PARTS_SIZE (KPARTS > 1 ? KPARTS * ITEMS * TM * TN : 0)
#define POOL ((SIDES > PARTS_SIZE ? SIDES : PARTS_SIZE) / 4)  // real4 of local memory
#define OWN_ROWS (TM / KPARTS)

// Rows of states: the first `before_rows` lie in `from`, the others, up to `rows`, in `begin` or are zero without one.
// Number k of a row lies at k, from `jump` on at k + skip.
typedef struct {
    const GLOBAL real *from, *begin;
    i64 pitch, begin_pitch;
    int rows, before_rows, jump, skip;
} States;

DEVICE const GLOBAL real *state_row(const States *states, int row) {
    if (row < states->before_rows) return states->from + row * states->pitch;
    return row < states->rows && states->begin ? states->begin + row * states->begin_pitch : 0;
}

DEVICE real4 load_state(const GLOBAL real *row, const States *states, int k, int depth) {
    real4 v;
    v.x = v.y = v.z = v.w = 0;
    if (!row || k >= depth) return v;
#if A_VECTOR
    return *(const GLOBAL real4 *)(row + k + (k >= states->jump ? states->skip : 0));
#else
#define STATE_AT(k) row[(k) + ((k) >= states->jump ? states->skip : 0)]
    v.x = STATE_AT(k);
    if (k + 1 < depth) v.y = STATE_AT(k + 1);
    if (k + 2 < depth) v.z = STATE_AT(k + 2);
    if (k + 3 < depth) v.w = STATE_AT(k + 3);
    return v;
#endif
}

#define LOAD_STEP(k0)                                                                                      \
    UNROLL for (int e = 0; e < PRODUCT_A_EACH; ++e)                                                        \
        a_next[e] = load_state(from[e], states, (k0) + (lid + e * GROUP_SIZE) % (SLICE / 4) * 4, depth);   \
    UNROLL for (int e = 0; e < PRODUCT_B_EACH; ++e) {                                                      \
        const int v = lid + e * GROUP_SIZE;                                                                \
        const int k = (k0) + v / (BN / 4);                                                                 \
        b_next[e].x = b_next[e].y = b_next[e].z = b_next[e].w = 0;                                         \
        if (k < depth && v < PRODUCT_B) b_next[e] = *(const GLOBAL real4 *)(panel + (i64)k * BN + v % (BN / 4) * 4); \
    }
#define STORE_STEP(side)                                                                                   \
    UNROLL for (int e = 0; e < PRODUCT_A_EACH; ++e) {                                                      \
        const int v = lid + e * GROUP_SIZE;                                                                \
        if (v < PRODUCT_A) {                                                                               \
            LOCAL_ARG real *to =                                                                           \
                (LOCAL_ARG real *)(a + (side) * (SLICE * A_PITCH / 4)) + v % (SLICE / 4) * 4 * A_PITCH + v / (SLICE / 4); \
            to[0] = a_next[e].x;                                                                           \
            to[A_PITCH] = a_next[e].y;                                                                     \
            to[2 * A_PITCH] = a_next[e].z;                                                                 \
            to[3 * A_PITCH] = a_next[e].w;                                                                 \
        }                                                                                                  \
    }                                                                                                      \
    UNROLL for (int e = 0; e < PRODUCT_B_EACH; ++e) {                                                      \
        const int v = lid + e * GROUP_SIZE;                                                                \
        if (v < PRODUCT_B) b[(side) * (SLICE * B_PITCH / 4) + v] = b_next[e];                              \
    }

// acc[i][..], i < OWN_ROWS: the sums of this work-item's rows OWN_ROW(part, i). All work-items call it.
DEVICE void step_product(LOCAL_ARG real4 *pool, const States *states, const GLOBAL real *panel, int m0, int depth, int lid,
                         real acc[TM][TN]) {
    LOCAL_ARG real4 *a = pool;
    LOCAL_ARG real4 *b = pool + 2 * SLICE * A_PITCH / 4;
    const int item = lid % ITEMS, part = lid / ITEMS;
    const int tx = TILE_TX(item), ty = TILE_TY(item);
    const GLOBAL real *from[PRODUCT_A_EACH];
    real4 a_next[PRODUCT_A_EACH];
    real4 b_next[PRODUCT_B_EACH];
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    UNROLL for (int e = 0; e < PRODUCT_A_EACH; ++e)
        from[e] = state_row(states, m0 + (lid + e * GROUP_SIZE) / (SLICE / 4));
    LOAD_STEP(0)
    STORE_STEP(0)
    BARRIER();
    int side = 0;
    for (int k0 = 0; k0 < depth; k0 += SLICE) {
        const int more = k0 + SLICE < depth;
        if (more) {
            LOAD_STEP(k0 + SLICE)
        }
        multiply_slice(a + (side * SLICE + part * BK) * A_PITCH / 4, b + (side * SLICE + part * BK) * B_PITCH / 4, tx, ty,
                       acc);
        side = 1 - side;
        if (more) {
            STORE_STEP(side)
        }
        BARRIER();
    }
#if KPARTS > 1
    LOCAL_ARG real *sums = (LOCAL_ARG real *)pool;
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) sums[((part * TM + i) * TN + j) * ITEMS + item] = acc[i][j];
    }
    BARRIER();
    UNROLL for (int i = 0; i < OWN_ROWS; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) {
            real sum = 0;
            UNROLL for (int p = 0; p < KPARTS; ++p)
                sum += sums[((p * TM + part * OWN_ROWS + i) * TN + j) * ITEMS + item];
            acc[i][j] = sum;
        }
    }
#endif
}
#define OWN_ROW(part, ty, i) TILE_ROW(ty, (part) * OWN_ROWS + (i))
