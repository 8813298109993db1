// db[c] = alpha * (sum of dy over everything but c) + beta * db[c]; common/reduce.h draws the tiles.
//
// Each work-group folds one slice of TO channel units. With one slice it writes db, else its part goes to the work-group
// that began last of the channel's (POSTED), or to the workspace, where the last of the slices' work-groups (GRID_FENCED), or
// else bias_finish, reads them. All add them in order: the result does not depend on who comes first.

#include "common/types.h"
#include "common/reduce.h"
#ifdef LONG_SUMS
#include "common/long_sums.h"
#endif
#ifdef POSTED
#define POSTS SLICES
#include "common/posted.h"
#elif defined(GRID_FENCED)
#include "common/last_group.h"
#endif

// Host defines beside common/reduce.h's: LONG_SUMS, where a work-item has more than SUM_BLOCK numbers to add to one; ROUNDS, loads in flight; all that a work-item has where LENGTH is so short. RESIDENT,
// work-groups for which a multiprocessor is to have registers. POSTED, where the words for parts begin among the counters,
// behind one for each channel that counts the work-groups that began.

DEVICE void store_channels(GLOBAL T *db, idx_t o, part sum, real alpha, real beta) {
    UNROLL for (int j = 0; j < PART_LANES; ++j) {
        const idx_t to = (o * PART_LANES + j) * DB_STRIDE;
        BLEND(db, to, alpha, PART_LANE(sum, j), beta);
    }
}

#ifdef PANEL
// A CPU's work-item adds up one slice of all channels, which lie side by side: whole lines of memory in their order.
KERNEL WG_SIZE(1, 1, 1)
bias_panel(TENSOR(T, dy), TENSOR(real, sums)) {
    GRID_WAIT();
    BIND(T, dy);
    BIND(real, sums);
    const idx_t slice = (idx_t)GRP(0);
    const idx_t end = slice == SLICES - 1 ? REDUCE : slice * LENGTH + LENGTH;
    idx_t r = slice * LENGTH;
    vreal totals[OUTER];

    for (int o = 0; o < OUTER; ++o) totals[o] = VSPLAT(0);
#ifdef LONG_SUMS
    vreal whole[OUTER], lost[OUTER];
    int left = SUM_BLOCK;
    for (int o = 0; o < OUTER; ++o) whole[o] = lost[o] = VSPLAT(0);
#endif
    for (; r + 4 <= end; r += 4) {
        const GLOBAL T *a = dy + DY_REDUCE(r), *b = dy + DY_REDUCE(r + 1);
        const GLOBAL T *c = dy + DY_REDUCE(r + 2), *d = dy + DY_REDUCE(r + 3);
        for (int o = 0; o < OUTER; ++o)
            totals[o] = totals[o] +
                        ((VLOAD(a, o * VW) + VLOAD(b, o * VW)) + (VLOAD(c, o * VW) + VLOAD(d, o * VW)));
#ifdef LONG_SUMS
        if (--left > 0) continue;
        for (int o = 0; o < OUTER; ++o) {
            add_block(whole + o, lost + o, totals[o]);
            totals[o] = VSPLAT(0);
        }
        left = SUM_BLOCK;
#endif
    }
    for (; r < end; ++r)
        for (int o = 0; o < OUTER; ++o) totals[o] = totals[o] + VLOAD(dy + DY_REDUCE(r), o * VW);
#ifdef LONG_SUMS
    for (int o = 0; o < OUTER; ++o) {
        add_block(whole + o, lost + o, totals[o]);
        totals[o] = whole[o];
    }
#endif
    for (int o = 0; o < OUTER; ++o) part_store(sums, slice, o, totals[o]);
}
#else
KERNEL WG_RESIDENT(GROUP, RESIDENT)
#if SLICES == 1
bias_partial(TENSOR(T, dy), TENSOR(T, db), const real alpha, const real beta) {
    GRID_WAIT();
    BIND(T, db);
#elif defined(POSTED)
bias_partial(TENSOR(T, dy), TENSOR(T, db), TENSOR(int, began), const real alpha, const real beta) {
    GRID_WAIT();
    BIND(T, db);
    BIND(int, began);
    GLOBAL u64 *const posts = (GLOBAL u64 *)(began + POSTED) + GRP(0) / SLICES * (SLICES * POST_WORDS);
    const int earlier = LID(0) == 0 ? ATOMIC_INC(began + GRP(0) / SLICES) : 0;
#elif defined(GRID_FENCED)
bias_partial(TENSOR(T, dy), TENSOR(T, db), TENSOR(real, sums), TENSOR(int, arrived), const real alpha,
             const real beta) {
    GRID_WAIT();
    LOCAL int last_one;
    BIND(T, db);
    BIND(real, sums);
    BIND(int, arrived);
#else
bias_partial(TENSOR(T, dy), TENSOR(real, sums)) {
    GRID_WAIT();
    BIND(real, sums);
#endif
    LOCAL real scratch[SCRATCH];
    BIND(T, dy);
    const int lid = LID(0);
    const idx_t slice = (idx_t)GRP(0) % SLICES;
    const idx_t o = (idx_t)GRP(0) / SLICES * TO + TILE_OUTER(lid);
    const idx_t end = slice == SLICES - 1 ? REDUCE : slice * LENGTH + LENGTH;
    const bool inside = o < OUTER;
    const idx_t from = DY_OUTER(o);
    vreal total[ROUNDS];

    UNROLL for (int i = 0; i < ROUNDS; ++i) total[i] = VSPLAT(0);
#ifdef LONG_SUMS
    vreal whole = VSPLAT(0), lost = VSPLAT(0);
    int left = SUM_BLOCK;
#define END_OF_ROUND                                                                                       \
    if (--left == 0) {                                                                                     \
        UNROLL for (int i = 0; i < ROUNDS; ++i) {                                                          \
            add_block(&whole, &lost, total[i]);                                                            \
            total[i] = VSPLAT(0);                                                                          \
        }                                                                                                  \
        left = SUM_BLOCK;                                                                                  \
    }
#else
#define END_OF_ROUND
#endif
#ifdef RUN  // a reduce unit is a run of so many vectors: one work-item on a CPU, and no division for each vector
    for (idx_t r = slice * LENGTH; r < end && inside; ++r) {
        const GLOBAL T *run = dy + (from + DY_REDUCE(r));
        int k = 0;
        for (; k + ROUNDS <= RUN; k += ROUNDS) {
            UNROLL for (int i = 0; i < ROUNDS; ++i) total[i] = total[i] + VLOAD(run, (k + i) * VW);
            END_OF_ROUND
        }
        for (; k < RUN; ++k) total[0] = total[0] + VLOAD(run, k * VW);
    }
#else
    idx_t r = slice * LENGTH + TILE_REDUCE(lid);
    if (LENGTH > ROUNDS * TR && inside)  // known when the kernel is compiled
        _Pragma("unroll 1") for (; r + (ROUNDS - 1) * TR < end; r += ROUNDS * TR) {
            vreal v[ROUNDS];
            UNROLL for (int i = 0; i < ROUNDS; ++i) v[i] = VLOAD(dy, from + DY_REDUCE(r + i * TR));
            UNROLL for (int i = 0; i < ROUNDS; ++i) total[i] = total[i] + v[i];
            END_OF_ROUND
        }
    UNROLL for (int i = 0; i < ROUNDS; ++i)
        if (r + i * TR < end && inside) total[i] = total[i] + VLOAD(dy, from + DY_REDUCE(r + i * TR));
#endif
    UNROLL for (int i = 1; i < ROUNDS; ++i) total[0] = total[0] + total[i];
#ifdef LONG_SUMS
    add_block(&whole, &lost, total[0]);
    total[0] = whole;
#endif
    const part sum = tile_sum(fold_sum(total[0]), scratch, lid);
#ifdef POSTED
    if (lid > 0) return;
    if (earlier < SLICES - 1) {
        post(posts, (int)slice, sum);
        return;
    }
    began[GRP(0) / SLICES] = 0;
    store_channels(db, o, sum_of_posts(posts, (int)slice, sum), alpha, beta);
#else
    if (inside && TILE_REDUCE(lid) == 0) {
#if SLICES == 1
        store_channels(db, o, sum, alpha, beta);
#else
        part_store(sums, slice, o, sum);
#endif
    }
#endif
#ifdef GRID_FENCED
    if (!last_group(arrived + (idx_t)GRP(0) / SLICES, &last_one, lid, SLICES)) return;
    part all = PART_SPLAT(0);
    for (idx_t k = TILE_REDUCE(lid); k < SLICES && inside; k += 4 * TR)
        UNROLL for (int i = 0; i < 4; ++i)
            if (k + i * TR < SLICES) all = all + part_load(sums, k + i * TR, o);
    all = tile_sum(all, scratch, lid);
    if (inside && TILE_REDUCE(lid) == 0) store_channels(db, o, all, alpha, beta);
#endif
}

#endif

// A work-group adds the slices of FINISH_CHANNELS channels: FINISH_SHARING work-items a channel, then one.
KERNEL WG_SIZE(FINISH_CHANNELS * FINISH_SHARING, 1, 1)
bias_finish(TENSOR(real, sums), TENSOR(T, db), const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL real scratch[FINISH_CHANNELS * FINISH_SHARING];
    BIND(real, sums);
    BIND(T, db);
    const int lid = LID(0);
    const idx_t c = (idx_t)GRP(0) * FINISH_CHANNELS + lid % FINISH_CHANNELS;
    real sum = 0;

    if (c < OUTER * PART_LANES)
        for (idx_t k = lid / FINISH_CHANNELS; k < SLICES; k += FINISH_SHARING)
            sum += sums[k * (OUTER * PART_LANES) + c];
    scratch[lid] = sum;
    BARRIER();
    if (lid < FINISH_CHANNELS && c < OUTER * PART_LANES) {
        for (int k = 1; k < FINISH_SHARING; ++k) sum += scratch[k * FINISH_CHANNELS + lid];
        BLEND(db, c * DB_STRIDE, alpha, sum, beta);
    }
}
