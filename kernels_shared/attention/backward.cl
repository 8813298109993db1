// Attention's gradients on GPUs. Scores are computed again from operands and statistics, a tile at a time (attention/tile.h):
//
//   p = exp(scale * s + ... - logs)      w = p * dropout      ds = p * (dp * dropout - dot),   dp: products of dO and values
//
//   attention_dq      rows: queries      dq = scale * ds k          over the keys
//   attention_dkv     rows: keys         dv = w^T dO, dk = scale * ds^T q          over the queries of all heads that share them
//   attention_dbias   ds, summed over what the bias is broadcast along
//
// Local memory holds the rows' operands, one of the other side's in turn, and a tile of w or ds; sums stay in registers, each in
// a fixed order. With S_T (FP8) w and scale * ds are rounded before they are multiplied.

#include "attention/tile.h"
#include "attention/keys.h"

#define OUT_D ((D + TX - 1) / TX)
#define OUT_DV ((DV + TX - 1) / TX)
#define OTHERS (BC * ((D > DV ? D : DV) + 1))
#define ROW_D (BR * (D + 1))
#define ROW_DV (BR * (DV + 1))
#define INPUTS                                                                                                        \
    PLACED(const ELEMENT(Q_T), q), PLACED(const ELEMENT(K_T), k), PLACED(const ELEMENT(V_T), v), PLACED(const ELEMENT(DO_T), grad), \
        TENSOR(const real, logs), TENSOR(const real, dot), const int k_heads, const int v_heads, const int row_pitch
#define BIND_INPUTS              \
    BIND(const ELEMENT(Q_T), q); \
    BIND(const ELEMENT(K_T), k); \
    BIND(const ELEMENT(V_T), v); \
    BIND(const ELEMENT(DO_T), grad); \
    BIND(const real, logs);      \
    BIND(const real, dot);
#define LOAD_Q(to, rows, count, most) LOAD_TILE(Q_T, to, OF(q, b, h), rows, count, most, D, q_s, q_d, numbers[DESCALE_Q])
#define LOAD_K(to, rows, count, most) \
    LOAD_TILE(K_T, to, OF(k, b, h / (heads / k_heads)), rows, count, most, D, k_s, k_d, numbers[DESCALE_K])
#define LOAD_V(to, rows, count, most) \
    LOAD_TILE(V_T, to, OF(v, b, h / (heads / v_heads)), rows, count, most, DV, v_s, v_d, numbers[DESCALE_V])
#define LOAD_GRAD(to, rows, count, most) \
    LOAD_TILE(DO_T, to, OF(grad, b, h), rows, count, most, DV, grad_s, grad_d, numbers[DESCALE_DO])

// The probability of score s at (i, j); 0 where it does not count
DEVICE real probability(const attention *at, const sequence *of, real s, int i, int j, real log_of) {
    return counts(at, of, i, j) ? exp(s * at->numbers[ATTN_SCALE] + added(at, of, i, j) - log_of) : (real)0;
}
// A score s at (i, j) becomes w, and dp becomes ds
#define DIFFERENTIATE(s, dp, i, j, log_of, dot_of)                                    \
    {                                                                                 \
        const real p = probability(&at, &of, s, i, j, log_of);                        \
        const real kept = p == 0 ? (real)0 : drop_factor(&at, &of, i, j);             \
        s = p * kept;                                                                 \
        dp = p == 0 ? (real)0 : p * (dp * kept - (dot_of));                           \
    }

#ifdef S_T
#define STORED(v, which) (ROUNDED(S_T, (v) * numbers[SCALE_##which]) * numbers[DESCALE_##which])
#else
#define STORED(v, which) (v)
#endif

// The largest of the work-items' numbers, through local memory
#define LEAVE_MOST(top, to)                                                                             \
    BARRIER();                                                                                          \
    weights[LID(0)] = top;                                                                              \
    BARRIER();                                                                                          \
    if (LID(0) == 0) {                                                                                  \
        for (int item = 1; item < ITEMS; ++item) top = weights[item] > top ? weights[item] : top;       \
        (to)[GRP(0)] = top;                                                                             \
    }
#define LARGER(top, v) top = (v) > top ? (v) : -(v) > top ? -(v) : top

#ifdef DQ_T
KERNEL WG_SIZE(ITEMS, 1, 1)
attention_dq(INPUTS, PLACED(ELEMENT(DQ_T), dq), TENSOR(real, most_ds), TENSOR(real, most_dq), ATTENTION) {
    GRID_WAIT();
    BIND_INPUTS
    BIND(ELEMENT(DQ_T), dq);
    BIND(real, most_ds);
    BIND(real, most_dq);
    ATTENTION_BIND(at)
    LOCAL real queries[ROW_D];
    LOCAL real gradients[ROW_DV];
    LOCAL real others[OTHERS];
    LOCAL real weights[BR * (BC + 1)];
    const int x = LID(0) % TX, y = LID(0) / TX;
    const int row_blocks = (sq + BR - 1) / BR;
    const int i0 = (row_blocks - 1 - GRP(0) % row_blocks) * BR, z = GRP(0) / row_blocks, b = z / heads, h = z % heads;
    const sequence of = the_sequence(&at, b, h);
    const int alive = least(of.rows - i0, BR);
    const int end = alive > 0 ? end_column(&at, &of, i0 + alive - 1) : 0;
    LOAD_Q(queries, i0, alive, BR)
    LOAD_GRAD(gradients, i0, alive, BR)
    real sum[RM][OUT_D], log_of[RM], dot_of[RM], top_ds = 0, top_dq = 0;
    EACH_ROW(i) {
        const i64 row = (i64)z * row_pitch + i0 + ROW(i);
        log_of[i] = ROW(i) < alive ? logs[row] : (real)0;
        dot_of[i] = ROW(i) < alive ? dot[row] : (real)0;
        UNROLL for (int m = 0; m < OUT_D; ++m) sum[i][m] = 0;
    }
    for (int j0 = first_column(&at, &of, i0); j0 < end; j0 += BC) {
        const int columns = least(end - j0, BC);
        real s[RM][CN], dp[RM][CN];
        BARRIER();
        LOAD_V(others, j0, columns, BC)
        BARRIER();
        multiply_tile(dp, gradients, others, DV, x, y);
        BARRIER();
        LOAD_K(others, j0, columns, BC)
        BARRIER();
        multiply_tile(s, queries, others, D, x, y);
        EACH_ROW(i) EACH_COLUMN(j) {
            DIFFERENTIATE(s[i][j], dp[i][j], i0 + ROW(i), j0 + COLUMN(j), log_of[i], dot_of[i])
            const real ds = dp[i][j] * numbers[ATTN_SCALE];
            LARGER(top_ds, ds);
            weights[ROW(i) * (BC + 1) + COLUMN(j)] = STORED(ds, DP);
        }
        BARRIER();
        ADD_PRODUCT(sum, OUT_D, weights, others, columns, D)
    }
    EACH_ROW(i) UNROLL for (int m = 0; m < OUT_D; ++m) {
        const int row = i0 + ROW(i), n = x + TX * m;
        if (row < sq && n < D) {
            LARGER(top_dq, sum[i][m]);
            if (HAS_ROW(dq, b, row)) PUT(DQ_T, OF(dq, b, h), row * dq_s + n * dq_d, sum[i][m] * numbers[SCALE_DQ]);
        }
    }
    LEAVE_MOST(top_ds, most_ds)
    LEAVE_MOST(top_dq, most_dq)
}
#endif

#ifdef OF_KEYS
// With DK_T the gradient to keys, with DV_T that to values; the heads of queries in turn that share a head of these
KERNEL WG_SIZE(ITEMS, 1, 1)
attention_dkv(INPUTS DK_ARGUMENT DV_ARGUMENT, TENSOR(real, most_dk), TENSOR(real, most_dv), const int out_heads, ATTENTION) {
    GRID_WAIT();
    BIND_INPUTS
    DK_BIND DV_BIND
    BIND(real, most_dk);
    BIND(real, most_dv);
    ATTENTION_BIND(at)
    LOCAL real keys[ROW_D];
    LOCAL real values[ROW_DV];
    LOCAL real others[OTHERS];
    LOCAL real weights[BR * (BC + 1)];
    const int x = LID(0) % TX, y = LID(0) / TX, sharing = heads / out_heads;
    const int row_blocks = (skv + BR - 1) / BR, j0 = GRP(0) % row_blocks * BR, z_out = GRP(0) / row_blocks;
    const int b = z_out / out_heads, g = z_out % out_heads;
    real sum_k[RM][OUT_D], sum_v[RM][OUT_DV], top_k = 0, top_v = 0;
    EACH_ROW(j) {
        UNROLL for (int m = 0; m < OUT_D; ++m) sum_k[j][m] = 0;
        UNROLL for (int m = 0; m < OUT_DV; ++m) sum_v[j][m] = 0;
    }
    for (int h = g * sharing; h < (g + 1) * sharing; ++h) {
        const sequence of = the_sequence(&at, b, h);
        const int alive = least(of.columns - j0, BR);
        const int end = alive > 0 ? end_row(&at, &of, j0 + alive - 1) : 0;
        BARRIER();
        LOAD_K(keys, j0, alive, BR)
        LOAD_V(values, j0, alive, BR)
        for (int i0 = first_row(&at, &of, j0); i0 < end; i0 += BC) {
            const int columns = least(end - i0, BC);
            const i64 row = ((i64)b * heads + h) * row_pitch + i0;
            real s[RM][CN], dp[RM][CN];
            BARRIER();
            LOAD_Q(others, i0, columns, BC)
            BARRIER();
            multiply_tile(s, keys, others, D, x, y);
            BARRIER();
            LOAD_GRAD(others, i0, columns, BC)
            BARRIER();
            multiply_tile(dp, values, others, DV, x, y);
            EACH_ROW(j) EACH_COLUMN(i) {
                const int inside = COLUMN(i) < columns;
                const real log_of = inside ? logs[row + COLUMN(i)] : (real)0, dot_of = inside ? dot[row + COLUMN(i)] : (real)0;
                DIFFERENTIATE(s[j][i], dp[j][i], i0 + COLUMN(i), j0 + ROW(j), log_of, dot_of)
                weights[ROW(j) * (BC + 1) + COLUMN(i)] = STORED(s[j][i], S);
            }
            BARRIER();
#ifdef DV_T
            ADD_PRODUCT(sum_v, OUT_DV, weights, others, columns, DV)
#endif
#ifdef DK_T
            BARRIER();
            EACH_ROW(j) EACH_COLUMN(i) weights[ROW(j) * (BC + 1) + COLUMN(i)] = STORED(dp[j][i] * numbers[ATTN_SCALE], DP);
            LOAD_Q(others, i0, columns, BC)
            BARRIER();
            ADD_PRODUCT(sum_k, OUT_D, weights, others, columns, D)
#endif
        }
    }
    EACH_ROW(j) {
        const int row = j0 + ROW(j);
        if (row < skv) {
#ifdef DK_T
            UNROLL for (int m = 0; m < OUT_D; ++m) {
                const int n = x + TX * m;
                if (n < D) LARGER(top_k, sum_k[j][m]);
                if (n < D && HAS_ROW(dk, b, row)) PUT(DK_T, OF(dk, b, g), row * dk_s + n * dk_d, sum_k[j][m] * numbers[SCALE_DK]);
            }
#endif
#ifdef DV_T
            UNROLL for (int m = 0; m < OUT_DV; ++m) {
                const int n = x + TX * m;
                if (n < DV) LARGER(top_v, sum_v[j][m]);
                if (n < DV && HAS_ROW(dv, b, row)) PUT(DV_T, OF(dv, b, g), row * dv_s + n * dv_d, sum_v[j][m] * numbers[SCALE_DV]);
            }
#endif
        }
    }
    LEAVE_MOST(top_k, most_dk)
    LEAVE_MOST(top_v, most_dv)
}
#endif

#ifdef DBIAS_T
// A work-group has a tile of the bias's gradient, of one of its rows or columns where it is broadcast along these, and adds up
// every tile of scores that it is added to.
KERNEL WG_SIZE(ITEMS, 1, 1)
attention_dbias(INPUTS, PLACED(ELEMENT(DBIAS_T), dbias), const int batches, const int of_b, const int of_h, const int of_rows,
                const int of_columns, ATTENTION) {
    GRID_WAIT();
    BIND_INPUTS
    BIND(ELEMENT(DBIAS_T), dbias);
    ATTENTION_BIND(at)
    LOCAL real queries[ROW_D];
    LOCAL real gradients[ROW_DV];
    LOCAL real others[OTHERS];
    LOCAL real weights[BR * (BC + 1)];
    const int x = LID(0) % TX, y = LID(0) / TX;
    const int row_blocks = (of_rows + BR - 1) / BR, column_blocks = (of_columns + BC - 1) / BC;
    const int j_first = GRP(0) % column_blocks * BC, i_first = GRP(0) / column_blocks % row_blocks * BR;
    const int z_first = GRP(0) / (column_blocks * row_blocks), b_first = z_first / of_h, h_first = z_first % of_h;
    const int i_end = of_rows < sq ? sq : least(i_first + BR, sq), j_end = of_columns < skv ? skv : least(j_first + BC, skv);
    real sum[RM][CN];
    EACH_ROW(i) EACH_COLUMN(j) sum[i][j] = 0;
    for (int z = 0; z < batches * heads; ++z) {
        const int b = z / heads, h = z % heads;
        const sequence of = the_sequence(&at, b, h);
        const int wanted = (of_b == 1 || b == b_first) && (of_h == 1 || h == h_first);
        for (int i0 = i_first; wanted && i0 < least(i_end, of.rows); i0 += BR) {
            const int alive = least(of.rows - i0, BR);
            for (int j0 = j_first; j0 < j_end; j0 += BC) {
                const int columns = least(of.columns - j0, BC);
                real s[RM][CN], dp[RM][CN];
                BARRIER();
                LOAD_Q(queries, i0, alive, BR)
                LOAD_GRAD(gradients, i0, alive, BR)
                LOAD_V(others, j0, columns, BC)
                BARRIER();
                multiply_tile(dp, gradients, others, DV, x, y);
                BARRIER();
                LOAD_K(others, j0, columns, BC)
                BARRIER();
                multiply_tile(s, queries, others, D, x, y);
                EACH_ROW(i) {
                    const i64 row = (i64)z * row_pitch + i0 + ROW(i);
                    const real log_of = ROW(i) < alive ? logs[row] : (real)0, dot_of = ROW(i) < alive ? dot[row] : (real)0;
                    EACH_COLUMN(j) {
                        DIFFERENTIATE(s[i][j], dp[i][j], i0 + ROW(i), j0 + COLUMN(j), log_of, dot_of)
                        sum[i][j] += dp[i][j];
                    }
                }
            }
        }
    }
    EACH_ROW(i) EACH_COLUMN(j) weights[ROW(i) * (BC + 1) + COLUMN(j)] = sum[i][j];
    BARRIER();
    const int rows = least(of_rows - i_first, BR), columns = least(of_columns - j_first, BC);
    const int rows_each = of_rows < sq ? BR : 1, columns_each = of_columns < skv ? BC : 1;
    for (int place = LID(0); place < rows * columns; place += ITEMS) {
        const int i = place / columns, j = place % columns;
        real total = 0;
        for (int r = i; r < i + rows_each; ++r)
            for (int c = j; c < j + columns_each; ++c) total += weights[r * (BC + 1) + c];
        PUT(DBIAS_T, OF(dbias, b_first, h_first), (i_first + i) * dbias_s + (j_first + j) * dbias_d, total);
    }
}
#endif
