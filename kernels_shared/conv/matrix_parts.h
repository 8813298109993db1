// Results of conv/matrix.cl that are parts of sums.

#define RESULTS_CHUNKS 0
#define RESULTS TENSOR_RESTRICT(float, parts)
#define RESULTS_BIND BIND_RESTRICT(float, parts);
#define RESULTS_STORE                                                                                      \
    store_parts(parts + (i64)tile * (PADDED_M * PADDED_N) + (i64)(m0 + m) * PADDED_N + n0 + n, lane, acc);
DEVICE void store_parts(GLOBAL float *part, int lane, Sums acc[MT][NT]) {
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            GLOBAL float *to = part + SUM_ROW(lane, i) * PADDED_N + SUM_COLUMN(lane, j);
            UNROLL for (int e = 0; e < SUMS; ++e) {
                if (ADD_PARTS) acc[i][j][e] += to[e * PADDED_N];
                to[e * PADDED_N] = acc[i][j][e];
            }
        }
    }
}
