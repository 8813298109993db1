// c = alpha * (reduction of a over some dimensions) + beta * c, for GPUs; common/reduce.h draws the tiles, tensor/reduce_operation.h has
// the operations.
//
// Each work-group folds one slice of TO outer units. With one slice it writes c, else its parts go to the workspace and the
// last of the slices' work-groups (GRID_FENCED), or else reduce_finish, joins the slices in order: the result does not depend
// on who comes first.
//
// Host defines, besides those two headers'
//   A_OUTER(o), A_REDUCE(r)   offsets in a      C_OUTER(o), C_STEP   offset in c of a unit's first number, and to the next
//   INDICES                   extremes also say where they are: the place among the reduced numbers, in logical order, of
//                             the first of equals. The reduce units then follow that order, so that the place of lane l of
//                             unit r is r * VW + l (along) or r (across). Work-items keep places as numbers of type real,
//                             relative to their slice, which the host makes short enough for that to be exact.
//   I_OUTER(o), I_STEP        offsets in the indices

#include "common/types.h"
#include "common/reduce.h"
#include "tensor/reduce_operation.h"
#ifdef GRID_FENCED
#include "common/last_group.h"
#endif

#define ROUNDS 4  // loads in flight

#ifdef INDICES
#define RESULTS TENSOR(T, c), TENSOR(int, indices)
#define BIND_RESULTS                                                                                       \
    BIND(T, c);                                                                                            \
    BIND(int, indices)
#define PARTS TENSOR(real, parts), TENSOR(u32, part_places)
#define BIND_PARTS                                                                                         \
    BIND(real, parts);                                                                                     \
    BIND(u32, part_places)
#else
#define RESULTS TENSOR(T, c)
#define BIND_RESULTS BIND(T, c)
#define PARTS TENSOR(real, parts)
#define BIND_PARTS BIND(real, parts)
#endif

#define PUT_RESULT(o, lane, value, place)                                                                  \
    {                                                                                                      \
        const u32 to = C_OUTER(o) + (lane) * C_STEP;                                                       \
        BLEND(c, to, alpha, OUTCOME(value), beta);                                                         \
        PUT_INDEX(o, lane, place)                                                                          \
    }
#ifdef INDICES
#define PUT_INDEX(o, lane, place) indices[I_OUTER(o) + (lane) * I_STEP] = (int)(place);
#else
#define PUT_INDEX(o, lane, place)
PD_FOLD(fold_part, join)
PD_TILE(tile_part, join)
#ifdef ALONG_REDUCE
#define PART_JOIN join
#else
#define PART_JOIN vjoin
#endif
#endif

KERNEL WG_SIZE(GROUP, 1, 1)
#if SLICES == 1
reduce_partial(TENSOR(const T, a), RESULTS, const real alpha, const real beta) {
    GRID_WAIT();
    BIND_RESULTS;
#elif defined(GRID_FENCED)
reduce_partial(TENSOR(const T, a), PARTS, TENSOR(int, arrived), RESULTS, const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL int last_one;
    BIND_PARTS;
    BIND(int, arrived);
    BIND_RESULTS;
#else
reduce_partial(TENSOR(const T, a), PARTS) {
    GRID_WAIT();
    BIND_PARTS;
#endif
    BIND(const T, a);
    const int lid = LID(0);
    const u32 slice = (u32)GRP(0) % SLICES, first = slice * LENGTH;
    const u32 o = (u32)GRP(0) / SLICES * TO + TILE_OUTER(lid);
    const u32 end = slice == SLICES - 1 ? REDUCE : first + LENGTH;
    const bool inside = o < OUTER;
    const u32 from = A_OUTER(o);

#ifdef INDICES
    LOCAL real values[GROUP * PART_LANES];
    LOCAL u32 places[GROUP * PART_LANES];
    vreal best = VSPLAT(START), where = VSPLAT(0);
    for (u32 r = first + TILE_REDUCE(lid); r < end && inside; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) {
            v[i] = VSPLAT(START);
            if (r + i * TR < end) v[i] = VLOAD(a, from + A_REDUCE(r + i * TR));
        }
        UNROLL for (int i = 0; i < ROUNDS; ++i) {
            if (r + i * TR < end) {
                const vreal here = VSPLAT((real)(r + i * TR - first)), value = vtake(v[i]);
                FOLLOW(best, where, value, here)
            }
        }
    }
#ifdef ALONG_REDUCE
    real value = LANE(best, 0);
    u32 place = (first + (u32)LANE(where, 0)) * VW;
    for (int l = 1; l < VW; ++l) {
        const u32 other = (first + (u32)LANE(where, l)) * VW + l;
        if (precedes(LANE(best, l), other, value, place)) {
            value = LANE(best, l);
            place = other;
        }
    }
    values[lid] = value;
    places[lid] = place;
#else
    UNROLL for (int l = 0; l < PART_LANES; ++l) {
        values[l * GROUP + lid] = LANE(best, l);
        places[l * GROUP + lid] = first + (u32)LANE(where, l);
    }
#endif
    BARRIER();
    if (inside && TILE_REDUCE(lid) == 0) {
        for (int l = 0; l < PART_LANES; ++l) {
            u32 at = l * GROUP + lid, chosen = at;
            for (int k = 1; k < TR; ++k) {
#ifdef ALONG_REDUCE
                ++at;
#else
                at += TO;
#endif
                if (precedes(values[at], places[at], values[chosen], places[chosen])) chosen = at;
            }
#if SLICES == 1
            PUT_RESULT(o, l, values[chosen], places[chosen])
#else
            parts[(slice * OUTER + o) * PART_LANES + l] = values[chosen];
            part_places[(slice * OUTER + o) * PART_LANES + l] = places[chosen];
#endif
        }
    }
#else
    LOCAL real scratch[SCRATCH];
    vreal total[ROUNDS];
    UNROLL for (int i = 0; i < ROUNDS; ++i) total[i] = VSPLAT(START);
    u32 r = first + TILE_REDUCE(lid);
    if (!inside) r = end;
    for (; r + (ROUNDS - 1) * TR < end; r += ROUNDS * TR) {
        vreal v[ROUNDS];
        UNROLL for (int i = 0; i < ROUNDS; ++i) v[i] = VLOAD(a, from + A_REDUCE(r + i * TR));
        UNROLL for (int i = 0; i < ROUNDS; ++i) total[i] = vjoin(total[i], vtake(v[i]));
    }
    for (; r < end; r += TR) total[0] = vjoin(total[0], vtake(VLOAD(a, from + A_REDUCE(r))));
    UNROLL for (int i = 1; i < ROUNDS; ++i) total[0] = vjoin(total[0], total[i]);
    const part whole = tile_part(fold_part(total[0]), scratch, lid);
    if (inside && TILE_REDUCE(lid) == 0) {
#if SLICES == 1
        UNROLL for (int j = 0; j < PART_LANES; ++j) PUT_RESULT(o, j, PART_LANE(whole, j), 0)
#else
        part_store(parts, slice, o, whole);
#endif
    }
#if SLICES > 1 && defined(GRID_FENCED)
    if (!last_group(arrived + (u32)GRP(0) / SLICES, &last_one, lid, SLICES)) return;
    part all = PART_SPLAT(START);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) all = PART_JOIN(all, part_load(parts, k, o));
    all = tile_part(all, scratch, lid);
    if (inside && TILE_REDUCE(lid) == 0)
        UNROLL for (int j = 0; j < PART_LANES; ++j) PUT_RESULT(o, j, PART_LANE(all, j), 0)
#endif
#endif
}

// A work-group joins the slices of FINISH_RESULTS results: FINISH_SHARING work-items each, then one.
KERNEL WG_SIZE(FINISH_RESULTS * FINISH_SHARING, 1, 1)
reduce_finish(PARTS, RESULTS, const real alpha, const real beta) {
    GRID_WAIT();
    LOCAL real values[FINISH_RESULTS * FINISH_SHARING];
    BIND_PARTS;
    BIND_RESULTS;
    const int lid = LID(0);
    const u32 result = (u32)GRP(0) * FINISH_RESULTS + lid % FINISH_RESULTS;
    const bool inside = result < OUTER * PART_LANES;
    real whole = START;
#ifdef INDICES
    LOCAL u32 places[FINISH_RESULTS * FINISH_SHARING];
    u32 place = 0xFFFFFFFFu;
    if (inside) {
        for (u32 k = lid / FINISH_RESULTS; k < SLICES; k += FINISH_SHARING) {
            const u32 at = k * (OUTER * PART_LANES) + result;
            if (precedes(parts[at], part_places[at], whole, place)) {
                whole = parts[at];
                place = part_places[at];
            }
        }
    }
    values[lid] = whole;
    places[lid] = place;
    BARRIER();
    if (lid < FINISH_RESULTS && inside) {
        for (int k = 1; k < FINISH_SHARING; ++k) {
            const int other = k * FINISH_RESULTS + lid;
            if (precedes(values[other], places[other], whole, place)) {
                whole = values[other];
                place = places[other];
            }
        }
        PUT_RESULT(result / PART_LANES, result % PART_LANES, whole, place)
    }
#else
    if (inside)
        for (u32 k = lid / FINISH_RESULTS; k < SLICES; k += FINISH_SHARING)
            whole = join(whole, parts[k * (OUTER * PART_LANES) + result]);
    values[lid] = whole;
    BARRIER();
    if (lid < FINISH_RESULTS && inside) {
        for (int k = 1; k < FINISH_SHARING; ++k) whole = join(whole, values[k * FINISH_RESULTS + lid]);
        PUT_RESULT(result / PART_LANES, result % PART_LANES, whole, 0)
    }
#endif
}
