// One product of complex matrices per frequency: c[m][n] (+)= the sum over k of a[m][k] * conj(b[n][k]).
//
//   spectra [block of FB frequencies][place in the matrix][re, im][FB]
//
//          b: TN columns          A lane is one frequency: it needs nothing of its neighbours, so neither local memory nor
//        +--+--+--+--+            shuffles, and every access is a run of FB numbers. Lanes are work-items on a GPU and
//     a  |  |  |  |  |            vectors on a CPU. A worker (FB / VW work-items) holds TM x TN complex sums per lane;
//    TM  +--+--+--+--+            WORKERS_M x WORKERS_N workers make a work-group and share a and b in the cache.
//        |  |  |  |  |
//        +--+--+--+--+            Rows and columns beyond the last one do the last one's work and do not store it.
//
// m counts as (m / m_inner, m % m_inner) and k as (k0, k1), which is how a sum over a window of frames is written.
//
// Defines: FB, TM, TN (1 to 4, 8), WORKERS_M, WORKERS_N and those of common/types.h with VW = 1 or VW = FB.

#include "common/types.h"

#define LANES (FB / VW)
#define GROUP (LANES * WORKERS_M * WORKERS_N)

#if VW > 1
typedef vreal unaligned_t __attribute__((aligned(sizeof(real))));
#define HELPER NOINLINE  // inlined, LLVM moves the sums between registers and memory
#else
typedef real unaligned_t;
#define HELPER DEVICE
#endif
#define GET(p) (*(const GLOBAL unaligned_t *)(p))
#define SET(p, v) (*(GLOBAL unaligned_t *)(p) = (v))

// Every sum is a named variable, because compilers spill arrays of vectors.
#define COLS_1(F, i) F(i, 0)
#define COLS_2(F, i) COLS_1(F, i) F(i, 1)
#define COLS_3(F, i) COLS_2(F, i) F(i, 2)
#define COLS_4(F, i) COLS_3(F, i) F(i, 3)
#define COLS_8(F, i) COLS_4(F, i) F(i, 4) F(i, 5) F(i, 6) F(i, 7)
#define COLS(F, i) PD_CAT(COLS_, TN)(F, i)
#define ROWS_1(F) F(0)
#define ROWS_2(F) ROWS_1(F) F(1)
#define ROWS_3(F) ROWS_2(F) F(2)
#define ROWS_4(F) ROWS_3(F) F(3)
#define ROWS(F) PD_CAT(ROWS_, TM)(F)

#define CLAMP(i, count) ((i) < (count) ? (i) : (count) - 1)
#define ROW_PLACE(i) const GLOBAL real *a##i = a + (CLAMP(m + i, rows) / m_inner * a_outer + CLAMP(m + i, rows) % m_inner * a_m) * (2 * FB);
#define COL_PLACE(_, j) const GLOBAL real *b##j = b + CLAMP(n + j, cols) * b_n * (2 * FB);
#define START(i, j) vreal re_##i##_##j = VSPLAT(0), im_##i##_##j = VSPLAT(0);
#define START_ROW(i) COLS(START, i)
#define GET_B(_, j) const vreal b##j##_re = GET(b##j + k), b##j##_im = GET(b##j + k + FB);
#define ADD(i, j)                                                                                          \
    re_##i##_##j = a_re * b##j##_re + re_##i##_##j;                                                        \
    im_##i##_##j = a_im * b##j##_re + im_##i##_##j;                                                        \
    re_##i##_##j = a_im * b##j##_im + re_##i##_##j;                                                        \
    im_##i##_##j = im_##i##_##j - a_re * b##j##_im;
#define ADD_ROW(i)                                                                                         \
    {                                                                                                      \
        const vreal a_re = GET(a##i + k), a_im = GET(a##i + k + FB);                                       \
        COLS(ADD, i)                                                                                       \
    }
#define STORE_SUM(i, j)                                                                                    \
    if (m + i < rows && n + j < cols) {                                                                    \
        GLOBAL real *to = c + ((m + i) * c_m + n + j) * (2 * FB);                                          \
        SET(to, add ? GET(to) + re_##i##_##j : re_##i##_##j);                                              \
        SET(to + FB, add ? GET(to + FB) + im_##i##_##j : im_##i##_##j);                                    \
    }
#define STORE_ROW(i) COLS(STORE_SUM, i)
#define NEXT_A(i) a##i += a_k * (2 * FB);
#define NEXT_B(_, j) b##j += b_k * (2 * FB);

HELPER void multiply(GLOBAL real *c, const GLOBAL real *a, const GLOBAL real *b, const int m, const int n,
                       const int rows, const int cols, const int outer, const int inner, const int m_inner,
                       const i64 a_outer, const i64 a_m, const i64 a_k, const i64 b_n, const i64 b_k, const i64 c_m,
                       const int add) {
    ROWS(ROW_PLACE)
    COLS(COL_PLACE, 0)
    ROWS(START_ROW)
    for (int k0 = 0; k0 < outer; ++k0) {
        for (int k = 0; k < inner * (2 * FB); k += 2 * FB) {
            COLS(GET_B, 0)
            ROWS(ADD_ROW)
        }
        ROWS(NEXT_A)
        COLS(NEXT_B, 0)
    }
    ROWS(STORE_ROW)
}

// work-group = ((block of frequencies, group of channels), rows of tiles, columns of tiles)
KERNEL WG_SIZE(GROUP, 1, 1)
fft_multiply(TENSOR_RESTRICT(const real, a), TENSOR_RESTRICT(const real, b), TENSOR_RESTRICT(real, c), const int rows,
             const int cols, const int outer, const int inner, const int groups, const int m_inner, const i64 a_outer,
             const i64 a_m, const i64 a_k, const i64 a_group, const i64 a_blocks, const i64 b_n, const i64 b_k,
             const i64 b_group, const i64 b_blocks, const i64 c_m, const i64 c_group, const i64 c_blocks,
             const int step_m, const int step_n, const int steps_m, const int steps_n, const int add) {
    GRID_WAIT();
    BIND_RESTRICT(const real, a);
    BIND_RESTRICT(const real, b);
    BIND_RESTRICT(real, c);
    const int lane = LID(0) % LANES * VW, worker = LID(0) / LANES;
    const int m0 = GRP(0) % steps_m * step_m, n0 = GRP(0) / steps_m % steps_n * step_n;
    const int z = GRP(0) / steps_m / steps_n, group = z % groups, f = z / groups;
    const int m_end = m0 + step_m < rows ? m0 + step_m : rows, n_end = n0 + step_n < cols ? n0 + step_n : cols;
    a += (f * a_blocks + group * a_group) * (2 * FB) + lane;
    b += (f * b_blocks + group * b_group) * (2 * FB) + lane;
    c += (f * c_blocks + group * c_group) * (2 * FB) + lane;
    for (int n = n0 + worker % WORKERS_N * TN; n < n_end; n += WORKERS_N * TN)
        for (int m = m0 + worker / WORKERS_N * TM; m < m_end; m += WORKERS_M * TM)
            multiply(c, a, b, m, n, rows, cols, outer, inner, m_inner, a_outer, a_m, a_k, b_n, b_k, c_m, add);
}
