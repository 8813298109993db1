// Attention on AMD's matrix cores: half and bfloat16, of which queries, keys and values all are (T).
//
//   scores = keys x queries          rows are keys, columns queries: a lane has one query, the lanes l and l ^ FRAG the same,
//   output = values^T x weights      and SUMS neighbouring keys (or numbers of the output) of each fragment of FRAG
//
// A lane's weights, rounded, are its operand of the second product as they are (gfx11: and its partner's). Local memory has a
// step of BC keys, row by row, and of values turned over, a row for each of their numbers; rows are an odd number of chunks
// apart, such that neighbouring rows meet every bank once. The next step is on its way in registers. What is beyond the
// sequences, or beyond D or DV in a row, is zeros.
//
// Host defines: WAVES, WAVE, FRAG, BC, D, DV; IN_CHUNKS: numbers of a row are neighbours, and D and DV multiples of a chunk.

#include "common/types.h"
#include "common/mma.h"
#include "common/mma_fragment.h"
#include "attention/attention.h"

#define ITEMS (WAVES * WAVE)
#define BR (WAVES * FRAG)
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f

#define QUERY_STEPS ((D + 15) / 16)  // of the product, two chunks each
#define KEY_CHUNKS (2 * QUERY_STEPS)
#define KEY_PITCH (KEY_CHUNKS + 1)
#define KEY_TILES (BC / FRAG)
#define OUT_TILES ((DV + FRAG - 1) / FRAG)
#define VALUE_ROWS (OUT_TILES * FRAG)
#define VALUE_PITCH (BC / VE + 1)
#define KEYS_EACH ((BC * KEY_CHUNKS + ITEMS - 1) / ITEMS)
#define PAIRS (BC / 2 * (VALUE_ROWS / VE))  // chunks of two neighbouring rows of values
#define PAIRS_EACH ((PAIRS + ITEMS - 1) / ITEMS)

typedef struct {
    const GLOBAL T *keys, *values;
    i64 k_s, k_d, v_s, v_d;
} Columns;  // of a head

typedef struct {
    Chunk keys[KEYS_EACH], values[PAIRS_EACH][2];
} Step;

// 8 numbers of a row from number `first` on, of `length`
typedef Chunk LooseChunk __attribute__((aligned(2)));
DEVICE Chunk chunk_of(const GLOBAL T *row, i64 step, int first, int length) {
#ifdef IN_CHUNKS
    return *(const GLOBAL LooseChunk *)(row + (first < length ? first : 0));
#else
    Short8 v;
    UNROLL for (int e = 0; e < VE; ++e) {
        const int n = first + e;
        v[e] = n < length ? ((const GLOBAL short *)row)[n * step] : (short)0;
    }
    return PD_AS(Chunk, v);
#endif
}

#define KEY_ROW(place) ((place) / KEY_CHUNKS)
#define KEY_FIRST(place) ((place) % KEY_CHUNKS * VE)
#define VALUE_ROW(place) ((place) % (BC / 2) * 2)
#define VALUE_FIRST(place) ((place) / (BC / 2) * VE)

// The step from column j on, of which `count` are there: at least BC where it is `whole`
DEVICE void load_step(Step *step, const Columns *from, int item, int j, int count, const int whole) {
    const GLOBAL T *keys = from->keys + j * from->k_s, *values = from->values + j * from->v_s;
    UNROLL for (int i = 0; i < KEYS_EACH; ++i) {
        const int place = item + i * ITEMS, row = KEY_ROW(place);
        const int in = whole ? BC * KEY_CHUNKS % ITEMS == 0 || row < BC : row < count;
        step->keys[i] = chunk_of(keys + (in ? row * from->k_s : 0), from->k_d, KEY_FIRST(place), D);
    }
    UNROLL for (int i = 0; i < PAIRS_EACH; ++i) {
        const int place = item + i * ITEMS;
        UNROLL for (int p = 0; p < 2; ++p) {
            const int row = VALUE_ROW(place) + p;
            step->values[i][p] = chunk_of(values + (whole || row < count ? row * from->v_s : 0), from->v_d, VALUE_FIRST(place), DV);
        }
    }
}

DEVICE void store_step(Step *step, LOCAL_ARG Chunk *keys, LOCAL_ARG Chunk *values, int item, int count, const int whole) {
    const Chunk none = (Chunk)(0);
    UNROLL for (int i = 0; i < KEYS_EACH; ++i) {
        const int place = item + i * ITEMS, row = KEY_ROW(place);
        if (BC * KEY_CHUNKS % ITEMS != 0 && row >= BC) break;
        const int in = (whole || row < count) && (D % 16 == 0 || KEY_FIRST(place) < D);
        keys[FRAG_PLACE(row) * KEY_PITCH + place % KEY_CHUNKS] = in ? step->keys[i] : none;
    }
    UNROLL for (int i = 0; i < PAIRS_EACH; ++i) {
        const int place = item + i * ITEMS, row = VALUE_ROW(place), first = VALUE_FIRST(place);
        if (PAIRS % ITEMS != 0 && place >= PAIRS) break;
        Chunk pair[2];
        UNROLL for (int p = 0; p < 2; ++p) {
            const int in = (whole || row + p < count) && (DV % FRAG == 0 || first < DV);
            pair[p] = in ? step->values[i][p] : none;
        }
        UNROLL for (int e = 0; e < VE; ++e) {
            const u32 a = pair[0][e / 2], b = pair[1][e / 2];
            ((LOCAL_ARG u32 *)(values + FRAG_PLACE(first + e) * VALUE_PITCH))[row / 2] =
                e % 2 ? a >> 16 | (b & 0xffff0000u) : (a & 0xffffu) | b << 16;
        }
    }
}

// A lane's operand of a product step, whose two chunks begin at `pair`
DEVICE Fragment fragment_at(const LOCAL_ARG Chunk *pair, int lane) {
#ifdef FRAG_BOTH
    Fragment v;
    v.lo = pair[0];
    v.hi = pair[1];
    return v;
#else
    return pair[FRAG_CHUNK(lane)];
#endif
}

DEVICE void load_query(Fragment queries[QUERY_STEPS], const GLOBAL T *row, i64 step, int lane, int in, u32 flips) {
    UNROLL for (int s = 0; s < QUERY_STEPS; ++s) {
        Chunk v[2];
        UNROLL for (int c = 0; c < 2; ++c) {
            const int first = (2 * s + c + FRAG_CHUNK(lane)) * VE;
            v[c] = in && first < D ? chunk_of(row, step, first, D) ^ flips : (Chunk)(0);
        }
#ifdef FRAG_BOTH
        queries[s].lo = v[0];
        queries[s].hi = v[1];
#else
        queries[s] = v[0];
#endif
    }
}

// Two numbers in a word, rounded, the first in its lower half
#ifdef DTYPE_HALF
#define ROUNDED_EIGHT(to, v)                                                                               \
    Half8 pd_rounded;                                                                                      \
    UNROLL for (int pd_e = 0; pd_e < VE; ++pd_e) pd_rounded[pd_e] = v(pd_e);                               \
    const Chunk to = PD_AS(Chunk, pd_rounded);
#else
#define PD_UP(v) (as_uint(v) + 0x8000u)  // ties, too
#define ROUNDED_EIGHT(to, v)                                                                               \
    Chunk to;                                                                                              \
    UNROLL for (int pd_e = 0; pd_e < VE; pd_e += 2)                                                        \
        to[pd_e / 2] = __builtin_amdgcn_perm(PD_UP(v(pd_e + 1)), PD_UP(v(pd_e)), 0x07060302u);
#endif

// Of the lane that has the same column
#ifdef FRAG_BOTH
#define PARTNER_WORD(word, lane) __builtin_amdgcn_permlanex16(word, word, 0x76543210, 0xfedcba98, 0, 0)
#else
#define PARTNER_WORD(word, lane) __builtin_amdgcn_ds_bpermute(((lane) ^ FRAG) * 4, word)
#endif
DEVICE float partner(float v, int lane) { return as_float((u32)PARTNER_WORD((int)as_uint(v), lane)); }

// An operand of a product step over keys, of a lane's 8 weights
DEVICE Fragment operand_of(Chunk own, int lane) {
#ifdef FRAG_BOTH
    Chunk other;
    UNROLL for (int i = 0; i < 4; ++i) other[i] = (u32)PARTNER_WORD((int)own[i], lane);
    Fragment v;
    v.lo = lane < FRAG ? own : other;
    v.hi = lane < FRAG ? other : own;
    return v;
#else
    return own;
#endif
}
