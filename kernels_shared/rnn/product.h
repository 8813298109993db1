// The matrix product inside a step of a recurrent network on a GPU: BM rows of states by BN columns of a packed matrix.
//
//   packed panel [k][BN]        A work-group has KPARTS times the work-items of a tile (gemm/tile.h). All load slices of
//                               KPARTS * BK; part p multiplies the p-th BK of each, because a step has few tiles and
//                               would else wait for memory. The parts' sums are added through local memory, and each
//                               finishes its share of them.
//
// Defines: BM BN BK TM TN KPARTS; A_VECTOR where four neighbours of a state are aligned.

#define GEMM_M rows
#define GEMM_N columns
#define SLICE (KPARTS * BK)
#define A_PITCH (BM + 4)
#define B_PITCH BN
#include "gemm/tile.h"

#define GROUP_SIZE (ITEMS * KPARTS)
#define PRODUCT_A (BM * SLICE / 4)
#define PRODUCT_B (BN * SLICE / 4)
#define PRODUCT_A_EACH ((PRODUCT_A + GROUP_SIZE - 1) / GROUP_SIZE)
#define PRODUCT_B_EACH ((PRODUCT_B + GROUP_SIZE - 1) / GROUP_SIZE)
#define SIDES (2 * SLICE * (A_PITCH + B_PITCH))
#define PARTS_SIZE (KPARTS > 1 ? KPARTS * ITEMS * TM * TN : 0)
#define POOL ((SIDES > PARTS_SIZE ? SIDES : PARTS_SIZE) / 4)  // real4 of local memory
#define OWN (TM * TN / KPARTS)  // results that a work-item finishes
#ifdef __AMDGCN__  // whose compiler spills registers with more, whatever the tile
#define STAGES 2
#else
#define STAGES 4  // slices that are on their way
#endif

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

#define LOAD_STEP(stage, k0)                                                                                      \
    UNROLL for (int e = 0; e < PRODUCT_A_EACH; ++e)                                                        \
        a_next[stage][e] = load_state(from[e], states, (k0) + (lid + e * GROUP_SIZE) % (SLICE / 4) * 4, depth);   \
    UNROLL for (int e = 0; e < PRODUCT_B_EACH; ++e) {                                                      \
        const int v = lid + e * GROUP_SIZE;                                                                \
        const int k = (k0) + v / (BN / 4);                                                                 \
        b_next[stage][e].x = b_next[stage][e].y = b_next[stage][e].z = b_next[stage][e].w = 0;                                         \
        if (k < depth && v < PRODUCT_B) b_next[stage][e] = *(const GLOBAL real4 *)(panel + (i64)k * BN + v % (BN / 4) * 4); \
    }
#define STORE_STEP(stage, side)                                                                                   \
    UNROLL for (int e = 0; e < PRODUCT_A_EACH; ++e) {                                                      \
        const int v = lid + e * GROUP_SIZE;                                                                \
        if (v < PRODUCT_A) {                                                                               \
            LOCAL_ARG real *to =                                                                           \
                (LOCAL_ARG real *)(a + (side) * (SLICE * A_PITCH / 4)) + v % (SLICE / 4) * 4 * A_PITCH + v / (SLICE / 4); \
            to[0] = a_next[stage][e].x;                                                                           \
            to[A_PITCH] = a_next[stage][e].y;                                                                     \
            to[2 * A_PITCH] = a_next[stage][e].z;                                                                 \
            to[3 * A_PITCH] = a_next[stage][e].w;                                                                 \
        }                                                                                                  \
    }                                                                                                      \
    UNROLL for (int e = 0; e < PRODUCT_B_EACH; ++e) {                                                      \
        const int v = lid + e * GROUP_SIZE;                                                                \
        if (v < PRODUCT_B) b[(side) * (SLICE * B_PITCH / 4) + v] = b_next[stage][e];                              \
    }

#define ITERATION(s)                                                                                       \
    BARRIER();                                                                                             \
    multiply_slice(a + (s % 2 * SLICE + part * BK) * A_PITCH / 4, b + (s % 2 * SLICE + part * BK) * B_PITCH / 4, tx, ty, acc); \
    STORE_STEP(s, (s + 1) % 2)                                                                             \
    LOAD_STEP(s, k0 + (s + 1 + STAGES) * SLICE)

// own[o], o < OWN: the sums of this work-item's results OWN_ROW and OWN_COLUMN tell about. All work-items call it.
//
//   iteration i:  barrier | multiply slice i from one half of local memory | store slice i + 1, loaded STAGES iterations
//                 ago, to the other | load slice i + 1 + STAGES into the registers that are free
//
// Slices beyond the last hold zeros, up to a multiple of STAGES.
DEVICE void step_product(LOCAL_ARG real4 *pool, const States *states, const GLOBAL real *panel, int m0, int depth, int lid,
                         real own[OWN]) {
    LOCAL_ARG real4 *a = pool;
    LOCAL_ARG real4 *b = pool + 2 * SLICE * A_PITCH / 4;
    const int item = lid % ITEMS, part = lid / ITEMS;
    const int tx = TILE_TX(item), ty = TILE_TY(item);
    const GLOBAL real *from[PRODUCT_A_EACH];
    real4 a_next[STAGES][PRODUCT_A_EACH];
    real4 b_next[STAGES][PRODUCT_B_EACH];
    real acc[TM][TN];
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = 0;
    }
    UNROLL for (int e = 0; e < PRODUCT_A_EACH; ++e)
        from[e] = state_row(states, m0 + (lid + e * GROUP_SIZE) / (SLICE / 4));
    LOAD_STEP(0, 0)
    STORE_STEP(0, 0)
    UNROLL for (int s = 0; s < STAGES; ++s) {
        LOAD_STEP(s, (s + 1) * SLICE)
    }
    for (int k0 = 0; k0 < depth; k0 += STAGES * SLICE) {
        UNROLL for (int s = 0; s < STAGES; ++s) {
            ITERATION(s)
        }
    }
#if KPARTS == 1
    UNROLL for (int o = 0; o < OWN; ++o) own[o] = acc[o / TN][o % TN];
#else
    LOCAL_ARG real *sums = (LOCAL_ARG real *)pool;
    BARRIER();
    UNROLL for (int i = 0; i < TM; ++i) {
        UNROLL for (int j = 0; j < TN; ++j) sums[((part * TM + i) * TN + j) * ITEMS + item] = acc[i][j];
    }
    BARRIER();
    UNROLL for (int o = 0; o < OWN; ++o) {
        real sum = 0;
        UNROLL for (int p = 0; p < KPARTS; ++p) sum += sums[(p * (TM * TN) + part * OWN + o) * ITEMS + item];
        own[o] = sum;
    }
#endif
}
#define OWN_ROW(part, ty, o) TILE_ROW(ty, ((part) * OWN + (o)) / TN)
#define OWN_COLUMN(part, tx, o) TILE_COLUMN(tx, ((part) * OWN + (o)) % TN)
