// Attention forward on CPUs: for TILE_ROWS queries of a head, TILE_COLS keys at a time
//
//   s = q k^T (queries' rows by panels of keys)      p = exp(scale * s + ... - top)      o = o * exp(old top - top) + p v
//
// Scores never leave the work-group's scratch memory: s [TILE_ROWS][TILE_COLS], o [TILE_ROWS][pitch of v].

#include "attention/cpu.h"
#include "attention/outputs.h"

// x becomes exp(x - top), of which the sum is returned
DEVICE real raise(GLOBAL real *x, int count, real top) {
    vreal sum = VSPLAT(0);
    for (int j = 0; j < count; j += VW) {
        const vreal p = VEXP(RLOAD(x + j) - top);
        RSTORE(p, x + j);
        sum = sum + p;
    }
    return total(sum);
}

KERNEL WG_SIZE(1, 1, 1)
attention_forward(TENSOR(const real, q), TENSOR(const real, k), TENSOR(const real, v), PLACED(ELEMENT(O_T), o) ROW_OUTPUTS
                  MOST_ARGUMENTS, TENSOR(real, scratch), TENSOR(int, next_tile), const int tiles,
                  const int k_heads, const int v_heads, const int length, const int q_pitch, const int v_pitch,
                  const int v_length, const int q_padded, const int k_padded, const int v_padded, ATTENTION) {
    BIND(const real, q);
    BIND(const real, k);
    BIND(const real, v);
    BIND(ELEMENT(O_T), o);
    BIND_ROW_OUTPUTS
    BIND_MOST
    BIND(real, scratch);
    BIND(int, next_tile);
    ATTENTION_BIND(at)
    const int row_blocks = (sq + TILE_ROWS - 1) / TILE_ROWS;
    const real scale = numbers[ATTN_SCALE];
    GLOBAL real *s = scratch + (i64)GRP(0) * TILE_ROWS * (TILE_COLS + v_pitch), *out = s + TILE_ROWS * TILE_COLS;
    real top[TILE_ROWS], sum[TILE_ROWS];

    for (int tile = TAKE_TILE(next_tile); tile < tiles; tile = TAKE_TILE(next_tile)) {
        // the last rows first, which see most in a triangle
        const int i0 = (row_blocks - 1 - tile % row_blocks) * TILE_ROWS, z = tile / row_blocks, b = z / heads, h = z % heads;
        const sequence of = the_sequence(&at, b, h);
        const int rows = MIN(sq - i0, TILE_ROWS), alive = MIN(of.rows - i0, rows);
        const GLOBAL real *q_rows = q + ((i64)z * q_padded + i0) * q_pitch;
        const GLOBAL real *k_panels = k + ((i64)b * k_heads + h / (heads / k_heads)) * k_padded * length;
        const GLOBAL real *v_rows = v + ((i64)b * v_heads + h / (heads / v_heads)) * v_padded * v_pitch;
        const int end = alive > 0 ? end_column(&at, &of, i0 + alive - 1) : 0;
        real tile_s = 0, tile_o = 0;
        for (int i = 0; i < TILE_ROWS; ++i) {
            top[i] = -INFINITY_OF(real);
            sum[i] = 0;
        }
        fill(out, 0, TILE_ROWS * v_pitch, 0);
        for (int pass = 0; pass < PASSES; ++pass) {
            const int last_pass = pass == PASSES - 1;
            for (int j0 = first_column(&at, &of, i0) / NR * NR; j0 < end; j0 += TILE_COLS) {
                const int columns = MIN(end - j0, TILE_COLS);
                multiply_panels(s, q_rows, rows, q_pitch, k_panels, j0, columns, length);
                for (int i = 0; i < alive; ++i) {
                    GLOBAL real *x = s + i * TILE_COLS;
                    const int low = MIN(MAX(first_column(&at, &of, i0 + i) - j0, 0), columns);
                    const int high = MAX(MIN(end_column(&at, &of, i0 + i) - j0, columns), low);
                    finish_scores(&at, &of, x, columns, low, high, i0 + i, j0, 0, scale);
                    if (pass == 0) {
                        const real found = highest(x, columns), higher = found > top[i] ? found : top[i];
                        if (higher == -INFINITY_OF(real)) {
                            fill(x, 0, columns, 0);
                            continue;
                        }
                        if (higher != top[i]) {
                            const real factor = exp(top[i] - higher);
                            sum[i] *= factor;
                            if (j0 > 0) scale_row(out + i * v_pitch, v_pitch, factor);
                            top[i] = higher;
                        }
                        sum[i] += raise(x, columns, higher);
                    }
#ifdef S_T
                    if (last_pass) {
                        raise(x, columns, top[i] == -INFINITY_OF(real) ? (real)0 : top[i]);
                        drop_scores(&at, &of, x, low, high, i0 + i, j0, 0);
                        const real most = store_scores(x, columns, numbers[SCALE_S], numbers[DESCALE_S], 0);
                        if (sum[i] != 0) tile_s = MAX(tile_s, most / sum[i]);
                    }
#else
                    drop_scores(&at, &of, x, low, high, i0 + i, j0, 0);
#endif
                }
                if (last_pass) multiply_rows(out, s, rows, columns, v_rows + (i64)j0 * v_pitch, v_pitch);
            }
#ifdef SINK_T
            for (int i = 0; i < alive && pass == 0; ++i) {
                const real token = GET(SINK_T, sink, h * sink_h), higher = token > top[i] ? token : top[i];
                const real factor = exp(top[i] - higher);
                sum[i] = sum[i] * factor + exp(token - higher);
                scale_row(out + i * v_pitch, v_pitch, factor);
                top[i] = higher;
            }
#endif
        }
        for (int i = 0; i < rows; ++i) {
            const GLOBAL real *x = out + i * v_pitch;
            GLOBAL ELEMENT(O_T) *to = OF(o, b, h) + (i0 + i) * o_s;
            const bool stored = HAS_ROW(o, b, i0 + i);
            const real share = sum[i] == 0 ? (real)0 : 1 / sum[i];
            for (int n = 0; n < v_length; ++n) {
                const real found = i < alive ? x[n] * share : (real)0;
#ifdef S_T
                tile_o = MAX(tile_o, found < 0 ? -found : found);
#endif
                if (stored) PUT(O_T, to, n * o_d, found * numbers[SCALE_O]);
            }
            PUT_ROW(i0 + i, top[i], sum[i])
        }
#ifdef S_T
        most_s[tile] = tile_s;
        most_o[tile] = tile_o;
#endif
    }
}
