// Scalar instructions: SOP1, SOP2, SOPC, SOPK.
#define INTEGER(op, expression) \
    S2(s_##op##_b32, U32, U32, U32, d != 0, expression) S2(s_##op##_b64, U64, U64, U64, d != 0, expression)
INTEGER(and, a & b) INTEGER(or, a | b) INTEGER(xor, a ^ b) INTEGER(and_not1, a & ~b) INTEGER(or_not1, a | ~b)
INTEGER(nand, ~(a & b)) INTEGER(nor, ~(a | b)) INTEGER(xnor, ~(a ^ b))

S2(s_add_u32, U32, U32, U32, d < a, a + b)
S2(s_sub_u32, U32, U32, U32, b > a, a - b)
S2(s_addc_u32, U32, U32, U32, (u64)a + b + w->file[SCC] >> 32, a + b + w->file[SCC])
S2(s_subb_u32, U32, U32, U32, (u64)b + w->file[SCC] > a, a - b - w->file[SCC])
S2(s_add_i32, U32, I32, I32, (i64)a + b != (i32)d, (u32)a + b)
S2(s_sub_i32, U32, I32, I32, (i64)a - b != (i32)d, (u32)a - b)
S2(s_mul_i32, U32, U32, U32, KEEP, a * b)
S2(s_mul_hi_u32, U32, U32, U32, KEEP, (u64)a * b >> 32)
S2(s_mul_hi_i32, U32, I32, I32, KEEP, (u64)((i64)a * b) >> 32)
S2(s_min_i32, I32, I32, I32, a < b, a < b ? a : b)
S2(s_min_u32, U32, U32, U32, a < b, a < b ? a : b)
S2(s_max_i32, I32, I32, I32, a > b, a > b ? a : b)
S2(s_max_u32, U32, U32, U32, a > b, a > b ? a : b)
S2(s_lshl_b32, U32, U32, U32, d != 0, a << (b & 31))
S2(s_lshr_b32, U32, U32, U32, d != 0, a >> (b & 31))
S2(s_ashr_i32, I32, I32, U32, d != 0, a >> (b & 31))
S2(s_lshl_b64, U64, U64, U32, d != 0, a << (b & 63))
S2(s_lshr_b64, U64, U64, U32, d != 0, a >> (b & 63))
S2(s_ashr_i64, I64, I64, U32, d != 0, a >> (b & 63))
#define LSHL_ADD(n) S2(s_lshl##n##_add_u32, U32, U32, U32, ((u64)a << n) + b >> 32 != 0, (a << n) + b)
LSHL_ADD(1) LSHL_ADD(2) LSHL_ADD(3) LSHL_ADD(4)
S2(s_bfm_b32, U32, U32, U32, KEEP, ((1u << (a & 31)) - 1) << (b & 31))
S2(s_bfm_b64, U64, U32, U32, KEEP, ((1ull << (a & 63)) - 1) << (b & 63))
#define FIELD_START(b, bits) ((b) & (bits - 1))
#define FIELD_WIDTH(b) ((b) >> 16 & 127)
static inline u64 field(u64 x, u32 start, u32 width) { return x >> start & (width >= 64 ? ~0ull : (1ull << width) - 1); }
static inline i64 signed_field(u64 x, u32 start, u32 width, u32 bits) {  // of a number of so many bits
    if (width == 0) return 0;
    if (start + width > bits) width = bits - start;
    return (i64)(x << (64 - start - width)) >> (64 - width);
}
S2(s_bfe_u32, U32, U32, U32, d != 0, field(a, FIELD_START(b, 32), FIELD_WIDTH(b)))
S2(s_bfe_i32, I32, U32, U32, d != 0, signed_field(a, FIELD_START(b, 32), FIELD_WIDTH(b), 32))
S2(s_bfe_u64, U64, U64, U32, d != 0, field(a, FIELD_START(b, 64), FIELD_WIDTH(b)))
S2(s_bfe_i64, I64, U64, U32, d != 0, signed_field(a, FIELD_START(b, 64), FIELD_WIDTH(b), 64))
S2(s_pack_ll_b32_b16, U32, U32, U32, KEEP, (a & 0xffff) | b << 16)
S2(s_pack_lh_b32_b16, U32, U32, U32, KEEP, (a & 0xffff) | (b & 0xffff0000))
S2(s_pack_hh_b32_b16, U32, U32, U32, KEEP, a >> 16 | (b & 0xffff0000))
S2(s_pack_hl_b32_b16, U32, U32, U32, KEEP, a >> 16 | b << 16)
S2(s_cselect_b32, U32, U32, U32, KEEP, w->file[SCC] ? a : b)
S2(s_cselect_b64, U64, U64, U64, KEEP, w->file[SCC] ? a : b)

S1(s_mov_b32, U32, U32, KEEP, a)
S1(s_mov_b64, U64, U64, KEEP, a)
S1(s_movk_i32, U32, U32, KEEP, a)
S1(s_not_b32, U32, U32, d != 0, ~a)
S1(s_not_b64, U64, U64, d != 0, ~a)
S1(s_brev_b32, U32, U32, KEEP, reversed(a))
S1(s_abs_i32, U32, I32, d != 0, a < 0 ? -(u32)a : (u32)a)
S1(s_bcnt1_i32_b32, U32, U32, d != 0, __builtin_popcount(a))
S1(s_bcnt1_i32_b64, U32, U64, d != 0, __builtin_popcountll(a))
S1(s_bcnt0_i32_b32, U32, U32, d != 0, 32 - __builtin_popcount(a))
S1(s_bcnt0_i32_b64, U32, U64, d != 0, 64 - __builtin_popcountll(a))
S1(s_ctz_i32_b32, I32, U32, KEEP, a ? __builtin_ctz(a) : -1)
S1(s_ctz_i32_b64, I32, U64, KEEP, a ? __builtin_ctzll(a) : -1)
S1(s_clz_i32_u32, I32, U32, KEEP, a ? __builtin_clz(a) : -1)
S1(s_clz_i32_u64, I32, U64, KEEP, a ? __builtin_clzll(a) : -1)
S1(s_sext_i32_i8, I32, U32, KEEP, (int8_t)a)
S1(s_sext_i32_i16, I32, U32, KEEP, (i16)a)
OP(s_cmov_b32) { if (w->file[SCC]) op_s_mov_b32(w, r); }
OP(s_cmov_b64) { if (w->file[SCC]) op_s_mov_b64(w, r); }
#define BITSET(bits, type, value, set) OP(s_bitset##value##_b##bits) { \
    const type one = (type)1 << (get_U32(source_of(w, r, 1), 0) & (bits - 1)), d = get_U##bits(source_of(w, r, 0), 0); \
    put_U##bits(destination_of(w, r, 0), 0, set); }
BITSET(32, u32, 0, d & ~one) BITSET(32, u32, 1, d | one) BITSET(64, u64, 0, d & ~one) BITSET(64, u64, 1, d | one)

// EXEC becomes a function of it and the source, the result is EXEC as it was.
#define SAVEEXEC(op, expression) \
    OP(s_##op##_saveexec_b32) { \
        const u32 a = get_U32(source_of(w, r, 1), 0), e = w->file[EXEC]; \
        put_U32(destination_of(w, r, 0), 0, e); w->file[SCC] = (w->file[EXEC] = expression) != 0; } \
    OP(s_##op##_saveexec_b64) { \
        const u64 a = get_U64(source_of(w, r, 1), 0), e = pair(w->file + EXEC), d = expression; \
        put_U64(destination_of(w, r, 0), 0, e); w->file[EXEC] = d; w->file[EXEC + 1] = d >> 32; w->file[SCC] = d != 0; }
SAVEEXEC(and, a & e) SAVEEXEC(or, a | e) SAVEEXEC(xor, a ^ e) SAVEEXEC(nand, ~(a & e)) SAVEEXEC(nor, ~(a | e))
SAVEEXEC(xnor, ~(a ^ e)) SAVEEXEC(and_not0, ~a & e) SAVEEXEC(or_not0, ~a | e) SAVEEXEC(and_not1, a & ~e)
SAVEEXEC(or_not1, a | ~e)
#define WREXEC(op, expression) \
    OP(s_##op##_wrexec_b32) { \
        const u32 a = get_U32(source_of(w, r, 1), 0), e = w->file[EXEC]; w->file[EXEC] = expression; \
        put_U32(destination_of(w, r, 0), 0, w->file[EXEC]); w->file[SCC] = w->file[EXEC] != 0; } \
    OP(s_##op##_wrexec_b64) { \
        const u64 a = get_U64(source_of(w, r, 1), 0), e = pair(w->file + EXEC), d = expression; \
        w->file[EXEC] = d; w->file[EXEC + 1] = d >> 32; put_U64(destination_of(w, r, 0), 0, d); w->file[SCC] = d != 0; }
WREXEC(and_not0, ~a & e) WREXEC(and_not1, a & ~e)

#define COMPARE(name, A, expression) OP(name) { \
    const A a = get_##A(source_of(w, r, 0), 0), b = get_##A(source_of(w, r, 1), 0); w->file[SCC] = expression; }
#define COMPARE32(op, expression) \
    COMPARE(s_cmp_##op##_i32, I32, expression) COMPARE(s_cmp_##op##_u32, U32, expression) \
    COMPARE(s_cmpk_##op##_i32, I32, expression) COMPARE(s_cmpk_##op##_u32, U32, expression)
COMPARE32(eq, a == b) COMPARE32(lg, a != b) COMPARE32(gt, a > b) COMPARE32(ge, a >= b) COMPARE32(lt, a < b)
COMPARE32(le, a <= b)
COMPARE(s_cmp_eq_u64, U64, a == b)
COMPARE(s_cmp_lg_u64, U64, a != b)
COMPARE(s_bitcmp0_b32, U32, !(a >> (b & 31) & 1))
COMPARE(s_bitcmp1_b32, U32, a >> (b & 31) & 1)
#define IN_PLACE(name, expression, overflow) OP(name) { \
    const i64 d = (i32)get_U32(source_of(w, r, 0), 0), a = (i32)get_U32(source_of(w, r, 1), 0), x = expression; \
    put_U32(destination_of(w, r, 0), 0, x); if (overflow) w->file[SCC] = x != (i32)x; }
IN_PLACE(s_addk_i32, d + a, 1) IN_PLACE(s_mulk_i32, d * a, 0)
