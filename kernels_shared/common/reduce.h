// Reductions over some dimensions of a tensor by tiles; include after common/types.h. "Outer" dimensions are kept, "reduce"
// dimensions are folded. The host merges each kind into one index and bakes the offsets in as macros such as
// X_OUTER(o) and X_REDUCE(r); both count vectors of VW elements along the direction that is contiguous in memory:
//
//   ALONG_REDUCE (a row is contiguous)           otherwise (neighbouring rows are contiguous)
//        r ->  0   1  ..  TR-1 | 0   1 ...             o ->  0    1   ..  TO-1
//   o = 0    [vw][vw] .. [vw]  |[vw] ..           r = 0    [vw] [vw]  ..  [vw]
//   o = 1    [vw][vw] .. [vw]  |[vw] ..           r = 1    [vw] [vw]  ..  [vw]
//   ..TO-1   TR items share a row, K rounds       ..TR-1   TR items share a column, K rounds
//
//   OUTER, REDUCE   numbers of outer and reduce units (a unit is a vector along the contiguous direction)
//   TO, TR          outer units of a work-group, and work-items that share each of them (powers of two)
//   SLICES, LENGTH  pieces that the reduce units are cut into between work-groups, and units of each
//
// A `part` is what one work-item holds of a result: a number along the rows, VW of them across.

#define GROUP (TO * TR)

#ifdef ALONG_REDUCE
#define TILE_OUTER(lid) ((lid) / TR)
#define TILE_REDUCE(lid) ((lid) % TR)
#define PART_LANES 1
typedef real part;
#define PART_LANE(p, j) (p)
#define PART_SPLAT(s) ((real)(s))
#define PD_FOLD(name, OP)                                                                                  \
    DEVICE part name(vreal v) {                                                                            \
        part result = LANE(v, 0);                                                                          \
        UNROLL for (int j = 1; j < VW; ++j) result = OP(result, LANE(v, j));                               \
        return result;                                                                                     \
    }
#else
#define TILE_OUTER(lid) ((lid) % TO)
#define TILE_REDUCE(lid) ((lid) / TO)
#define PART_LANES VW
typedef vreal part;
#define PART_LANE(p, j) LANE(p, j)
#define PART_SPLAT(s) VSPLAT(s)
#define PD_FOLD(name, OP)                                                                                  \
    DEVICE part name(vreal v) { return v; }
#endif

#define ADD(a, b) ((a) + (b))

// fold_*: one work-item's vector to its part.  tile_*: all work-items call it, each gets the part of its outer unit;
// every one in the same order, so that all hold the same bits. Two reductions in a row need a scratch of their own.
PD_FOLD(fold_sum, ADD)
PD_FOLD(fold_max, fmax)

// SCRATCH: numbers of local memory that one reduction needs
#if TR == 1
#define SCRATCH 1
#define PD_TILE(name, OP)                                                                                  \
    DEVICE part name(part v, LOCAL_ARG real *scratch, int lid) { return v; }
#else
#define SCRATCH (GROUP * PART_LANES)
#ifndef ALONG_REDUCE
#define PD_TILE(name, OP)                                                                                  \
    DEVICE part name(part v, LOCAL_ARG real *scratch, int lid) {                                           \
        const int column = lid % TO;                                                                       \
        UNROLL for (int j = 0; j < VW; ++j) scratch[j * GROUP + lid] = LANE(v, j);                         \
        BARRIER();                                                                                         \
        UNROLL for (int j = 0; j < VW; ++j) {                                                              \
            real total = scratch[j * GROUP + column];                                                      \
            UNROLL for (int k = 1; k < TR; ++k) total = OP(total, scratch[j * GROUP + k * TO + column]);   \
            LANE(v, j) = total;                                                                            \
        }                                                                                                  \
        return v;                                                                                          \
    }
#elif defined(WARP)
// A butterfly of exchanges in each warp, then every work-item folds its row's warps.
#define PD_STEPS (TR < WARP ? TR : WARP)
#define PD_TILE(name, OP)                                                                                  \
    DEVICE part name(part v, LOCAL_ARG real *scratch, int lid) {                                           \
        UNROLL for (int step = PD_STEPS / 2; step > 0; step /= 2)                                          \
            v = OP(v, exchange(v, step));                                                                  \
        if (TR > WARP) {                                                                                   \
            const int first = lid / TR * (TR / WARP);                                                      \
            if (lid % WARP == 0) scratch[lid / WARP] = v;                                                  \
            BARRIER();                                                                                     \
            v = scratch[first];                                                                            \
            UNROLL for (int k = 1; k < TR / WARP; ++k) v = OP(v, scratch[first + k]);                      \
        }                                                                                                  \
        return v;                                                                                          \
    }
#else
#define PD_TILE(name, OP)                                                                                  \
    DEVICE part name(part v, LOCAL_ARG real *scratch, int lid) {                                           \
        const int k = lid % TR;                                                                            \
        scratch[lid] = v;                                                                                  \
        BARRIER();                                                                                         \
        for (int step = TR / 2; step > 0; step /= 2) {                                                     \
            if (k < step) scratch[lid] = OP(scratch[lid], scratch[lid + step]);                            \
            BARRIER();                                                                                     \
        }                                                                                                  \
        return scratch[lid - k];                                                                           \
    }
#endif
#endif
PD_TILE(tile_sum, ADD)
PD_TILE(tile_max, fmax)

// Parts in the workspace: [slice][outer unit][lane]
DEVICE part part_load(const GLOBAL real *p, idx_t slice, idx_t o) {
    part v;
    UNROLL for (int j = 0; j < PART_LANES; ++j) PART_LANE(v, j) = p[(slice * OUTER + o) * PART_LANES + j];
    return v;
}
DEVICE void part_store(GLOBAL real *p, idx_t slice, idx_t o, part v) {
    UNROLL for (int j = 0; j < PART_LANES; ++j) p[(slice * OUTER + o) * PART_LANES + j] = PART_LANE(v, j);
}
