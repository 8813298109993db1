// Attention's gradients on Hopper's tensor cores: half and bfloat16, of which queries, keys, values and dO all are (T)
//
//   rows: queries            dq = scale * ds k          over the keys, BC at a time
//   rows: keys (KEYS)        dv = w^T dO, dk = scale * ds^T q          over the queries of all heads that share them
//
// p, w and ds as in attention/backward_mma.cu. Warpgroup 0 copies: both operands of the rows, then those of BC columns, step
// after step, each to one of STAGES places; 1 .. GROUPS multiply: 64 rows each. Products go on while a group computes: the
// second one of a step beside p, the one with w beside ds; the other groups' go on anyhow.
//
// Host defines: GROUPS, BC, STAGES, GIVEN and TAKEN (registers of those that copy and multiply), D, DV (multiples of 16), ALIKE (the
// gradients have the type T), and as attention/attention.h.

#define WARPS (4 * GROUPS)
#define STEPS 1
#include "attention/mma.h"
#include "common/wgmma.h"
#include "attention/panels.h"

#define OWN_2 (BR * 128 * PANELS(D))
#define OWN_BYTES (OWN_2 + BR * 128 * PANELS(DV))
#define OTHER_2 (BC * 128 * PANELS(D))
#define STATISTICS (OTHER_2 + BC * 128 * PANELS(DV))  // of a step, KEYS: logarithms and dots of its queries
#define STAGE_BYTES (STATISTICS + 1024)
#define PLACE(t) (OWN_BYTES + (t) % STAGES * STAGE_BYTES)
#define FULL(t) (base + OWN_BYTES + STAGES * STAGE_BYTES + (t) % STAGES * 16)
#define FREE(t) (FULL(t) + 8)
#define ROUND(t) ((t) / STAGES & 1)  // of a place's uses
// Where element e of tile n of a lane's scores is: rows are queries, or keys (KEYS)
#define ROW_AT(e) (row0 + (e) / 2 * 8)
#define COLUMN_AT(n, e) (t0 + (n) * 8 + lane % 4 * 2 + (e) % 2)
#ifdef KEYS
#define QUERY(n, e) COLUMN_AT(n, e)
#define KEY(n, e) ROW_AT(e)
#define ROW_OF(e) ((e) % 2)  // whose of a lane's two queries of a tile; which element is the other's first
#define OTHER 1
#define OUTPUTS PLACED(ELEMENT(DK_T), dk), PLACED(ELEMENT(DV_T), dv)
#define SPAN span_of_columns
#define SUMS_STAY                        \
    sums_stay<D / 2>(sum_1[0][0]);       \
    words_stay<BC / 4>(of_ds[0]);        \
    sums_stay<DV / 2>(sum_2[0][0]);      \
    words_stay<BC / 4>(of_w[0]);
#define PAIR(which, n) (*(const Two *)(tiles + PLACE(t) + STATISTICS + 4 * ((which) * BC + (n) * 8 + lane % 4 * 2)))
#define LOGARITHMS(n) const Two logarithms = PAIR(0, n);
#define DOTS(n) const Two dots = PAIR(1, n);
#define LOG_OF(e) (logarithms.v[(e) % 2] * LOG2E)
#define DOT_OF(e) dots.v[(e) % 2]
#else
#define QUERY(n, e) ROW_AT(e)
#define KEY(n, e) COLUMN_AT(n, e)
#define ROW_OF(e) ((e) / 2)
#define OTHER 2
#define OUTPUTS PLACED(ELEMENT(DQ_T), dq)
#define SPAN span_of_rows
#define LOGARITHMS(n)
#define DOTS(n)
#define SUMS_STAY                  \
    sums_stay<D / 2>(sum_1[0][0]); \
    words_stay<BC / 4>(of_ds[0]);
#define LOG_OF(e) row_log[(e) / 2]
#define DOT_OF(e) row_dot[(e) / 2]
#endif
#define COUNTS(n, e) counts(&at, &of, QUERY(n, e), KEY(n, e))

KERNEL __launch_bounds__(ITEMS + 128, 1)
attention_backward_wgmma(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(const T, grad), const float *logs,
                         const float *dot, OUTPUTS, const int k_heads, const int row_pitch, ATTENTION) {
    GRID_WAIT();
    extern __shared__ __align__(1024) unsigned char tiles[];
    ATTENTION_BIND(at)
    const u32 base = local_address(tiles);
    const int sharing = heads / k_heads;
#ifdef KEYS
    const int row_blocks = (skv + BR - 1) / BR, i0 = blockIdx.x % row_blocks * BR, z = blockIdx.x / row_blocks;
    const int b = z / k_heads, g = z % k_heads, h_first = g * sharing, turns = sharing;
    const sequence any = the_sequence(&at, b, h_first);
    const int alive = least(any.columns - i0, BR), begin = first_row(&at, &any, i0) / BC * BC;
    const int end = alive > 0 ? end_row(&at, &any, i0 + alive - 1) : 0;
#else
    const int row_blocks = (sq + BR - 1) / BR, i0 = (row_blocks - 1 - blockIdx.x % row_blocks) * BR, z = blockIdx.x / row_blocks;
    const int b = z / heads, h_first = z % heads, turns = 1, g = h_first / sharing;
    const sequence any = the_sequence(&at, b, h_first);
    const int alive = least(any.rows - i0, BR), begin = first_column(&at, &any, i0) / BC * BC;
    const int end = alive > 0 ? end_column(&at, &any, i0 + alive - 1) : 0;
#endif
    const int steps = begin < end ? (end - begin + BC - 1) / BC : 0, all_steps = turns * steps;

    if (threadIdx.x == 0) {
        for (int t = 0; t < STAGES; ++t) {
            barrier_start(FULL(t), 128);
            barrier_start(FREE(t), WARPS);
        }
    }
    __syncthreads();

    const int role = of_all_lanes(threadIdx.x / 128);
    if (role == 0) {
        registers_give<GIVEN>();
        if (steps == 0) return;
        const T *of_k = OF(k, b, g), *of_v = OF(v, b, g), *of_q = OF(q, b, h_first), *of_grad = OF(grad, b, h_first);
        const bool q_chunks = in_chunks(of_q, q_s, q_d) && q_h % 8 == 0, k_chunks = in_chunks(of_k, k_s, k_d);
        const bool grad_chunks = in_chunks(of_grad, grad_s, grad_d) && grad_h % 8 == 0, v_chunks = in_chunks(of_v, v_s, v_d);
#ifdef KEYS
        copy_panels<BR, D>(tiles, 0, of_k, k_s, k_d, i0, alive, k_chunks);
        copy_panels<BR, DV>(tiles, OWN_2, of_v, v_s, v_d, i0, alive, v_chunks);
        i64 statistics_at = ((i64)b * heads + h_first) * row_pitch;
#else
        copy_panels<BR, D>(tiles, 0, of_q, q_s, q_d, i0, alive, q_chunks);
        copy_panels<BR, DV>(tiles, OWN_2, of_grad, grad_s, grad_d, i0, alive, grad_chunks);
#endif
        int filled = 0;  // steps that have arrived
        auto arrived = [&]() {
            local_written();
            barrier_arrive(FULL(filled));
            ++filled;
        };
        for (int t = 0, j = begin; t < all_steps; ++t) {
            if (t >= STAGES && !barrier_passed(FREE(t), ROUND(t) ^ 1)) {
                copies_wait<0>();
                if (filled < t) arrived();
                barrier_wait(FREE(t), ROUND(t) ^ 1);
            }
#ifdef KEYS
            copy_panels<BC, D>(tiles, PLACE(t), of_q, q_s, q_d, j, end - j, q_chunks);
            copy_panels<BC, DV>(tiles, PLACE(t) + OTHER_2, of_grad, grad_s, grad_d, j, end - j, grad_chunks);
            copy_statistics<BC>(tiles, PLACE(t) + STATISTICS, logs + statistics_at, j, row_pitch);
            copy_statistics<BC>(tiles, PLACE(t) + STATISTICS + 4 * BC, dot + statistics_at, j, row_pitch);
#else
            copy_panels<BC, D>(tiles, PLACE(t), of_k, k_s, k_d, j, end - j, k_chunks);
            copy_panels<BC, DV>(tiles, PLACE(t) + OTHER_2, of_v, v_s, v_d, j, end - j, v_chunks);
#endif
            copies_issued();
            if (filled < t) {
                copies_wait<1>();
                arrived();
            }
            j += BC;
#ifdef KEYS
            if (j >= begin + steps * BC) {  // the next head
                j = begin;
                of_q += q_h;
                of_grad += grad_h;
                statistics_at += row_pitch;
            }
#endif
        }
        copies_wait<0>();
        arrived();
    } else {
        registers_take<TAKEN>();
        const int item = threadIdx.x - 128, lane = item % 32, warp = of_all_lanes(item / 32), group = role - 1;
        const int first = i0 + warp * 16, last = first + 15, row0 = first + lane / 4;
        const float scale = numbers[ATTN_SCALE];
        const u32 own = base + group * 64 * 128;
        float sum_1[1][D / 8][4], s[1][BC / 8][4], dp[1][BC / 8][4];
        u32 of_ds[BC / 16][4];
        set_zero<D / 8>(sum_1);
#ifdef KEYS
        float sum_2[1][DV / 8][4];
        u32 of_w[BC / 16][4];
        set_zero<DV / 8>(sum_2);
#else
        const float *log_of = logs + ((i64)b * heads + h_first) * row_pitch, *dot_of = dot + ((i64)b * heads + h_first) * row_pitch;
        float row_log[2], row_dot[2];
        UNROLL for (int half = 0; half < 2; ++half) {
            const int row = row0 + half * 8;
            row_log[half] = row < any.rows ? log_of[row] * LOG2E : 0.0f;
            row_dot[half] = row < any.rows ? dot_of[row] : 0.0f;
        }
#endif
        const span seen = SPAN(&at, &any, first, last);
        for (int t = 0, t0 = begin, h = h_first; t < all_steps; ++t) {
#ifdef ALIBI
            const sequence of = the_sequence(&at, b, h);
#else
            sequence of = any;
            of.h = h;
#endif
            barrier_wait(FULL(t), ROUND(t));
            products_begin();
            issue_scores<BR, BC, D>(s[0][0], own, base + PLACE(t));
            issue_scores<BR, BC, DV>(dp[0][0], own + OWN_2, base + PLACE(t) + OTHER_2);
            products_wait<1>();
            sums_stay<BC / 2>(s[0][0]);
            UNROLL for (int n = 0; n < BC / 8; ++n) {
                LOGARITHMS(n)
                UNROLL for (int e = 0; e < 4; ++e) {
                    float x = s[0][n][e] * (scale * LOG2E);
#if defined(BIAS_T) || defined(ALIBI)
                    if (COUNTS(n, e)) x += added(&at, &of, QUERY(n, e), KEY(n, e)) * LOG2E;
#endif
                    s[0][n][e] = power_of_two(x - LOG_OF(e));
                }
            }
#ifndef BLOCK_MASK
            if (!holds(seen, t0, BC))
#endif
            {
                UNROLL for (int n = 0; n < BC / 8; ++n) {
                    const interval of_rows[2] = {columns_of_row(&at, &of, QUERY(n, 0)), columns_of_row(&at, &of, QUERY(n, OTHER))};
                    UNROLL for (int e = 0; e < 4; ++e) {
                        if (!counts_within(&at, &of, of_rows[ROW_OF(e)], QUERY(n, e), KEY(n, e))) s[0][n][e] = 0;
                    }
                }
            }
#ifdef DROPS
            float kept[BC / 8][4];
            UNROLL for (int n = 0; n < BC / 8; ++n) {
                UNROLL for (int e = 0; e < 4; ++e) kept[n][e] = s[0][n][e] == 0 ? 0.0f : drop_factor(&at, &of, QUERY(n, e), KEY(n, e));
            }
            float w[BC / 8][4];
            UNROLL for (int n = 0; n < BC / 8; ++n) {
                UNROLL for (int e = 0; e < 4; ++e) w[n][e] = s[0][n][e] * kept[n][e];
            }
#define WEIGHTS w
#define KEPT(n, e) *kept[n][e]
#else
#define WEIGHTS s[0]
#define KEPT(n, e)
#endif
#ifdef KEYS
            pack_weights<BC>(of_w, WEIGHTS);
            products_begin();
            issue_sums<BC, DV>(sum_2[0][0], of_w, base + PLACE(t) + OTHER_2);
            products_wait<1>();
#else
            products_wait<0>();
#endif
            sums_stay<BC / 2>(dp[0][0]);
            UNROLL for (int n = 0; n < BC / 8; ++n) {
                DOTS(n)
                UNROLL for (int e = 0; e < 4; ++e) dp[0][n][e] = s[0][n][e] * (dp[0][n][e] KEPT(n, e) - DOT_OF(e));
            }
            pack_weights<BC>(of_ds, dp[0]);
            products_begin();
            issue_sums<BC, D>(sum_1[0][0], of_ds, base + PLACE(t));
            products_wait<0>();
            SUMS_STAY
            __syncwarp();  // what the others of the sub-group read is before this, too
            if (lane == 0) barrier_arrive(FREE(t));
            t0 += BC;
            if (t0 >= begin + steps * BC) {
                t0 = begin;
                ++h;
            }
        }
        UNROLL for (int n = 0; n < D / 8; ++n) {
            UNROLL for (int e = 0; e < 4; ++e) sum_1[0][n][e] *= scale;
        }
        turn_wait(8 + group, 128);  // the group's rows have been used
#ifdef KEYS
        ELEMENT(DK_T) *of_dk = OF(dk, b, g);
        ELEMENT(DV_T) *of_dv = OF(dv, b, g);
        put_rows<BR, D, ALIKE>(tiles, 0, sum_1[0], warp, lane, of_dk, dk_s, dk_d, first, ROWS_HELD(dk, b, skv),
                               [&](int row, int column, float v) { PUT(DK_T, of_dk, row * dk_s + column * dk_d, v); });
        put_rows<BR, DV, ALIKE>(tiles, OWN_2, sum_2[0], warp, lane, of_dv, dv_s, dv_d, first, ROWS_HELD(dv, b, skv),
                                [&](int row, int column, float v) { PUT(DV_T, of_dv, row * dv_s + column * dv_d, v); });
#else
        ELEMENT(DQ_T) *of_dq = OF(dq, b, h_first);
        put_rows<BR, D, ALIKE>(tiles, 0, sum_1[0], warp, lane, of_dq, dq_s, dq_d, first, ROWS_HELD(dq, b, sq),
                               [&](int row, int column, float v) { PUT(DQ_T, of_dq, row * dq_s + column * dq_d, v); });
#endif
    }
}
