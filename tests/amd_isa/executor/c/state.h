// The state of a wave and of its work-group, and how an instruction reads operands and writes results.
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

// The register file of a wave, in words: scalars, then 64 lanes of each vector register. decode.py has the same numbers.
enum { VCC = 106, TTMP = 108, M0 = 124, EXEC = 126, SCC = 128, NOWHERE = 130, VGPRS = 192, AGPRS = VGPRS + 256 * 64,
       TEMPORARIES = AGPRS + 256 * 64, FILE_WORDS = TEMPORARIES + 8 * 64 };

// Operand flags. HIGH: the upper half of a word. HALF: a result of 16 bits leaves the other half as it is.
enum { CONSTANT = 1, ABS = 2, NEG = 4, HIGH = 8, HALF = 16, OFF = 32, SEXT = 64 };
// Record flags. RETURNS: an atomic returns the old value.
enum { CLAMP = 1, RETURNS = 2, WRITES_EXEC = 4 };
enum { DPP = 1, SDWA = 2 };

typedef struct { i32 at; u8 lane, next, flags, unused; } operand;  // word `at`, the words of a lane and of the upper half

typedef struct {
    u16 op;
    u8 count, modifier, omod, op_sel, op_sel_hi, neg_lo, neg_hi, unused;
    u8 extra[10];  // of DPP, SDWA and matrix instructions: modifiers.py
    u32 flags, address;
    i32 offset, offset1, target;
    operand o[6];
} record;

typedef struct { u64 start, end; u32 writable, unused; } allocation;

enum { OK, OUT_OF_BOUNDS, READ_ONLY, LDS_BOUNDS, LDS_UNWRITTEN, LDS_RACE, SCRATCH_BOUNDS, UNSUPPORTED, NO_CODE, TRAP,
       TOO_LONG };

typedef struct {
    const record *records;
    const u32 (*constants)[4];  // 32 bits, 64 bits in two words, 16 bits
    const i32 *index;           // the record at each word of the text, or -1
    const allocation *allocations;
    const u32 *sgprs;           // of every wave at its start
    u64 text, load, text_words; // address of the text in the ELF, and what is added to it in memory
    u64 limit;                  // of instructions that a wave executes
    i32 records_count, allocations_count, sgprs_count, group_ids, width, entry;
    u32 lds_bytes, scratch_bytes, grid[3], group[3], group_id_on[3], flush32;
    u32 check_unwritten, check_races, reverse, unused;
    // what went wrong
    i32 error, record, lane, size;
    u64 address, group_index, executed;
} launch;

typedef struct { u16 write_epoch, read_epoch; u8 writer, reader, written, many; } shadow;  // of a byte of LDS

typedef struct {
    u32 file[FILE_WORDS];
    launch *launch;
    u8 *lds, *scratch;
    shadow *shadow;
    jmp_buf *failed;
    u64 executed;
    i32 pc, width, number, ended, waiting;
    u32 epoch, flush32;
    const allocation *last;
} wave;

typedef void (*function)(wave *, const record *);
typedef struct { const char *name; function function; } entry;

#define OP(name) \
    static void op_##name(wave *w, const record *r); \
    static const entry entry_##name __attribute__((section("amd_ops"), used)) = {#name, op_##name}; \
    static void op_##name(wave *w, const record *r)

static void __attribute__((noreturn)) fail(wave *w, const record *r, int error, int lane, u64 address, int size) {
    launch *n = w->launch;
    n->error = error, n->record = r - n->records, n->lane = lane, n->address = address, n->size = size;
    longjmp(*w->failed, 1);
}

static inline u64 all_lanes(const wave *w) { return w->width == 64 ? ~0ull : 0xffffffffull; }
static inline u64 pair(const u32 *p) { return p[0] | (u64)p[1] << 32; }
static inline u64 exec_of(const wave *w) { return pair(w->file + EXEC) & all_lanes(w); }
#define LANES for (u64 exec_ = exec_of(w), l = 0; (int)l < w->width; l++) if (exec_ >> l & 1)

// A mask of lanes is a word in a wave of 32, two in a wave of 64.
static inline u64 get_mask(const wave *w, const record *r, int i) {
    const u32 *p = r->o[i].flags & CONSTANT ? w->launch->constants[r->o[i].at] + 1 : w->file + r->o[i].at;
    return pair(p) & all_lanes(w);
}
static inline void put_mask(wave *w, i32 at, u64 mask) {
    w->file[at] = mask;
    if (w->width == 64) w->file[at + 1] = mask >> 32;
}

// Types of operands, by their name in the tables.
typedef u32 U32; typedef i32 I32; typedef u64 U64; typedef i64 I64; typedef u16 U16; typedef i16 I16;
typedef float F32; typedef double F64; typedef _Float16 F16;

#define BITS(type, from, name) static inline type name(from x) { type y; memcpy(&y, &x, sizeof y); return y; }
BITS(F32, u32, f32_of) BITS(u32, F32, bits32) BITS(F64, u64, f64_of) BITS(u64, F64, bits64)
BITS(F16, u16, f16_of) BITS(u16, F16, bits16)

typedef struct { const u32 *p; u32 lane, next, and, xor, flush; u8 high, constant; } source;

static inline source source_of(const wave *w, const record *r, int i) {
    const operand o = r->o[i];
    return (source){.p = o.flags & CONSTANT ? w->launch->constants[o.at] : w->file + o.at, .lane = o.lane,
                    .next = o.next, .and = o.flags & ABS ? 0x7fffffff : ~0u, .xor = o.flags & NEG ? 1u << 31 : 0,
                    .flush = w->flush32, .high = o.flags & HIGH ? 16 : 0, .constant = o.flags & CONSTANT};
}
static inline float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static inline U32 get_U32(source s, int l) { return s.p[l * s.lane]; }
static inline I32 get_I32(source s, int l) { return s.p[l * s.lane]; }
static inline F32 get_F32(source s, int l) {
    const F32 x = f32_of((s.p[l * s.lane] & s.and) ^ s.xor);
    return s.flush ? flushed(x) : x;
}
static inline U64 get_U64(source s, int l) {
    return s.constant ? pair(s.p + 1) : s.p[l * s.lane] | (u64)s.p[l * s.lane + s.next] << 32;
}
static inline I64 get_I64(source s, int l) { return get_U64(s, l); }
static inline F64 get_F64(source s, int l) {
    return f64_of((get_U64(s, l) & ((u64)s.and << 32 | 0xffffffff)) ^ (u64)s.xor << 32);
}
static inline U16 get_U16(source s, int l) { return s.constant ? s.p[3] : s.p[l * s.lane] >> s.high; }
static inline I16 get_I16(source s, int l) { return get_U16(s, l); }
static inline F16 get_F16(source s, int l) { return f16_of((get_U16(s, l) & s.and >> 16) ^ s.xor >> 16); }

typedef struct { u32 *p; u32 lane, next, flush; u8 flags, omod, clamp; } destination;

static inline destination destination_of(wave *w, const record *r, int i) {
    const operand o = r->o[i];
    return (destination){.p = w->file + o.at, .lane = o.lane, .next = o.next, .flush = w->flush32, .flags = o.flags,
                         .omod = r->omod, .clamp = r->flags & CLAMP};
}
static inline void put_U32(destination d, int l, U32 x) { d.p[l * d.lane] = x; }
static inline void put_I32(destination d, int l, I32 x) { d.p[l * d.lane] = x; }
static inline void put_U64(destination d, int l, U64 x) { d.p[l * d.lane] = x, d.p[l * d.lane + d.next] = x >> 32; }
static inline void put_I64(destination d, int l, I64 x) { put_U64(d, l, x); }
static inline double modified(destination d, double x) {  // omod and clamp
    static const double factor[] = {1, 2, 4, 0.5};
    x *= factor[d.omod];
    return d.clamp ? x > 0 ? x < 1 ? x : 1 : 0 : x;
}
static inline void put_F32(destination d, int l, F32 x) {
    if (d.omod || d.clamp) x = modified(d, x);
    put_U32(d, l, bits32(d.flush ? flushed(x) : x));
}
static inline void put_F64(destination d, int l, F64 x) {
    put_U64(d, l, bits64(d.omod || d.clamp ? modified(d, x) : x));
}
static inline void put_U16(destination d, int l, U16 x) {
    u32 *p = d.p + l * d.lane;
    *p = !(d.flags & HALF) ? x : d.flags & HIGH ? (*p & 0xffff) | (u32)x << 16 : (*p & 0xffff0000) | x;
}
static inline void put_I16(destination d, int l, I16 x) { put_U16(d, l, x); }
static inline void put_F16(destination d, int l, F16 x) {
    put_U16(d, l, bits16(d.omod || d.clamp ? (F16)modified(d, x) : x));
}

// Vector instructions: V and the number of sources a, b, c; with D also the old result d. Results of 64 bits are
// written lane by lane after all sources of the lane were read.
#define V1(name, D, A, ...) OP(name) { \
    const destination d_ = destination_of(w, r, 0); const source a_ = source_of(w, r, 1); \
    LANES { const A a = get_##A(a_, l); put_##D(d_, l, (__VA_ARGS__)); } }
#define V2(name, D, A, B, ...) OP(name) { \
    const destination d_ = destination_of(w, r, 0); const source a_ = source_of(w, r, 1), b_ = source_of(w, r, 2); \
    LANES { const A a = get_##A(a_, l); const B b = get_##B(b_, l); put_##D(d_, l, (__VA_ARGS__)); } }
#define V3(name, D, A, B, C, ...) OP(name) { \
    const destination d_ = destination_of(w, r, 0); \
    const source a_ = source_of(w, r, 1), b_ = source_of(w, r, 2), c_ = source_of(w, r, 3); \
    LANES { const A a = get_##A(a_, l); const B b = get_##B(b_, l); const C c = get_##C(c_, l); \
            put_##D(d_, l, (__VA_ARGS__)); } }
#define V2D(name, D, A, B, ...) OP(name) { \
    const destination d_ = destination_of(w, r, 0); \
    const source a_ = source_of(w, r, 1), b_ = source_of(w, r, 2), old_ = source_of(w, r, 0); \
    LANES { const A a = get_##A(a_, l); const B b = get_##B(b_, l); const D d = get_##D(old_, l); \
            put_##D(d_, l, (__VA_ARGS__)); } }
// Scalar instructions with the result d; `scc` is what becomes of SCC.
#define KEEP w->file[SCC]
#define S1(name, D, A, scc, ...) OP(name) { \
    const A a = get_##A(source_of(w, r, 1), 0); const D d = (__VA_ARGS__); const u32 s = (scc); \
    put_##D(destination_of(w, r, 0), 0, d); w->file[SCC] = s; }
#define S2(name, D, A, B, scc, ...) OP(name) { \
    const A a = get_##A(source_of(w, r, 1), 0); const B b = get_##B(source_of(w, r, 2), 0); \
    const D d = (__VA_ARGS__); const u32 s = (scc); put_##D(destination_of(w, r, 0), 0, d); w->file[SCC] = s; }

static inline u32 reversed(u32 x) {
    u32 y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1) << (31 - i);
    return y;
}
