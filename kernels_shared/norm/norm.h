// What the kernels of all normalisations share; include after common/types.h and common/reduce.h, whose tiles they use.
//
// Numbers that are normalised together are one outer unit (VW of them where vectors lie across). Their mean is kept as
// pivot + rest, where the pivot is the first of them: x - pivot is as exact as x is, so a mean of 1e4 beside a deviation
// of 1e-2 costs no digits. Moments of blocks are merged as in T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae
// and a pairwise algorithm for computing sample variances", 1979: no difference of large squares is ever taken.
//
//   COUNT               numbers of an outer element
//   RMS                 1 where no mean is subtracted (else 0): "variance" is then the mean of squares
//   NAME_OUTER(o) NAME_REDUCE(r) NAME_STEP    place of a parameter or statistic: that of its first lane, and from lane to lane
//   NAME_TYPE           real, or T where it is stored as the data are (half modules' parameters); READ, WRITE and ADD_TO look at it
//   PER_REDUCE          1 where scale and bias change along the reduced dimensions (layer and group normalisation)
//   PARAMETER_VECTORS   they are read there as whole aligned vectors
//   HAS_SCALE HAS_BIAS  1 where there is one

#ifndef ROUNDS
#define ROUNDS 4  // loads in flight of the kernels that do not keep what they read; hosts ask for more of narrow ones
#endif

#ifdef ALONG_REDUCE
#define FOLD_FIRST(v) LANE(v, 0)
#define UNIT VW  // numbers of one reduce unit that belong to one outer element
#else
#define FOLD_FIRST(v) (v)
#define UNIT 1
#endif

// NAME_real or NAME_T, within macros that PD_CAT chose
#define OF_TYPE_(name, type) name##type
#define OF_TYPE(name, type) OF_TYPE_(name, type)
#define REAL_LOAD(p, i) ((p)[i])
#define REAL_STORE(p, i, v) ((p)[i] = (v))
#define PD_PARTS(type, LOAD1, STORE1)                                                                      \
    DEVICE part part_read_##type(const GLOBAL type *p, u32 at, u32 step) {                                 \
        part v;                                                                                            \
        UNROLL for (int j = 0; j < PART_LANES; ++j) PART_LANE(v, j) = LOAD1(p, at + j * step);             \
        return v;                                                                                          \
    }                                                                                                      \
    DEVICE void blend_##type(GLOBAL type *p, u32 at, real alpha, real value, real beta) {                  \
        STORE1(p, at, beta == (real)0 ? alpha * value : alpha * value + beta * LOAD1(p, at));              \
    }                                                                                                      \
    DEVICE void part_blend_##type(GLOBAL type *p, u32 at, u32 step, real alpha, part v, real beta) {       \
        UNROLL for (int j = 0; j < PART_LANES; ++j)                                                        \
            blend_##type(p, at + j * step, alpha, PART_LANE(v, j), beta);                                  \
    }                                                                                                      \
    DEVICE void part_write_##type(GLOBAL type *p, u32 at, u32 step, part v) {                              \
        UNROLL for (int j = 0; j < PART_LANES; ++j) STORE1(p, at + j * step, PART_LANE(v, j));             \
    }
PD_PARTS(real, REAL_LOAD, REAL_STORE)
PD_PARTS(T, LOAD, STORE)
#define READ(p, NAME, o) OF_TYPE(part_read_, NAME##_TYPE)(p, NAME##_OUTER(o), NAME##_STEP)
#define WRITE(p, NAME, o, v) OF_TYPE(part_write_, NAME##_TYPE)(p, NAME##_OUTER(o), NAME##_STEP, v)
// p = alpha * v + beta * p
#define ADD_TO(p, NAME, o, alpha, v, beta)                                                                 \
    OF_TYPE(part_blend_, NAME##_TYPE)(p, NAME##_OUTER(o), NAME##_STEP, alpha, v, beta)

// VW parameters along the reduced dimensions
#if defined(PARAMETER_VECTORS) && defined(PD_CUDA)
struct alignas(VW * sizeof(real) < 16 ? VW * sizeof(real) : 16) norm_words {
    real e[VW];
};
DEVICE vreal parameters(const real *p, u32 at, u32 step) {
    const norm_words w = *(const norm_words *)(p + at);
    vreal v;
    UNROLL for (int j = 0; j < VW; ++j) LANE(v, j) = w.e[j];
    return v;
}
#elif defined(PARAMETER_VECTORS)
DEVICE vreal parameters(const GLOBAL real *p, u32 at, u32 step) { return *(const GLOBAL vreal *)(p + at); }
#else
DEVICE vreal parameters(const GLOBAL real *p, u32 at, u32 step) {
    vreal v;
    UNROLL for (int j = 0; j < VW; ++j) LANE(v, j) = p[at + j * step];
    return v;
}
#endif
#define PARAMETERS(p, NAME, o, r) parameters(p, NAME##_OUTER(o) + NAME##_REDUCE(r), NAME##_STEP)

typedef struct {
    part mean, squares;  // squares of the distances from the mean
} moments;

// One block of `valid` vectors d (zeros beyond) joins a work-item's n vectors so far.
#define ADD_BLOCK(n, mean, squares, d, valid)                                                              \
    {                                                                                                      \
        vreal total_ = d[0], square_ = VSPLAT(0);                                                          \
        UNROLL for (int i = 1; i < ROUNDS; ++i) total_ = total_ + d[i];                                    \
        const vreal center_ = total_ * ((real)1 / (valid));                                                \
        UNROLL for (int i = 0; i < ROUNDS; ++i) {                                                          \
            const vreal away_ = d[i] - center_;                                                            \
            if (i < (valid)) square_ = square_ + away_ * away_;                                            \
        }                                                                                                  \
        const real share_ = (valid) / (n + (valid));                                                       \
        const vreal step_ = center_ - mean;                                                                \
        mean = mean + step_ * share_;                                                                      \
        squares = squares + square_ + step_ * step_ * (n * share_);                                        \
        n += (valid);                                                                                      \
    }

// The lanes of a work-item become one part, of n * UNIT numbers.
DEVICE moments fold_moments(vreal mean, vreal squares, real n) {
    moments m;
#ifdef ALONG_REDUCE
    m.mean = fold_sum(mean) * ((real)1 / VW);
    const vreal away = mean - m.mean;
    m.squares = fold_sum(squares + away * away * n);
#else
    m.mean = mean;
    m.squares = squares;
#endif
    return m;
}

// All work-items of an outer unit bring the moments of n numbers each and get those of all `total`.
DEVICE moments tile_moments(moments m, real n, real total, LOCAL_ARG real *first, LOCAL_ARG real *second, int lid) {
    moments all;
    all.mean = tile_sum(m.mean * n, first, lid) / total;
    const part away = m.mean - all.mean;
    all.squares = tile_sum(m.squares + away * away * n, second, lid);
    return all;
}

// Slices: tile `first` + .. of the outer units, one slice of the reduce units; `lid` is LID(0).
#define SLICE_PROLOGUE(group)                                                                              \
    const u32 slice = (u32)(group) % SLICES;                                                               \
    const u32 o = ((u32)first + (u32)(group) / SLICES) * TO + TILE_OUTER(lid);                             \
    const u32 r0 = slice * LENGTH + TILE_REDUCE(lid);                                                      \
    const u32 end = slice == SLICES - 1 ? REDUCE : slice * LENGTH + LENGTH;                                \
    const bool inside = o < OUTER;
#define SLICE_NUMBERS(k) ((real)(((k) == SLICES - 1 ? REDUCE - (SLICES - 1) * LENGTH : LENGTH) * UNIT))

// Moments of an outer unit from those of its slices, which are laid out as part_store does.
DEVICE moments merge_slices(const GLOBAL real *means, const GLOBAL real *squares, u32 o, bool inside,
                            LOCAL_ARG real *first, LOCAL_ARG real *second, int lid) {
    moments all;
    part sum = PART_SPLAT(0);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) sum = sum + part_load(means, k, o) * SLICE_NUMBERS(k);
    all.mean = tile_sum(sum, first, lid) / (real)COUNT;
    sum = PART_SPLAT(0);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) {
        const part away = part_load(means, k, o) - all.mean;
        sum = sum + part_load(squares, k, o) + away * away * SLICE_NUMBERS(k);
    }
    all.squares = tile_sum(sum, second, lid);
    return all;
}

// Their squares alone (RMS).
DEVICE moments merge_squares(const GLOBAL real *squares, u32 o, bool inside, LOCAL_ARG real *first, int lid) {
    moments all;
    part sum = PART_SPLAT(0);
    for (u32 k = TILE_REDUCE(lid); k < SLICES && inside; k += TR) sum = sum + part_load(squares, k, o);
    all.mean = PART_SPLAT(0);
    all.squares = tile_sum(sum, first, lid);
    return all;
}
