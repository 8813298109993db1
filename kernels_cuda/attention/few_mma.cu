// Attention forward of few queries on tensor cores: reading keys and values takes the time, and a work-group reads them for all
// heads of queries that share them.
//
//   rows      r = (query r / SHARE, head r % SHARE of those that share), WARP_ROWS at most; every sub-group has all of them
//   columns   a step is BC = 16 * WARPS keys, of which each sub-group has 16 (attention/mma.h); STAGES steps are in local
//             memory, all but one of them still being copied
//
// A sub-group's tops, sums and output are of its own keys. Local memory joins them in the end; where the keys are cut in SLICES,
// a work-group each, attention_few_join joins what these leave as  outs[slice][head of keys][row][DV]  and  marks[...][row].
//
// Host defines: SHARE WARPS STEPS BC STAGES SLICES, BLOCKS (work-groups that a multiprocessor shall hold), D, DV, and as attention/attention.h.

#include "attention/mma.h"
#include "attention/outputs.h"
#include "attention/pages_mma.h"
#include "attention/weights_mma.h"

#define Q_BYTES (WARP_ROWS * PITCH(D))
#define K_BYTES (BC * PITCH(D))
#define STAGE_BYTES (K_BYTES + BC * PITCH(DV))
#define OUT_TILES (WIDE(DV) / 8)
#define HOLD (D * STEPS <= 128)

// A row's top in units of the logarithm to base 2, and its sum relative to that
typedef Two mark;

// One number of a row's output, its top and its sum, of `count` parts
DEVICE float joined(const float *outs, i64 apart, const mark *marks, i64 marks_apart, int count, float *top, float *sum) {
    float out = 0;
    *top = -INFINITY_OF(float);
    *sum = 0;
    for (int c = 0; c < count; ++c) *top = fmaxf(*top, marks[c * marks_apart].v[0]);
    for (int c = 0; c < count; ++c) {
        const mark one = marks[c * marks_apart];
        const float factor = one.v[0] == -INFINITY_OF(float) ? 0.0f : power_of_two(one.v[0] - *top);
        *sum += one.v[1] * factor;
        out += outs[c * apart] * factor;
    }
    return out;
}

#ifdef SINK_T
#define WITH_SINK(i) \
    if ((i) < of.rows) factor = join_sink(GET(SINK_T, sink, h * sink_h) * LOG2E, &top, &sum);
#else
#define WITH_SINK(i)
#endif
// Number n of query i's output, and with the first what is left of the row
#define FINISH(i, n, value)                                                             \
    {                                                                                   \
        float factor = 1;                                                               \
        WITH_SINK(i)                                                                    \
        factor = sum == 0 ? 0.0f : factor / sum;                                        \
        if (HAS_ROW(o, b, i)) PUT(O_T, OF(o, b, h), (i) * o_s + (n) * o_d, (value) * factor); \
        if ((n) == 0) {                                                                 \
            PUT_ROW(i, top * LN2, sum)                                                  \
        }                                                                               \
    }

KERNEL __launch_bounds__(ITEMS, BLOCKS)
attention_few_mma(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v),
#if SLICES > 1
                  TENSOR(float, outs), TENSOR(mark, marks),
#else
                  PLACED(ELEMENT(O_T), o) ROW_OUTPUTS,
#endif
                  ATTENTION PAGES_ARGUMENTS) {
    GRID_WAIT();
    extern __shared__ __align__(128) unsigned char tiles[];
    ATTENTION_BIND(at)
    const u32 base = local_address(tiles);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int slice = blockIdx.x % SLICES, z = blockIdx.x / SLICES, key_heads = heads / SHARE;
    const int b = z / key_heads, hk = z % key_heads, h0 = hk * SHARE, rows = SHARE * sq;
    const sequence of = the_sequence(&at, b, h0);
    const int begin = first_column(&at, &of, 0) / BC * BC, end = of.rows > 0 ? end_column(&at, &of, of.rows - 1) : 0;
    const i64 steps = begin < end ? (end - begin + BC - 1) / BC : 0;
    const int first = (int)(steps * slice / SLICES), count = (int)(steps * (slice + 1) / SLICES) - first;
    const float scale = numbers[ATTN_SCALE] * LOG2E;
    const float unit = unit_of(scale);  // of scores when they are compared
    const u32 flips = flips_of(scale);

    auto copy_step = [&](int s) {
        const int j = begin + (first + s) * BC;
        const u32 to = Q_BYTES + s % STAGES * STAGE_BYTES;
        COPY_KEYS(to, j, end - j);
        COPY_VALUES(to + K_BYTES, j, end - j);
    };
    UNROLL for (int s = 0; s < STAGES - 1; ++s) {
        if (s < count) copy_step(s);
        copies_issued();
    }
    for (int place = threadIdx.x; place < WARP_ROWS * WIDE(D); place += ITEMS) {
        const int r = place / WIDE(D), n = place % WIDE(D), i = r / SHARE;
        const bool there = i < of.rows && n < D;
        *(T *)(tiles + r * PITCH(D) + 2 * n) = there ? OF(q, b, h0 + r % SHARE)[i * q_s + n * q_d] : (T)0;
    }

    float out[STEPS][OUT_TILES][4], top[STEPS][2], sum[STEPS][2];
    set_zero<OUT_TILES>(out);
    start_rows(top, sum);
    sequence of_row[STEPS][2];
    int row[STEPS][2];
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            const int r = m * 16 + half * 8 + lane / 4;
            of_row[m][half] = the_sequence(&at, b, h0 + r % SHARE);
            row[m][half] = r / SHARE;  // those from sq on see nothing
        }
    }
    const u32 left_at = left_place(base, lane, PITCH(D));
#if HOLD
    u32 held[WIDE(D) / 16][STEPS][4];
#endif
    for (int s = 0; s < count; ++s) {
        copies_wait<STAGES - 2>();
        __syncthreads();  // this step's operands are there, those of the one before have been used
        if (s + STAGES - 1 < count) copy_step(s + STAGES - 1);
        copies_issued();
#if HOLD
        if (s == 0) {
            UNROLL for (int step = 0; step < WIDE(D) / 16; ++step) {
                load_queries(held[step], left_at + step * 32, PITCH(D), flips);
            }
        }
#endif
        const u32 keys = base + Q_BYTES + s % STAGES * STAGE_BYTES;
        const int j0 = begin + (first + s) * BC + warp * 16;
        float scores[STEPS][2][4];
        set_zero<2>(scores);
        UNROLL for (int step = 0; step < WIDE(D) / 16; ++step) {
#if HOLD
            const u32(*a)[4] = held[step];
#else
            u32 a[STEPS][4];
            load_queries(a, left_at + step * 32, PITCH(D), flips);
#endif
            multiply_step<16>(scores, a, right_place(keys + warp * 16 * PITCH(D), lane, PITCH(D)) + step * 32, PITCH(D));
        }
#if defined(BLOCK_MASK) || defined(BIAS_T) || defined(ALIBI)
        const bool all = false;
#else
        const bool all = of.rows >= sq && j0 >= inner_column(&at, &of, sq - 1) && j0 + 16 <= inner_end(&at, &of, 0);
#endif
        if (!all) {
            each_score<16>(scores, [&](int m, int n, int e, float score) {
                const interval seen = columns_of_row(&at, &of_row[m][e / 2], row[m][e / 2]);
                return counted(&at, &of_row[m][e / 2], seen, row[m][e / 2], j0 + n * 8 + lane % 4 * 2 + e % 2, score, scale);
            });
        }
        take_weights<16, OUT_TILES>(scores, top, sum, out, unit, [&](int m, int half, int n, int e) {
            return drop_factor(&at, &of_row[m][half], row[m][half], j0 + n * 8 + lane % 4 * 2 + e % 2);
        });
        add_product<16, DV>(out, scores, summed_place(keys + K_BYTES + warp * 16 * PITCH(DV), lane, PITCH(DV)));
    }
    copies_wait<0>();
    __syncthreads();

    float *parts = (float *)tiles;  // [sub-group][row][DV], and the marks after them
    mark *own = (mark *)(parts + WARPS * WARP_ROWS * WIDE(DV));
    UNROLL for (int m = 0; m < STEPS; ++m) {
        UNROLL for (int half = 0; half < 2; ++half) {
            const int r = warp * WARP_ROWS + m * 16 + half * 8 + lane / 4;
            const float total = across_four_sum(sum[m][half]);
            if (lane % 4 == 0) own[r] = {top[m][half] * unit, total};
            UNROLL for (int n = 0; n < OUT_TILES; ++n) {
                *(Two *)(parts + r * WIDE(DV) + n * 8 + lane % 4 * 2) = {out[m][n][2 * half], out[m][n][2 * half + 1]};
            }
        }
    }
    __syncthreads();
    for (int place = threadIdx.x; place < rows * DV; place += ITEMS) {
        const int r = place / DV, n = place % DV;
        float top, sum;
        const float value = joined(parts + r * WIDE(DV) + n, WARP_ROWS * WIDE(DV), own + r, WARP_ROWS, WARPS, &top, &sum);
#if SLICES > 1
        const i64 to = ((i64)slice * (gridDim.x / SLICES) + z) * WARP_ROWS + r;
        outs[to * DV + n] = value;
        if (n == 0) marks[to] = {top, sum};
#else
        const int h = h0 + r % SHARE;
        FINISH(r / SHARE, n, value)
#endif
    }
}

#if SLICES > 1
// One work-group a row
KERNEL __launch_bounds__(ITEMS)
attention_few_join(TENSOR(const float, outs), TENSOR(const mark, marks), PLACED(ELEMENT(O_T), o) ROW_OUTPUTS, ATTENTION) {
    GRID_WAIT();
    ATTENTION_BIND(at)
    const int rows = SHARE * sq, r = blockIdx.x % rows, z = blockIdx.x / rows, key_heads = heads / SHARE;
    const int b = z / key_heads, h = z % key_heads * SHARE + r % SHARE;
    const sequence of = the_sequence(&at, b, h);
    const i64 place = (i64)z * WARP_ROWS + r, apart = (i64)(gridDim.x / rows) * WARP_ROWS;
    for (int n = threadIdx.x; n < DV; n += ITEMS) {
        float top, sum;
        const float value = joined(outs + place * DV + n, apart * DV, marks + place, apart, SLICES, &top, &sum);
        FINISH(r / SHARE, n, value)
    }
}
#endif
