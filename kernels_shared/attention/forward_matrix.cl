// Attention forward on AMD's matrix cores: a sub-group has FRAG queries, whose scores, weights and output stay in its registers
//
//                FRAG queries                scores times `unit` are in units of the logarithm to base 2; a query's sum and
//              +--------------+              output are relative to its largest score so far
//   BC keys    |              |
//   at a time  |              |              steps whose scores all count come first, in a loop without masks; then the others
//              +--------------+
//
// Host defines: those of attention/matrix.h and of attention/attention.h.

#define APART
#include "attention/matrix.h"
#include "attention/outputs.h"

#define KEY_CHUNKS (2 * STEPS(D))
#define KEY_PITCH (KEY_CHUNKS + 1)
#define KEY_TILES (BC / FRAG)
#define KEYS_EACH ((BC * KEY_CHUNKS + ITEMS - 1) / ITEMS)
#define KEY_ROW(place) ((place) / KEY_CHUNKS)
#define KEY_FIRST(place) ((place) % KEY_CHUNKS * VE)

#if defined(BIAS_T) || defined(ALIBI)
#define ADDS 1
#else
#define ADDS 0
#endif
#if ADDS || defined(MASKED)
#define ALL_COUNT 0  // nowhere is that known
#else
#define ALL_COUNT 1
#endif

typedef struct {
    const GLOBAL T *keys, *values;
    i64 k_s, k_d, v_s, v_d;
} Columns;  // of a head

typedef struct {
    Chunk keys[KEYS_EACH], values[PAIRS_EACH(DV)][2];
} Step;

typedef struct {
    Fragment queries[STEPS(D)];
    Sums out[TILES(DV)];
    Sums sums;  // of each place among the neighbours
    float top, scale, unit;
    int row;
} Query;  // of a lane

// NaN is passed over here, and meets the sum
DEVICE float larger(float a, float b) { return __builtin_fmaxf(a, b); }

// Scores to weights relative to the largest so far, to which sum and output are scaled down where it changed
DEVICE void take_weights(Query *own, Sums s[KEY_TILES], const attention *at, const sequence *of, int lane, int j) {
    float higher = own->top;
    UNROLL for (int i = 0; i < KEY_TILES; ++i) {
        UNROLL for (int e = 0; e < SUMS; ++e) higher = larger(higher, s[i][e]);
    }
    higher = larger(higher, partner(higher, lane));
    const float from = higher == -INFINITY_OF(float) ? 0.0f : higher * own->unit;
    if (higher != own->top) {
        const float factor = __builtin_amdgcn_exp2f(own->top * own->unit - from);
        own->sums *= factor;
        UNROLL for (int n = 0; n < TILES(DV); ++n) own->out[n] *= factor;
        own->top = higher;
    }
    UNROLL for (int i = 0; i < KEY_TILES; ++i) {
        s[i] = s[i] * own->unit - from;
        UNROLL for (int e = 0; e < SUMS; ++e) s[i][e] = __builtin_amdgcn_exp2f(s[i][e]);
        own->sums += s[i];
#ifdef DROPS
        UNROLL for (int e = 0; e < SUMS; ++e) {
            if (s[i][e] != 0) s[i][e] *= drop_factor(at, of, own->row, j + i * FRAG + lane / FRAG * SUMS + e);
        }
#endif
    }
}

// The step from column j on, of which `count` are there: at least BC where it is `whole`
DEVICE void load_step(Step *step, const Columns *from, int item, int j, int count, const int whole) {
    const GLOBAL T *keys = from->keys + j * from->k_s;
    UNROLL for (int i = 0; i < KEYS_EACH; ++i) {
        const int place = item + i * ITEMS, row = KEY_ROW(place);
        const int in = whole ? BC * KEY_CHUNKS % ITEMS == 0 || row < BC : row < count;
        step->keys[i] = chunk_of(keys + (in ? row * from->k_s : 0), from->k_d, KEY_FIRST(place), D);
    }
    load_pairs(step->values, from->values + j * from->v_s, from->v_s, from->v_d, item, count, DV, whole);
}

DEVICE void store_step(Step *step, LOCAL_ARG Chunk *keys, LOCAL_ARG Chunk *values, int item, int count, const int whole) {
    UNROLL for (int i = 0; i < KEYS_EACH; ++i) {
        const int place = item + i * ITEMS, row = KEY_ROW(place);
        if (BC * KEY_CHUNKS % ITEMS != 0 && row >= BC) break;
        const int in = (whole || row < count) && (D % 16 == 0 || KEY_FIRST(place) < D);
        keys[FRAG_PLACE(row) * KEY_PITCH + place % KEY_CHUNKS] = in ? step->keys[i] : (Chunk)(0);
    }
    store_pairs(step->values, values, 0, values, 1, item, count, DV, whole);
}

// Steps from column j to `end`, without those from `skip` to `skip_end`; `masked`: not all scores count
DEVICE void attend(Query *own, LOCAL_ARG Chunk *keys, LOCAL_ARG Chunk *values, const Columns *from, const attention *at,
                   const sequence *of, int item, int j, int end, int skip, int skip_end, const int masked) {
    const int lane = item % WAVE;
    if (masked && j == skip) j = skip_end;
    if (j >= end) return;
    Step step;
    load_step(&step, from, item, j, end - j, !masked);
    UNROLL_AT_MOST(1)
    while (j < end) {
        BARRIER();  // the step before has been used
        store_step(&step, keys, values, item, end - j, !masked);
        BARRIER();
        const int next = masked && j + BC == skip ? skip_end : j + BC;
        if (next < end) load_step(&step, from, item, next, end - next, !masked);
        Sums s[KEY_TILES];
        UNROLL for (int i = 0; i < KEY_TILES; ++i) s[i] = (Sums)(0.0f);
        UNROLL for (int q = 0; q < STEPS(D); ++q) {
            UNROLL for (int i = 0; i < KEY_TILES; ++i) {
                const LOCAL_ARG Chunk *pair = keys + (i * FRAG + lane % FRAG) * KEY_PITCH + 2 * q;
                s[i] = multiply(fragment_at(pair, lane), own->queries[q], s[i]);
            }
        }
        if (masked) {
            UNROLL for (int i = 0; i < KEY_TILES; ++i) {
                UNROLL for (int e = 0; e < SUMS; ++e) {
                    const int column = j + i * FRAG + lane / FRAG * SUMS + e;
                    float score = s[i][e];
                    if (!counts(at, of, own->row, column)) score = -INFINITY_OF(float);
#if ADDS
                    else score = score * own->scale + added(at, of, own->row, column) * LOG2E;
#endif
                    s[i][e] = score;
                }
            }
        }
        take_weights(own, s, at, of, lane, j);
        UNROLL for (int i = 0; i < KEY_TILES; ++i) add_turned(own->out, values, TILES(DV), s[i], i, lane);
        j = next;
    }
}

KERNEL WG_SIZE(ITEMS, 1, 1)
attention_forward_matrix(PLACED(const T, q), PLACED(const T, k), PLACED(const T, v), PLACED(ELEMENT(O_T), o) ROW_OUTPUTS,
                         const int k_heads, const int v_heads, ATTENTION) {
    GRID_WAIT();
    BIND(const T, q);
    BIND(const T, k);
    BIND(const T, v);
    BIND(ELEMENT(O_T), o);
    BIND_ROW_OUTPUTS
    ATTENTION_BIND(at)
    LOCAL Chunk keys[BC * KEY_PITCH];
    LOCAL Chunk values[WIDE(DV) * TURNED_PITCH];
    const int item = LID(0), lane = item % WAVE;
    const int row_blocks = (sq + BR - 1) / BR;
    // the last rows first, which see most in a triangle
    const int i0 = (row_blocks - 1 - GRP(0) % row_blocks) * BR, z = GRP(0) / row_blocks, b = z / heads, h = z % heads;
    const sequence of = the_sequence(&at, b, h);
    const int alive = least(of.rows - i0, BR), row = i0 + item / WAVE * FRAG + lane % FRAG;
    Columns from;
    from.keys = OF(k, b, h / (heads / k_heads));
    from.values = OF(v, b, h / (heads / v_heads));
    from.k_s = k_s;
    from.k_d = k_d;
    from.v_s = v_s;
    from.v_d = v_d;

    Query own;
    own.row = row;
    own.scale = numbers[ATTN_SCALE] * LOG2E;
    // Comparing comes before scaling, which takes a positive factor; the sign is that of the queries
    own.unit = ADDS ? 1.0f : own.scale < 0 ? -own.scale : own.scale;
    if (own.unit < 1.17549435e-38f) own.unit = 1.17549435e-38f;
    own.top = -INFINITY_OF(float);
    own.sums = (Sums)(0.0f);
    UNROLL for (int n = 0; n < TILES(DV); ++n) own.out[n] = (Sums)(0.0f);
    const int there = row < of.rows;
    Chunk halves[STEPS(D)];
    load_own(halves, OF(q, b, h) + (there ? row : 0) * q_s, q_d, lane, there, D);
    const u32 flips = !ADDS && own.scale < 0 ? 0x80008000u : 0u;
    UNROLL for (int s = 0; s < STEPS(D); ++s) own.queries[s] = operand_of(halves[s] ^ flips, lane);

    if (alive > 0) {
        const int begin = first_column(&at, &of, i0) / BC * BC, end = end_column(&at, &of, i0 + alive - 1);
        int skip = (first_column(&at, &of, i0 + alive - 1) + BC - 1) / BC * BC, skip_end = end_column(&at, &of, i0) / BC * BC;
        if (!ALL_COUNT || skip >= skip_end) skip = skip_end = -1;
        if (ALL_COUNT) attend(&own, keys, values, &from, &at, &of, item, skip, skip_end, 0, 0, 0);
        attend(&own, keys, values, &from, &at, &of, item, begin, end, skip, skip_end, 1);
    }
    float total = 0, factor = 1, most = own.top * own.unit;
    UNROLL for (int e = 0; e < SUMS; ++e) total += own.sums[e];
    total += partner(total, lane);
    if (!there) {
        total = 0;
        most = -INFINITY_OF(float);
    }
#ifdef SINK_T
    if (there) {
        const float token = GET(SINK_T, sink, h * sink_h) * LOG2E, higher = token > most ? token : most;
        factor = __builtin_amdgcn_exp2f(most - higher);
        total = total * factor + __builtin_amdgcn_exp2f(token - higher);
        most = higher;
    }
#endif
    factor = total == 0 ? 0.0f : factor / total;
    if (row >= sq) return;
    UNROLL for (int n = 0; n < TILES(DV); ++n) {
        UNROLL for (int e = 0; e < SUMS; ++e) {
            const int column = n * FRAG + lane / FRAG * SUMS + e;
            if (column < DV && HAS_ROW(o, b, row)) PUT(O_T, OF(o, b, h), row * o_s + column * o_d, total == 0 ? 0.0f : own.out[n][e] * factor);
        }
    }
    if (lane < FRAG) {
        PUT_ROW(row, most * LN2, total)
    }
}
