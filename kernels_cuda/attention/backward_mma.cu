// Attention's gradients on tensor cores: half and bfloat16, of which queries, keys, values and dO all are (T)
//
//   p = exp(scale * s + ... - logs)      w = p * dropout      ds = p * (dp * dropout - dot),   dp: products of dO and values
//
//   rows: queries            dq = scale * ds k          over the keys, BC at a time
//   rows: keys (KEYS)        dv = w^T dO, dk = scale * ds^T q          over the queries of all heads that share them
//
// A sub-group has WARP_ROWS rows; its scores, their gradients and the sums stay in its registers (attention/mma.h). Local memory
// holds both operands of the rows, and two steps of those of the columns: one is copied while the other is used. w and ds are
// rounded to T.
//
// Host defines: WARPS, STEPS, BC, AT_ONCE (of BC columns, those whose scores a sub-group holds), BLOCKS (work-groups that a
// multiprocessor shall hold), D, DV, and as attention/attention.h.

#include "attention/mma.h"

#define ROW_BYTES (BR * (PITCH(D) + PITCH(DV)))
#define STATISTICS (BC * (PITCH(D) + PITCH(DV)))  // of a step, KEYS: logarithms and dots of its queries
#define STEP_BYTES (STATISTICS + 8 * BC)
// Where element e of a lane's scores is: rows of the tile are queries, or keys (KEYS)
#define ROW_AT(m, e) (row0 + (m) * 16 + (e) / 2 * 8)
#define COLUMN_AT(n, e) (c + (n) * 8 + lane % 4 * 2 + (e) % 2)
#ifdef KEYS
#define QUERY(m, n, e) COLUMN_AT(n, e)
#define KEY(m, n, e) ROW_AT(m, e)
#else
#define QUERY(m, n, e) ROW_AT(m, e)
#define KEY(m, n, e) COLUMN_AT(n, e)
#endif
#define COUNTS(m, n, e) counts(&at, &of, QUERY(m, n, e), KEY(m, n, e))
#ifdef KEYS
#define OUTPUTS PLACED(ELEMENT(DK_T), dk), PLACED(ELEMENT(DV_T), dv)
#else
#define OUTPUTS PLACED(ELEMENT(DQ_T), dq)
#endif

KERNEL __launch_bounds__(ITEMS, BLOCKS)
attention_backward_mma(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(const T, grad), const float *logs,
                       const float *dot, OUTPUTS, const int k_heads, const int row_pitch, ATTENTION) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    ATTENTION_BIND(at)
    const u32 base = local_address(tiles);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, sharing = heads / k_heads;
#ifdef KEYS
    const int row_blocks = (skv + BR - 1) / BR, first = blockIdx.x % row_blocks * BR, z = blockIdx.x / row_blocks;
    const int b = z / k_heads, g = z % k_heads, h_first = g * sharing, h_end = h_first + sharing;
#else
    const int row_blocks = (sq + BR - 1) / BR, first = (row_blocks - 1 - blockIdx.x % row_blocks) * BR, z = blockIdx.x / row_blocks;
    const int b = z / heads, h_first = z % heads, h_end = h_first + 1, g = h_first / sharing;
#endif
    const float scale = numbers[ATTN_SCALE];
    const int from = first + warp * WARP_ROWS, last = from + WARP_ROWS - 1, row0 = from + lane / 4;
    const u32 left_1 = left_place(base + warp * WARP_ROWS * PITCH(D), lane, PITCH(D));
    const u32 left_2 = left_place(base + BR * PITCH(D) + warp * WARP_ROWS * PITCH(DV), lane, PITCH(DV));
    float sum_1[STEPS][WIDE(D) / 8][4];
    set_zero<WIDE(D) / 8>(sum_1);
#ifdef KEYS
    float sum_2[STEPS][WIDE(DV) / 8][4];
    set_zero<WIDE(DV) / 8>(sum_2);
#endif
    for (int h = h_first; h < h_end; ++h) {
        const sequence of = the_sequence(&at, b, h);
        const T *of_q = OF(q, b, h), *of_grad = OF(grad, b, h), *of_k = OF(k, b, g), *of_v = OF(v, b, g);
        const float *log_of = logs + ((i64)b * heads + h) * row_pitch, *dot_of = dot + ((i64)b * heads + h) * row_pitch;
#ifdef KEYS
        const int alive = least(of.columns - first, BR), begin = first_row(&at, &of, first) / BC * BC;
        const int end = alive > 0 ? end_row(&at, &of, first + alive - 1) : 0;
        const span seen = span_of_columns(&at, &of, from, last);
#define COPY_ROWS                                                                       \
    copy_rows<BR, D>(tiles, 0, of_k, k_s, k_d, first, alive);                           \
    copy_rows<BR, DV>(tiles, BR * PITCH(D), of_v, v_s, v_d, first, alive);
#define COPY_STEP(t, to)                                                                \
    copy_rows<BC, D>(tiles, to, of_q, q_s, q_d, t, end - (t));                          \
    copy_rows<BC, DV>(tiles, (to) + BC * PITCH(D), of_grad, grad_s, grad_d, t, end - (t)); \
    copy_numbers(tiles, (to) + STATISTICS, log_of, t, row_pitch);                       \
    copy_numbers(tiles, (to) + STATISTICS + 4 * BC, dot_of, t, row_pitch);
#else
        const int alive = least(of.rows - first, BR), begin = first_column(&at, &of, first) / BC * BC;
        const int end = alive > 0 ? end_column(&at, &of, first + alive - 1) : 0;
        const span seen = span_of_rows(&at, &of, from, last);
        float row_log[STEPS][2], row_dot[STEPS][2];
        UNROLL for (int m = 0; m < STEPS; ++m) {
            UNROLL for (int half = 0; half < 2; ++half) {
                const int row = row0 + m * 16 + half * 8;
                row_log[m][half] = row < of.rows ? log_of[row] * LOG2E : 0.0f;
                row_dot[m][half] = row < of.rows ? dot_of[row] : 0.0f;
            }
        }
#define COPY_ROWS                                                                       \
    copy_rows<BR, D>(tiles, 0, of_q, q_s, q_d, first, alive);                           \
    copy_rows<BR, DV>(tiles, BR * PITCH(D), of_grad, grad_s, grad_d, first, alive);
#define COPY_STEP(t, to)                                                                \
    copy_rows<BC, D>(tiles, to, of_k, k_s, k_d, t, end - (t));                          \
    copy_rows<BC, DV>(tiles, (to) + BC * PITCH(D), of_v, v_s, v_d, t, end - (t));
#endif
        __syncthreads();  // the rows of the head before have been used
        COPY_ROWS
        if (begin < end) {
            COPY_STEP(begin, ROW_BYTES)
        }
        copies_issued();
        int stage = 0;
        for (int t = begin; t < end; t += BC, stage ^= 1) {
            copies_wait<0>();
            __syncthreads();  // this step's operands are there, the other's have been used
            if (t + BC < end) {
                COPY_STEP(t + BC, ROW_BYTES + (stage ^ 1) * STEP_BYTES)
            }
            copies_issued();
            const u32 step = base + ROW_BYTES + stage * STEP_BYTES;
#ifdef KEYS
            const unsigned char *statistics = tiles + ROW_BYTES + stage * STEP_BYTES + STATISTICS;
#endif
            // registers hold one part's scores
#pragma unroll 1
            for (int c = t; c < t + BC; c += AT_ONCE) {
                if (!meets(seen, c, AT_ONCE)) continue;
                const u32 step_1 = step + (c - t) * PITCH(D), step_2 = step + BC * PITCH(D) + (c - t) * PITCH(DV);
#ifdef KEYS
#define PAIR(which, n) (*(const Two *)(statistics + 4 * ((which) * BC + COLUMN_AT(n, 0) - t)))
#define LOG_OF(m, n, e) (logarithms.v[(e) % 2] * LOG2E)
#define DOT_OF(m, n, e) dots.v[(e) % 2]
#else
#define LOG_OF(m, n, e) row_log[m][(e) / 2]
#define DOT_OF(m, n, e) row_dot[m][(e) / 2]
#endif
                float s[STEPS][AT_ONCE / 8][4], dp[STEPS][AT_ONCE / 8][4];
                multiply_scores<AT_ONCE, D>(s, left_1, right_place(step_1, lane, PITCH(D)));
                multiply_scores<AT_ONCE, DV>(dp, left_2, right_place(step_2, lane, PITCH(DV)));
                UNROLL for (int n = 0; n < AT_ONCE / 8; ++n) {
#ifdef KEYS
                    const Two logarithms = PAIR(0, n);
#endif
                    UNROLL for (int m = 0; m < STEPS; ++m) {
                        UNROLL for (int e = 0; e < 4; ++e) {
                            float x = s[m][n][e] * (scale * LOG2E);
#if defined(BIAS_T) || defined(ALIBI)
                            if (COUNTS(m, n, e)) x += added(&at, &of, QUERY(m, n, e), KEY(m, n, e)) * LOG2E;
#endif
                            s[m][n][e] = power_of_two(x - LOG_OF(m, n, e));
                        }
                    }
                }
#ifndef BLOCK_MASK
                if (!holds(seen, c, AT_ONCE))
#endif
                {
                    UNROLL for (int m = 0; m < STEPS; ++m) {
                        UNROLL for (int n = 0; n < AT_ONCE / 8; ++n) {
                            UNROLL for (int e = 0; e < 4; ++e) {
                                if (!COUNTS(m, n, e)) s[m][n][e] = 0;
                            }
                        }
                    }
                }
                UNROLL for (int n = 0; n < AT_ONCE / 8; ++n) {
#ifdef KEYS
                    const Two dots = PAIR(1, n);
#endif
                    UNROLL for (int m = 0; m < STEPS; ++m) {
                        UNROLL for (int e = 0; e < 4; ++e) {
                            const float p = s[m][n][e];
#ifdef DROPS
                            const float kept = p == 0 ? 0.0f : drop_factor(&at, &of, QUERY(m, n, e), KEY(m, n, e));
                            s[m][n][e] = p * kept;
                            dp[m][n][e] = p * (dp[m][n][e] * kept - DOT_OF(m, n, e));
#else
                            dp[m][n][e] = p * (dp[m][n][e] - DOT_OF(m, n, e));
#endif
                        }
                    }
                }
                add_product<AT_ONCE, D>(sum_1, dp, summed_place(step_1, lane, PITCH(D)));
#ifdef KEYS
                add_product<AT_ONCE, DV>(sum_2, s, summed_place(step_2, lane, PITCH(DV)));
#endif
            }
        }
        copies_wait<0>();
    }
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int e = 0; e < 4; ++e) {
            const int row = ROW_AT(m, e);
#ifdef KEYS
            if (row >= skv) continue;
            UNROLL for (int n = 0; n < WIDE(D) / 8; ++n) {
                const int column = n * 8 + lane % 4 * 2 + e % 2;
                if (column < D && HAS_ROW(dk, b, row)) PUT(DK_T, OF(dk, b, g), row * dk_s + column * dk_d, sum_1[m][n][e] * scale);
            }
            UNROLL for (int n = 0; n < WIDE(DV) / 8; ++n) {
                const int column = n * 8 + lane % 4 * 2 + e % 2;
                if (column < DV && HAS_ROW(dv, b, row)) PUT(DV_T, OF(dv, b, g), row * dv_s + column * dv_d, sum_2[m][n][e]);
            }
#else
            if (row >= sq) continue;
            UNROLL for (int n = 0; n < WIDE(D) / 8; ++n) {
                const int column = n * 8 + lane % 4 * 2 + e % 2;
                if (column < D && HAS_ROW(dq, b, row)) PUT(DQ_T, OF(dq, b, h_first), row * dq_s + column * dq_d, sum_1[m][n][e] * scale);
            }
#endif
        }
    }
}
