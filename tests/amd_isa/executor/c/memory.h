// Memory: s_load, global_, flat_ and scratch_ instructions, and atomics.
enum { SHARED_APERTURE = 0x10000, PRIVATE_APERTURE = 0x20000 };  // upper words of flat addresses; decode.py has them too

static inline u8 *checked(wave *w, const record *r, int lane, u64 address, int size, int write) {
    const launch *n = w->launch;
    const allocation *a = w->last;
    if (!(a && address >= a->start && address + size <= a->end)) {
        int low = 0, high = n->allocations_count;  // the last allocation that starts at the address or before
        while (low < high) {
            const int middle = (low + high) / 2;
            if (n->allocations[middle].start <= address) low = middle + 1; else high = middle;
        }
        a = low ? n->allocations + low - 1 : 0;
        if (!(a && address + size <= a->end)) fail(w, r, OUT_OF_BOUNDS, lane, address, size);
        w->last = a;
    }
    if (write && !a->writable) fail(w, r, READ_ONLY, lane, address, size);
    return (u8 *)address;
}

// Scalar loads: whole words from an address of 64 bits, an offset in a register or as a number.
#define S_LOAD(bits) OP(s_load_b##bits) { \
    const u64 to = get_U64(source_of(w, r, 1), 0) + (r->count > 2 ? get_I32(source_of(w, r, 2), 0) : 0) + r->offset; \
    memcpy(w->file + r->o[0].at, checked(w, r, 0, to & ~3ull, bits / 8, 0), bits / 8); }
S_LOAD(32) S_LOAD(64) S_LOAD(96) S_LOAD(128) S_LOAD(256) S_LOAD(512)

static u8 *lds_at(wave *w, const record *r, int lane, u64 address, int size, int read, int write);

static inline u8 *scratch_at(wave *w, const record *r, int lane, u64 address, int size) {
    if (address + size > w->launch->scratch_bytes) fail(w, r, SCRATCH_BOUNDS, lane, address, size);
    return w->scratch + (u64)lane * w->launch->scratch_bytes + address;
}
// The address spaces; vaddr and saddr are the numbers of operands.
static inline u8 *global_at(wave *w, const record *r, int lane, int vaddr, int saddr, int size, int read, int write) {
    (void)read;
    u64 to = (i64)r->offset;
    if (r->o[saddr].flags & OFF) to += get_U64(source_of(w, r, vaddr), lane);
    else to += get_U64(source_of(w, r, saddr), 0) + get_U32(source_of(w, r, vaddr), lane);
    return checked(w, r, lane, to, size, write);
}
static inline u8 *scratch_space(wave *w, const record *r, int lane, int vaddr, int saddr, int size, int read, int write) {
    (void)read, (void)write;
    u32 to = r->offset;
    if (!(r->o[saddr].flags & OFF)) to += get_U32(source_of(w, r, saddr), 0);
    if (!(r->o[vaddr].flags & OFF)) to += get_U32(source_of(w, r, vaddr), lane);
    return scratch_at(w, r, lane, to, size);
}
static inline u8 *flat_at(wave *w, const record *r, int lane, int vaddr, int saddr, int size, int read, int write) {
    (void)saddr;
    const u64 to = get_U64(source_of(w, r, vaddr), lane) + (i64)r->offset;
    if (to >> 32 == SHARED_APERTURE) return lds_at(w, r, lane, (u32)to, size, read, write);
    if (to >> 32 == PRIVATE_APERTURE) return scratch_at(w, r, lane, (u32)to, size);
    return checked(w, r, lane, to, size, write);
}

// A load of `size` bytes writes whole words, or one half of a word.
static inline void loaded(const destination d, int lane, const u8 *from, int size, int is_signed, int half) {
    u32 x = 0;
    if (size >= 4) {
        for (int i = 0; i < size / 4; i++) memcpy(d.p + lane * d.lane + i * d.next, from + 4 * i, 4);
        return;
    }
    memcpy(&x, from, size);
    if (is_signed) x = size == 1 ? (u32)(int8_t)x : (u32)(i16)x;
    u32 *p = d.p + lane * d.lane;
    *p = half == 0 ? x : half == 1 ? (*p & 0xffff0000) | (x & 0xffff) : (*p & 0xffff) | x << 16;
}
static inline void stored(const source s, int lane, u8 *to, int size, int shift) {
    if (size < 4) {
        const u32 x = s.p[lane * s.lane] >> shift;
        memcpy(to, &x, size);
    } else for (int i = 0; i < size / 4; i++) memcpy(to + 4 * i, s.p + lane * s.lane + i * s.next, 4);
}
#define LOAD(space, at, name, size, is_signed, half) OP(space##_load_##name) { \
    const destination d = destination_of(w, r, 0); \
    LANES loaded(d, l, at(w, r, l, 1, 2, size, 1, 0), size, is_signed, half); }
#define STORE(space, at, name, size, shift) OP(space##_store_##name) { \
    const source s = source_of(w, r, 1); LANES stored(s, l, at(w, r, l, 0, 2, size, 0, 1), size, shift); }
#define LOADS_AND_STORES(space, at) \
    LOAD(space, at, u8, 1, 0, 0) LOAD(space, at, i8, 1, 1, 0) LOAD(space, at, u16, 2, 0, 0) LOAD(space, at, i16, 2, 1, 0) \
    LOAD(space, at, d16_u8, 1, 0, 1) LOAD(space, at, d16_i8, 1, 1, 1) LOAD(space, at, d16_b16, 2, 0, 1) \
    LOAD(space, at, d16_hi_u8, 1, 0, 2) LOAD(space, at, d16_hi_i8, 1, 1, 2) LOAD(space, at, d16_hi_b16, 2, 0, 2) \
    LOAD(space, at, b32, 4, 0, 0) LOAD(space, at, b64, 8, 0, 0) LOAD(space, at, b96, 12, 0, 0) \
    LOAD(space, at, b128, 16, 0, 0) STORE(space, at, b8, 1, 0) STORE(space, at, b16, 2, 0) \
    STORE(space, at, d16_hi_b8, 1, 16) STORE(space, at, d16_hi_b16, 2, 16) STORE(space, at, b32, 4, 0) \
    STORE(space, at, b64, 8, 0) STORE(space, at, b96, 12, 0) STORE(space, at, b128, 16, 0)
LOADS_AND_STORES(global, global_at) LOADS_AND_STORES(scratch, scratch_space) LOADS_AND_STORES(flat, flat_at)

// Atomics: m is what memory holds, x the operand; the expression is what memory holds then. Operands: the old value
// (NOWHERE without a return), address, data, base.
#define ATOMIC(space, at, name, T, bytes, ...) OP(space##_atomic_##name) { \
    const destination d = destination_of(w, r, 0); const source x_ = source_of(w, r, 2); \
    LANES { u8 *to = at(w, r, l, 1, 3, bytes, 1, 1); T m, x = get_##T(x_, l), y; memcpy(&m, to, bytes); \
            y = (__VA_ARGS__); memcpy(to, &y, bytes); if (r->flags & RETURNS) put_##T(d, l, m); } }
// Compare and swap: the data is the new value, behind it the one expected.
#define SWAP(space, at, bits) OP(space##_atomic_cmpswap_b##bits) { \
    const destination d = destination_of(w, r, 0); const source x_ = source_of(w, r, 2); source y_ = x_; \
    y_.p += bits / 32 * x_.next; \
    LANES { u8 *to = at(w, r, l, 1, 3, bits / 8, 1, 1); u##bits m; memcpy(&m, to, bits / 8); \
            const u##bits x = get_U##bits(x_, l), y = get_U##bits(y_, l); if (m == y) memcpy(to, &x, bits / 8); \
            if (r->flags & RETURNS) put_U##bits(d, l, m); } }
#define ATOMICS(space, at) \
    ATOMIC(space, at, swap_b32, U32, 4, x) ATOMIC(space, at, add_u32, U32, 4, m + x) \
    ATOMIC(space, at, sub_u32, U32, 4, m - x) ATOMIC(space, at, and_b32, U32, 4, m & x) \
    ATOMIC(space, at, or_b32, U32, 4, m | x) ATOMIC(space, at, xor_b32, U32, 4, m ^ x) \
    ATOMIC(space, at, min_u32, U32, 4, LEAST(m, x)) ATOMIC(space, at, max_u32, U32, 4, MOST(m, x)) \
    ATOMIC(space, at, min_i32, I32, 4, LEAST(m, x)) ATOMIC(space, at, max_i32, I32, 4, MOST(m, x)) \
    ATOMIC(space, at, inc_u32, U32, 4, m >= x ? 0 : m + 1) ATOMIC(space, at, dec_u32, U32, 4, m == 0 || m > x ? x : m - 1) \
    ATOMIC(space, at, add_f32, F32, 4, m + x) ATOMIC(space, at, add_f64, F64, 8, m + x) \
    ATOMIC(space, at, swap_b64, U64, 8, x) ATOMIC(space, at, add_u64, U64, 8, m + x) \
    ATOMIC(space, at, sub_u64, U64, 8, m - x) ATOMIC(space, at, and_b64, U64, 8, m & x) \
    ATOMIC(space, at, or_b64, U64, 8, m | x) ATOMIC(space, at, xor_b64, U64, 8, m ^ x) \
    ATOMIC(space, at, min_u64, U64, 8, LEAST(m, x)) ATOMIC(space, at, max_u64, U64, 8, MOST(m, x)) \
    ATOMIC(space, at, min_i64, I64, 8, LEAST(m, x)) ATOMIC(space, at, max_i64, I64, 8, MOST(m, x)) \
    SWAP(space, at, 32) SWAP(space, at, 64)
ATOMICS(global, global_at) ATOMICS(flat, flat_at)
