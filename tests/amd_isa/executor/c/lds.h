// Local memory. Each byte has a shadow: who wrote and read it last, and between which barriers.
static u8 *lds_at(wave *w, const record *r, int lane, u64 address, int size, int read, int write) {
    const launch *n = w->launch;
    if (address + size > n->lds_bytes) fail(w, r, LDS_BOUNDS, lane, address, size);
    for (shadow *s = w->shadow + address, *end = s + size; s < end; s++) {
        const int atomic = read && write;
        if (read && !s->written && n->check_unwritten) fail(w, r, LDS_UNWRITTEN, lane, address, size);
        if (n->check_races && !atomic) {  // accesses of different waves without a barrier between them
            if (s->write_epoch == w->epoch && s->writer != w->number) fail(w, r, LDS_RACE, lane, address, size);
            if (write && s->read_epoch == w->epoch && (s->many || s->reader != w->number))
                fail(w, r, LDS_RACE, lane, address, size);
        }
        if (read && !atomic) {
            s->many = s->read_epoch == w->epoch && (s->many || s->reader != w->number);
            s->reader = w->number, s->read_epoch = w->epoch;
        }
        if (write) {
            s->written = 1;
            if (!atomic) s->writer = w->number, s->write_epoch = w->epoch;
        }
    }
    return w->lds + address;
}
static inline u8 *ds_at(wave *w, const record *r, int lane, int vaddr, int saddr, int size, int read, int write) {
    (void)saddr;
    return lds_at(w, r, lane, get_U32(source_of(w, r, vaddr), lane) + r->offset, size, read, write);
}
LOADS_AND_STORES(ds, ds_at)

// Two accesses, the offsets in units of the data.
#define TWO(name, size, stride) \
    OP(ds_load_2addr_##name) { \
        const destination d = destination_of(w, r, 0); const source a = source_of(w, r, 1); destination e = d; \
        e.p += size / 4 * d.next; \
        LANES { const u64 to = get_U32(a, l); \
                const u8 *x = lds_at(w, r, l, to + (u64)r->offset * stride, size, 1, 0); \
                const u8 *y = lds_at(w, r, l, to + (u64)r->offset1 * stride, size, 1, 0); \
                loaded(d, l, x, size, 0, 0); loaded(e, l, y, size, 0, 0); } } \
    OP(ds_store_2addr_##name) { \
        const source a = source_of(w, r, 0), x = source_of(w, r, 1), y = source_of(w, r, 2); \
        LANES { const u64 to = get_U32(a, l); \
                stored(x, l, lds_at(w, r, l, to + (u64)r->offset * stride, size, 0, 1), size, 0); \
                stored(y, l, lds_at(w, r, l, to + (u64)r->offset1 * stride, size, 0, 1), size, 0); } }
TWO(b32, 4, 4) TWO(b64, 8, 8) TWO(stride64_b32, 4, 256) TWO(stride64_b64, 8, 512)

// Atomics: operands are the old value (NOWHERE without a return), address, data.
#define DS_ATOMIC(name, T, bytes, ...) \
    OP(ds_##name) { \
        const destination d = destination_of(w, r, 0); const source x_ = source_of(w, r, 2); \
        LANES { u8 *to = ds_at(w, r, l, 1, 0, bytes, 1, 1); T m, x = get_##T(x_, l), y; memcpy(&m, to, bytes); \
                y = (__VA_ARGS__); memcpy(to, &y, bytes); if (r->flags & RETURNS) put_##T(d, l, m); } }
DS_ATOMIC(storexchg_b32, U32, 4, x) DS_ATOMIC(add_u32, U32, 4, m + x) DS_ATOMIC(sub_u32, U32, 4, m - x)
DS_ATOMIC(and_b32, U32, 4, m & x) DS_ATOMIC(or_b32, U32, 4, m | x) DS_ATOMIC(xor_b32, U32, 4, m ^ x)
DS_ATOMIC(min_u32, U32, 4, LEAST(m, x)) DS_ATOMIC(max_u32, U32, 4, MOST(m, x)) DS_ATOMIC(min_i32, I32, 4, LEAST(m, x))
DS_ATOMIC(max_i32, I32, 4, MOST(m, x)) DS_ATOMIC(inc_u32, U32, 4, m >= x ? 0 : m + 1)
DS_ATOMIC(dec_u32, U32, 4, m == 0 || m > x ? x : m - 1) DS_ATOMIC(add_f32, F32, 4, m + x)
DS_ATOMIC(add_u64, U64, 8, m + x) DS_ATOMIC(storexchg_b64, U64, 8, x) DS_ATOMIC(add_f64, F64, 8, m + x)

// Exchange between lanes, without memory: the lane is the address divided by 4.
OP(ds_bpermute_b32) {
    const destination d = destination_of(w, r, 0);
    const source a = source_of(w, r, 1), x = source_of(w, r, 2);
    const u64 exec = exec_of(w);
    u32 y[64];
    LANES {
        const u32 from = (get_U32(a, l) + r->offset) / 4 & (w->width - 1);
        y[l] = exec >> from & 1 ? get_U32(x, from) : 0;
    }
    LANES put_U32(d, l, y[l]);
}
OP(ds_permute_b32) {
    const destination d = destination_of(w, r, 0);
    const source a = source_of(w, r, 1), x = source_of(w, r, 2);
    u32 y[64] = {0};
    LANES y[(get_U32(a, l) + r->offset) / 4 & (w->width - 1)] = get_U32(x, l);
    LANES put_U32(d, l, y[l]);
}
