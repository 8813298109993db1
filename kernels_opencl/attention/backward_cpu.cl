// Attention's gradients on CPUs. Scores are computed again from operands and statistics, a tile at a time (attention/cpu.h):
//
//   p = exp(scale * s + ... - logs)      w = p * dropout      ds = p * (dp * dropout - dot),   dp: products of dO and values
//
//   attention_dq      rows: queries      dq = scale * ds k          over the keys
//   attention_dkv     rows: keys         dv = w^T dO, dk = scale * ds^T q          over the queries of all heads that share them
//   attention_dbias   ds, summed over what the bias is broadcast along
//
// Each result is a sum in a fixed order. With S_T (FP8) w and scale * ds are rounded before they are multiplied.

#include "attention/cpu.h"
#include "attention/keys.h"

typedef vreal private_vector __attribute__((aligned(sizeof(real))));

// Of a run of scores (as finish_scores) and dp: s becomes w, dp becomes factor * ds. `logs` and `dot` are of row i, or (down) of
// row i and following.
DEVICE void differentiate(const attention *at, const sequence *of, GLOBAL real *s, GLOBAL real *dp, int count, int low, int high,
                          int i, int j, const int down, const GLOBAL real *logs, const GLOBAL real *dot, real factor) {
    finish_scores(at, of, s, count, low, high, i, j, down, at->numbers[ATTN_SCALE]);
#ifdef DROPS
    real kept[TILE_COLS];
    for (int t = 0; t < TILE_COLS; ++t) kept[t] = 0;
    for (int t = low; t < high; ++t) kept[t] = down ? drop_factor(at, of, i + t, j) : drop_factor(at, of, i, j + t);
#endif
    for (int t = 0; t < count; t += VW) {
        const vreal log_of = down ? RLOAD(logs + t) : VSPLAT(*logs), dot_of = down ? RLOAD(dot + t) : VSPLAT(*dot);
        const vreal p = VEXP(RLOAD(s + t) - log_of);
#ifdef DROPS
        const vreal keeps = *(private_vector *)(kept + t);
        RSTORE(p * keeps, s + t);
        RSTORE(p * (RLOAD(dp + t) * keeps - dot_of) * factor, dp + t);
#else
        RSTORE(p, s + t);
        RSTORE(p * (RLOAD(dp + t) - dot_of) * factor, dp + t);
#endif
    }
}

// One row of a gradient, `count` numbers times `scale`, if it is there; `top` becomes the largest of them without it (LARGER)
#define PUT_GRADIENT(type, to, step, there, from, count, alive, scale, top)                                       \
    if ((there) && (alive) && (step) == 1) {                                                                      \
        const real factor = scale;                                                                                \
        for (int n = 0; n < (count); ++n) {                                                                       \
            LARGER(top, (from)[n])                                                                                \
            PUT(type, to, n, (from)[n] * factor);                                                                 \
        }                                                                                                         \
    } else                                                                                                        \
        for (int n = 0; n < (count); ++n) {                                                                       \
            const real found = (alive) ? (from)[n] : (real)0;                                                     \
            LARGER(top, found)                                                                                    \
            if (there) PUT(type, to, n * (step), found * (scale));                                                \
        }

#ifdef DQ_T
KERNEL WG_SIZE(1, 1, 1)
attention_dq(TENSOR(const real, q), TENSOR(const real, k_panels), TENSOR(const real, v_panels), TENSOR(const real, k),
             TENSOR(const real, grad), TENSOR(const real, logs), TENSOR(const real, dot), PLACED(ELEMENT(DQ_T), dq),
             TENSOR(real, most_ds), TENSOR(real, most_dq), TENSOR(real, scratch), TENSOR(int, next_tile), const int tiles,
             const int k_heads, const int v_heads, const int length, const int v_length, const int q_pitch,
             const int grad_pitch, const int k_pitch, const int q_padded, const int grad_padded, const int k_padded,
             const int panels_padded, const int row_pitch, ATTENTION) {
    BIND(const real, q);
    BIND(const real, k_panels);
    BIND(const real, v_panels);
    BIND(const real, k);
    BIND(const real, grad);
    BIND(const real, logs);
    BIND(const real, dot);
    BIND(ELEMENT(DQ_T), dq);
    BIND(real, most_ds);
    BIND(real, most_dq);
    BIND(real, scratch);
    BIND(int, next_tile);
    ATTENTION_BIND(at)
    const int row_blocks = (sq + TILE_ROWS - 1) / TILE_ROWS;
    GLOBAL real *s = scratch + (i64)GRP(0) * TILE_ROWS * (2 * TILE_COLS + k_pitch);
    GLOBAL real *ds = s + TILE_ROWS * TILE_COLS, *sum = ds + TILE_ROWS * TILE_COLS;

    for (int tile = TAKE_TILE(next_tile); tile < tiles; tile = TAKE_TILE(next_tile)) {
        const int i0 = (row_blocks - 1 - tile % row_blocks) * TILE_ROWS, z = tile / row_blocks, b = z / heads, h = z % heads;
        const sequence of = the_sequence(&at, b, h);
        const int rows = MIN(sq - i0, TILE_ROWS), alive = MIN(of.rows - i0, rows);
        const i64 z_k = (i64)b * k_heads + h / (heads / k_heads), z_v = (i64)b * v_heads + h / (heads / v_heads);
        const int end = alive > 0 ? end_column(&at, &of, i0 + alive - 1) : 0;
        real top_ds = 0, top_dq = 0;
        fill(sum, 0, TILE_ROWS * k_pitch, 0);
        for (int j0 = first_column(&at, &of, i0) / NR * NR; j0 < end; j0 += TILE_COLS) {
            const int columns = MIN(end - j0, TILE_COLS);
            multiply_panels(s, q + ((i64)z * q_padded + i0) * q_pitch, rows, q_pitch, k_panels + z_k * panels_padded * length, j0,
                            columns, length);
            multiply_panels(ds, grad + ((i64)z * grad_padded + i0) * grad_pitch, rows, grad_pitch,
                            v_panels + z_v * panels_padded * v_length, j0, columns, v_length);
            for (int i = 0; i < alive; ++i) {
                const int low = MIN(MAX(first_column(&at, &of, i0 + i) - j0, 0), columns);
                const int high = MAX(MIN(end_column(&at, &of, i0 + i) - j0, columns), low);
                const i64 row = (i64)z * row_pitch + i0 + i;
                differentiate(&at, &of, s + i * TILE_COLS, ds + i * TILE_COLS, columns, low, high, i0 + i, j0, 0, logs + row,
                              dot + row, numbers[ATTN_SCALE]);
#ifdef S_T
                top_ds = store_scores(ds + i * TILE_COLS, columns, numbers[SCALE_DP], numbers[DESCALE_DP], top_ds);
#endif
            }
            multiply_rows(sum, ds, rows, columns, k + (z_k * k_padded + j0) * k_pitch, k_pitch);
        }
        for (int i = 0; i < rows; ++i) {
            GLOBAL ELEMENT(DQ_T) *to = OF(dq, b, h) + (i0 + i) * dq_s;
            PUT_GRADIENT(DQ_T, to, dq_d, HAS_ROW(dq, b, i0 + i), sum + i * k_pitch, length, i < alive, numbers[SCALE_DQ], top_dq)
        }
        most_ds[tile] = top_ds;
        most_dq[tile] = top_dq;
    }
}
#endif

#ifdef OF_KEYS
// With DK_T the gradient to keys, with DV_T that to values; the heads of queries in turn that share a head of these
KERNEL WG_SIZE(1, 1, 1)
attention_dkv(TENSOR(const real, k), TENSOR(const real, v), TENSOR(const real, q_panels), TENSOR(const real, grad_panels),
              TENSOR(const real, q), TENSOR(const real, grad), TENSOR(const real, logs), TENSOR(const real, dot) DK_ARGUMENT
              DV_ARGUMENT, TENSOR(real, most_dk), TENSOR(real, most_dv), TENSOR(real, scratch), TENSOR(int, next_tile),
              const int tiles, const int out_heads, const int k_heads, const int v_heads, const int length, const int v_length,
              const int k_pitch, const int v_pitch, const int q_pitch, const int grad_pitch, const int k_padded,
              const int v_padded, const int q_padded, const int grad_padded, const int panels_padded, const int row_pitch,
              ATTENTION) {
    BIND(const real, k);
    BIND(const real, v);
    BIND(const real, q_panels);
    BIND(const real, grad_panels);
    BIND(const real, q);
    BIND(const real, grad);
    BIND(const real, logs);
    BIND(const real, dot);
    DK_BIND DV_BIND
    BIND(real, most_dk);
    BIND(real, most_dv);
    BIND(real, scratch);
    BIND(int, next_tile);
    ATTENTION_BIND(at)
    const int row_blocks = (skv + TILE_ROWS - 1) / TILE_ROWS, sharing = heads / out_heads;
    GLOBAL real *s = scratch + (i64)GRP(0) * TILE_ROWS * (2 * TILE_COLS + q_pitch + grad_pitch);
    GLOBAL real *ds = s + TILE_ROWS * TILE_COLS, *sum_k = ds + TILE_ROWS * TILE_COLS, *sum_v = sum_k + TILE_ROWS * q_pitch;

    for (int tile = TAKE_TILE(next_tile); tile < tiles; tile = TAKE_TILE(next_tile)) {
        const int j0 = tile % row_blocks * TILE_ROWS, z_out = tile / row_blocks, b = z_out / out_heads, g = z_out % out_heads;
        const int rows = MIN(skv - j0, TILE_ROWS);
        int alive = 0;
        real top_k = 0, top_v = 0, unused = 0;
        fill(sum_k, 0, TILE_ROWS * (q_pitch + grad_pitch), 0);
        for (int h = g * sharing; h < (g + 1) * sharing; ++h) {
            const sequence of = the_sequence(&at, b, h);
            const i64 z = (i64)b * heads + h;
            const i64 z_k = (i64)b * k_heads + h / (heads / k_heads), z_v = (i64)b * v_heads + h / (heads / v_heads);
            alive = MIN(of.columns - j0, rows);
            const int end = alive > 0 ? end_row(&at, &of, j0 + alive - 1) : 0;
            for (int i0 = first_row(&at, &of, j0) / NR * NR; i0 < end; i0 += TILE_COLS) {
                const int columns = MIN(end - i0, TILE_COLS);
                multiply_panels(s, k + (z_k * k_padded + j0) * k_pitch, rows, k_pitch, q_panels + z * panels_padded * length, i0,
                                columns, length);
                multiply_panels(ds, v + (z_v * v_padded + j0) * v_pitch, rows, v_pitch, grad_panels + z * panels_padded * v_length,
                                i0, columns, v_length);
                for (int j = 0; j < alive; ++j) {
                    const int low = MIN(MAX(first_row(&at, &of, j0 + j) - i0, 0), columns);
                    const int high = MAX(MIN(end_row(&at, &of, j0 + j) - i0, columns), low);
                    differentiate(&at, &of, s + j * TILE_COLS, ds + j * TILE_COLS, columns, low, high, i0, j0 + j, 1,
                                  logs + z * row_pitch + i0, dot + z * row_pitch + i0, numbers[ATTN_SCALE]);
#ifdef S_T
                    unused = store_scores(ds + j * TILE_COLS, columns, numbers[SCALE_DP], numbers[DESCALE_DP], unused);
                    unused = store_scores(s + j * TILE_COLS, columns, numbers[SCALE_S], numbers[DESCALE_S], unused);
#endif
                }
#ifdef DK_T
                multiply_rows(sum_k, ds, rows, columns, q + (z * q_padded + i0) * q_pitch, q_pitch);
#endif
#ifdef DV_T
                multiply_rows(sum_v, s, rows, columns, grad + (z * grad_padded + i0) * grad_pitch, grad_pitch);
#endif
            }
        }
        for (int j = 0; j < rows; ++j) {
#ifdef DK_T
            GLOBAL ELEMENT(DK_T) *to_k = OF(dk, b, g) + (j0 + j) * dk_s;
            PUT_GRADIENT(DK_T, to_k, dk_d, HAS_ROW(dk, b, j0 + j), sum_k + j * q_pitch, length, j < alive, numbers[SCALE_DK], top_k)
#endif
#ifdef DV_T
            GLOBAL ELEMENT(DV_T) *to_v = OF(dv, b, g) + (j0 + j) * dv_s;
            PUT_GRADIENT(DV_T, to_v, dv_d, HAS_ROW(dv, b, j0 + j), sum_v + j * grad_pitch, v_length, j < alive, numbers[SCALE_DV], top_v)
#endif
        }
        most_dk[tile] = top_k;
        most_dv[tile] = top_v;
    }
}
#endif

#ifdef DBIAS_T
// A work-group has a tile of the bias's gradient, of one of its rows or columns where it is broadcast along these, and adds up
// every tile of scores that it is added to.
KERNEL WG_SIZE(1, 1, 1)
attention_dbias(TENSOR(const real, q), TENSOR(const real, k_panels), TENSOR(const real, v_panels), TENSOR(const real, grad),
                TENSOR(const real, logs), TENSOR(const real, dot), PLACED(ELEMENT(DBIAS_T), dbias), TENSOR(real, scratch),
                TENSOR(int, next_tile), const int tiles, const int batches, const int of_b, const int of_h, const int of_rows,
                const int of_columns, const int k_heads, const int v_heads, const int length, const int v_length,
                const int q_pitch, const int grad_pitch, const int q_padded, const int grad_padded, const int panels_padded,
                const int row_pitch, ATTENTION) {
    BIND(const real, q);
    BIND(const real, k_panels);
    BIND(const real, v_panels);
    BIND(const real, grad);
    BIND(const real, logs);
    BIND(const real, dot);
    BIND(ELEMENT(DBIAS_T), dbias);
    BIND(real, scratch);
    BIND(int, next_tile);
    ATTENTION_BIND(at)
    const int row_blocks = (of_rows + TILE_ROWS - 1) / TILE_ROWS, column_blocks = (of_columns + TILE_COLS - 1) / TILE_COLS;
    const int all_rows = of_rows < sq, all_columns = of_columns < skv;
    GLOBAL real *s = scratch + (i64)GRP(0) * TILE_ROWS * (3 * TILE_COLS);
    GLOBAL real *ds = s + TILE_ROWS * TILE_COLS, *sum = ds + TILE_ROWS * TILE_COLS;

    for (int tile = TAKE_TILE(next_tile); tile < tiles; tile = TAKE_TILE(next_tile)) {
        const int j_first = tile % column_blocks * TILE_COLS, i_first = tile / column_blocks % row_blocks * TILE_ROWS;
        const int z_first = tile / (column_blocks * row_blocks), b_first = z_first / of_h, h_first = z_first % of_h;
        fill(sum, 0, TILE_ROWS * TILE_COLS, 0);
        for (int z = 0; z < batches * heads; ++z) {
            const int b = z / heads, h = z % heads;
            if ((of_b > 1 && b != b_first) || (of_h > 1 && h != h_first)) continue;
            const sequence of = the_sequence(&at, b, h);
            const i64 z_k = (i64)b * k_heads + h / (heads / k_heads), z_v = (i64)b * v_heads + h / (heads / v_heads);
            for (int i0 = i_first; i0 < (all_rows ? sq : MIN(i_first + TILE_ROWS, sq)); i0 += TILE_ROWS)
                for (int j0 = j_first; j0 < (all_columns ? skv : MIN(j_first + TILE_COLS, skv)); j0 += TILE_COLS) {
                    const int rows = MIN(of.rows - i0, TILE_ROWS), columns = MIN(skv - j0, TILE_COLS);
                    if (rows <= 0 || end_column(&at, &of, i0 + rows - 1) <= j0 || first_column(&at, &of, i0) >= j0 + columns)
                        continue;
                    multiply_panels(s, q + ((i64)z * q_padded + i0) * q_pitch, rows, q_pitch,
                                    k_panels + z_k * panels_padded * length, j0, columns, length);
                    multiply_panels(ds, grad + ((i64)z * grad_padded + i0) * grad_pitch, rows, grad_pitch,
                                    v_panels + z_v * panels_padded * v_length, j0, columns, v_length);
                    for (int i = 0; i < rows; ++i) {
                        const int low = MIN(MAX(first_column(&at, &of, i0 + i) - j0, 0), columns);
                        const int high = MAX(MIN(end_column(&at, &of, i0 + i) - j0, columns), low);
                        const i64 row = (i64)z * row_pitch + i0 + i;
                        GLOBAL real *to = sum + i * TILE_COLS, *from = ds + i * TILE_COLS;
                        differentiate(&at, &of, s + i * TILE_COLS, from, columns, low, high, i0 + i, j0, 0, logs + row, dot + row, 1);
                        for (int t = 0; t < columns; t += VW) RSTORE(RLOAD(to + t) + RLOAD(from + t), to + t);
                    }
                }
        }
        for (int i = 1; i < TILE_ROWS && all_rows; ++i)
            for (int t = 0; t < TILE_COLS; ++t) sum[t] += sum[i * TILE_COLS + t];
        for (int i = 0; i < (all_rows ? 1 : TILE_ROWS) && all_columns; ++i)
            for (int t = 1; t < TILE_COLS; ++t) sum[i * TILE_COLS] += sum[i * TILE_COLS + t];
        for (int i = 0; i < MIN(of_rows - i_first, TILE_ROWS); ++i)
            for (int t = 0; t < MIN(of_columns - j_first, TILE_COLS); ++t) {
                const i64 place = (i_first + i) * dbias_s + (j_first + t) * dbias_d;
                PUT(DBIAS_T, OF(dbias, b_first, h_first), place, sum[i * TILE_COLS + t]);
            }
    }
}
#endif
