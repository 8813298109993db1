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
//   WG                       work-items of a group for a row, a power of two; 1 on CPUs
//   HAS_LENGTHS_Q, HAS_LENGTHS_KV, HAS_WINDOWS, HAS_RESIDUALS, HAS_BIAS   which of these there are
//   SHARED                   there is no projection: every head has the whole vector
//   DROPS                    the dropout of this kernel is not 0
//   BLANK                    (mha_pack) vectors behind the lengths become 0
//   ONE_TO_ONE               beams have keys of their own

#include "common/types.h"
#include "tensor/dropout_states.h"

#ifdef SCHEDULE_CPU
#define ELEMENT_SIZE WG_SIZE(1, 1, 1)
#define EACH_ELEMENT(size)                                                                                 \
    const i64 last = (GRP(0) + (i64)1) * CHUNK < (size) ? (GRP(0) + (i64)1) * CHUNK : (size);              \
    for (i64 at = (i64)GRP(0) * CHUNK; at < last; ++at)
#else
#define ELEMENT_SIZE WG_SIZE(256, 1, 1)
#define EACH_ELEMENT(size)                                                                                 \
    const i64 at = (i64)GRP(0) * 256 + LID(0);                                                             \
    if (at < (size))
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
    const int c = (int)(at % numbers), t = (int)(at / numbers % steps);                                     \
    const i64 n = at / numbers / steps % batch, b = at / numbers / steps / batch;                          \
    const i64 place = t * step_t + n * step_n + b * step_b + c * step_v;

// rows = a tensor, times the dropout's factors; 0 behind the lengths
KERNEL ELEMENT_SIZE mha_pack(TENSOR(const T, x), TENSOR(real, rows) LENGTHS_ARG DROP_ARG, const i64 rows_start, PLACE_NUMBERS,
                             const i64 size) {
    GRID_WAIT();
    BIND(const T, x);
    BIND(real, rows);
    LENGTHS_BIND DROP_BIND
    EACH_ELEMENT(size) {
        PLACE
        rows[rows_start + at] = INSIDE(t, n, b) ? LOAD(x, place) * DROP_FACTOR(at) : (real)0;
    }
}

// a tensor = rows
KERNEL ELEMENT_SIZE mha_unpack(TENSOR(const real, rows), TENSOR(T, y), const i64 rows_start, PLACE_NUMBERS, const i64 size) {
    GRID_WAIT();
    BIND(const real, rows);
    BIND(T, y);
    EACH_ELEMENT(size) {
        PLACE
        STORE(y, place, rows[rows_start + at]);
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
#define RESIDUAL LOAD(residuals, t * from_t + n * from_n + b * from_b + c * from_v)
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
    EACH_ELEMENT(size) {
        PLACE
        STORE(out, place, INSIDE(t, n, b) ? (rows[rows_start + at] + BIAS_OF(c)) * DROP_FACTOR(at) + RESIDUAL : (real)0);
    }
}

// heads = rows + bias
KERNEL ELEMENT_SIZE mha_split(TENSOR(const real, rows), TENSOR(real, heads) BIAS_ARG, const i64 rows_start,
                              const i64 heads_start, const int steps, const int count, const int numbers, const i64 size) {
    GRID_WAIT();
    BIND(const real, rows);
    BIND(real, heads);
    BIAS_BIND
    EACH_ELEMENT(size) {
        const i64 c = at % numbers, t = at / numbers % steps, h = at / numbers / steps % count;
        const i64 row = at / numbers / steps / count * steps + t;
#ifdef SHARED
        heads[heads_start + at] = rows[rows_start + row * numbers + c];
#else
        heads[heads_start + at] = rows[rows_start + (row * count + h) * numbers + c] + BIAS_OF(h * numbers + c);
#endif
    }
}

// rows = heads; where they share a vector, their sum
KERNEL ELEMENT_SIZE mha_merge(TENSOR(const real, heads), TENSOR(real, rows), const i64 heads_start, const i64 rows_start,
                              const int steps, const int count, const int numbers, const i64 size) {
    GRID_WAIT();
    BIND(const real, heads);
    BIND(real, rows);
    EACH_ELEMENT(size) {
        const i64 c = at % numbers;
#ifdef SHARED
        const i64 t = at / numbers % steps, sequence = at / numbers / steps;
        real sum = 0;
        for (int h = 0; h < count; ++h) sum += heads[heads_start + ((sequence * count + h) * steps + t) * numbers + c];
        rows[rows_start + at] = sum;
#else
        const i64 h = at / numbers % count, t = at / numbers / count % steps, sequence = at / numbers / count / steps;
        rows[rows_start + at] = heads[heads_start + ((sequence * count + h) * steps + t) * numbers + c];
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
    for (i64 s = first + lid; s < last; s += WG) top = fmax(top, scale * of[s]);
    top = group_max(top, scratch, lid);
    for (i64 s = first + lid; s < last; s += WG) sum += exp(scale * of[s] - top);
    sum = group_sum(sum, scratch, lid);
    for (i64 s = lid; s < keys; s += WG) {
        const real p = s >= first && s < last ? exp(scale * of[s] - top) / sum : (real)0;
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
