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
// APART is what the scheduler may not move anything across: defined before this. Host defines: WAVES, WAVE, FRAG, BC, D, DV; IN_CHUNKS: numbers of a row are neighbours, and D and DV multiples of a chunk.

#include "common/types.h"
#include "common/mma.h"
#include "common/mma_fragment.h"
#include "attention/attention.h"

#define ITEMS (WAVES * WAVE)
#define BR (WAVES * FRAG)
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f

#define STEPS(length) (((length) + 15) / 16)  // of a product along rows of so many numbers, two chunks each
#define TILES(count) (((count) + FRAG - 1) / FRAG)
#define WIDE(length) (TILES(length) * FRAG)
#define TURNED_PITCH (BC / VE + 1)
#define PAIRS(length) (BC / 2 * (WIDE(length) / VE))  // chunks of two neighbouring rows
#define PAIRS_EACH(length) ((PAIRS(length) + ITEMS - 1) / ITEMS)

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

#define PAIR_ROW(place) ((place) % (BC / 2) * 2)
#define PAIR_FIRST(place) ((place) / (BC / 2) * VE)

// Chunks of a step's rows, of which `count` are there: at least BC where it is `whole`
DEVICE void load_pairs(Chunk pairs[][2], const GLOBAL T *from, i64 step_s, i64 step_d, int item, int count, int length, const int whole) {
    UNROLL for (int i = 0; i < PAIRS_EACH(length); ++i) {
        const int place = item + i * ITEMS;
        UNROLL for (int p = 0; p < 2; ++p) {
            const int row = PAIR_ROW(place) + p;
            pairs[i][p] = chunk_of(from + (whole || row < count ? row * step_s : 0), step_d, PAIR_FIRST(place), length);
        }
    }
}

// To local memory: row by row, `pitch` chunks apart (0: not), and turned over (`turns`)
DEVICE void store_pairs(Chunk pairs[][2], LOCAL_ARG Chunk *rows, const int pitch, LOCAL_ARG Chunk *turned, const int turns,
                        int item, int count, int length, const int whole) {
    const Chunk none = (Chunk)(0);
    UNROLL for (int i = 0; i < PAIRS_EACH(length); ++i) {
        const int place = item + i * ITEMS, row = PAIR_ROW(place), first = PAIR_FIRST(place);
        if (PAIRS(length) % ITEMS != 0 && place >= PAIRS(length)) break;
        Chunk pair[2];
        UNROLL for (int p = 0; p < 2; ++p) {
            const int in = (whole || row + p < count) && (length % FRAG == 0 || first < length);
            pair[p] = in ? pairs[i][p] : none;
            if (pitch) rows[FRAG_PLACE(row + p) * pitch + first / VE] = pair[p];
        }
        if (!turns) continue;
        UNROLL for (int e = 0; e < VE; ++e) {
            const u32 a = pair[0][e / 2], b = pair[1][e / 2];
            ((LOCAL_ARG u32 *)(turned + FRAG_PLACE(first + e) * TURNED_PITCH))[row / 2] =
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

// A lane's half of its operands of a product along its own row (operand_of makes the whole): zeros where it is not there
DEVICE void load_own(Chunk *own, const GLOBAL T *row, i64 step, int lane, int in, int length) {
    UNROLL for (int s = 0; s < STEPS(length); ++s) {
        const int first = (2 * s + lane / FRAG) * VE;
        own[s] = in && first < length ? chunk_of(row, step, first, length) : (Chunk)(0);
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

// An operand of a product step whose two chunks are this lane's and its partner's
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

// out += turned rows times a tile's weights, those of step `i` of BC / FRAG
DEVICE void add_turned(Sums *out, const LOCAL_ARG Chunk *turned, const int tiles, Sums weights, int i, int lane) {
    UNROLL for (int t = 0; t < SUMS / VE; ++t) {
#define WEIGHT(e) weights[t * VE + (e)]
        ROUNDED_EIGHT(rounded, WEIGHT)
        const Fragment b = operand_of(rounded, lane);
        UNROLL for (int n = 0; n < tiles; ++n) {
            const LOCAL_ARG Chunk *row = turned + (n * FRAG + lane % FRAG) * TURNED_PITCH + i * (FRAG / VE);
#ifdef FRAG_BOTH
            const Fragment a = fragment_at(row, lane);
#else
            const Fragment a = row[lane / FRAG * (SUMS / VE) + t];
#endif
            out[n] = multiply(a, b, out[n]);
            if (n % 2 == 1) APART;
        }
    }
}
