// Results of conv/matrix.cl that go to the output, or to text that follows (conv/epilogue.h).
//
//   RESULTS_CHUNKS     of local memory that storing takes: it may be that of the slices

#define RESULTS TENSOR(T, out), const float alpha, const float beta EPILOGUE_TENSORS
#define RESULTS_BIND                                                                                       \
    BIND(T, out);                                                                                          \
    EPILOGUE_BIND

#ifdef EPILOGUE_SUMS
#include "conv/matrix_sums.h"
#define RESULTS_CHUNKS SUMS_CHUNKS
#define RESULTS_STORE                                                                                      \
    const int group = z / PHASES, index = z % PHASES;                                                      \
    const i64 row = (i64)group * ROWS;                                                                     \
    store_sums(out + row * OUT_M, m0, n0, m, n, &phase, lane, alpha, beta,                                 \
               acc EPILOGUE_PASS(row * Z_M, row * BIAS_C) SUMS_PASS(slices));
#else
#define RESULTS_CHUNKS 0
#define RESULTS_STORE                                                                                      \
    const i64 row = (i64)(z / PHASES) * ROWS;                                                              \
    store_tile(out + row * OUT_M, m0 + m, n0 + n, &phase, lane, alpha, beta, acc, (LOCAL_ARG float *)slices + item \
               EPILOGUE_PASS(row * Z_M, row * BIAS_C));

// Written text, however long it is, stands once for each fragment, whose sums a work-item hands on in local memory
#ifdef EPILOGUE_LANES
#define SUM_AT(i, j, e) own[(e) * ITEMS]
#define EACH_SUM UNROLL_AT_MOST(1)
#else
#define SUM_AT(i, j, e) acc[i][j][e]
#define EACH_SUM UNROLL
#endif
DEVICE void store_tile(GLOBAL T *out, u32 m0, u32 n0, const Phase *phase, int lane, float alpha, float beta,
                       Sums acc[MT][NT], LOCAL_ARG float *own EPILOGUE_PARAMS) {
    UNROLL for (int j = 0; j < NT; ++j) {
        const Column column = column_of(n0 + SUM_COLUMN(lane, j), phase);
        UNROLL for (int i = 0; i < MT; ++i) {
            const u32 first = m0 + SUM_ROW(lane, i);
            if (!column.in) continue;
#ifdef EPILOGUE_LANES
            UNROLL for (int e = 0; e < SUMS; ++e) SUM_AT(i, j, e) = acc[i][j][e];
#endif
#ifdef STORE_ROWS
            EACH_SUM for (int e = 0; e < SUMS; e += VW) {
                const u32 m = first + e;
                if (m >= ROWS) continue;
                vreal v;
                UNROLL for (int x = 0; x < VW; ++x) LANE(v, x) = SUM_AT(i, j, e + x);
#ifdef EPILOGUE
                vreal biases;
                UNROLL for (int x = 0; x < VW; ++x) LANE(biases, x) = LOAD(bias, (m + x) * BIAS_C);
#endif
                const i64 place = m * OUT_M + column.offset;
                VFINISH(out, place, place, alpha, v, beta, biases);
            }
#else
            EACH_SUM for (int e = 0; e < SUMS; ++e) {
                const u32 m = first + e;
                if (m >= ROWS) continue;
                FINISH(out, (i64)(m * OUT_M + column.offset), (i64)(m * Z_M + Z_COLUMN(column)), m * BIAS_C, alpha,
                       SUM_AT(i, j, e), beta);
            }
#endif
        }
    }
}
#endif
