// Attention's gradients on tensor cores: half and bfloat16, of which queries, keys, values and dO all are (T)
//
//   p = exp(scale * s + ... - logs)      w = p * dropout      ds = p * (dp * dropout - dot),   dp: products of dO and values
//
//   rows: queries            dq = scale * ds k          over the keys, BC at a time
//   rows: keys (KEYS)        dv = w^T dO, dk = scale * ds^T q          over the queries of all heads that share them
//
// A sub-group has 16 rows; its scores, their gradients and the sums stay in its registers (attention_mma.h). Local memory holds
// both operands of the rows, and two steps of those of the columns: one is copied while the other is used. w and ds are rounded
// to T.

#include "attention_mma.h"

#define BC 32
#define ROW_BYTES (BR * (PITCH(D) + PITCH(DV)))
#define STEP_BYTES (BC * (PITCH(D) + PITCH(DV)))
#ifdef KEYS
#define OUTPUTS PLACED(ELEMENT(DK_T), dk), PLACED(ELEMENT(DV_T), dv)
#else
#define OUTPUTS PLACED(ELEMENT(DQ_T), dq)
#endif

KERNEL __launch_bounds__(ITEMS)
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
    const int row0 = first + warp * 16 + lane / 4;  // and 8 below
    const u32 left_1 = left_place(base + warp * 16 * PITCH(D), lane, PITCH(D));
    const u32 left_2 = left_place(base + BR * PITCH(D) + warp * 16 * PITCH(DV), lane, PITCH(DV));
    float sum_1[WIDE(D) / 8][4];
    UNROLL for (int n = 0; n < WIDE(D) / 8; ++n) {
        UNROLL for (int e = 0; e < 4; ++e) sum_1[n][e] = 0;
    }
#ifdef KEYS
    float sum_2[WIDE(DV) / 8][4];
    UNROLL for (int n = 0; n < WIDE(DV) / 8; ++n) {
        UNROLL for (int e = 0; e < 4; ++e) sum_2[n][e] = 0;
    }
#endif
    for (int h = h_first; h < h_end; ++h) {
        const sequence of = the_sequence(&at, b, h);
        const T *of_q = OF(q, b, h), *of_grad = OF(grad, b, h), *of_k = OF(k, b, g), *of_v = OF(v, b, g);
        const float *log_of = logs + ((i64)b * heads + h) * row_pitch, *dot_of = dot + ((i64)b * heads + h) * row_pitch;
#ifdef KEYS
        const int alive = least(of.columns - first, BR), begin = first_row(&at, &of, first) / BC * BC;
        const int end = alive > 0 ? end_row(&at, &of, first + alive - 1) : 0;
#define COPY_ROWS                                                                       \
    copy_rows(tiles, 0, of_k, k_s, k_d, first, alive, BR, D);                           \
    copy_rows(tiles, BR * PITCH(D), of_v, v_s, v_d, first, alive, BR, DV);
#define COPY_STEP(t, to)                                                                \
    copy_rows(tiles, to, of_q, q_s, q_d, t, end - (t), BC, D);                          \
    copy_rows(tiles, (to) + BC * PITCH(D), of_grad, grad_s, grad_d, t, end - (t), BC, DV);
#else
        const int alive = least(of.rows - first, BR), begin = first_column(&at, &of, first) / BC * BC;
        const int end = alive > 0 ? end_column(&at, &of, first + alive - 1) : 0;
        float row_log[2], row_dot[2];
        UNROLL for (int half = 0; half < 2; ++half) {
            row_log[half] = row0 + 8 * half < of.rows ? log_of[row0 + 8 * half] : 0.0f;
            row_dot[half] = row0 + 8 * half < of.rows ? dot_of[row0 + 8 * half] : 0.0f;
        }
#define COPY_ROWS                                                                       \
    copy_rows(tiles, 0, of_q, q_s, q_d, first, alive, BR, D);                           \
    copy_rows(tiles, BR * PITCH(D), of_grad, grad_s, grad_d, first, alive, BR, DV);
#define COPY_STEP(t, to)                                                                \
    copy_rows(tiles, to, of_k, k_s, k_d, t, end - (t), BC, D);                          \
    copy_rows(tiles, (to) + BC * PITCH(D), of_v, v_s, v_d, t, end - (t), BC, DV);
#endif
        __syncthreads();  // the rows of the head before have been used
        COPY_ROWS
        if (begin < end) {
            COPY_STEP(begin, ROW_BYTES)
        }
        copies_issued();
        int stage = 0;
        for (int t = begin; t < end; t += BC, stage ^= 1) {
            if (t + BC < end) {
                COPY_STEP(t + BC, ROW_BYTES + (stage ^ 1) * STEP_BYTES)
            }
            copies_issued();
            copies_wait<1>();
            __syncthreads();
            const u32 step_1 = base + ROW_BYTES + stage * STEP_BYTES, step_2 = step_1 + BC * PITCH(D);
            float s[BC / 8][4], dp[BC / 8][4];
            multiply_scores<BC, D>(s, left_1, right_place(step_1, lane, PITCH(D)));
            multiply_scores<BC, DV>(dp, left_2, right_place(step_2, lane, PITCH(DV)));
            const int last = first + BR - 1;
#ifdef KEYS
            bool all = last < of.columns && t >= first_row(&at, &of, last) && t + BC <= end_row(&at, &of, first);
#else
            bool all = last < of.rows && t >= first_column(&at, &of, last) && t + BC <= end_column(&at, &of, first);
#endif
            UNROLL for (int n = 0; n < BC / 8; ++n) {
                UNROLL for (int e = 0; e < 4; ++e) {
                    const int row = row0 + 8 * (e / 2), column = t + n * 8 + lane % 4 * 2 + e % 2;
#ifdef KEYS
                    const int i = column, j = row;
                    const float logarithm = i < sq ? log_of[i] : 0.0f, mean = i < sq ? dot_of[i] : 0.0f;
#else
                    const int i = row, j = column;
                    const float logarithm = row_log[e / 2], mean = row_dot[e / 2];
#endif
                    float p = 0, kept = 1;
                    if (all || counts(&at, &of, i, j)) {
                        float x = s[n][e] * scale;
#if defined(BIAS_T) || defined(ALIBI)
                        x += added(&at, &of, i, j);
#endif
                        p = exp2f((x - logarithm) * LOG2E);
                        kept = drop_factor(&at, &of, i, j);
                    }
                    s[n][e] = p * kept;
                    dp[n][e] = p * (dp[n][e] * kept - mean);
                }
            }
            add_product<BC, D>(sum_1, dp, summed_place(step_1, lane, PITCH(D)));
#ifdef KEYS
            add_product<BC, DV>(sum_2, s, summed_place(step_2, lane, PITCH(DV)));
#endif
            __syncthreads();  // this step's operands have been used
        }
    }
    UNROLL for (int e = 0; e < 4; ++e) {
        const int row = row0 + 8 * (e / 2);
#ifdef KEYS
        if (row < skv) {
            UNROLL for (int n = 0; n < WIDE(D) / 8; ++n) {
                const int column = n * 8 + lane % 4 * 2 + e % 2;
                if (column < D) PUT(DK_T, OF(dk, b, g), row * dk_s + column * dk_d, sum_1[n][e] * scale);
            }
            UNROLL for (int n = 0; n < WIDE(DV) / 8; ++n) {
                const int column = n * 8 + lane % 4 * 2 + e % 2;
                if (column < DV) PUT(DV_T, OF(dv, b, g), row * dv_s + column * dv_d, sum_2[n][e]);
            }
        }
#else
        if (row < sq) {
            UNROLL for (int n = 0; n < WIDE(D) / 8; ++n) {
                const int column = n * 8 + lane % 4 * 2 + e % 2;
                if (column < D) PUT(DQ_T, OF(dq, b, h_first), row * dq_s + column * dq_d, sum_1[n][e] * scale);
            }
        }
#endif
    }
}
