// Packed and mixed math: v_pk_*, v_fma_mix*, v_dot*, v_pack_b32_f16, v_cvt_pk_*. Of each source op_sel chooses the half
// that the lower result is made of, op_sel_hi that of the upper one; neg_lo and neg_hi turn their signs.
#define CHOSEN(bits, i) ((bits) >> ((i) - 1) & 1)

// Two floats of 32 bits.
typedef struct { const u32 *p; u32 lane, at[2], flip[2], flush; } floats;
static inline floats floats_of(const wave *w, const record *r, int i) {
    const source s = source_of(w, r, i);
    const u32 next = r->o[i].next;
    return (floats){.p = s.p, .lane = s.lane, .flush = s.flush,
                    .at = {CHOSEN(r->op_sel, i) * next, CHOSEN(r->op_sel_hi, i) * next},
                    .flip = {(u32)CHOSEN(r->neg_lo, i) << 31, (u32)CHOSEN(r->neg_hi, i) << 31}};
}
static inline float float_of(floats s, int l, int upper) {
    const float x = f32_of(s.p[l * s.lane + s.at[upper]] ^ s.flip[upper]);
    return s.flush ? flushed(x) : x;
}
#define PACKED_F32(name, last, ...) OP(name) { \
    const destination low = destination_of(w, r, 0); destination high = low; high.p += low.next; \
    const floats a_ = floats_of(w, r, 1), b_ = floats_of(w, r, 2), c_ = floats_of(w, r, last); \
    LANES { \
        float x[2]; \
        for (int i = 0; i < 2; i++) { \
            const float a = float_of(a_, l, i), b = float_of(b_, l, i), c = float_of(c_, l, i); (void)c; x[i] = __VA_ARGS__; } \
        put_F32(low, l, x[0]); put_F32(high, l, x[1]); } }
PACKED_F32(v_pk_add_f32, 2, a + b)
PACKED_F32(v_pk_mul_f32, 2, a * b)
PACKED_F32(v_pk_fma_f32, 3, fmaf(a, b, c))
OP(v_pk_mov_b32) {  // op_sel alone: a word of the first source below, one of the second above
    const destination d = destination_of(w, r, 0);
    const floats a = floats_of(w, r, 1), b = floats_of(w, r, 2);
    LANES {
        const u32 x = a.p[l * a.lane + a.at[0]], y = b.p[l * b.lane + b.at[0]];
        put_U64(d, l, x | (u64)y << 32);
    }
}

// Two numbers of 16 bits. A constant that fits 16 bits is extended by its sign; a float has nothing above.
typedef struct { source s; u32 at[2], flip[2]; } halves;
static inline halves halves_of(const wave *w, const record *r, int i) {
    return (halves){.s = source_of(w, r, i), .at = {CHOSEN(r->op_sel, i), CHOSEN(r->op_sel_hi, i)},
                    .flip = {(u32)CHOSEN(r->neg_lo, i) << 15, (u32)CHOSEN(r->neg_hi, i) << 15}};
}
static inline u16 half_of(halves h, int l, int upper) {
    const u32 *p = h.s.p + l * h.s.lane;
    const u32 high = h.s.constant && (u16)p[0] != p[3] ? 0 : p[0] >> 16;
    return (h.at[upper] ? high : h.s.constant ? p[3] : p[0]) ^ h.flip[upper];
}
static inline F16 half_F16(halves h, int l, int upper) { return f16_of(half_of(h, l, upper)); }
static inline U16 half_U16(halves h, int l, int upper) { return half_of(h, l, upper); }
static inline I16 half_I16(halves h, int l, int upper) { return half_of(h, l, upper); }
static inline u16 packed_F16(destination d, F16 x) { return bits16(d.clamp ? (F16)modified(d, x) : x); }
static inline u16 packed_U16(destination d, i64 x) { return !d.clamp ? x : x < 0 ? 0 : x > 65535 ? 65535 : x; }
static inline u16 packed_I16(destination d, i64 x) { return !d.clamp ? x : x < -32768 ? -32768 : x > 32767 ? 32767 : x; }
#define PACKED_16(name, T, wide, last, ...) OP(name) { \
    const destination d = destination_of(w, r, 0); \
    const halves a_ = halves_of(w, r, 1), b_ = halves_of(w, r, 2), c_ = halves_of(w, r, last); \
    LANES { \
        u32 x = 0; \
        for (int i = 0; i < 2; i++) { \
            const wide a = half_##T(a_, l, i), b = half_##T(b_, l, i), c = half_##T(c_, l, i); (void)c; \
            x |= (u32)packed_##T(d, __VA_ARGS__) << 16 * i; } \
        put_U32(d, l, x); } }
PACKED_16(v_pk_add_f16, F16, F16, 2, a + b)
PACKED_16(v_pk_mul_f16, F16, F16, 2, a * b)
PACKED_16(v_pk_min_f16, F16, F16, 2, min32(a, b))
PACKED_16(v_pk_max_f16, F16, F16, 2, max32(a, b))
PACKED_16(v_pk_fma_f16, F16, F16, 3, fma(a, b, c))
PACKED_16(v_pk_add_u16, U16, i64, 2, a + b)
PACKED_16(v_pk_sub_u16, U16, i64, 2, a - b)
PACKED_16(v_pk_add_i16, I16, i64, 2, a + b)
PACKED_16(v_pk_sub_i16, I16, i64, 2, a - b)
PACKED_16(v_pk_mul_lo_u16, U16, i64, 2, a * b)
PACKED_16(v_pk_mad_u16, U16, i64, 3, a * b + c)
PACKED_16(v_pk_mad_i16, I16, i64, 3, a * b + c)
PACKED_16(v_pk_min_u16, U16, i64, 2, LEAST(a, b))
PACKED_16(v_pk_max_u16, U16, i64, 2, MOST(a, b))
PACKED_16(v_pk_min_i16, I16, i64, 2, LEAST(a, b))
PACKED_16(v_pk_max_i16, I16, i64, 2, MOST(a, b))
PACKED_16(v_pk_lshlrev_b16, U16, i64, 2, b << (a & 15))
PACKED_16(v_pk_lshrrev_b16, U16, i64, 2, b >> (a & 15))
PACKED_16(v_pk_ashrrev_i16, I16, i64, 2, b >> (a & 15))

// Mixed: op_sel_hi tells which sources are halves, op_sel which half.
static inline float mixed_of(source s, const record *r, int i, int l) {
    if (!CHOSEN(r->op_sel_hi, i)) return get_F32(s, l);
    s.high = CHOSEN(r->op_sel, i) ? 16 : 0;
    return get_F16(s, l);
}
#define MIXED(name, T, half) OP(name) { \
    destination d = destination_of(w, r, 0); \
    const source a = source_of(w, r, 1), b = source_of(w, r, 2), c = source_of(w, r, 3); \
    d.flags = half; \
    LANES put_##T(d, l, (T)fmaf(mixed_of(a, r, 1, l), mixed_of(b, r, 2, l), mixed_of(c, r, 3, l))); }
MIXED(v_fma_mix_f32, F32, 0) MIXED(v_fma_mixlo_f16, F16, HALF) MIXED(v_fma_mixhi_f16, F16, HALF | HIGH)

// Dot products of the parts of a word, added to the third source, or to the old result (v_dot*c, v_dot*acc).
static inline float bf16(u16 x) { return f32_of((u32)x << 16); }
static inline u16 to_bf16(float x) {
    const u32 u = bits32(x);
    return x != x ? u >> 16 | 64 : (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
static inline float half_BF16(halves h, int l, int upper) { return bf16(half_of(h, l, upper)); }
#define DOT2(name, D, T, addend, ...) OP(name) { \
    const destination d_ = destination_of(w, r, 0); const source c_ = source_of(w, r, addend); \
    const halves a = halves_of(w, r, 1), b = halves_of(w, r, 2); \
    LANES { D d = get_##D(c_, l); for (int i = 0; i < 2; i++) { \
                const D x = half_##T(a, l, i), y = half_##T(b, l, i); d = __VA_ARGS__; } \
            put_##D(d_, l, d); } }
DOT2(v_dot2_f32_f16, F32, F16, 3, x * y + d) DOT2(v_dot2c_f32_f16, F32, F16, 0, x * y + d)
DOT2(v_dot2_f32_bf16, F32, BF16, 3, x * y + d) DOT2(v_dot2c_f32_bf16, F32, BF16, 0, x * y + d)
DOT2(v_dot2_f16_f16, F16, F16, 3, x * y + d) DOT2(v_dot2_u32_u16, U32, U16, 3, x * y + d)
DOT2(v_dot2_i32_i16, I32, I16, 3, (u32)x * y + d) DOT2(v_dot2c_i32_i16, I32, I16, 0, (u32)x * y + d)
// Integers of 8 and 4 bits: neg_lo says which sources of "iu" have signs.
static inline i64 part_of(u32 x, int i, int bits, int is_signed) {
    const i64 part = x >> i * bits & ((1u << bits) - 1);
    return is_signed && part >> (bits - 1) ? part - (1 << bits) : part;
}
#define DOT_PARTS(name, D, bits, addend, sign_a, sign_b) OP(name) { \
    const destination d_ = destination_of(w, r, 0); \
    const source a = source_of(w, r, 1), b = source_of(w, r, 2), c = source_of(w, r, addend); \
    const i64 least = (D)-1 < 0 ? INT32_MIN : 0, most = (D)-1 < 0 ? INT32_MAX : UINT32_MAX; \
    LANES { i64 d = get_##D(c, l); for (int i = 0; i < 32 / bits; i++) \
                d += part_of(get_U32(a, l), i, bits, sign_a) * part_of(get_U32(b, l), i, bits, sign_b); \
            put_##D(d_, l, (D)(!d_.clamp ? d : d < least ? least : d > most ? most : d)); } }
#define DOT_INTEGERS(bits, n) \
    DOT_PARTS(v_dot##n##_i32_i##bits, I32, bits, 3, 1, 1) DOT_PARTS(v_dot##n##_u32_u##bits, U32, bits, 3, 0, 0) \
    DOT_PARTS(v_dot##n##c_i32_i##bits, I32, bits, 0, 1, 1) \
    DOT_PARTS(v_dot##n##_i32_iu##bits, I32, bits, 3, CHOSEN(r->neg_lo, 1), CHOSEN(r->neg_lo, 2))
DOT_INTEGERS(8, 4) DOT_INTEGERS(4, 8)

// Two results of 16 bits made of two sources.
#define JOIN(low, high) ((u32)(u16)(low) | (u32)(u16)(high) << 16)
V2(v_pack_b32_f16, U32, F16, F16, JOIN(bits16(a), bits16(b)))
static inline u16 towards_zero(float x) {
    const F16 y = (F16)x;
    return bits16(y) - (isfinite(x) && fabsf(y) > fabsf(x));
}
V2(v_cvt_pk_rtz_f16_f32, U32, F32, F32, JOIN(towards_zero(a), towards_zero(b)))
V2(v_cvt_pk_f16_f32, U32, F32, F32, JOIN(bits16((F16)a), bits16((F16)b)))
V2(v_cvt_pk_bf16_f32, U32, F32, F32, JOIN(to_bf16(a), to_bf16(b)))
V2(v_cvt_pk_i16_i32, U32, I32, I32, JOIN(LEAST(MOST(a, -32768), 32767), LEAST(MOST(b, -32768), 32767)))
V2(v_cvt_pk_u16_u32, U32, U32, U32, JOIN(LEAST(a, 65535), LEAST(b, 65535)))
#define NORM(x, least, most) ((x) != (x) ? 0 : (int)rintf(fminf(fmaxf(x, least), 1) * most))
#define SNORM(x) NORM(x, -1, 32767)
#define UNORM(x) NORM(x, 0, 65535)
V2(v_cvt_pk_norm_i16_f32, U32, F32, F32, JOIN(SNORM(a), SNORM(b)))
V2(v_cvt_pk_norm_u16_f32, U32, F32, F32, JOIN(UNORM(a), UNORM(b)))
