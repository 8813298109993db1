// Softmax over contiguous rows too long for one work-group, on a cluster of work-groups (sm_90 and newer): the row stays in
// the registers and the local memory of CLUSTER groups, which exchange one maximum and one sum, so memory is read once and
// written once.
//
// Host defines: ROWS_X(i), ROWS_Y(i) (a row's first element), VECTORS (of a row, of VW elements, aligned where VW > 1), CLUSTER, WG, PARKED and
// KEPT (vectors that a work-item has in local memory and in registers), RESIDENT (groups on a multiprocessor: while some
// wait for their loads, others compute and store), ALGORITHM.
//
//   row     | vectors 0 .. WG-1 | WG .. 2WG-1 | ... | CLUSTER*WG-1 |  next round: PARKED of them, then KEPT
//   group   |         0         |      1      | ... |  CLUSTER-1   |  0 ...
#include "common/types.h"

#ifdef DTYPE_DOUBLE
#define LOAD_OF_PEER(v, at) asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(v) : "r"(at) : "memory")
#else
#define LOAD_OF_PEER(v, at) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory")
#endif

DEVICE u32 cluster_rank() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Between the two, a group may do what its peers need not wait for.
DEVICE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
DEVICE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// the same variable of the group with another rank in the cluster
DEVICE real of_peer(const real *mine, u32 rank) {
    u32 at;
    real v;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"((u32)__cvta_generic_to_shared(mine)), "r"(rank));
    LOAD_OF_PEER(v, at);
    return v;
}

#if VW == 1
typedef T pd_words;
#endif
DEVICE void copy_async(pd_words *to, const T *from) {
#if VW == 1 && (defined(DTYPE_HALF) || defined(DTYPE_BFLOAT16))
    *to = *from;  // there are copies of 4 bytes and more
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from),
                 "n"((int)sizeof(pd_words))
                 : "memory");
#endif
}

#define ADD(a, b) ((a) + (b))
// every work-item gets the fold of all work-items' values, in the same order
#define GROUP_FOLD(name, OP)                                                                               \
    DEVICE real name(real v, real *scratch) {                                                              \
        UNROLL for (int step = WARP / 2; step > 0; step /= 2) v = OP(v, exchange(v, step));                \
        if (LID(0) % WARP == 0) scratch[LID(0) / WARP] = v;                                                \
        BARRIER();                                                                                         \
        v = scratch[0];                                                                                    \
        UNROLL for (int k = 1; k < WG / WARP; ++k) v = OP(v, scratch[k]);                                  \
        return v;                                                                                          \
    }
GROUP_FOLD(group_sum, ADD)
GROUP_FOLD(group_max, fmax)

#define STEP(k) ((i64)(k) * (CLUSTER * WG * VW))
// only the last round may end early
#define IN_ROW(k) (((k) + 1) * CLUSTER * WG <= VECTORS || first + (k) * CLUSTER * WG < VECTORS)
#define PARKED_X(k) VLOAD((const T *)&parked[(k) * WG + LID(0)], 0)

#define TERM_KEPT(v, e) PD_CAT(TERM_KEPT_, ALGORITHM)(v, e)
#define TERM_KEPT_ACCURATE(v, e) (e)
#define TERM_KEPT_FAST(v, e) (e)
#define TERM_KEPT_LOG(v, e) (v)
#define FINISH(v, e) PD_CAT(FINISH_, ALGORITHM)(v, e)
#define FINISH_ACCURATE(v, e) ((e) * factor)
#define FINISH_FAST(v, e) ((e) / row_sum)  // the sum may be so small that its reciprocal overflows
#define FINISH_LOG(v, e) ((v) - shift)
#define IS_FAST PD_CAT(IS_FAST_, ALGORITHM)
#define IS_FAST_ACCURATE 0
#define IS_FAST_FAST 1
#define IS_FAST_LOG 0

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(WG, RESIDENT)
    softmax_cluster(TENSOR(const T, x), TENSOR(T, y), const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL pd_words parked[(PARKED ? PARKED : 1) * WG];  // each work-item reads only what it put there
    LOCAL real scratch[2 * WG / WARP];
    LOCAL real shared[2];  // this group's maximum and sum, for its peers
    const idx_t row = (idx_t)GRP(0) / CLUSTER;
    const u32 first = cluster_rank() * WG + LID(0);
    const T *from = x + ROWS_X(row) + first * VW;
    T *to = y + ROWS_Y(row) + first * VW;
    UNROLL for (int k = 0; k < PARKED; ++k) copy_async(&parked[k * WG + LID(0)], from + STEP(k));
    vreal kept[KEPT];
    UNROLL for (int k = 0; k < KEPT; ++k) {
        kept[k] = VSPLAT(-INFINITY_OF(real));
        if (IN_ROW(PARKED + k)) kept[k] = VLOAD(from, STEP(PARKED + k));
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    real top = 0;
    if (!IS_FAST) {
        vreal most = kept[0];
        UNROLL for (int k = 1; k < KEPT; ++k) most = fmax(most, kept[k]);
        UNROLL for (int k = 0; k < PARKED; ++k) most = fmax(most, PARKED_X(k));
        real own = LOWEST_REAL;  // a row of -inf then gives 0 / 0 = NaN, as the formula does
        UNROLL for (int j = 0; j < VW; ++j) own = fmax(own, LANE(most, j));
        top = group_max(own, scratch);
    }
    vreal sums = VSPLAT(0);
    UNROLL for (int k = 0; k < PARKED; ++k) sums = sums + exp(PARKED_X(k) - top);
    UNROLL for (int k = 0; k < KEPT; ++k) {
        const vreal e = exp(kept[k] - top);
        sums = sums + e;
        kept[k] = TERM_KEPT(kept[k], e);
    }
    real sum = 0;
    UNROLL for (int j = 0; j < VW; ++j) sum = sum + LANE(sums, j);
    sum = group_sum(sum, scratch + WG / WARP);
    if (LID(0) == 0) {
        shared[0] = top;
        shared[1] = sum;
    }
    cluster_arrive();
    cluster_wait();
    real row_top = LOWEST_REAL, row_sum = 0;
    _Pragma("unroll 1") for (u32 peer = 0; peer < CLUSTER; ++peer) row_top = fmax(row_top, of_peer(shared, peer));
    if (IS_FAST) row_top = 0;
    _Pragma("unroll 1") for (u32 peer = 0; peer < CLUSTER; ++peer)
        row_sum = row_sum + of_peer(shared + 1, peer) * exp(of_peer(shared, peer) - row_top);
    cluster_arrive();
    const real shift = row_top + log(row_sum), factor = exp(top - row_top) / row_sum;  // one of them, or none
    UNROLL for (int k = 0; k < PARKED; ++k) {
        const vreal v = PARKED_X(k);
        VBLEND(to, STEP(k), alpha, FINISH(v, exp(v - top)), beta);
    }
    UNROLL for (int k = 0; k < KEPT; ++k)
        if (IN_ROW(PARKED + k)) VBLEND(to, STEP(PARKED + k), alpha, FINISH(kept[k], kept[k]), beta);
    cluster_wait();  // no group may leave while its peers still read from it
}
