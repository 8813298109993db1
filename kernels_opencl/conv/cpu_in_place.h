// The register tile of conv/cpu.cl with the filter where it lies; include after conv/cpu_multiply.h.
//
// w is at the tile's first channel and row, places[taps] are the taps of a channel; w_m, w_ch, w_step: W_M, W_CH and W_STEP, by
// value, so that nothing else keeps the sizes in memory.

#define IN_PLACE_PARAMS                                                                                            \
    GLOBAL real *c, const GLOBAL real *w, const GLOBAL real *b, const int pitch, int channels, int add, int rows,  \
        const int *places, int taps, const int w_m, const int w_ch, const int w_step TO_PARAMS
#define START_ROW(i) const GLOBAL real *w##i = w + MIN(i, rows - 1) * w_m;
#define NEXT_ROW(i) PREFETCH(w##i + MR * w_m + at);
#ifdef W_STEP
#if W_STEP_IS_ONE
#define NEXT_ROWS           \
    if (at % 16 == 0) {     \
        ROWS(NEXT_ROW)      \
    }
#else
#define NEXT_ROWS
#endif
#define EACH_PRODUCT(load_b, step)                                        \
    for (int at = 0; at < channels * MAX_TAPS * w_step; at += w_step) {   \
        NEXT_ROWS                                                         \
        load_b                                                            \
        ROWS(step)                                                        \
        b += pitch;                                                       \
    }
#else
#define EACH_PRODUCT(load_b, step)                     \
    for (int ch = 0; ch < channels; ++ch)              \
        for (int tap = 0; tap < taps; ++tap) {         \
            const int at = ch * w_ch + places[tap];    \
            load_b                                     \
            ROWS(step)                                 \
            b += pitch;                                \
        }
#endif

NOINLINE void multiply_in_place(IN_PLACE_PARAMS) {
    ROWS(START_ROW)
    ROWS(DECLARE_ROW)
#define STEP_ROW(i) { const vreal a##i = (vreal)(w##i[at]); COLS(FMA_VECTOR, i) }
    EACH_PRODUCT(COLS(LOAD_B, 0), STEP_ROW)
    if (add) {
        ROWS(ADD_ROW)
    }
    WRITE_TILE
}

#if SHORT_TILES
NOINLINE void multiply_in_place_one(IN_PLACE_PARAMS) {
    ROWS(START_ROW)
    ROWS(DECLARE_ONE)
#define STEP_ONE(i) { const vreal a##i = (vreal)(w##i[at]); FMA_VECTOR(i, 0) }
    EACH_PRODUCT(LOAD_B(0, 0), STEP_ONE)
    if (add) {
        ROWS(ADD_ONE)
    }
    WRITE_ONE
}
#endif
