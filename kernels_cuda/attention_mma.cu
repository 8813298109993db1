// Attention forward on tensor cores: half and bfloat16, of which queries, keys and values all are (T)
//
//              BC keys
//            +--------------+    a sub-group of 32 has WARP_ROWS queries; scores, probabilities and output of its rows stay in
// WARP_ROWS  |              |    its registers, the queries too where they are short (HOLD). Local memory has the queries and
//   each     |              |    two steps of keys and values (attention_mma.h): one is copied while the other is used.
//            +--------------+
//
// Scores times `unit` are in units of the logarithm to base 2. The output is scaled down only where a row's largest score changed.
//
// Host defines: WARPS, STEPS, BC, BLOCKS (work-groups that a multiprocessor shall hold), D, DV, and as attention.h.

#include "attention_mma.h"
#include "attention_outputs.h"

#define Q_BYTES (BR * PITCH(D))
#define K_BYTES (BC * PITCH(D))
#define STAGE_BYTES (K_BYTES + BC * PITCH(DV))
#define OUT_TILES (WIDE(DV) / 8)
#define HOLD (D <= 64)
#define SMALLEST 1.17549435e-38f
#if defined(BIAS_T) || defined(ALIBI)
#define FLIP(a)
#else
#define FLIP(a)                                            \
    UNROLL for (int m = 0; m < STEPS; ++m) {               \
        UNROLL for (int i = 0; i < 4; ++i) a[m][i] ^= flips; \
    }
#endif
#define LOAD_QUERIES(a, step)                              \
    {                                                      \
        load_left(a, left_at + (step) * 32, PITCH(D));     \
        FLIP(a)                                            \
    }

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
#if defined(BIAS_T) || defined(ALIBI)
    const float unit = 1;  // of scores when they are compared
#else
    // Comparing comes before scaling, which takes a positive factor; the sign is that of the queries
    const float unit = fmaxf(fabsf(scale), SMALLEST);
    const u32 flips = scale < 0 ? 0x80008000u : 0u;
#endif

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
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            top[m][half] = -INFINITY_OF(float);
            sum[m][half] = 0;
        }
    }
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
            UNROLL for (int step = 0; step < WIDE(D) / 16; ++step) LOAD_QUERIES(held[step], step)
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
            LOAD_QUERIES(a, step)
            multiply_step<BC>(s, a, right_place(keys, lane, PITCH(D)) + step * 32, PITCH(D));
        }
#endif
#if defined(BLOCK_MASK) || defined(BIAS_T) || defined(ALIBI)
        const bool all = false;
#else
        const bool all = last < of.rows && j0 >= first_column(&at, &of, last) && j0 + BC <= end_column(&at, &of, first);
#endif
        if (!all) {
            UNROLL for (int m = 0; m < STEPS; ++m) {
                UNROLL for (int n = 0; n < BC / 8; ++n) {
                    UNROLL for (int e = 0; e < 4; ++e) {
                        const int row = row0 + m * 16 + e / 2 * 8, column = j0 + n * 8 + lane % 4 * 2 + e % 2;
                        float x = -INFINITY_OF(float);
#if defined(BIAS_T) || defined(ALIBI)
                        if (counts(&at, &of, row, column)) x = s[m][n][e] * scale + added(&at, &of, row, column) * LOG2E;
#else
                        if (counts(&at, &of, row, column)) x = s[m][n][e];
#endif
                        s[m][n][e] = x;
                    }
                }
            }
        }
        float factor[STEPS][2], most_of[STEPS][2];
        bool changes = false;
        UNROLL for (int m = 0; m < STEPS; ++m) {
            UNROLL for (int half = 0; half < 2; ++half) {
                float higher = top[m][half];
                UNROLL for (int n = 0; n < BC / 8; ++n) {
                    // NaN is passed over here, and meets the sum
                    higher = fmaxf(higher, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
                }
                higher = across_four_most(higher);
                const float from = higher == -INFINITY_OF(float) ? 0.0f : higher * unit;
                factor[m][half] = power_of_two(top[m][half] * unit - from);
                changes |= higher != top[m][half];
                top[m][half] = higher;
                most_of[m][half] = from;
            }
        }
        if (any_lane(changes)) {
            UNROLL for (int m = 0; m < STEPS; ++m) {
                UNROLL for (int half = 0; half < 2; ++half) {
                    sum[m][half] *= factor[m][half];
                    UNROLL for (int n = 0; n < OUT_TILES; ++n) {
                        out[m][n][2 * half] *= factor[m][half];
                        out[m][n][2 * half + 1] *= factor[m][half];
                    }
                }
            }
        }
        UNROLL for (int m = 0; m < STEPS; ++m) {
            UNROLL for (int half = 0; half < 2; ++half) {
                UNROLL for (int n = 0; n < BC / 8; ++n) {
                    UNROLL for (int e = 2 * half; e < 2 * half + 2; ++e) {
                        float p = power_of_two(s[m][n][e] * unit - most_of[m][half]);
                        sum[m][half] += p;
#ifdef DROPS
                        const int row = row0 + m * 16 + half * 8, column = j0 + n * 8 + lane % 4 * 2 + e % 2;
                        if (p != 0) p *= drop_factor(&at, &of, row, column);
#endif
                        s[m][n][e] = p;
                    }
                }
            }
        }
        add_product<BC, DV>(out, s, summed_place(keys + K_BYTES, lane, PITCH(DV)));
    }
    copies_wait<0>();
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            const int row = row0 + m * 16 + half * 8;
            float total = across_four_sum(sum[m][half]), factor = 1, most = top[m][half] * unit;
#ifdef SINK_T
            if (row < of.rows) {
                const float token = GET(SINK_T, sink, h * sink_h) * LOG2E, higher = fmaxf(token, most);
                factor = power_of_two(most - higher);
                total = total * factor + power_of_two(token - higher);
                most = higher;
            }
#endif
            factor = total == 0 ? 0.0f : factor / total;
            if (row < sq) {
                UNROLL for (int n = 0; n < OUT_TILES; ++n) {
                    UNROLL for (int e = 0; e < 2; ++e) {
                        const int column = n * 8 + lane % 4 * 2 + e;
                        if (column < DV) PUT(O_T, OF(o, b, h), row * o_s + column * o_d, out[m][n][2 * half + e] * factor);
                    }
                }
                if (lane % 4 == 0) {
                    PUT_ROW(row, most * LN2, total)
                }
            }
        }
    }
}
