// Attention forward on tensor cores: half and bfloat16, of which queries, keys and values all are (T)
//
//              BC = 64 keys
//            +--------------+    a sub-group of 32 has 16 queries (one row of product steps, mma.h); scores, probabilities
//   16 rows  |              |    and output of its rows stay in its registers. Queries, a step's keys and its values lie in
//   each     |              |    local memory, rows of PITCH bytes: an odd number of chunks of 16, so that ldmatrix meets
//            +--------------+    every bank once.
//
// The next keys are being copied while probabilities meet the values, the next values while scores are computed. What is
// beyond the sequences, or beyond D or DV in a row, is zeros.
//
// A lane's scores: rows lane / 4 and 8 below, columns 2 * (lane % 4) and the next of each run of eight.
//
// Host defines: WARPS, D, DV, and as attention.h.

#include "attention_mma.h"
#include "attention_outputs.h"

#define BC 64
#define Q_BYTES (BR * PITCH(D))
#define K_BYTES (BC * PITCH(D))
#define OUT_TILES (WIDE(DV) / 8)

KERNEL __launch_bounds__(ITEMS)
attention_forward_mma(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(ELEMENT(O_T), o) ROW_OUTPUTS,
              const int k_heads, const int v_heads, ATTENTION) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    ATTENTION_BIND(at)
    const u32 base = local_address(tiles);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row_blocks = (sq + BR - 1) / BR;
    // the last rows first, which see most in a triangle
    const int i0 = (row_blocks - 1 - blockIdx.x % row_blocks) * BR, z = blockIdx.x / row_blocks, b = z / heads, h = z % heads;
    const sequence of = the_sequence(&at, b, h);
    const int alive = least(of.rows - i0, BR);
    const int begin = first_column(&at, &of, i0) / BC * BC, end = alive > 0 ? end_column(&at, &of, i0 + alive - 1) : 0;
    const T *of_q = OF(q, b, h), *of_k = OF(k, b, h / (heads / k_heads)), *of_v = OF(v, b, h / (heads / v_heads));
    const float scale = numbers[ATTN_SCALE];

    copy_rows(tiles, 0, of_q, q_s, q_d, i0, alive, BR, D);
    if (begin < end) copy_rows(tiles, Q_BYTES, of_k, k_s, k_d, begin, end - begin, BC, D);
    copies_issued();

    float out[OUT_TILES][4], top[2], sum[2];
    UNROLL for (int n = 0; n < OUT_TILES; ++n) {
        UNROLL for (int e = 0; e < 4; ++e) out[n][e] = 0;
    }
    UNROLL for (int half = 0; half < 2; ++half) {
        top[half] = -INFINITY_OF(float);
        sum[half] = 0;
    }
    const int row0 = i0 + warp * 16 + lane / 4;  // and 8 below
    const u32 a_at = left_place(base + warp * 16 * PITCH(D), lane, PITCH(D));
    const u32 b_at = right_place(base + Q_BYTES, lane, PITCH(D));
    const u32 v_at = summed_place(base + Q_BYTES + K_BYTES, lane, PITCH(DV));

    for (int j0 = begin; j0 < end; j0 += BC) {
        copies_wait<0>();
        __syncthreads();  // keys are there; the values of the step before have been used
        copy_rows(tiles, Q_BYTES + K_BYTES, of_v, v_s, v_d, j0, end - j0, BC, DV);
        copies_issued();
        float s[BC / 8][4];
        multiply_scores<BC, D>(s, a_at, b_at);
        copies_wait<0>();
        __syncthreads();  // values are there; the keys have been used
        if (j0 + BC < end) copy_rows(tiles, Q_BYTES, of_k, k_s, k_d, j0 + BC, end - j0 - BC, BC, D);
        copies_issued();

        const int last = i0 + BR - 1;
        bool all = last < of.rows && j0 >= first_column(&at, &of, last) && j0 + BC <= end_column(&at, &of, i0);
#if defined(BLOCK_MASK)
        all = false;
#endif
        UNROLL for (int half = 0; half < 2; ++half) {
            const int row = row0 + 8 * half;
            float higher = top[half];
            UNROLL for (int n = 0; n < BC / 8; ++n) {
                UNROLL for (int e = 2 * half; e < 2 * half + 2; ++e) {
                    const int column = j0 + n * 8 + lane % 4 * 2 + e % 2;
                    float x = s[n][e] * scale;
#if defined(BIAS_T) || defined(ALIBI)
                    if (counts(&at, &of, row, column)) x += added(&at, &of, row, column);
                    else x = -INFINITY_OF(float);
#else
                    if (!all && !counts(&at, &of, row, column)) x = -INFINITY_OF(float);
#endif
                    s[n][e] = x;
                    higher = x > higher ? x : higher;
                }
            }
            higher = across_four_most(higher);
            const float from = higher == -INFINITY_OF(float) ? 0.0f : higher;
            const float factor = exp2f((top[half] - from) * LOG2E);
            top[half] = higher;
            sum[half] *= factor;
            UNROLL for (int n = 0; n < OUT_TILES; ++n) {
                out[n][2 * half] *= factor;
                out[n][2 * half + 1] *= factor;
            }
            UNROLL for (int n = 0; n < BC / 8; ++n) {
                UNROLL for (int e = 2 * half; e < 2 * half + 2; ++e) {
                    float p = exp2f((s[n][e] - from) * LOG2E);
                    sum[half] += p;
#ifdef DROPS
                    if (p != 0) p *= drop_factor(&at, &of, row, j0 + n * 8 + lane % 4 * 2 + e % 2);
#endif
                    s[n][e] = p;
                }
            }
        }
        add_product<BC, DV>(out, s, v_at);
    }
    copies_wait<0>();
    UNROLL for (int half = 0; half < 2; ++half) {
        const int row = row0 + 8 * half;
        float total = across_four_sum(sum[half]), factor = 1;
#ifdef SINK_T
        if (row < of.rows) {
            const float token = GET(SINK_T, sink, h * sink_h), higher = token > top[half] ? token : top[half];
            factor = exp2f((top[half] - higher) * LOG2E);
            total = total * factor + exp2f((token - higher) * LOG2E);
            top[half] = higher;
        }
#endif
        factor = total == 0 ? 0.0f : factor / total;
        if (row < sq) {
            UNROLL for (int n = 0; n < OUT_TILES; ++n) {
                UNROLL for (int e = 0; e < 2; ++e) {
                    const int column = n * 8 + lane % 4 * 2 + e;
                    if (column < DV) PUT(O_T, OF(o, b, h), row * o_s + column * o_d, out[n][2 * half + e] * factor);
                }
            }
            if (lane % 4 == 0) {
                PUT_ROW(row, top[half], total)
            }
        }
    }
}
