// The end of the CPU schedules of convolution: rows of sums are finished (conv/epilogue.h) and stored. Include after conv/cpu.h.
//
// Defines: D_C and DST_STEP_W, the distances of channels and of neighbouring columns in the target; with EPILOGUE those of
// the bias and, where they are others, of z.

#include "conv/epilogue.h"

#ifdef Z_STRIDES
#define Z_STEP_W Z_W
#else
#define Z_C D_C
#define Z_STEP_W DST_STEP_W
#endif
#if defined(EPILOGUE) && BIAS_C == 1
#define BIASES(m) VLOAD(bias, m)
#elif defined(EPILOGUE)
DEVICE vreal load_biases(const GLOBAL T *bias) {
    vreal v;
    for (int j = 0; j < VW; ++j) LANE(v, j) = LOAD(bias, j * BIAS_C);
    return v;
}
#define BIASES(m) load_biases(bias + (m) * BIAS_C)
#endif

#ifndef EPILOGUE_SUMS
// Store `count` columns of `rows` channels of c, whose rows are `pitch` apart, into dst
NOINLINE void store_row(GLOBAL T *dst, int first, const GLOBAL real *c, const int pitch, int rows, int count, real alpha,
                      real beta SIZES_PARAMS EPILOGUE_PARAMS) {
    int m = 0;
#if D_C_IS_ONE && !DST_STEP_W_IS_ONE && !defined(Z_STRIDES)
    for (; m <= rows - VW; m += VW)
        for (int q = 0; q < count; q += VW) {
            vreal block[VW];
            UNROLL for (int i = 0; i < VW; ++i) block[i] = RLOAD(c + (m + i) * pitch + q);
            transpose(block);
            UNROLL for (int j = 0; j < VW; ++j) {
                const int step = m + (q + j) * DST_STEP_W;
                if (q + j < count) VFINISH(dst, first + step, step, alpha, block[j], beta, BIASES(m));
            }
        }
#ifdef EPILOGUE_FEW
    if (m < rows)
        for (int q = 0; q < count; ++q) {
            vreal few = (vreal)((real)0);
            for (int i = m; i < rows; ++i) LANE(few, i - m) = c[i * pitch + q];
            EPILOGUE_FEW(m + q * DST_STEP_W, few, rows - m);
        }
    return;
#endif
#endif
    for (; m < rows; ++m) {
        const int row = first + m * D_C;
        int q = 0;
#if DST_STEP_W_IS_ONE && !defined(Z_STRIDES)
        for (; q <= count - VW; q += VW)
            VFINISH(dst, row + q, m * Z_C + q, alpha, RLOAD(c + m * pitch + q), beta, VSPLAT(LOAD(bias, m * BIAS_C)));
#ifdef EPILOGUE_FEW
        if (q < count) EPILOGUE_FEW(m * Z_C + q, RLOAD(c + m * pitch + q), count - q);
        continue;
#endif
#endif
        for (; q < count; ++q)
            FINISH(dst, row + q * DST_STEP_W, m * Z_C + q * Z_STEP_W, m * BIAS_C, alpha, c[m * pitch + q], beta);
    }
}
#endif
