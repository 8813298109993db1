// What surrounds the matrix products of multi-head attention (cuDNN 7.5): vectors of every layout become rows, rows become
// heads, products become weights; and the gradients of all that.
//
//   rows    [sequence][step][number]             sequence = beam * batch + n, of queries or of keys and values
//   heads   [sequence][head][step][number]       so that one batched product serves all heads of all sequences
//   scores  [sequence][head][query][key]
//
// All numbers are `real` but those of tensors. One work-item an element; on CPUs a work-group of one takes CHUNK of them. The
// softmax and its gradient have a work-group of WG for each row of scores, and one of WG rows on CPUs.
//
// Host defines
//   SCHEDULE_CPU, CHUNK      on CPUs
//   WG                       work-items of a group for a row, a power of two; 1 on CPUs, with VW floats of a vector
//   HAS_LENGTHS_Q, HAS_LENGTHS_KV, HAS_WINDOWS, HAS_RESIDUALS, HAS_BIAS   which of these there are
//   SHARED                   there is no projection: every head has the whole vector
//   DROPS                    the dropout of this kernel is not 0
//   BLANK                    (mha_pack) vectors behind the lengths become 0
//   ONE_TO_ONE               beams have keys of their own

#include "common/types.h"
#include "tensor/dropout_states.h"

#ifdef SCHEDULE_CPU
#define ELEMENT_SIZE WG_SIZE(1, 1, 1)
// runs of a vector's numbers from element `run` on, whose first is worked out once; RUN says how many a vector has
#define EACH_RUN(size)                                                                                     \
    const i64 last = (GRP(0) + (i64)1) * CHUNK < (size) ? (GRP(0) + (i64)1) * CHUNK : (size);              \
    for (i64 run = (i64)GRP(0) * CHUNK, length = 0; run < last; run += length)
#define RUN(numbers)                                                                                       \
    length = (numbers) - run % (numbers);                                                                  \
    if (length > last - run) length = last - run;
#define EACH_NUMBER for (i64 i = 0; i < length; ++i)
#else
#define ELEMENT_SIZE WG_SIZE(256, 1, 1)
#define EACH_RUN(size)                                                                                     \
    const i64 run = (i64)GRP(0) * 256 + LID(0), i = 0;                                                     \
    if (run < (size))
#define RUN(numbers)
#define EACH_NUMBER
#endif

#ifdef HAS_LENGTHS
#define LENGTHS_ARG , TENSOR(const int, lengths), const i64 lengths_step
#define LENGTHS_BIND BIND(const int, lengths);
#define INSIDE(t, n, b) ((t) < lengths[((n) * beams + (b)) * lengths_step])
#else
#define LENGTHS_ARG
#define LENGTHS_BIND
#define INSIDE(t, n, b) 1
#endif

#ifdef DROPS
#define DROP_ARG , TENSOR(const real, kept), const i64 kept_start, const u32 stream, const i64 threshold, const real keep
#define DROP_BIND BIND(const real, kept);
#define DROP_FACTOR(at) drop_factor((const GLOBAL u32 *)(kept + kept_start), at, stream, threshold, keep)
#else
#define DROP_ARG
#define DROP_BIND
#define DROP_FACTOR(at) ((real)1)
#endif

// 0 or `keep`: element `at` has word at % 4 of block at / 4 of the stream (common/philox.h)
DEVICE real drop_factor(const GLOBAL u32 *drawn, i64 at, u32 stream, i64 threshold, real keep) {
    u32 words[4];
    words[0] = (u32)(at / 4);
    words[1] = stream;
    words[2] = drawn[2];
    words[3] = drawn[3];
    philox4x32(words, drawn[0], drawn[1]);
    return (i64)words[at % 4] >= threshold ? keep : (real)0;
}

// kept[start ..] = seed and draw, as four words; the states go on to the next draw
KERNEL WG_SIZE(1, 1, 1) mha_draw(TENSOR(u8, states), TENSOR(real, reserve), const i64 start, const int place) {
    GRID_WAIT();
    BIND(u8, states);
    BIND(real, reserve);
    GLOBAL u32 *state = (GLOBAL u32 *)states;
    GLOBAL u32 *words = (GLOBAL u32 *)(reserve + start) + place;
    for (int i = 0; i < 4; ++i) words[i] = state[i];
    next_draw(state);
}

#define PLACE_NUMBERS                                                                                      \
    const int steps, const int batch, const int beams, const int numbers, const i64 step_t, const i64 step_n, \
        const i64 step_b, const i64 step_v
#define PLACE                                                                                              \
    RUN(numbers)                                                                                           \
    const int c = (int)(run % numbers), t = (int)(run / numbers % steps);                                   \
    const i64 n = run / numbers / steps % batch, b = run / numbers / steps / batch;                        \
    const i64 place = t * step_t + n * step_n + b * step_b + c * step_v;

// rows = a tensor, times the dropout's factors; 0 behind the lengths
KERNEL ELEMENT_SIZE mha_pack(TENSOR(const T, x), TENSOR(real, rows) LENGTHS_ARG DROP_ARG, const i64 rows_start, PLACE_NUMBERS,
                             const i64 size) {
    GRID_WAIT();
    BIND(const T, x);
    BIND(real, rows);
    LENGTHS_BIND DROP_BIND
    EACH_RUN(size) {
        PLACE
        const bool inside = INSIDE(t, n, b);
        EACH_NUMBER rows[rows_start + run + i] = inside ? LOAD(x, place + i * step_v) * DROP_FACTOR(run + i) : (real)0;
    }
}

// a tensor = rows
KERNEL ELEMENT_SIZE mha_unpack(TENSOR(const real, rows), TENSOR(T, y), const i64 rows_start, PLACE_NUMBERS, const i64 size) {
    GRID_WAIT();
    BIND(const real, rows);
    BIND(T, y);
    EACH_RUN(size) {
        PLACE
        EACH_NUMBER STORE(y, place + i * step_v, rows[rows_start + run + i]);
    }
}

#ifdef HAS_BIAS
#define BIAS_ARG , TENSOR(const T, w), const i64 bias
#define BIAS_BIND BIND(const T, w);
#define BIAS_OF(i) LOAD(w, bias + (i))
#else
#define BIAS_ARG
#define BIAS_BIND
#define BIAS_OF(i) 0
#endif
#ifdef HAS_RESIDUALS
#define RESIDUALS_ARG , TENSOR(const T, residuals), const i64 from_t, const i64 from_n, const i64 from_b, const i64 from_v
#define RESIDUALS_BIND BIND(const T, residuals);
#define RESIDUAL LOAD(residuals, t * from_t + n * from_n + b * from_b + (c + i) * from_v)
#else
#define RESIDUALS_ARG
#define RESIDUALS_BIND
#define RESIDUAL 0
#endif

// out = dropout(rows + bias) + residuals; 0 behind the lengths
KERNEL ELEMENT_SIZE mha_finish(TENSOR(const real, rows), TENSOR(T, out) BIAS_ARG RESIDUALS_ARG LENGTHS_ARG DROP_ARG,
                               const i64 rows_start, PLACE_NUMBERS, const i64 size) {
    GRID_WAIT();
    BIND(const real, rows);
    BIND(T, out);
    BIAS_BIND RESIDUALS_BIND LENGTHS_BIND DROP_BIND
    EACH_RUN(size) {
        PLACE
        const bool inside = INSIDE(t, n, b);
        EACH_NUMBER STORE(out, place + i * step_v,
                          inside ? (rows[rows_start + run + i] + BIAS_OF(c + i)) * DROP_FACTOR(run + i) + RESIDUAL : (real)0);
    }
}

// heads = rows + bias
KERNEL ELEMENT_SIZE mha_split(TENSOR(const real, rows), TENSOR(real, heads) BIAS_ARG, const i64 rows_start,
                              const i64 heads_start, const int steps, const int count, const int numbers, const i64 size) {
    GRID_WAIT();
    BIND(const real, rows);
    BIND(real, heads);
    BIAS_BIND
    EACH_RUN(size) {
        RUN(numbers)
        const i64 c = run % numbers, t = run / numbers % steps, h = run / numbers / steps % count;
        const i64 row = run / numbers / steps / count * steps + t;
#ifdef SHARED
        EACH_NUMBER heads[heads_start + run + i] = rows[rows_start + row * numbers + c + i];
#else
        EACH_NUMBER heads[heads_start + run + i] =
            rows[rows_start + (row * count + h) * numbers + c + i] + BIAS_OF(h * numbers + c + i);
#endif
    }
}

// rows = heads; where they share a vector, their sum
KERNEL ELEMENT_SIZE mha_merge(TENSOR(const real, heads), TENSOR(real, rows), const i64 heads_start, const i64 rows_start,
                              const int steps, const int count, const int numbers, const i64 size) {
    GRID_WAIT();
    BIND(const real, heads);
    BIND(real, rows);
    EACH_RUN(size) {
        RUN(numbers)
        const i64 c = run % numbers;
#ifdef SHARED
        const i64 t = run / numbers % steps, sequence = run / numbers / steps;
        EACH_NUMBER {
            real sum = 0;
            for (int h = 0; h < count; ++h) sum += heads[heads_start + ((sequence * count + h) * steps + t) * numbers + c + i];
            rows[rows_start + run + i] = sum;
        }
#else
        const i64 h = run / numbers % count, t = run / numbers / count % steps, sequence = run / numbers / count / steps;
        EACH_NUMBER rows[rows_start + run + i] = heads[heads_start + ((sequence * count + h) * steps + t) * numbers + c + i];
#endif
    }
}

#ifdef WG
#if WG == 1
#define SYNC()
#else
#define SYNC() BARRIER()
#endif
// all work-items get the result over the group; scratch has WG numbers
#define PD_GROUP(name, OP)                                                                                 \
    DEVICE real name(real v, LOCAL_ARG real *scratch, int lid) {                                           \
        if (WG == 1) return v;                                                                             \
        SYNC();                                                                                            \
        scratch[lid] = v;                                                                                  \
        SYNC();                                                                                            \
        for (int step = WG / 2; step > 0; step /= 2) {                                                     \
            if (lid < step) scratch[lid] = OP(scratch[lid], scratch[lid + step]);                          \
            SYNC();                                                                                        \
        }                                                                                                  \
        return scratch[0];                                                                                 \
    }
#define ADD(a, b) ((a) + (b))
PD_GROUP(group_sum, ADD)
PD_GROUP(group_max, fmax)

#ifdef HAS_LENGTHS_Q
#define LENGTHS_Q_ARG , TENSOR(const int, lengths_q), const i64 lengths_q_step
#define LENGTHS_Q_BIND BIND(const int, lengths_q);
#else
#define LENGTHS_Q_ARG
#define LENGTHS_Q_BIND
#endif
#ifdef HAS_LENGTHS_KV
#define LENGTHS_KV_ARG , TENSOR(const int, lengths_kv), const i64 lengths_kv_step
#define LENGTHS_KV_BIND BIND(const int, lengths_kv);
#else
#define LENGTHS_KV_ARG
#define LENGTHS_KV_BIND
#endif
#ifdef HAS_WINDOWS
#define WINDOWS_ARG , TENSOR(const int, windows), const i64 windows_end, const i64 windows_step
#define WINDOWS_BIND BIND(const int, windows);
#else
#define WINDOWS_ARG
#define WINDOWS_BIND
#endif

// weights = softmax(scale * weights) over the keys of each query's window, 0 elsewhere; dropped = weights times the dropout's
// factors. A row without keys is 0.
KERNEL WG_SIZE(WG, 1, 1)
mha_softmax(TENSOR(real, weights), TENSOR(real, dropped) LENGTHS_Q_ARG LENGTHS_KV_ARG WINDOWS_ARG DROP_ARG,
            const i64 weights_start, const i64 dropped_start, const int heads, const int batch, const int beams,
            const int queries, const int keys, const real scale) {
    GRID_WAIT();
    LOCAL real scratch[WG];
    BIND(real, weights);
    BIND(real, dropped);
    LENGTHS_Q_BIND LENGTHS_KV_BIND WINDOWS_BIND DROP_BIND
    const int lid = LID(0);
    const i64 row = GRP(0), t = row % queries, n = row / queries / heads % batch, b = row / queries / heads / batch;
    i64 first = 0, last = keys;
#ifdef HAS_WINDOWS
    const i64 from = windows[t * windows_step], to = windows[windows_end + t * windows_step];
    if (from > first) first = from;
    if (to < last) last = to;
#endif
#ifdef HAS_LENGTHS_KV
#ifdef ONE_TO_ONE
    const i64 length = lengths_kv[(n * beams + b) * lengths_kv_step];
#else
    const i64 length = lengths_kv[n * lengths_kv_step];
#endif
    if (length < last) last = length;
#endif
#ifdef HAS_LENGTHS_Q
    if (t >= lengths_q[(n * beams + b) * lengths_q_step]) last = first;
#endif
    GLOBAL real *of = weights + weights_start + row * keys;
    GLOBAL real *to_keep = dropped + dropped_start + row * keys;
    real top = -INFINITY_OF(real), sum = 0;
#if WG == 1 && VW > 1
    typedef vreal some __attribute__((aligned(sizeof(real))));
    vreal tops = VSPLAT(-INFINITY_OF(real)), sums = VSPLAT(0);
    i64 at = first;
    for (; at + VW <= last; at += VW) {
        const vreal v = *(const GLOBAL some *)(of + at) * scale;
        tops = v > tops ? v : tops;
    }
    UNROLL for (int j = 0; j < VW; ++j) top = fmax(top, LANE(tops, j));
    for (; at < last; ++at) top = fmax(top, scale * of[at]);
    for (at = first; at + VW <= last; at += VW) {
        const vreal e = VEXP(*(const GLOBAL some *)(of + at) * scale - top);
        *(GLOBAL some *)(of + at) = e;
        sums += e;
    }
    if (at < last) {
        vreal e = VSPLAT(-INFINITY_OF(real));
        for (i64 s = at; s < last; ++s) LANE(e, s - at) = scale * of[s] - top;
        e = VEXP(e);
        for (i64 s = at; s < last; ++s) of[s] = LANE(e, s - at);
        sums += e;
    }
    UNROLL for (int j = 0; j < VW; ++j) sum += LANE(sums, j);
#define WEIGHT(s) (of[s] / sum)
#else
    for (i64 s = first + lid; s < last; s += WG) top = fmax(top, scale * of[s]);
    top = group_max(top, scratch, lid);
    for (i64 s = first + lid; s < last; s += WG) sum += exp(scale * of[s] - top);
    sum = group_sum(sum, scratch, lid);
#define WEIGHT(s) (exp(scale * of[s] - top) / sum)
#endif
    for (i64 s = lid; s < keys; s += WG) {
        const real p = s >= first && s < last ? WEIGHT(s) : (real)0;
        of[s] = p;
#ifdef DROPS
        to_keep[s] = p * DROP_FACTOR(row * keys + s);
#endif
    }
#ifndef DROPS
    (void)to_keep;
#endif
}

// scores' gradient = scale * weights * (g - sum of weights * g), with g the gradient of the weights: `gradient` holds that of
// the dropped ones, and then the result
KERNEL WG_SIZE(WG, 1, 1)
mha_softmax_gradient(TENSOR(real, gradient), TENSOR(const real, weights) DROP_ARG, const i64 weights_start, const int keys,
                     const real scale) {
    GRID_WAIT();
    LOCAL real scratch[WG];
    BIND(real, gradient);
    BIND(const real, weights);
    DROP_BIND
    const int lid = LID(0);
    const i64 row = GRP(0);
    const GLOBAL real *of = weights + weights_start + row * keys;
    GLOBAL real *g = gradient + row * keys;
    real sum = 0;
    for (i64 s = lid; s < keys; s += WG) sum += of[s] * g[s] * DROP_FACTOR(row * keys + s);
    sum = group_sum(sum, scratch, lid);
    for (i64 s = lid; s < keys; s += WG) g[s] = scale * of[s] * (g[s] * DROP_FACTOR(row * keys + s) - sum);
}

// dw[bias + column] += the sum of a column of rows; a work-group a column
KERNEL WG_SIZE(WG, 1, 1)
mha_bias_gradient(TENSOR(const real, rows), TENSOR(T, dw), const i64 rows_start, const i64 bias, const i64 count,
                  const int columns) {
    GRID_WAIT();
    LOCAL real scratch[WG];
    BIND(const real, rows);
    BIND(T, dw);
    const int lid = LID(0);
    const GLOBAL real *of = rows + rows_start + GRP(0);
    real sum = 0;
    for (i64 row = lid; row < count; row += WG) sum += of[row * columns];
    sum = group_sum(sum, scratch, lid);
    if (lid == 0) STORE(dw, bias + GRP(0), LOAD(dw, bias + GRP(0)) + sum);
}
#endif
