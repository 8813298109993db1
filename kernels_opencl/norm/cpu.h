// What the CPU's kernels of normalisation share; after norm/norm.h. A work-group is one work-item; vectors are explicit.

#define BLOCK 4  // vectors of a block of moments: ROUNDS of norm/norm.h

#define SQUARES(d) ((d[0] * d[0] + d[1] * d[1]) + (d[2] * d[2] + d[3] * d[3]))

typedef vreal loose_vreal __attribute__((aligned(sizeof(real))));
#define NUMBERS_AT(p, i) (*(const GLOBAL loose_vreal *)((p) + (i)))  // VW parameters, wherever they lie
#define PUT_NUMBERS(p, i, v) (*(GLOBAL loose_vreal *)((p) + (i)) = (v))

#if VW == 1
#define FOLD(v) (v)
#else
DEVICE real FOLD(vreal v) {
#if VW == 16
    const PD_CAT(PD_REAL, 8) half_ = v.lo + v.hi;
#elif VW == 8
    const PD_CAT(PD_REAL, 8) half_ = v;
#endif
#if VW >= 8
    const PD_CAT(PD_REAL, 4) v4 = half_.lo + half_.hi;
#else
    const vreal v4 = v;
#endif
    return (v4.s0 + v4.s2) + (v4.s1 + v4.s3);
}
#endif

// Moments of `a` numbers and of `b` numbers together; b may be 0.
typedef struct {
    real n, mean, squares;
} sample;
DEVICE sample united(sample a, sample b) {
    const real n = a.n + b.n;
    if (b.n == (real)0 || n == (real)0) return a;
    const real step = b.mean - a.mean, share = b.n / n;
    a.mean += step * share;
    a.squares += b.squares + step * step * (a.n * share);
    a.n = n;
    return a;
}
