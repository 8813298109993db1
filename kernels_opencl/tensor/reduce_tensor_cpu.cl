// c = alpha * (reduction of a over some dimensions) + beta * c, for CPUs; tensor/reduce_operation.h has the operations.
//
//   ALONG (a run of memory is reduced)                 otherwise (a run of memory is kept)
//     reduced dimensions: ROWS rows of INNER numbers,    kept dimensions: rows of INNER numbers, cut into BLOCKS blocks of
//     A_STEP apart, cut into SEGMENTS of SEGMENT;        BLOCK; a work-item holds a block in vectors and goes
//     a unit is one segment                              through the reduced dimensions, a unit each, row by row
//
//   work-group (one work-item) g: outer units from g / SLICES * CHUNK on (ALONG: results, else blocks), in slice g % SLICES of
//   LENGTH of the UNITS reduce units. With one slice it writes c, else parts [slice][result] go to the workspace and
//   reduce_finish joins them in order.
//
// Host defines
//   OUTER                     outer units         RESULTS_COUNT   numbers in c
//   A_OUTER(o), A_REDUCE(r)   offsets in a of a result (ALONG) or a row of results; of a row (ALONG) or a unit
//   C_OUTER(o), I_OUTER(o)    offset in c and in the indices of result o
//   INDICES                   as in kernels_shared/tensor/reduce_tensor.cl

#include "common/types.h"
#include "tensor/reduce_operation.h"

#define SHORT 128  // numbers joined one after the other: sums of sums round less
#define SHORT_UNITS (SEGMENT < SHORT * 4 * VW ? SHORT * 4 * VW / SEGMENT : 1)  // units with so many vectors

#ifdef INDICES
#define RESULTS TENSOR(T, c), TENSOR(int, indices)
#define BIND_RESULTS                                                                                       \
    BIND(T, c);                                                                                            \
    BIND(int, indices)
#define PARTS TENSOR(real, parts), TENSOR(u32, part_places)
#define BIND_PARTS                                                                                         \
    BIND(real, parts);                                                                                     \
    BIND(u32, part_places)
#define PUT_INDEX(o, place) indices[I_OUTER(o)] = (int)(place);
#define PUT_PART_PLACE(at, place) part_places[at] = place;
#else
#define RESULTS TENSOR(T, c)
#define BIND_RESULTS BIND(T, c)
#define PARTS TENSOR(real, parts)
#define BIND_PARTS BIND(real, parts)
#define PUT_INDEX(o, place)
#define PUT_PART_PLACE(at, place)
#endif
#define PUT_RESULT(o, value, place)                                                                        \
    {                                                                                                      \
        const size_t to = C_OUTER(o);                                                                      \
        BLEND(c, to, alpha, OUTCOME(value), beta);                                                         \
        PUT_INDEX(o, place)                                                                                \
    }
#if SLICES == 1
#define PUT(o, value, place) PUT_RESULT(o, value, place)
#else
#define PUT(o, value, place)                                                                               \
    {                                                                                                      \
        parts[(size_t)slice * RESULTS_COUNT + (o)] = value;                                                \
        PUT_PART_PLACE((size_t)slice * RESULTS_COUNT + (o), place)                                         \
    }
#endif

KERNEL WG_SIZE(1, 1, 1)
#if SLICES == 1
reduce_partial(TENSOR(const T, a), RESULTS, const real alpha, const real beta) {
    BIND_RESULTS;
#else
reduce_partial(TENSOR(const T, a), PARTS) {
    BIND_PARTS;
#endif
    BIND(const T, a);
    const u32 slice = (u32)GRP(0) % SLICES, first = slice * LENGTH;
    const u32 end = slice == SLICES - 1 ? UNITS : first + LENGTH;
    const u32 o0 = (u32)GRP(0) / SLICES * CHUNK, o1 = OUTER - o0 < CHUNK ? OUTER : o0 + CHUNK;
    for (u32 o = o0; o < o1; ++o) {
#ifdef ALONG
        const size_t row0 = A_OUTER(o);
        const u32 begin = first / SEGMENTS * INNER + first % SEGMENTS * SEGMENT;  // the slice's first place
        real rest = START;
#ifdef INDICES
        vreal best = VSPLAT(START), where = VSPLAT(0);
        u32 rest_place = begin;
#else
        vreal total0 = VSPLAT(START), total1 = total0, total2 = total0, total3 = total0, whole = total0;
#endif
        for (u32 unit = first; unit < end; ++unit) {
            const u32 row = unit / SEGMENTS, start = unit % SEGMENTS * SEGMENT;
            const u32 count = INNER - start < SEGMENT ? INNER - start : SEGMENT;
            const size_t from = row0 + A_REDUCE(row) + (size_t)start * A_STEP;
            u32 i = 0;
#ifdef INDICES
            const u32 here = row * INNER + start - begin;
#if A_STEP == 1
            for (; i + VW <= count; i += VW) {
                const vreal v = vtake(VLOAD(a, from + i)), at = VSPLAT((real)(here + i));
                FOLLOW(best, where, v, at)
            }
#endif
            for (; i < count; ++i) {
                const real v = take(LOAD(a, from + (size_t)i * A_STEP));
                const u32 place = begin + here + i;
                if (precedes(v, place, rest, rest_place)) {
                    rest = v;
                    rest_place = place;
                }
            }
#else
#if A_STEP == 1
            for (; i + 4 * VW <= count; i += 4 * VW) {
                total0 = vjoin(total0, vtake(VLOAD(a, from + i)));
                total1 = vjoin(total1, vtake(VLOAD(a, from + i + VW)));
                total2 = vjoin(total2, vtake(VLOAD(a, from + i + 2 * VW)));
                total3 = vjoin(total3, vtake(VLOAD(a, from + i + 3 * VW)));
            }
            for (; i + VW <= count; i += VW) total0 = vjoin(total0, vtake(VLOAD(a, from + i)));
#endif
            while (i < count) {
                const u32 stop = count - i < SHORT ? count : i + SHORT;
                real some = START;
                for (; i < stop; ++i) some = join(some, take(LOAD(a, from + (size_t)i * A_STEP)));
                rest = join(rest, some);
            }
            if ((unit - first) % SHORT_UNITS == SHORT_UNITS - 1) {
                whole = vjoin(whole, vjoin(vjoin(total0, total1), vjoin(total2, total3)));
                total0 = total1 = total2 = total3 = VSPLAT(START);
            }
#endif
        }
#ifdef INDICES
        for (int l = 0; l < VW; ++l) {
            const real v = LANE(best, l);
            const u32 place = begin + (u32)LANE(where, l) + l;
            if (precedes(v, place, rest, rest_place)) {
                rest = v;
                rest_place = place;
            }
        }
        PUT(o, rest, rest_place)
#else
        whole = vjoin(whole, vjoin(vjoin(total0, total1), vjoin(total2, total3)));
        for (int l = 0; l < VW; ++l) rest = join(rest, LANE(whole, l));
        PUT(o, rest, 0)
#endif
#else
        const u32 row = o / BLOCKS, start = o % BLOCKS * BLOCK;
        const u32 count = INNER - start < BLOCK ? INNER - start : BLOCK;
        const size_t from = A_OUTER(row) + start;
        const u32 result = row * INNER + start;
        u32 i = 0;
#ifdef INDICES
        for (; i + VW <= count; i += VW) {
            vreal best = VSPLAT(START), where = VSPLAT(0);
            for (u32 r = first; r < end; ++r) {
                const vreal v = vtake(VLOAD(a, from + i + A_REDUCE(r))), at = VSPLAT((real)(r - first));
                FOLLOW(best, where, v, at)
            }
            for (int l = 0; l < VW; ++l) PUT(result + i + l, LANE(best, l), first + (u32)LANE(where, l))
        }
        for (; i < count; ++i) {
            real best = START;
            u32 place = first;
            for (u32 r = first; r < end; ++r) {
                const real v = take(LOAD(a, from + i + A_REDUCE(r)));
                if (precedes(v, r, best, place)) {
                    best = v;
                    place = r;
                }
            }
            PUT(result + i, best, place)
        }
#else
        for (; i + 8 * VW <= count; i += 8 * VW) {
            vreal whole[8];
            UNROLL for (int k = 0; k < 8; ++k) whole[k] = VSPLAT(START);
            for (u32 r0 = first; r0 < end; r0 += SHORT) {
                const u32 r1 = end - r0 < SHORT ? end : r0 + SHORT;
                vreal total[8];
                UNROLL for (int k = 0; k < 8; ++k) total[k] = VSPLAT(START);
                for (u32 r = r0; r < r1; ++r) {
                    const size_t at = from + i + A_REDUCE(r);
                    UNROLL for (int k = 0; k < 8; ++k) total[k] = vjoin(total[k], vtake(VLOAD(a, at + k * VW)));
                }
                UNROLL for (int k = 0; k < 8; ++k) whole[k] = vjoin(whole[k], total[k]);
            }
            for (int l = 0; l < 8 * VW; ++l) PUT(result + i + l, ((real *)whole)[l], 0)
        }
        for (; i + VW <= count; i += VW) {
            vreal whole = VSPLAT(START);
            for (u32 r0 = first; r0 < end; r0 += SHORT) {
                const u32 r1 = end - r0 < SHORT ? end : r0 + SHORT;
                vreal total = VSPLAT(START);
                for (u32 r = r0; r < r1; ++r) total = vjoin(total, vtake(VLOAD(a, from + i + A_REDUCE(r))));
                whole = vjoin(whole, total);
            }
            for (int l = 0; l < VW; ++l) PUT(result + i + l, LANE(whole, l), 0)
        }
        for (; i < count; ++i) {
            real whole = START;
            for (u32 r0 = first; r0 < end; r0 += SHORT) {
                const u32 r1 = end - r0 < SHORT ? end : r0 + SHORT;
                real total = START;
                for (u32 r = r0; r < r1; ++r) total = join(total, take(LOAD(a, from + i + A_REDUCE(r))));
                whole = join(whole, total);
            }
            PUT(result + i, whole, 0)
        }
#endif
#endif
    }
}

// Results from GRP * CHUNK_FINISH on are joined from the slices' parts, in order.
KERNEL WG_SIZE(1, 1, 1) reduce_finish(PARTS, RESULTS, const real alpha, const real beta) {
    BIND_PARTS;
    BIND_RESULTS;
    const u32 o0 = (u32)GRP(0) * CHUNK_FINISH;
    const u32 o1 = RESULTS_COUNT - o0 < CHUNK_FINISH ? RESULTS_COUNT : o0 + CHUNK_FINISH;
    for (u32 o = o0; o < o1; ++o) {
        real whole = parts[o];
#ifdef INDICES
        u32 place = part_places[o];
        for (u32 k = 1; k < SLICES; ++k) {
            const size_t at = (size_t)k * RESULTS_COUNT + o;
            if (precedes(parts[at], part_places[at], whole, place)) {
                whole = parts[at];
                place = part_places[at];
            }
        }
        PUT_RESULT(o, whole, place)
#else
        for (u32 k = 1; k < SLICES; ++k) whole = join(whole, parts[(size_t)k * RESULTS_COUNT + o]);
        PUT_RESULT(o, whole, 0)
#endif
    }
}
