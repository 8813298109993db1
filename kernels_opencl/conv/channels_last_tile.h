// The register tile of conv/channels_last_cpu.cl; include after conv/channels_last_units.h.

// c[MR][SUMS_M] (+)= x * b, one register tile; shift[taps]: where in x a tap begins. With `to` it is the sum's last part, and
// alpha times the sum goes there.
#define FINISH_VECTOR(i, j) VSTORE(to + i * to_step, j * VW, alpha * c##i##_##j);
#define FINISH_ROW(i) COLS(FINISH_VECTOR, i)
#ifdef GROUP_CH
#define OWN(l, u) ((l) / GROUP_CH * GROUP_CH + (u))
#define OWN_4(l, u) OWN(l, u), OWN(l + 1, u), OWN(l + 2, u), OWN(l + 3, u)
#define OWN_8(l, u) OWN_4(l, u), OWN_4(l + 4, u)
#define OWN_16(l, u) OWN_8(l, u), OWN_8(l + 8, u)
#define OF_GROUP(v, u) __builtin_shufflevector(v, v, PD_CAT(OWN_, VW)(0, u))

NOINLINE void multiply(GLOBAL real *c, const GLOBAL real *x, const GLOBAL real *b, const int *shift, int taps, int channels,
                       int add, GLOBAL T *to, const real alpha SIZES_PARAMS) {
    const int pitch = SUMS_M;
    const i64 to_step = TO_STEP;
    ROWS(DECLARE_ROW)
    for (int tap = 0; tap < taps; ++tap) {
        const GLOBAL real *from = x + shift[tap];
#define LOAD_ROW(i) const vreal x##i = RLOAD(from + i * PIXEL);
        ROWS(LOAD_ROW)
#define STEP_CHANNEL(u)                      \
    if (u < GROUP_CH) {                      \
        const vreal b0 = RLOAD(b + u * VW);  \
        ROWS(STEP_ROW_##u)                   \
    }
#define STEP_ROW(i, u) c##i##_0 = OF_GROUP(x##i, u) * b0 + c##i##_0;
#define STEP_ROW_0(i) STEP_ROW(i, 0)
#define STEP_ROW_1(i) STEP_ROW(i, 1 % GROUP_CH)
#define STEP_ROW_2(i) STEP_ROW(i, 2 % GROUP_CH)
#define STEP_ROW_3(i) STEP_ROW(i, 3 % GROUP_CH)
#define STEP_ROW_4(i) STEP_ROW(i, 4 % GROUP_CH)
#define STEP_ROW_5(i) STEP_ROW(i, 5 % GROUP_CH)
#define STEP_ROW_6(i) STEP_ROW(i, 6 % GROUP_CH)
#define STEP_ROW_7(i) STEP_ROW(i, 7 % GROUP_CH)
        STEP_CHANNEL(0)
        STEP_CHANNEL(1)
        STEP_CHANNEL(2)
        STEP_CHANNEL(3)
        STEP_CHANNEL(4)
        STEP_CHANNEL(5)
        STEP_CHANNEL(6)
        STEP_CHANNEL(7)
        b += GROUP_CH * VW;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    if (to) {
        ROWS(FINISH_ROW)
        return;
    }
    ROWS(WRITE_ROW)
}
#else
#ifdef FEW_CH  // of all blocks: no loop
#define TILE_CH FEW_CH
#else
#define TILE_CH channels
#endif
NOINLINE void multiply(GLOBAL real *c, const GLOBAL real *x, const GLOBAL real *b, const int *shift, int taps, int channels,
                       int add, GLOBAL T *to, const real alpha SIZES_PARAMS) {
    const int pitch = SUMS_M;
    const i64 to_step = TO_STEP;
    ROWS(DECLARE_ROW)
    for (int tap = 0; tap < taps; ++tap) {
        const GLOBAL real *from = x + shift[tap], *end = from + TILE_CH;
        for (; from < end; ++from, b += NR) {
            COLS(LOAD_B, 0)
#define STEP_ROW(i) { const vreal a##i = (vreal)(from[i * PIXEL]); COLS(FMA_VECTOR, i) }
            ROWS(STEP_ROW)
        }
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    if (to) {
        ROWS(FINISH_ROW)
        return;
    }
    ROWS(WRITE_ROW)
}
#endif
