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
// Host defines: WARPS, D, DV, as attention.h; ALIGNED: rows of q, k and v begin at multiples of 16 bytes in memory that does,
// which is asked again of the addresses.

#include "types.h"
#include "mma.h"
#include "attention.h"
#include "attention_outputs.h"

#define ITEMS (WARPS * 32)
#define BR (WARPS * 16)
#define BC 64
#define WIDE(n) (((n) + 15) / 16 * 16)
#define PITCH(n) (WIDE(n) * 2 + 16)
#define Q_BYTES (BR * PITCH(D))
#define K_BYTES (BC * PITCH(D))
#define OUT_TILES (WIDE(DV) / 8)
#define LOG2E 1.4426950408889634f

#ifdef DTYPE_BFLOAT16
#define PD_PACK "cvt.rn.bf16x2.f32"
#else
#define PD_PACK "cvt.rn.f16x2.f32"
#endif
#include "attention_mma_registers.h"

// Copy rows `first` .. `first` + rows - 1 of a tensor, of which `count` are there, to local memory
DEVICE void copy_rows(unsigned char *tiles, u32 base, u32 to, const T *from, i64 step, i64 step_d, int first, int count, int rows,
                      const int length, bool chunks) {
    const int per_row = WIDE(length) / 8;
    for (int place = threadIdx.x; place < rows * per_row; place += ITEMS) {
        const int row = place / per_row, chunk = place % per_row;
        const u32 at = to + row * PITCH(length) + chunk * 16;
        if (chunks && length % 8 == 0) {
            const bool reads = row < count && chunk * 8 < length;
            copy_chunk(base + at, reads ? from + (first + row) * step + chunk * 8 : from, reads);
        } else {
            UNROLL for (int e = 0; e < 8; ++e) {
                const int n = chunk * 8 + e;
                *(T *)(tiles + at + 2 * e) = row < count && n < length ? from[(first + row) * step + n * step_d] : (T)0;
            }
        }
    }
}

DEVICE bool in_chunks(const void *p, i64 step, i64 step_d) { return (u64)p % 16 == 0 && step % 8 == 0 && step_d == 1; }

KERNEL __launch_bounds__(ITEMS)
attention_mma(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(ELEMENT(O_T), o) ROW_OUTPUTS,
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
    const bool q_chunks = in_chunks(of_q, q_s, q_d), k_chunks = in_chunks(of_k, k_s, k_d), v_chunks = in_chunks(of_v, v_s, v_d);
    const float scale = numbers[ATTN_SCALE];

    copy_rows(tiles, base, 0, of_q, q_s, q_d, i0, alive, BR, D, q_chunks);
    if (begin < end) copy_rows(tiles, base, Q_BYTES, of_k, k_s, k_d, begin, end - begin, BC, D, k_chunks);
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
    const u32 a_at = base + (warp * 16 + lane % 16) * PITCH(D) + lane / 16 * 16;
    const u32 b_at = base + Q_BYTES + (lane / 16 * 8 + lane % 8) * PITCH(D) + lane / 8 % 2 * 16;
    const u32 v_at = base + Q_BYTES + K_BYTES + lane % 16 * PITCH(DV) + lane / 16 * 16;

    for (int j0 = begin; j0 < end; j0 += BC) {
        copies_wait<0>();
        __syncthreads();  // keys are there; the values of the step before have been used
        copy_rows(tiles, base, Q_BYTES + K_BYTES, of_v, v_s, v_d, j0, end - j0, BC, DV, v_chunks);
        copies_issued();
        float s[BC / 8][4];
        UNROLL for (int n = 0; n < BC / 8; ++n) {
            UNROLL for (int e = 0; e < 4; ++e) s[n][e] = 0;
        }
        UNROLL for (int step = 0; step < WIDE(D) / 16; ++step) {
            u32 a[4];
            load_matrices(a, a_at + step * 32);
            UNROLL for (int n = 0; n < BC / 8; n += 2) {
                u32 two[4];
                load_matrices(two, b_at + n * 8 * PITCH(D) + step * 32);
                multiply(s[n], a, two[0], two[1]);
                multiply(s[n + 1], a, two[2], two[3]);
            }
        }
        copies_wait<0>();
        __syncthreads();  // values are there; the keys have been used
        if (j0 + BC < end) copy_rows(tiles, base, Q_BYTES, of_k, k_s, k_d, j0 + BC, end - j0 - BC, BC, D, k_chunks);
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
        UNROLL for (int step = 0; step < BC / 16; ++step) {
            u32 a[4];
            a[0] = pack_two(s[2 * step][0], s[2 * step][1]);
            a[1] = pack_two(s[2 * step][2], s[2 * step][3]);
            a[2] = pack_two(s[2 * step + 1][0], s[2 * step + 1][1]);
            a[3] = pack_two(s[2 * step + 1][2], s[2 * step + 1][3]);
            UNROLL for (int n = 0; n < OUT_TILES; n += 2) {
                u32 two[4];
                load_matrices_transposed(two, v_at + step * 16 * PITCH(DV) + n * 16);
                multiply(out[n], a, two[0], two[1]);
                multiply(out[n + 1], a, two[2], two[3]);
            }
        }
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
