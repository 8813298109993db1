// Attention forward on tensor cores: half and bfloat16, of which queries, keys and values all are (T)
//
//              BC keys
//            +--------------+    a sub-group of 32 has WARP_ROWS queries; scores, probabilities and output of its rows stay in
// WARP_ROWS  |              |    its registers, the queries too where they are short (HOLD). Local memory has the queries and
//   each     |              |    two steps of keys and values (attention/mma.h): one is copied while the other is used.
//            +--------------+
//
// Scores times `unit` are in units of the logarithm to base 2. The output is scaled down only where a row's largest score changed.
//
// Host defines: WARPS, STEPS, BC, BLOCKS (work-groups that a multiprocessor shall hold), D, DV, and as attention/attention.h.

#include "attention/mma.h"
#include "attention/outputs.h"
#include "attention/weights_mma.h"

#define Q_BYTES (BR * PITCH(D))
#define K_BYTES (BC * PITCH(D))
#define STAGE_BYTES (K_BYTES + BC * PITCH(DV))
#define OUT_TILES (WIDE(DV) / 8)
#define HOLD (D <= 64)

KERNEL __launch_bounds__(ITEMS, BLOCKS)
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
    const float scale = numbers[ATTN_SCALE] * LOG2E;
    const float unit = unit_of(scale);  // of scores when they are compared
    const u32 flips = flips_of(scale);

#define COPY_STEP(j, to)                                                   \
    copy_rows<BC, D>(tiles, to, of_k, k_s, k_d, j, end - (j));             \
    copy_rows<BC, DV>(tiles, (to) + K_BYTES, of_v, v_s, v_d, j, end - (j));
    copy_rows<BR, D>(tiles, 0, of_q, q_s, q_d, i0, alive);
    if (begin < end) {
        COPY_STEP(begin, Q_BYTES)
    }
    copies_issued();

    float out[STEPS][OUT_TILES][4], top[STEPS][2], sum[STEPS][2];
    set_zero<OUT_TILES>(out);
    start_rows(top, sum);
    const int first = i0 + warp * WARP_ROWS, last = first + WARP_ROWS - 1, row0 = first + lane / 4;
    const u32 left_at = left_place(base + warp * WARP_ROWS * PITCH(D), lane, PITCH(D));
#if HOLD
    u32 held[WIDE(D) / 16][STEPS][4];
#endif

    int stage = 0;
    for (int j0 = begin; j0 < end; j0 += BC, stage ^= 1) {
        copies_wait<0>();
        __syncthreads();  // this step's operands are there, the other's have been used
        if (j0 + BC < end) {
            COPY_STEP(j0 + BC, Q_BYTES + (stage ^ 1) * STAGE_BYTES)
        }
        copies_issued();
#if HOLD
        if (j0 == begin) {
            UNROLL for (int step = 0; step < WIDE(D) / 16; ++step) {
                load_queries(held[step], left_at + step * 32, PITCH(D), flips);
            }
        }
        // Where rows are longer, the registers this takes cost more than it saves
        if (!meets(span_of_rows(&at, &of, first, last), j0, BC)) continue;
#endif
        const u32 keys = base + Q_BYTES + stage * STAGE_BYTES;
        float s[STEPS][BC / 8][4];
        set_zero<BC / 8>(s);
#if HOLD
        UNROLL for (int step = 0; step < WIDE(D) / 16; ++step) {
            multiply_step<BC>(s, held[step], right_place(keys, lane, PITCH(D)) + step * 32, PITCH(D));
        }
#else
        UNROLL for (int step = 0; step < WIDE(D) / 16; ++step) {
            u32 a[STEPS][4];
            load_queries(a, left_at + step * 32, PITCH(D), flips);
            multiply_step<BC>(s, a, right_place(keys, lane, PITCH(D)) + step * 32, PITCH(D));
        }
#endif
#if defined(BLOCK_MASK) || defined(BIAS_T) || defined(ALIBI)
        const bool all = false;
#else
        const bool all = last < of.rows && j0 >= inner_column(&at, &of, last) && j0 + BC <= inner_end(&at, &of, first);
#endif
        if (!all) {
            each_score<BC>(s, [&](int m, int n, int e, float score) {
                const int row = row0 + m * 16 + e / 2 * 8, column = j0 + n * 8 + lane % 4 * 2 + e % 2;
                return counted(&at, &of, columns_of_row(&at, &of, row), row, column, score, scale);
            });
        }
        take_weights<BC, OUT_TILES>(s, top, sum, out, unit, [&](int m, int half, int n, int e) {
            return drop_factor(&at, &of, row0 + m * 16 + half * 8, j0 + n * 8 + lane % 4 * 2 + e % 2);
        });
        add_product<BC, DV>(out, s, summed_place(keys + K_BYTES, lane, PITCH(DV)));
    }
    copies_wait<0>();
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            const int row = row0 + m * 16 + half * 8;
            float total = across_four_sum(sum[m][half]), factor = 1, most = top[m][half] * unit;
#ifdef SINK_T
            if (row < of.rows) factor = join_sink(GET(SINK_T, sink, h * sink_h) * LOG2E, &most, &total);
#endif
            factor = total == 0 ? 0.0f : factor / total;
            if (row < sq) {
                UNROLL for (int n = 0; n < OUT_TILES; ++n) {
                    UNROLL for (int e = 0; e < 2; ++e) {
                        const int column = n * 8 + lane % 4 * 2 + e;
                        if (column < DV && HAS_ROW(o, b, row)) PUT(O_T, OF(o, b, h), row * o_s + column * o_d, out[m][n][2 * half + e] * factor);
                    }
                }
                if (lane % 4 == 0) {
                    PUT_ROW(row, most * LN2, total)
                }
            }
        }
    }
}
