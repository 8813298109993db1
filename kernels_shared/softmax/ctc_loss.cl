// Connectionist temporal classification (Graves et al. 2006): costs, and gradients with respect to what a softmax takes.
//
// A label l of len classes becomes the states  blank l0 blank l1 ... blank : state s has the class of label (s-1)/2 if s is
// odd, else the blank. With y(t, s) the probability of that class at step t, the sum over all paths that end in s at t is
//
//   a(t, s) = y(t, s) * (a(t-1, s) + a(t-1, s-1) + a(t-1, s-2)),  the last term for odd s whose class differs from s-2's
//
// The sum of the paths that begin in s, b(t, s), is the same recursion on the label and the steps turned over. The gradient is
//
//   y(t, c) - sum over the states s of class c of  a(t, s) * b(t, s) / y(t, s) / (the same for all states)
//
//   ctc_rows      log of each row's sum of exponentials; ROWS rows (t, n) a work-group
//   ctc_paths     logs of a (even groups) and of b (odd ones), sequence after sequence: a work-group walks through the steps and
//                 shares the states between its work-items. Each RENEW steps it subtracts the row's maximum, so that numbers stay
//                 small and float32 keeps their digits. Even groups store the costs, and lists of a label's equal classes
//   ctc_gradient  ROWS rows (t, n) a work-group: the states' shares add up to 1, then each class collects its own in the order of
//                 the label. No atomic additions: results repeat in every bit
//
// Workspace: row_logs[T*N], paths[2][N][T][most], lists[N][most / 2], reachable[N] with as many states as the longest label has.
// A label or a length that is out of bounds makes the cost NaN; a label that fits into no path makes it infinite. The gradient of both
// is 0, or not written with SKIP_UNREACHABLE. Steps from the sequence's length on have a gradient of 0.
//
// Host defines
//   WG            work-items of a group, a power of two; 1 on CPUs, whose groups need no barriers
//   ROWS          rows of a group
//   SOFTMAX       `probs` are the softmax's inputs (else its outputs)
//   LOCAL_STATES  room for that many states in local memory; without it the states are read from the workspace
//   CONCATENATED  labels lie one behind the other (else in rows of labels_n elements)
//   GRADIENT      gradients are wanted
//   ROW_LOGS, PATHS, GRADIENT_ROWS   which kernel is compiled
//   VW            floats of a CPU's vectors (softmax/ctc_vectors.h): classes lie side by side, WG is 1
#include "common/types.h"

#if WG == 1
#define SYNC()
#define SYNC_ALL()
#else
#define SYNC() BARRIER()
#define SYNC_ALL() GLOBAL_BARRIER()
#endif
#define RENEW 16
#define NOTHING (-INFINITY_OF(real))
#if VW > 1
#include "softmax/ctc_vectors.h"
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

#ifdef ROW_LOGS
KERNEL WG_SIZE(WG, 1, 1)
ctc_rows(TENSOR(const T, probs), TENSOR(real, row_logs), const int steps, const int batch, const int classes, const idx_t probs_t,
         const idx_t probs_n, const idx_t probs_c) {
    GRID_WAIT();
    LOCAL real scratch[WG];
    BIND(const T, probs);
    BIND(real, row_logs);
    const int lid = LID(0);
    const i64 rows = (i64)steps * batch, first = (i64)GRP(0) * ROWS;
    for (i64 row = first; row < rows && row < first + ROWS; ++row) {
        const idx_t from = (idx_t)(row / batch) * probs_t + (idx_t)(row % batch) * probs_n;
#if VW > 1
        row_logs[row] = log_of_row(probs + from, classes);
        continue;
#endif
        real top = NOTHING, sum = 0;
        for (int c = lid; c < classes; c += WG) top = fmax(top, LOAD(probs, from + c * probs_c));
        top = group_max(top, scratch, lid);
        for (int c = lid; c < classes; c += WG) sum += exp(LOAD(probs, from + c * probs_c) - top);
        sum = group_sum(sum, scratch, lid);
        if (lid == 0) row_logs[row] = top + log(sum);
    }
}
#endif

#ifdef SOFTMAX
#define LOG_OF(v, row) ((v) - row_logs[row])
#define VALUE_OF(v, row) exp((v) - row_logs[row])
#else
#define LOG_OF(v, row) log(v)
#define VALUE_OF(v, row) (v)
#endif

// log(exp(a) + exp(b) + exp(c)); a NaN among them stays one
DEVICE real log_sum(real a, real b, real c) {
    real top = a;
    if (b > top) top = b;
    if (c > top) top = c;
    if (top == NOTHING) return a + b + c;
    return top + log(exp(a - top) + exp(b - top) + exp(c - top));
}

// the labels in front of a sequence's own
DEVICE i64 labels_before(const GLOBAL int *lengths, idx_t step, int n) {
    i64 place = 0;
#ifdef CONCATENATED
    for (int i = 0; i < n; ++i) {
        const int length = lengths[(idx_t)i * step];
        if (length > 0) place += length;
    }
#endif
    return place;
}
#ifdef CONCATENATED
#define FIRST_LABEL(skipped, n) ((skipped) * (i64)labels_l)
#else
#define FIRST_LABEL(skipped, n) ((i64)(n) * (i64)labels_n)
#endif
#define CLASS(j) label[(idx_t)(j) * labels_l]

#ifdef PATHS
#ifdef LOCAL_STATES
#if VW > 1
#define STATE(step, s) lines[(step) % 2][VW + (s)]
#else
#define STATE(step, s) states[(step) % 2 * LOCAL_STATES + (s)]
#endif
#define SYNC_STATES() SYNC()
#else
#define STATE(step, s) stored[(i64)(back ? used - 1 - (step) : (step)) * most + (s)]
#define SYNC_STATES() SYNC_ALL()
#endif
#ifdef GRADIENT
#define DIRECTIONS 2
#else
#define DIRECTIONS 1
#endif

KERNEL WG_SIZE(WG, 1, 1)
ctc_paths(TENSOR(const T, probs), TENSOR(const int, labels), TENSOR(const int, label_lengths), TENSOR(const int, input_lengths),
          TENSOR(T, costs), TENSOR(real, row_logs), TENSOR(real, paths), TENSOR(int, lists), TENSOR(int, reachable), const int steps,
          const int batch, const int classes, const int most, const int longest, const int blank, const i64 labels_all,
          const idx_t labels_n, const idx_t labels_l, const idx_t label_lengths_n, const idx_t input_lengths_n, const idx_t costs_n,
          const idx_t probs_t, const idx_t probs_n, const idx_t probs_c) {
    GRID_WAIT();
    LOCAL real scratch[WG];
#ifdef LOCAL_STATES
#if VW > 1
    real lines[2][LOCAL_STATES + 2 * VW], emitted[LOCAL_STATES + VW];
    int may_skip[LOCAL_STATES + VW];
#else
    LOCAL real states[2 * LOCAL_STATES];
#endif
#endif
    BIND(const T, probs);
    BIND(const int, labels);
    BIND(const int, label_lengths);
    BIND(const int, input_lengths);
    BIND(T, costs);
    BIND(real, row_logs);
    BIND(real, paths);
    BIND(int, lists);
    BIND(int, reachable);
    const int lid = LID(0), n = GRP(0) / DIRECTIONS, back = GRP(0) % DIRECTIONS;
    const int length = label_lengths[(idx_t)n * label_lengths_n], used = input_lengths[(idx_t)n * input_lengths_n];
    const i64 skipped = labels_before(label_lengths, label_lengths_n, n);
    const GLOBAL int *label = labels + FIRST_LABEL(skipped, n);
    real wrong = length < 0 || length > longest || used < 0 || used > steps || skipped + length > labels_all;
    if (wrong == (real)0)
        for (int j = lid; j < length; j += WG)
            if (CLASS(j) < 0 || CLASS(j) >= classes) wrong = 1;
    wrong = group_max(wrong, scratch, lid);
    const int count = 2 * length + 1;
    if (wrong != (real)0 || length > steps || used == 0) {
        if (lid == 0 && back == 0) {
            const bool empty = wrong == (real)0 && length == 0;
            STORE(costs, (idx_t)n * costs_n, wrong != (real)0 ? NAN_OF(real) : empty ? (real)0 : INFINITY_OF(real));
            reachable[n] = empty;
        }
        return;
    }
    GLOBAL real *stored = paths + ((i64)back * batch + n) * steps * most;
#ifdef GRADIENT
    // for each place of the label: twice the distance to the next one of its class (0: there is none), plus 1 for the first one
    if (back == 0)
        for (int j = lid; j < length; j += WG) {
            int next = j + 1, earlier = 0;
            while (next < length && CLASS(next) != CLASS(j)) ++next;
            while (earlier < j && CLASS(earlier) != CLASS(j)) ++earlier;
            lists[(i64)n * (most / 2) + j] = 2 * (next < length ? next - j : 0) + (earlier == j);
        }
#endif
#if VW > 1
    for (int s = 0; s < count + VW; ++s) emitted[s] = NOTHING;
    for (int s = 0; s < count + VW; ++s) may_skip[s] = 0;
    for (int s = 3; s < count; s += 2) {  // not to a blank, in the order of time
        const int c = CLASS(back ? length - 1 - s / 2 : s / 2), other = CLASS(back ? length - s / 2 : s / 2 - 1);
        may_skip[s] = -(c != other && (back ? other : c) != blank);
    }
    for (int s = 0; s < VW; ++s) lines[0][s] = lines[1][s] = NOTHING;
#endif
    real offset = 0, lost = 0;  // what was subtracted so far, and what its sum lost by rounding
    for (int step = 0; step < used; ++step) {
        const int t = back ? used - 1 - step : step;
        const i64 row = (i64)t * batch + n;
        const idx_t from = (idx_t)t * probs_t + (idx_t)n * probs_n;
        real top = NOTHING;
#if VW > 1
        const real empty = LOG_OF(LOAD(probs, from + blank), row);
        for (int s = 0; s < count; s += 2) emitted[s] = empty;
        for (int j = 0; j < length; ++j)
            emitted[2 * j + 1] = LOG_OF(LOAD(probs, from + CLASS(back ? length - 1 - j : j)), row);
        if (step == 0)
            for (int s = 0; s < count + VW - 1; ++s) STATE(0, s) = s <= 1 && s < count ? emitted[s] : NOTHING;
        else
            top = next_states(&STATE(step, 0), &STATE(step - 1, 0), emitted, may_skip, count);
#else
        for (int s = lid; s < count; s += WG) {
            const int place = back ? length - 1 - s / 2 : s / 2;
            const int c = s % 2 ? CLASS(place) : blank;
            real sum = s <= 1 ? (real)0 : NOTHING;
            if (step > 0) {
                bool skips = false;
                if (s % 2 && s > 1) {
                    const int other = CLASS(back ? place + 1 : place - 1);
                    skips = c != other && (back ? other : c) != blank;  // not to a blank, in the order of time
                }
                sum = log_sum(STATE(step - 1, s), s > 0 ? STATE(step - 1, s - 1) : NOTHING,
                              skips ? STATE(step - 1, s - 2) : NOTHING);
            }
            const real value = sum + LOG_OF(LOAD(probs, from + (idx_t)c * probs_c), row);
            STATE(step, s) = value;
            top = fmax(top, value);
        }
#endif
        if (step % RENEW == RENEW - 1) {
            top = group_max(top, scratch, lid);
            if (top > NOTHING && top < INFINITY_OF(real)) {
                for (int s = lid; s < count; s += WG) STATE(step, s) -= top;
                const real part = top - lost, total = offset + part;
                lost = (total - offset) - part;
                offset = total;
            }
        }
#if defined(GRADIENT) && defined(LOCAL_STATES)
        for (int s = lid; s < count; s += WG) stored[(i64)t * most + s] = STATE(step, s);
#endif
        SYNC_STATES();
    }
    if (lid == 0 && back == 0) {
        const real sum = log_sum(STATE(used - 1, count - 1), count > 1 ? STATE(used - 1, count - 2) : NOTHING, NOTHING);
        STORE(costs, (idx_t)n * costs_n, -(sum + offset));
        reachable[n] = sum != NOTHING;
    }
}
#endif

#ifdef GRADIENT_ROWS
// log of the share of state s in all paths that pass through a step, but for what is the same for all states; a state of
// probability 0 has none
#define SHARE(s, v)                                                                                        \
    const int c_##v = (s) % 2 ? CLASS((s) / 2) : blank;                                                    \
    const real log_##v = LOG_OF(LOAD(probs, from + (idx_t)c_##v * probs_c), row);                          \
    const real v = log_##v == NOTHING ? NOTHING : ends[s] + begins[count - 1 - (s)] - log_##v;

KERNEL WG_SIZE(WG, 1, 1)
ctc_gradient(TENSOR(const T, probs), TENSOR(const int, labels), TENSOR(const int, label_lengths), TENSOR(const int, input_lengths),
             TENSOR(T, gradients), TENSOR(real, row_logs), TENSOR(real, paths), TENSOR(int, lists), TENSOR(int, reachable),
             const int steps, const int batch, const int classes, const int most, const int blank, const idx_t labels_n,
             const idx_t labels_l, const idx_t label_lengths_n, const idx_t input_lengths_n, const idx_t probs_t, const idx_t probs_n,
             const idx_t probs_c, const idx_t gradients_t, const idx_t gradients_n, const idx_t gradients_c) {
    GRID_WAIT();
    LOCAL real scratch[WG];
    BIND(const T, probs);
    BIND(const int, labels);
    BIND(const int, label_lengths);
    BIND(const int, input_lengths);
    BIND(T, gradients);
    BIND(real, row_logs);
    BIND(real, paths);
    BIND(int, lists);
    BIND(int, reachable);
    const int lid = LID(0);
    const i64 rows = (i64)steps * batch, begin = (i64)GRP(0) * ROWS;
    for (i64 row = begin; row < rows && row < begin + ROWS; ++row) {
        const int t = (int)(row / batch), n = (int)(row % batch);
        const idx_t from = (idx_t)t * probs_t + (idx_t)n * probs_n, to = (idx_t)t * gradients_t + (idx_t)n * gradients_n;
        const bool reached = reachable[n] != 0;
#ifdef SKIP_UNREACHABLE
        if (!reached) continue;
#endif
        if (!reached || t >= input_lengths[(idx_t)n * input_lengths_n]) {
            for (int c = lid; c < classes; c += WG) STORE(gradients, to + (idx_t)c * gradients_c, (real)0);
            continue;
        }
        const int length = label_lengths[(idx_t)n * label_lengths_n], count = 2 * length + 1;
        const GLOBAL int *label = labels + FIRST_LABEL(labels_before(label_lengths, label_lengths_n, n), n);
        GLOBAL real *ends = paths + ((i64)n * steps + t) * most;
        const GLOBAL real *begins = ends + (i64)batch * steps * most;
        real top = NOTHING, sum = 0, blanks = 0;
        for (int s = lid; s < count; s += WG) {
            SHARE(s, share)
            top = fmax(top, share);
        }
        top = group_max(top, scratch, lid);
#if VW > 1
        for (int s = 0; s < count; ++s) {
            SHARE(s, share)
            ends[s] = share;
        }
        sum = exponentials(ends, count, top);
        for (int s = 0; s < count; ++s)
            if (s % 2 == 0 || CLASS(s / 2) == blank) blanks += ends[s];
        put_values(gradients + to, probs + from, classes, row_logs[row]);
        gradients[to + blank] -= blanks / sum;
#else
        for (int s = lid; s < count; s += WG) {
            SHARE(s, share)
            const real part = exp(share - top);
            ends[s] = part;
            sum += part;
            if (c_share == blank) blanks += part;
        }
        sum = group_sum(sum, scratch, lid);
        blanks = group_sum(blanks, scratch, lid);
        for (int c = lid; c < classes; c += WG) {
            const real value = VALUE_OF(LOAD(probs, from + (idx_t)c * probs_c), row);
            STORE(gradients, to + (idx_t)c * gradients_c, c == blank ? value - blanks / sum : value);
        }
#endif
        SYNC_ALL();
        for (int j = lid; j < length; j += WG) {
            const GLOBAL int *list = lists + (i64)n * (most / 2);
            const int c = CLASS(j);
            if (list[j] % 2 == 0 || c == blank) continue;
            real parts = ends[2 * j + 1];
            for (int k = j; list[k] / 2 != 0;) {
                k += list[k] / 2;
                parts += ends[2 * k + 1];
            }
#if VW > 1
            gradients[to + c] -= parts / sum;
            continue;
#endif
            const real value = VALUE_OF(LOAD(probs, from + (idx_t)c * probs_c), row);
            STORE(gradients, to + (idx_t)c * gradients_c, value - parts / sum);
        }
    }
}
#endif
