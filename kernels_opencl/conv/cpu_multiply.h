// The register tile of the CPU schedules with a packed side; see conv/cpu.h, which is to be included before.

// c[MR][pitch] (+)= a[depth][MR] * b[depth][pitch]
NOINLINE void multiply_packed(GLOBAL real *c, const GLOBAL real *a, const GLOBAL real *b, const int pitch, int depth,
                              int add) {
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
    ROWS(WRITE_ROW)
}
