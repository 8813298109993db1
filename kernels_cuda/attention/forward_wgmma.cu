// Attention forward on Hopper's tensor cores: half and bfloat16, of which queries, keys and values all are (T)
//
//   warpgroup 0        copies: the queries, then keys and values step after step, each to one of STAGES places, which it fills as
//                      soon as their readers have left them
//   1 .. GROUPS        multiply: 64 queries each; scores, weights and output stay in registers
//
// A work-group takes one tile of queries after the other: the first by its number, the others from a counter. What a tile begins
// with is copied while the one before is being finished.
//
// A group issues the scores of a step together with the product of the step before, whose weights it has, and takes weights
// of its scores while that product goes on. Groups issue in turn, so that the tensor cores have one's products while
// another one computes weights. Scores, tops and sums as in attention/forward_mma.cu.
//
// Host defines: GROUPS, BC keys of a step, STAGES, QUERY_STAGES (1 or 2), GIVEN and TAKEN (registers of those that copy and multiply), D, DV (multiples
// of 16), ALIKE (the output has the type T), and as attention/attention.h.

#define WARPS (4 * GROUPS)
#define STEPS 1
#include "attention/mma.h"
#include "common/wgmma.h"
#include "attention/outputs.h"
#include "attention/panels.h"
#include "attention/weights_mma.h"

#define Q_BYTES (BR * 128 * PANELS(D))
#define K_BYTES (BC * 128 * PANELS(D))
#define STAGE_BYTES (K_BYTES + BC * 128 * PANELS(DV))
#define QUERIES(i) ((i) % QUERY_STAGES * Q_BYTES)
#define KEYS(n) (QUERY_STAGES * Q_BYTES + (n) % STAGES * STAGE_BYTES)
#define VALUES(n) (KEYS(n) + K_BYTES)
// Barriers: a place is full, a place is free. Steps n and tiles i are counted over all that the work-group does.
#define BARRIERS (QUERY_STAGES * Q_BYTES + STAGES * STAGE_BYTES)
#define FULL_K(n) (base + BARRIERS + (n) % STAGES * 32)
#define FREE_K(n) (FULL_K(n) + 8)
#define FULL_V(n) (FULL_K(n) + 16)
#define FREE_V(n) (FULL_K(n) + 24)
#define FREE_Q(i) (base + BARRIERS + STAGES * 32 + (i) % QUERY_STAGES * 8)
#define FULL_TILE(i) (base + BARRIERS + STAGES * 32 + 16 + (i) % 2 * 16)
#define FREE_TILE(i) (FULL_TILE(i) + 8)
#define TILE(i) (*(volatile int *)(tiles + BARRIERS + STAGES * 32 + 48 + (i) % 2 * 4))
#define ROUND(n) ((n) / STAGES & 1)  // of a place's uses
#define OUT_TILES (DV / 8)

// A tile of queries: where its rows begin, and the steps of keys that they see
typedef struct {
    int b, h, i0, alive, begin, end, steps;
} tile_of_rows;
DEVICE tile_of_rows the_tile(const attention *at, int number) {
    const int row_blocks = (at->sq + BR - 1) / BR, z = number / row_blocks;
    tile_of_rows one;
    one.i0 = (row_blocks - 1 - number % row_blocks) * BR;  // the last rows first, which see most in a triangle
    one.b = z / at->heads;
    one.h = z % at->heads;
    const sequence of = the_sequence(at, one.b, one.h);
    one.alive = least(of.rows - one.i0, BR);
    one.begin = first_column(at, &of, one.i0) / BC * BC;
    one.end = one.alive > 0 ? end_column(at, &of, one.i0 + one.alive - 1) : 0;
    one.steps = one.begin < one.end ? (one.end - one.begin + BC - 1) / BC : 0;
    return one;
}

KERNEL __launch_bounds__(ITEMS + 128, 1)
attention_forward_wgmma(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(ELEMENT(O_T), o) ROW_OUTPUTS,
                        const int k_heads, const int v_heads, const int count, TENSOR(int, taken), ATTENTION) {
    GRID_WAIT();
    extern __shared__ __align__(1024) unsigned char tiles[];
    ATTENTION_BIND(at)
    const u32 base = local_address(tiles);
    if (threadIdx.x == 0) {
        for (int n = 0; n < STAGES; ++n) {
            barrier_start(FULL_K(n), 128);
            barrier_start(FULL_V(n), 128);
            barrier_start(FREE_K(n), WARPS);
            barrier_start(FREE_V(n), WARPS);
        }
        for (int i = 0; i < QUERY_STAGES; ++i) barrier_start(FREE_Q(i), WARPS);
        for (int i = 0; i < 2; ++i) {
            barrier_start(FULL_TILE(i), 1);
            barrier_start(FREE_TILE(i), WARPS);
        }
    }
    __syncthreads();

    const int role = of_all_lanes(threadIdx.x / 128);
    if (role == 0) {
        registers_give<GIVEN>();
        u32 filled = 0;  // by the copies issued last
        int n = 0, tile = -1;  // of these
        // Copies have arrived once those issued after them are on their way
        auto issued = [&](u32 place) {
            copies_issued();
            copies_wait<1>();
            local_written();
            if (filled != 0) barrier_arrive(filled);
            filled = place;
        };
        auto all_arrived = [&] {
            copies_wait<0>();
            local_written();
            if (filled != 0) barrier_arrive(filled);
            filled = 0;
        };
        for (int i = 0;; ++i) {
            if (threadIdx.x == 0) {
                // As late as possible, so that those who are done first take the next ones
                const int next = i == 0 ? blockIdx.x : gridDim.x + ATOMIC_TAKE(taken, 1);
                if (i >= 2) barrier_wait(FREE_TILE(i), (i / 2 & 1) ^ 1);
                TILE(i) = next;
                barrier_arrive(FULL_TILE(i));
            }
            turn_wait(15, 128);
            const int number = TILE(i);
            if (number >= count) break;
            const tile_of_rows one = the_tile(&at, number);
            if (tile <= i - QUERY_STAGES) all_arrived();  // the tile whose queries are to leave has its last values
            if (i >= QUERY_STAGES) barrier_wait(FREE_Q(i), (i / QUERY_STAGES & 1) ^ 1);
            if (one.steps == 0) continue;
            tile = i;
            const T *of_q = OF(q, one.b, one.h), *of_k = OF(k, one.b, one.h / (heads / k_heads));
            const T *of_v = OF(v, one.b, one.h / (heads / v_heads));
            const bool k_chunks = in_chunks(of_k, k_s, k_d), v_chunks = in_chunks(of_v, v_s, v_d);
            auto copy_keys = [&](int t, int n) {
                const int j = one.begin + t * BC;
                if (n >= STAGES) barrier_wait(FREE_K(n), ROUND(n) ^ 1);
                copy_panels<BC, D>(tiles, KEYS(n), of_k, k_s, k_d, j, one.end - j, k_chunks);
                issued(FULL_K(n));
            };
            auto copy_values = [&](int t, int n) {
                const int j = one.begin + t * BC;
                if (n >= STAGES) barrier_wait(FREE_V(n), ROUND(n) ^ 1);
                copy_panels<BC, DV>(tiles, VALUES(n), of_v, v_s, v_d, j, one.end - j, v_chunks);
                issued(FULL_V(n));
            };
            copy_panels<BR, D>(tiles, QUERIES(i), of_q, q_s, q_d, one.i0, one.alive, in_chunks(of_q, q_s, q_d));
            copy_keys(0, n);
            for (int t = 1; t < one.steps; ++t) {
                copy_keys(t, n + t);
                copy_values(t - 1, n + t - 1);
            }
            n += one.steps;
            copy_values(one.steps - 1, n - 1);
        }
        all_arrived();
    } else {
        registers_take<TAKEN>();
        const int item = threadIdx.x - 128, lane = item % 32, warp = of_all_lanes(item / 32), group = role - 1;
        const float scale = numbers[ATTN_SCALE] * LOG2E;
        const float unit = unit_of(scale);  // of scores when they are compared
        float out[1][OUT_TILES][4], top[1][2], sum[1][2], factor[1][2], from[1][2];
        float s[1][BC / 8][4];
        u32 weights[BC / 16][4];
        auto leave = [&](u32 place) {
            __syncwarp();  // what the others of the sub-group read is before this, too
            if (lane == 0) barrier_arrive(place);
        };
        for (int i = 0, n = 0;; ++i) {
            barrier_wait(FULL_TILE(i), i / 2 & 1);
            const int number = of_all_lanes(TILE(i));
            leave(FREE_TILE(i));
            if (number >= count) break;
            const tile_of_rows one = the_tile(&at, number);
            const int b = one.b, h = one.h, begin = one.begin, steps = one.steps;
            const sequence of = the_sequence(&at, b, h);
            const int first = one.i0 + warp * 16, last = first + 15, row0 = first + lane / 4;
            const u32 queries = base + QUERIES(i) + group * 64 * 128;
#if !defined(BLOCK_MASK) && !defined(BIAS_T) && !defined(ALIBI)
            const span seen = span_of_rows(&at, &of, first, last);
#endif
            set_zero<OUT_TILES>(out);
            start_rows(top, sum);
            auto take = [&](int t) {
                const int j0 = begin + t * BC;
#if defined(BLOCK_MASK) || defined(BIAS_T) || defined(ALIBI)
                const bool all = false;
#else
                const bool all = holds(seen, j0, BC);
#endif
                if (!all) {
                    const interval of_rows[2] = {columns_of_row(&at, &of, row0), columns_of_row(&at, &of, row0 + 8)};
                    each_score<BC>(s, [&](int m, int n, int e, float score) {
                        return counted(&at, &of, of_rows[e / 2], row0 + e / 2 * 8, j0 + n * 8 + lane % 4 * 2 + e % 2, score, scale);
                    });
                }
                raise_tops<BC>(s, top, factor, from, unit);
                UNROLL for (int half = 0; half < 2; ++half) sum[0][half] *= factor[0][half];
                weigh<BC>(s, sum, from, unit, [&](int m, int half, int n, int e) {
                    return drop_factor(&at, &of, row0 + half * 8, j0 + n * 8 + lane % 4 * 2 + e % 2);
                });
            };

            if (steps > 0) {
                barrier_wait(FULL_K(n), ROUND(n));
                if (flips_of(scale) != 0) {  // the queries' signs
                    for (int place = item % 128; place < 64 * 8 * PANELS(D); place += 128) {
                        u32 words[4];
                        const u32 chunk = queries + place / 512 * BR * 128 + place % 512 * 16;
                        load_chunk(words, chunk);
                        UNROLL for (int w = 0; w < 4; ++w) words[w] ^= 0x80008000u;
                        store_chunk(chunk, words);
                    }
                    local_written();
                    turn_wait(8 + group, 128);
                }
                products_begin();
                issue_scores<BR, BC, D>(s[0][0], queries, base + KEYS(n));
                products_wait<0>();
                sums_stay<BC / 2>(s[0][0]);
                leave(FREE_K(n));
                take(0);
                pack_weights<BC>(weights, s[0]);
            }
#if GROUPS > 1
            // Whose turn it is: barrier 1 + group
            if (group == GROUPS - 1 && steps > 1) turn_give(1, 256);
#endif
            for (int t = 1; t < steps; ++t) {
                ++n;
                barrier_wait(FULL_K(n), ROUND(n));
#if GROUPS > 1
                turn_wait(1 + group, 256);
#endif
                sums_stay<OUT_TILES * 4>(out[0][0]);
                products_begin();
                issue_scores<BR, BC, D>(s[0][0], queries, base + KEYS(n));
                barrier_wait(FULL_V(n - 1), ROUND(n - 1));
                issue_sums<BC, DV>(out[0][0], weights, base + VALUES(n - 1));
#if GROUPS > 1
                if (group < GROUPS - 1 || t < steps - 1) turn_give(1 + (group + 1) % GROUPS, 256);
#endif
                products_wait<1>();
                sums_stay<BC / 2>(s[0][0]);
                leave(FREE_K(n));
                take(t);
                products_wait<0>();
                sums_stay<OUT_TILES * 4>(out[0][0]);
                words_stay<BC / 4>(weights[0]);
                leave(FREE_V(n - 1));
                scale_rows<OUT_TILES>(out, factor);
                pack_weights<BC>(weights, s[0]);
            }
            if (steps > 0) {
                barrier_wait(FULL_V(n), ROUND(n));
                sums_stay<OUT_TILES * 4>(out[0][0]);
                products_begin();
                issue_sums<BC, DV>(out[0][0], weights, base + VALUES(n));
                products_wait<0>();
                sums_stay<OUT_TILES * 4>(out[0][0]);
                leave(FREE_V(n));
                ++n;
            }
            UNROLL for (int half = 0; half < 2; ++half) {
                const int row = row0 + half * 8;
                float total = across_four_sum(sum[0][half]), to_one = 1;
                [[maybe_unused]] float most = top[0][half] * unit;
#ifdef SINK_T
                if (row < of.rows) to_one = join_sink(GET(SINK_T, sink, h * sink_h) * LOG2E, &most, &total);
#endif
                factor[0][half] = total == 0 ? 0.0f : to_one / total;
                if (row < sq && lane % 4 == 0) {
                    PUT_ROW(row, most * LN2, total)
                }
            }
            scale_rows<OUT_TILES>(out, factor);
            ELEMENT(O_T) *of_o = OF(o, b, h);
            turn_wait(8 + group, 128);  // the group's queries have been used
            put_rows<BR, DV, ALIKE && DV <= D>(tiles, QUERIES(i), out[0], warp, lane, of_o, o_s, o_d, first, ROWS_HELD(o, b, sq),
                                               [&](int row, int column, float v) { PUT(O_T, of_o, row * o_s + column * o_d, v); });
            leave(FREE_Q(i));
        }
    }
}
