// What surrounds the products and the attention of multi-head attention (cuDNN 7.5): tensors of every layout become rows and
// rows become tensors, with biases, residuals and dropout; bounds of what each query sees; gradients of biases. And the softmax
// of scores in memory with its gradient, for heads that are too long for the kernels of attention.
//
//   rows    [sequence][step][number]             sequence = n * beams + b, of queries or of keys and values
//   heads   [group][head][row][number]           a group's rows meet the same keys (portadnn/ops/attention/layout.py)
//   scores  [group][head][row][key]
//
// Rows are of the tensors' type, or `real` where a kernel says so; heads and scores are `real`. One work-item an element; on CPUs
// a work-group of one takes CHUNK of them. The softmax and its gradient have a work-group of WG for each row of scores.
//
// Host defines
//   SCHEDULE_CPU, CHUNK      on CPUs
//   PER                      on GPUs, numbers of a work-item, which divide those of a vector
//   WG                       work-items of a group for a row, a power of two; 1 on CPUs
//   HAS_LENGTHS_Q, HAS_LENGTHS_KV, HAS_WINDOWS, HAS_RESIDUALS, HAS_BIAS   which of these there are
//   STORED_ROWS              (mha_finish, mha_merge) rows are of the tensors' type
//   SHARED                   there is no projection: every head has the whole vector
//   DROPS                    the dropout of this kernel is not 0

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
// PER numbers that lie in one vector
#define EACH_RUN(size)                                                                                     \
    const i64 run = ((i64)GRP(0) * 256 + LID(0)) * PER;                                                    \
    if (run < (size))
#define RUN(numbers)
#define EACH_NUMBER UNROLL for (int i = 0; i < PER; ++i)
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
#define DROP_ARG , TENSOR(const u32, drawn), const u32 stream, const i64 threshold, const real keep
#define DROP_BIND BIND(const u32, drawn);
#define DROP_FACTOR(at) drop_of(drawn, at, stream, threshold, keep)
#else
#define DROP_ARG
#define DROP_BIND
#define DROP_FACTOR(at) ((real)1)
#endif

// `keep` where the word is below the threshold, else 0: element `at` has word at % 4 of block at / 4 of the stream
DEVICE real drop_of(const GLOBAL u32 *drawn, i64 at, u32 stream, i64 threshold, real keep) {
    u32 words[4];
    words[0] = (u32)(at / 4);
    words[1] = stream;
    words[2] = drawn[2];
    words[3] = drawn[3];
    philox4x32(words, drawn[0], drawn[1]);
    return (i64)words[at % 4] < threshold ? keep : (real)0;
}

// words = seed and draw; the states go on to the next draw
KERNEL WG_SIZE(1, 1, 1) mha_draw(TENSOR(u8, states), TENSOR(u32, words)) {
    GRID_WAIT();
    BIND(u8, states);
    BIND(u32, words);
    GLOBAL u32 *state = (GLOBAL u32 *)states;
    for (int i = 0; i < 4; ++i) words[i] = state[i];
    next_draw(state);
}

#define PLACE_NUMBERS                                                                                      \
    const int steps, const int batch, const int beams, const int numbers, const i64 step_t, const i64 step_n, \
        const i64 step_b, const i64 step_v
#define PLACE                                                                                              \
    RUN(numbers)                                                                                           \
    const int c = (int)(run % numbers), t = (int)(run / numbers % steps);                                   \
    const i64 b = run / numbers / steps % beams, n = run / numbers / steps / beams;                        \
    const i64 place = t * step_t + n * step_n + b * step_b + c * step_v;

// rows = a tensor, times the dropout's factors; 0 behind the lengths
KERNEL ELEMENT_SIZE mha_pack(TENSOR(const T, x), TENSOR(T, rows) LENGTHS_ARG DROP_ARG, PLACE_NUMBERS, const i64 size) {
    GRID_WAIT();
    BIND(const T, x);
    BIND(T, rows);
    LENGTHS_BIND DROP_BIND
    EACH_RUN(size) {
        PLACE
        const bool inside = INSIDE(t, n, b);
        EACH_NUMBER STORE(rows, run + i, inside ? LOAD(x, place + i * step_v) * DROP_FACTOR(run + i) : (real)0);
    }
}

// a tensor = rows of `real`, the sum of `heads` of them each
KERNEL ELEMENT_SIZE mha_unpack(TENSOR(const real, rows), TENSOR(T, y), const int heads, PLACE_NUMBERS, const i64 size) {
    GRID_WAIT();
    BIND(const real, rows);
    BIND(T, y);
    EACH_RUN(size) {
        PLACE
        const GLOBAL real *row = rows + run / numbers * heads * numbers + c;
        EACH_NUMBER {
            real sum = 0;
            for (int h = 0; h < heads; ++h) sum += row[h * numbers + i];
            STORE(y, place + i * step_v, sum);
        }
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

#ifdef STORED_ROWS
#define ROWS_T T
#define ROW(i) LOAD(rows, i)
#define MERGED(rows, i, v) STORE(rows, i, v)
#else
#define ROWS_T real
#define ROW(i) rows[i]
#define MERGED(rows, i, v) rows[i] = v
#endif

// out = dropout(rows + bias) + residuals; 0 behind the lengths
KERNEL ELEMENT_SIZE mha_finish(TENSOR(const ROWS_T, rows), TENSOR(T, out) BIAS_ARG RESIDUALS_ARG LENGTHS_ARG DROP_ARG,
                               PLACE_NUMBERS, const i64 size) {
    GRID_WAIT();
    BIND(const ROWS_T, rows);
    BIND(T, out);
    BIAS_BIND RESIDUALS_BIND LENGTHS_BIND DROP_BIND
    EACH_RUN(size) {
        PLACE
        const bool inside = INSIDE(t, n, b);
        EACH_NUMBER STORE(out, place + i * step_v, inside ? (ROW(run + i) + BIAS_OF(c + i)) * DROP_FACTOR(run + i) + RESIDUAL : (real)0);
    }
}

// to = rows + bias
KERNEL ELEMENT_SIZE mha_add_bias(TENSOR(const real, rows), TENSOR(T, to) BIAS_ARG, const int numbers, const i64 size) {
    GRID_WAIT();
    BIND(const real, rows);
    BIND(T, to);
    BIAS_BIND
    EACH_RUN(size) {
        RUN(numbers)
        const i64 c = run % numbers;
        EACH_NUMBER STORE(to, run + i, rows[run + i] + BIAS_OF(c + i));
    }
}

// heads = rows
KERNEL ELEMENT_SIZE mha_split(TENSOR(const T, rows), TENSOR(real, heads), const int steps, const int count, const int numbers,
                              const i64 size) {
    GRID_WAIT();
    BIND(const T, rows);
    BIND(real, heads);
    EACH_RUN(size) {
        RUN(numbers)
        const i64 c = run % numbers, t = run / numbers % steps, h = run / numbers / steps % count;
        const i64 row = run / numbers / steps / count * steps + t;
#ifdef SHARED
        EACH_NUMBER heads[run + i] = LOAD(rows, row * numbers + c + i);
#else
        EACH_NUMBER heads[run + i] = LOAD(rows, (row * count + h) * numbers + c + i);
#endif
    }
}

// rows = heads
KERNEL ELEMENT_SIZE mha_merge(TENSOR(const real, heads), TENSOR(ROWS_T, rows), const int steps, const int count, const int numbers,
                              const i64 size) {
    GRID_WAIT();
    BIND(const real, heads);
    BIND(ROWS_T, rows);
    EACH_RUN(size) {
        RUN(numbers)
        const i64 c = run % numbers;
        const i64 h = run / numbers % count, t = run / numbers / count % steps, group = run / numbers / count / steps;
        EACH_NUMBER MERGED(rows, run + i, heads[((group * count + h) * steps + t) * numbers + c + i]);
    }
}

// dw[column] += the sum over its parts
KERNEL ELEMENT_SIZE mha_bias_gradient(TENSOR(const real, sums), TENSOR(T, dw), const int parts, const i64 size) {
    GRID_WAIT();
    BIND(const real, sums);
    BIND(T, dw);
    EACH_RUN(size) {
        RUN(size)
        EACH_NUMBER {
            real sum = 0;
            for (int part = 0; part < parts; ++part) sum += sums[part * size + run + i];
            STORE(dw, run + i, LOAD(dw, run + i) + sum);
        }
    }
}

#ifdef HAS_LENGTHS_Q
#define LENGTHS_Q_ARG , TENSOR(const int, lengths_q), const i64 lengths_q_step
#define LENGTHS_Q_BIND BIND(const int, lengths_q);
#define LENGTH_Q(g) lengths_q[(g) * lengths_q_step]
#else
#define LENGTHS_Q_ARG
#define LENGTHS_Q_BIND
#define LENGTH_Q(g) rows
#endif
#ifdef HAS_LENGTHS_KV
#define LENGTHS_KV_ARG , TENSOR(const int, lengths_kv), const i64 lengths_kv_step
#define LENGTHS_KV_BIND BIND(const int, lengths_kv);
#define LENGTH_KV(g) lengths_kv[(g) * lengths_kv_step]
#else
#define LENGTHS_KV_ARG
#define LENGTHS_KV_BIND
#define LENGTH_KV(g) keys
#endif

// The rows and then the keys that count in each group
KERNEL ELEMENT_SIZE mha_lengths(TENSOR(int, to) LENGTHS_Q_ARG LENGTHS_KV_ARG, const int rows, const int keys, const i64 size) {
    GRID_WAIT();
    BIND(int, to);
    LENGTHS_Q_BIND LENGTHS_KV_BIND
    EACH_RUN(size) {
        RUN(size)
        EACH_NUMBER {
            const i64 g = run + i;
            const int of_rows = LENGTH_Q(g), of_keys = LENGTH_KV(g);
            to[g] = of_rows < 0 ? 0 : of_rows > rows ? rows : of_rows;
            to[size + g] = of_keys < 0 ? 0 : of_keys > keys ? keys : of_keys;
        }
    }
}

// What each key asks of windows, four numbers behind those of rows (attention/windows.cl): the first of growing numbers that is
// greater
DEVICE int first_beyond(const GLOBAL int *numbers, int count, int key) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (numbers[middle] > key) high = middle;
        else low = middle + 1;
    }
    return low;
}
KERNEL ELEMENT_SIZE mha_key_windows(TENSOR(int, to), const int rows, const i64 size) {
    GRID_WAIT();
    BIND(int, to);
    GLOBAL int *of_keys = to + 6 * (i64)rows;
    EACH_RUN(size) {
        RUN(size)
        EACH_NUMBER {
            const int key = (int)(run + i);
            of_keys[key] = first_beyond(to + 3 * rows, rows, key);
            of_keys[size + key] = first_beyond(to + 2 * rows, rows, key);
            of_keys[2 * size + key] = first_beyond(to + 5 * rows, rows, key);
            of_keys[3 * size + key] = first_beyond(to + 4 * rows, rows, key);
        }
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

#ifdef HAS_LENGTHS
#define ROWS_ARG , TENSOR(const int, lengths)
#define ROWS_BIND BIND(const int, lengths);
#else
#define ROWS_ARG
#define ROWS_BIND
#endif
#ifdef HAS_WINDOWS
#define WINDOWS_ARG , TENSOR(const int, windows)
#define WINDOWS_BIND BIND(const int, windows);
#else
#define WINDOWS_ARG
#define WINDOWS_BIND
#endif

// weights = softmax(scale * weights) over the keys of each query's window, 0 elsewhere; dropped = weights times the dropout's
// factors. A row without keys is 0.
KERNEL WG_SIZE(WG, 1, 1)
mha_softmax(TENSOR(real, weights), TENSOR(real, dropped) ROWS_ARG WINDOWS_ARG DROP_ARG, const int heads, const int groups,
            const int rows, const int keys, const real scale) {
    GRID_WAIT();
    LOCAL real scratch[WG];
    BIND(real, weights);
    BIND(real, dropped);
    ROWS_BIND WINDOWS_BIND DROP_BIND
    const int lid = LID(0);
    const i64 row = GRP(0), t = row % rows, g = row / rows / heads;
    i64 first = 0, last = keys;
#ifdef HAS_WINDOWS
    first = windows[t];
    last = windows[rows + t];
#endif
#ifdef HAS_LENGTHS
    if (lengths[groups + g] < last) last = lengths[groups + g];
    if (t >= lengths[g]) last = first;
#endif
    (void)g;
    (void)t;
    GLOBAL real *of = weights + row * keys;
    GLOBAL real *to_keep = dropped + row * keys;
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
mha_softmax_gradient(TENSOR(real, gradient), TENSOR(const real, weights) DROP_ARG, const int keys, const real scale) {
    GRID_WAIT();
    LOCAL real scratch[WG];
    BIND(real, gradient);
    BIND(const real, weights);
    DROP_BIND
    const int lid = LID(0);
    const i64 row = GRP(0);
    const GLOBAL real *of = weights + row * keys;
    GLOBAL real *g = gradient + row * keys;
    real sum = 0;
    for (i64 s = lid; s < keys; s += WG) sum += of[s] * g[s] * DROP_FACTOR(row * keys + s);
    sum = group_sum(sum, scratch, lid);
    for (i64 s = lid; s < keys; s += WG) g[s] = scale * of[s] * (g[s] * DROP_FACTOR(row * keys + s) - sum);
}
#endif
