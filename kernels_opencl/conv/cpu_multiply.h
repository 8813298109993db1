// The register tile of the CPU schedules with a packed side; see conv/cpu.h, which is to be included before.
//
// AT_ONCE: the last part of a sum is stored as it is finished, alpha times it to `to`, unless that is 0.
// SHORT_TILES: the last columns of a row may be tiles of one vector.

#if AT_ONCE
#define TO_PARAMS , GLOBAL T *to, const int to_pitch, const real alpha
#define TO_ARGS(to) , to, D_C, alpha
#define FINISH_VECTOR(i, j) VSTORE(to + i * (i64)to_pitch, j * VW, alpha * c##i##_##j);
#define FINISH_ROW(i) COLS(FINISH_VECTOR, i)
#define WRITE_TILE       \
    if (to) {            \
        ROWS(FINISH_ROW) \
        return;          \
    }                    \
    ROWS(WRITE_ROW)
#define WRITE_ONE        \
    if (to) {            \
        ROWS(FINISH_ONE) \
        return;          \
    }                    \
    ROWS(STORE_ONE)
#else
#define TO_PARAMS
#define TO_ARGS(to)
#define WRITE_TILE ROWS(WRITE_ROW)
#define WRITE_ONE ROWS(STORE_ONE)
#endif

// A register tile of one vector, for a few columns at the end: its sums wait for each other
#define DECLARE_ONE(i) DECLARE_VECTOR(i, 0)
#define ADD_ONE(i) ADD_VECTOR(i, 0)
#define STORE_ONE(i) WRITE_VECTOR(i, 0)
#define FINISH_ONE(i) FINISH_VECTOR(i, 0)
// So many columns has the tile at j of `count` columns
#if SHORT_TILES
#define FEW_COLUMNS(j, count) ((count) - (j) <= 2 * VW)
#else
#define FEW_COLUMNS(j, count) 0
#define multiply_packed_one multiply_packed
#define multiply_in_place_one multiply_in_place
#endif
#define TILE_WIDTH(j, count) (FEW_COLUMNS(j, count) ? VW : NR)

// c[MR][pitch] (+)= a[depth][MR] * b[depth][pitch]
NOINLINE void multiply_packed(GLOBAL real *c, const GLOBAL real *a, const GLOBAL real *b, const int pitch, int depth,
                              int add TO_PARAMS) {
    ROWS(DECLARE_ROW)
    for (int k = 0; k < depth; ++k) {
        COLS(LOAD_B, 0)
#define STEP_PACKED(i) { const vreal a##i = (vreal)(a[i]); COLS(FMA_VECTOR, i) }
        ROWS(STEP_PACKED)
        a += MR;
        b += pitch;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    WRITE_TILE
}

#if SHORT_TILES
NOINLINE void multiply_packed_one(GLOBAL real *c, const GLOBAL real *a, const GLOBAL real *b, const int pitch, int depth,
                                  int add TO_PARAMS) {
    ROWS(DECLARE_ONE)
    for (int k = 0; k < depth; ++k) {
        LOAD_B(0, 0)
#define STEP_PACKED_ONE(i) { const vreal a##i = (vreal)(a[i]); FMA_VECTOR(i, 0) }
        ROWS(STEP_PACKED_ONE)
        a += MR;
        b += pitch;
    }
    if (add) {
        ROWS(ADD_ONE)
    }
    WRITE_ONE
}
#endif
