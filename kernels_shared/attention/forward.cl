// Attention forward on GPUs: a work-group has BR queries of a head, and goes over the keys BC at a time (attention/tile.h)
//
//   s = q k^T      p = exp(scale * s + ... - top)      o = o * exp(old top - top) + p v
//
// Local memory holds the queries, the keys and then the values of a step, and the probabilities; o stays in registers.

#include "attention/tile.h"
#include "attention/outputs.h"

#define OUT ((DV + TX - 1) / TX)
#define KV (BC * ((D > DV ? D : DV) + 1))

KERNEL WG_SIZE(ITEMS, 1, 1)
attention_forward(PLACED(const ELEMENT(Q_T), q), PLACED(const ELEMENT(K_T), k), PLACED(const ELEMENT(V_T), v),
                  PLACED(ELEMENT(O_T), o) ROW_OUTPUTS MOST_ARGUMENTS, const int k_heads, const int v_heads, ATTENTION) {
    GRID_WAIT();
    BIND(const ELEMENT(Q_T), q);
    BIND(const ELEMENT(K_T), k);
    BIND(const ELEMENT(V_T), v);
    BIND(ELEMENT(O_T), o);
    BIND_ROW_OUTPUTS
    BIND_MOST
    ATTENTION_BIND(at)
    LOCAL real queries[BR * (D + 1)];
    LOCAL real others[KV];
    LOCAL real weights[BR * (BC + 1)];
    LOCAL real shared[BR * TX];
    const int x = LID(0) % TX, y = LID(0) / TX;
    const int row_blocks = (sq + BR - 1) / BR;
    // the last rows first, which see most in a triangle
    const int i0 = (row_blocks - 1 - GRP(0) % row_blocks) * BR, z = GRP(0) / row_blocks, b = z / heads, h = z % heads;
    const sequence of = the_sequence(&at, b, h);
    const int alive = least(of.rows - i0, BR);
    const int end = alive > 0 ? end_column(&at, &of, i0 + alive - 1) : 0;
    const real scale = numbers[ATTN_SCALE];
    const GLOBAL ELEMENT(Q_T) *of_q = OF(q, b, h);
    const GLOBAL ELEMENT(K_T) *of_k = OF(k, b, h / (heads / k_heads));
    const GLOBAL ELEMENT(V_T) *of_v = OF(v, b, h / (heads / v_heads));

    LOAD_TILE(Q_T, queries, of_q, i0, alive, BR, D, q_s, q_d, numbers[DESCALE_Q])
    real out[RM][OUT], top[RM], sum[RM];
    EACH_ROW(i) {
        UNROLL for (int m = 0; m < OUT; ++m) out[i][m] = 0;
        top[i] = -INFINITY_OF(real);
        sum[i] = 0;
    }
    real tile_s = 0, tile_o = 0;
    for (int pass = 0; pass < PASSES; ++pass) {
        for (int j0 = first_column(&at, &of, i0); j0 < end; j0 += BC) {
            const int columns = least(end - j0, BC);
            BARRIER();
            LOAD_TILE(K_T, others, of_k, j0, columns, BC, D, k_s, k_d, numbers[DESCALE_K])
            BARRIER();
            real s[RM][CN];
            multiply_tile(s, queries, others, D, x, y);
            EACH_ROW(i) {
                real found = -INFINITY_OF(real);
                EACH_COLUMN(j) {
                    const int row = i0 + ROW(i), column = j0 + COLUMN(j);
                    s[i][j] = counts(&at, &of, row, column) ? s[i][j] * scale + added(&at, &of, row, column) : -INFINITY_OF(real);
                    found = s[i][j] > found ? s[i][j] : found;
                }
                shared[ROW(i) * TX + x] = found;
            }
            BARRIER();
            EACH_ROW(i) {
                real higher = top[i];
                if (pass == 0) {
                    for (int lane = 0; lane < TX; ++lane) {
                        const real found = shared[ROW(i) * TX + lane];
                        higher = found > higher ? found : higher;
                    }
                    const real factor = higher > top[i] ? exp(top[i] - higher) : (real)1;
                    sum[i] *= factor;
                    UNROLL for (int m = 0; m < OUT; ++m) out[i][m] *= factor;
                    top[i] = higher;
                }
                EACH_COLUMN(j) {
                    const int row = i0 + ROW(i), column = j0 + COLUMN(j);
                    real p = s[i][j] == -INFINITY_OF(real) ? (real)0 : exp(s[i][j] - higher);
                    if (pass == 0) sum[i] += p;
#ifdef DROPS
                    if (p != 0) p *= drop_factor(&at, &of, row, column);
#endif
#ifdef S_T
                    if (pass == PASSES - 1 && p != 0) {
                        const real share = (p < 0 ? -p : p) / sum[i];
                        tile_s = share > tile_s ? share : tile_s;
                    }
                    p = ROUNDED(S_T, p * numbers[SCALE_S]) * numbers[DESCALE_S];
#endif
                    weights[ROW(i) * (BC + 1) + COLUMN(j)] = p;
                }
            }
            if (pass == PASSES - 1) {
                LOAD_TILE(V_T, others, of_v, j0, columns, BC, DV, v_s, v_d, numbers[DESCALE_V])
                BARRIER();
                ADD_PRODUCT(out, OUT, weights, others, columns, DV)
            }
        }
        if (pass == 0) {  // the sums of a row's lanes
            BARRIER();
            EACH_ROW(i) shared[ROW(i) * TX + x] = sum[i];
            BARRIER();
            EACH_ROW(i) {
                sum[i] = 0;
                for (int lane = 0; lane < TX; ++lane) sum[i] += shared[ROW(i) * TX + lane];
#ifdef SINK_T
                if (ROW(i) < alive) {
                    const real token = GET(SINK_T, sink, h * sink_h), higher = token > top[i] ? token : top[i];
                    const real factor = exp(top[i] - higher);
                    sum[i] = sum[i] * factor + exp(token - higher);
                    UNROLL for (int m = 0; m < OUT; ++m) out[i][m] *= factor;
                    top[i] = higher;
                }
#endif
            }
        }
    }
    EACH_ROW(i) {
        const int row = i0 + ROW(i);
        const real share = sum[i] == 0 ? (real)0 : 1 / sum[i];
        if (row < sq) {
            UNROLL for (int m = 0; m < OUT; ++m) {
                const int n = x + TX * m;
                const real found = out[i][m] * share;
                if (n < DV && HAS_ROW(o, b, row)) PUT(O_T, OF(o, b, h), row * o_s + n * o_d, found * numbers[SCALE_O]);
#ifdef S_T
                if (n < DV) tile_o = found > tile_o ? found : -found > tile_o ? -found : tile_o;
#endif
            }
            if (x == 0) {
                PUT_ROW(row, top[i], sum[i])
            }
        }
    }
#ifdef S_T
    BARRIER();
    shared[LID(0)] = tile_s;
    weights[LID(0)] = tile_o;
    BARRIER();
    if (LID(0) == 0) {
        for (int item = 1; item < ITEMS; ++item) {
            tile_s = shared[item] > tile_s ? shared[item] : tile_s;
            tile_o = weights[item] > tile_o ? weights[item] : tile_o;
        }
        most_s[GRP(0)] = tile_s;
        most_o[GRP(0)] = tile_o;
    }
#endif
}
