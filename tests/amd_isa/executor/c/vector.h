// Vector instructions: VOP1, VOP2, VOP3 without compares and without packed math.
static inline float min32(float a, float b) { return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b; }
static inline float max32(float a, float b) { return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b; }
static inline double min64(double a, double b) { return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b; }
static inline double max64(double a, double b) { return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b; }
static inline float med32(float a, float b, float c) {
    if (a != a || b != b || c != c) return min32(min32(a, b), c);
    return max32(min32(a, b), min32(max32(a, b), c));
}

// moves and selections
V1(v_mov_b32, U32, U32, a)
V1(v_mov_b64, U64, U64, a)
V1(v_mov_b16, U16, U16, a)
V1(v_accvgpr_read_b32, U32, U32, a)
V1(v_accvgpr_write_b32, U32, U32, a)
V1(v_accvgpr_mov_b32, U32, U32, a)
#define SELECT(name, T) OP(name) { \
    const destination d = destination_of(w, r, 0); const source a = source_of(w, r, 1), b = source_of(w, r, 2); \
    const u64 mask = get_mask(w, r, 3); LANES put_##T(d, l, mask >> l & 1 ? get_##T(b, l) : get_##T(a, l)); }
SELECT(v_cndmask_b32, F32) SELECT(v_cndmask_b16, F16)
OP(v_readfirstlane_b32) {
    const u64 exec = exec_of(w);
    put_U32(destination_of(w, r, 0), 0, get_U32(source_of(w, r, 1), exec ? __builtin_ctzll(exec) : 0));
}
OP(v_readlane_b32) {
    put_U32(destination_of(w, r, 0), 0, get_U32(source_of(w, r, 1), get_U32(source_of(w, r, 2), 0) & (w->width - 1)));
}
OP(v_writelane_b32) {
    put_U32(destination_of(w, r, 0), get_U32(source_of(w, r, 2), 0) & (w->width - 1), get_U32(source_of(w, r, 1), 0));
}
OP(v_swap_b32) {
    const destination d = destination_of(w, r, 0), e = destination_of(w, r, 1);
    LANES { const u32 x = d.p[l]; d.p[l] = e.p[l]; e.p[l] = x; }
}
V2(v_mbcnt_lo_u32_b32, U32, U32, U32, __builtin_popcount(a & (l < 32 ? (1u << l) - 1 : ~0u)) + b)
V2(v_mbcnt_hi_u32_b32, U32, U32, U32, __builtin_popcount(l < 32 ? 0 : a & ((1u << (l - 32)) - 1)) + b)

// integers of 32 bits
#define SATURATING(name, T, least, most, expression) OP(name) { /* with clamp */ \
    const destination d = destination_of(w, r, 0); \
    const source a_ = source_of(w, r, 1), b_ = source_of(w, r, 2); \
    LANES { const i64 a = get_##T(a_, l), b = get_##T(b_, l), x = expression; \
            put_##T(d, l, (T)(!d.clamp ? x : x < least ? least : x > most ? most : x)); } }
SATURATING(v_add_nc_u32, U32, 0, UINT32_MAX, a + b)
SATURATING(v_sub_nc_u32, U32, 0, UINT32_MAX, a - b)
SATURATING(v_subrev_nc_u32, U32, 0, UINT32_MAX, b - a)
SATURATING(v_add_nc_i32, I32, INT32_MIN, INT32_MAX, a + b)
SATURATING(v_sub_nc_i32, I32, INT32_MIN, INT32_MAX, a - b)
V2(v_and_b32, U32, U32, U32, a & b)
V2(v_or_b32, U32, U32, U32, a | b)
V2(v_xor_b32, U32, U32, U32, a ^ b)
V2(v_xnor_b32, U32, U32, U32, ~(a ^ b))
V1(v_not_b32, U32, U32, ~a)
V2(v_lshlrev_b32, U32, U32, U32, b << (a & 31))
V2(v_lshrrev_b32, U32, U32, U32, b >> (a & 31))
V2(v_ashrrev_i32, I32, U32, I32, b >> (a & 31))
V2(v_lshlrev_b64, U64, U32, U64, b << (a & 63))
V2(v_lshrrev_b64, U64, U32, U64, b >> (a & 63))
V2(v_ashrrev_i64, I64, U32, I64, b >> (a & 63))
V2(v_mul_lo_u32, U32, U32, U32, a * b)
V2(v_mul_hi_u32, U32, U32, U32, (u64)a * b >> 32)
V2(v_mul_hi_i32, U32, I32, I32, (u64)((i64)a * b) >> 32)
#define LOW24(x) ((x) & 0xffffff)
#define SIGNED24(x) ((i32)((u32)(x) << 8) >> 8)
V2(v_mul_u32_u24, U32, U32, U32, LOW24(a) * LOW24(b))
V2(v_mul_i32_i24, U32, U32, U32, (u32)SIGNED24(a) * SIGNED24(b))
V2(v_mul_hi_u32_u24, U32, U32, U32, (u64)LOW24(a) * LOW24(b) >> 32)
V2(v_mul_hi_i32_i24, U32, U32, U32, (u64)((i64)SIGNED24(a) * SIGNED24(b)) >> 32)
V3(v_mad_u32_u24, U32, U32, U32, U32, LOW24(a) * LOW24(b) + c)
V3(v_mad_i32_i24, U32, U32, U32, U32, (u32)SIGNED24(a) * SIGNED24(b) + c)
V2(v_min_u32, U32, U32, U32, a < b ? a : b)
V2(v_max_u32, U32, U32, U32, a > b ? a : b)
V2(v_min_i32, I32, I32, I32, a < b ? a : b)
V2(v_max_i32, I32, I32, I32, a > b ? a : b)
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
V3(v_min3_u32, U32, U32, U32, U32, LEAST(LEAST(a, b), c))
V3(v_max3_u32, U32, U32, U32, U32, MOST(MOST(a, b), c))
V3(v_min3_i32, I32, I32, I32, I32, LEAST(LEAST(a, b), c))
V3(v_max3_i32, I32, I32, I32, I32, MOST(MOST(a, b), c))
V3(v_med3_i32, I32, I32, I32, I32, MOST(LEAST(a, b), LEAST(MOST(a, b), c)))
V3(v_med3_u32, U32, U32, U32, U32, MOST(LEAST(a, b), LEAST(MOST(a, b), c)))
V3(v_add3_u32, U32, U32, U32, U32, a + b + c)
V3(v_lshl_add_u32, U32, U32, U32, U32, (a << (b & 31)) + c)
V3(v_add_lshl_u32, U32, U32, U32, U32, (a + b) << (c & 31))
V3(v_lshl_or_b32, U32, U32, U32, U32, a << (b & 31) | c)
V3(v_and_or_b32, U32, U32, U32, U32, (a & b) | c)
V3(v_or3_b32, U32, U32, U32, U32, a | b | c)
V3(v_xor3_b32, U32, U32, U32, U32, a ^ b ^ c)
V3(v_xad_u32, U32, U32, U32, U32, (a ^ b) + c)
V3(v_lshl_add_u64, U64, U64, U32, U64, (a << (b & 7)) + c)
V2(v_bfm_b32, U32, U32, U32, ((1u << (a & 31)) - 1) << (b & 31))
V3(v_bfi_b32, U32, U32, U32, U32, (a & b) | (~a & c))
V3(v_bfe_u32, U32, U32, U32, U32, a >> (b & 31) & ((1u << (c & 31)) - 1))
V3(v_bfe_i32, I32, U32, U32, U32, signed_field(a, b & 31, c & 31, 32))
V1(v_bfrev_b32, U32, U32, reversed(a))
V1(v_ffbl_b32, I32, U32, a ? __builtin_ctz(a) : -1)
V1(v_ffbh_u32, I32, U32, a ? __builtin_clz(a) : -1)
V1(v_cls_i32, I32, I32, a ^ a >> 31 ? __builtin_clz(a ^ a >> 31) : -1)
V2(v_bcnt_u32_b32, U32, U32, U32, __builtin_popcount(a) + b)
V3(v_alignbit_b32, U32, U32, U32, U32, ((u64)a << 32 | b) >> (c & 31))
V3(v_alignbyte_b32, U32, U32, U32, U32, ((u64)a << 32 | b) >> 8 * (c & 3))
static inline u32 chosen_byte(u64 bytes, u32 select) {
    if (select < 8) return bytes >> 8 * select & 255;
    if (select < 12) return bytes >> (16 * (select - 8) + 15) & 1 ? 255 : 0;
    return select == 12 ? 0 : 255;
}
static inline u32 chosen_bytes(u64 bytes, u32 select) {
    u32 x = 0;
    for (int i = 0; i < 4; i++) x |= chosen_byte(bytes, select >> 8 * i & 255) << 8 * i;
    return x;
}
V3(v_perm_b32, U32, U32, U32, U32, chosen_bytes((u64)a << 32 | b, c))
V3(v_sad_u32, U32, U32, U32, U32, (a > b ? a - b : b - a) + c)

// integers of 16 bits
SATURATING(v_add_nc_u16, U16, 0, UINT16_MAX, a + b)
SATURATING(v_sub_nc_u16, U16, 0, UINT16_MAX, a - b)
SATURATING(v_subrev_nc_u16, U16, 0, UINT16_MAX, b - a)
SATURATING(v_add_nc_i16, I16, INT16_MIN, INT16_MAX, a + b)
SATURATING(v_sub_nc_i16, I16, INT16_MIN, INT16_MAX, a - b)
V2(v_mul_lo_u16, U16, U16, U16, (u32)a * b)
V3(v_mad_u16, U16, U16, U16, U16, (u32)a * b + c)
V2(v_lshlrev_b16, U16, U16, U16, b << (a & 15))
V2(v_lshrrev_b16, U16, U16, U16, b >> (a & 15))
V2(v_ashrrev_i16, I16, U16, I16, b >> (a & 15))
V2(v_and_b16, U16, U16, U16, a & b)
V2(v_or_b16, U16, U16, U16, a | b)
V2(v_xor_b16, U16, U16, U16, a ^ b)
V1(v_not_b16, U16, U16, ~a)
V2(v_min_u16, U16, U16, U16, LEAST(a, b))
V2(v_max_u16, U16, U16, U16, MOST(a, b))
V2(v_min_i16, I16, I16, I16, LEAST(a, b))
V2(v_max_i16, I16, I16, I16, MOST(a, b))

// Carries: the sum of 33 bits. The mask of carries out is operand 1, that of carries in operand 4.
#define CARRY(name, first, second, in, expression) OP(name) { \
    const destination d = destination_of(w, r, 0); \
    const source a_ = source_of(w, r, first), b_ = source_of(w, r, second); \
    const u64 carries = in ? get_mask(w, r, 4) : 0; u64 out = 0; \
    LANES { const u64 a = get_U32(a_, l), b = get_U32(b_, l), c = carries >> l & 1, x = expression; (void)c; \
            put_U32(d, l, x); out |= (x >> 32 & 1) << l; } \
    put_mask(w, r->o[1].at, out); }
CARRY(v_add_co_u32, 2, 3, 0, a + b) CARRY(v_add_co_ci_u32, 2, 3, 1, a + b + c)
CARRY(v_sub_co_u32, 2, 3, 0, a - b) CARRY(v_sub_co_ci_u32, 2, 3, 1, a - b - c)
CARRY(v_subrev_co_u32, 3, 2, 0, a - b) CARRY(v_subrev_co_ci_u32, 3, 2, 1, a - b - c)
#define MAD64(name, A, C, overflow) OP(name) { \
    const destination d_ = destination_of(w, r, 0); \
    const source a_ = source_of(w, r, 2), b_ = source_of(w, r, 3), c_ = source_of(w, r, 4); u64 out = 0; \
    LANES { const C a = get_##A(a_, l), b = get_##A(b_, l), c = get_##C(c_, l); C d; \
            out |= (u64)__builtin_add_overflow(a * b, c, &d) << l; put_##C(d_, l, d); } \
    put_mask(w, r->o[1].at, out); }
MAD64(v_mad_u64_u32, U32, U64, 0) MAD64(v_mad_i64_i32, I32, I64, 0)

// arithmetic of floats
#define FLOATS(T, fma_, min_, max_, sqrt_, floor_, ceil_, trunc_, rint_, t, exponent, epsilon) \
    V2(v_add_##t, T, T, T, a + b) V2(v_sub_##t, T, T, T, a - b) V2(v_subrev_##t, T, T, T, b - a) \
    V2(v_mul_##t, T, T, T, a * b) V3(v_fma_##t, T, T, T, T, fma_(a, b, c)) V2D(v_fmac_##t, T, T, T, fma_(a, b, d)) \
    V2(v_min_##t, T, T, T, min_(a, b)) V2(v_max_##t, T, T, T, max_(a, b)) V1(v_sqrt_##t, T, T, sqrt_(a)) \
    V1(v_rcp_##t, T, T, (T)1 / a) V1(v_rsq_##t, T, T, (T)(1 / sqrt(a))) V1(v_floor_##t, T, T, floor_(a)) \
    V1(v_ceil_##t, T, T, ceil_(a)) V1(v_trunc_##t, T, T, trunc_(a)) V1(v_rndne_##t, T, T, rint_(a)) \
    V1(v_fract_##t, T, T, fract(a, 1 - epsilon / 2)) V3(v_max3_##t, T, T, T, T, max_(max_(a, b), c)) \
    V3(v_min3_##t, T, T, T, T, min_(min_(a, b), c)) V2(v_ldexp_##t, T, T, exponent, (T)ldexp(a, b))
static inline double fract(double x, double most) { return isinf(x) ? NAN : x - floor(x) > most ? most : x - floor(x); }
FLOATS(F32, fmaf, min32, max32, sqrtf, floorf, ceilf, truncf, rintf, f32, I32, 0x1p-23f)
FLOATS(F64, fma, min64, max64, sqrt, floor, ceil, trunc, rint, f64, I32, 0x1p-52)
FLOATS(F16, fma, min32, max32, sqrtf, floorf, ceilf, truncf, rintf, f16, I16, 0x1p-10f)
V3(v_med3_f32, F32, F32, F32, F32, med32(a, b, c))
V3(v_med3_f16, F16, F16, F16, F16, med32(a, b, c))
V3(v_fmaak_f32, F32, F32, F32, F32, fmaf(a, b, c))
V3(v_fmamk_f32, F32, F32, F32, F32, fmaf(a, b, c))
V1(v_rcp_iflag_f32, F32, F32, 1 / a)
V1(v_exp_f32, F32, F32, exp2f(a))
V1(v_log_f32, F32, F32, log2f(a))
V1(v_exp_f16, F16, F16, exp2f(a))
V1(v_log_f16, F16, F16, log2f(a))
V1(v_sin_f32, F32, F32, sin(a * 6.283185307179586))
V1(v_cos_f32, F32, F32, cos(a * 6.283185307179586))
V2(v_mul_legacy_f32, F32, F32, F32, a == 0 || b == 0 ? 0 : a * b)
V2(v_mul_dx9_zero_f32, F32, F32, F32, a == 0 || b == 0 ? 0 : a * b)
static inline int frexp_exponent(double x) { int e = 0; if (isfinite(x)) frexp(x, &e); return e; }
static inline double frexp_mantissa(double x) { int e; return isfinite(x) ? frexp(x, &e) : x; }
V1(v_frexp_exp_i32_f32, I32, F32, frexp_exponent(a))
V1(v_frexp_exp_i32_f64, I32, F64, frexp_exponent(a))
V1(v_frexp_exp_i16_f16, I16, F16, frexp_exponent(a))
V1(v_frexp_mant_f32, F32, F32, frexp_mantissa(a))
V1(v_frexp_mant_f64, F64, F64, frexp_mantissa(a))
V1(v_frexp_mant_f16, F16, F16, frexp_mantissa(a))

// Division: the scaling before and after Newton's steps. `big` is the exponent that scales, `far` the distance of
// exponents near overflow, `tiny` a numerator whose error terms would be lost.
static inline int exponent_of(double x) { return x == 0 ? -1100 : isfinite(x) ? ilogb(x) : 1100; }
#define DIV_SCALE(T, t, big, far, least, tiny) OP(v_div_scale_##t) { \
    const destination d_ = destination_of(w, r, 0); \
    const source a_ = source_of(w, r, 2), b_ = source_of(w, r, 3), c_ = source_of(w, r, 4); u64 out = 0; \
    LANES { \
        const T a = get_##T(a_, l), b = get_##T(b_, l), c = get_##T(c_, l); const int up = a == b; T d = a; \
        const int n = exponent_of(c), m = exponent_of(b), small = n - m < least || fabs((double)(T)(c / b)) < ldexp(1, least); \
        if (b == 0 || c == 0) d = NAN; \
        else if (n - m >= far) { out |= 1ull << l; if (up) d = ldexp(a, big); } \
        else if (m < least) d = ldexp(a, big); \
        else if (-m <= least && small) { out |= 1ull << l; if (up) d = ldexp(a, -big); } \
        else if (-m <= least) d = ldexp(a, -big); \
        else if (small) { out |= 1ull << l; if (a == c) d = ldexp(a, big); } \
        else if (n < tiny) d = ldexp(a, big); \
        put_##T(d_, l, d); } \
    put_mask(w, r->o[1].at, out); }
DIV_SCALE(F32, f32, 64, 96, -126, -103) DIV_SCALE(F64, f64, 128, 768, -1022, -969)
#define DIV_FMAS(T, t, fma_, wide_fma, scaled, big) OP(v_div_fmas_##t) { \
    const destination d = destination_of(w, r, 0); const u64 vcc = pair(w->file + VCC); \
    const source a_ = source_of(w, r, 1), b_ = source_of(w, r, 2), c_ = source_of(w, r, 3); \
    LANES { const T a = get_##T(a_, l), b = get_##T(b_, l), c = get_##T(c_, l); \
            put_##T(d, l, vcc >> l & 1 ? scaled(wide_fma(a, b, c), exponent_of(c) > 0 ? big : -big) : fma_(a, b, c)); } }
DIV_FMAS(F32, f32, fmaf, fma, ldexp, 64) DIV_FMAS(F64, f64, fma, fmal, ldexpl, 128)
#define DIV_FIXUP(T, t, exponents, most) \
    static inline T div_fixup_##t(T q, T d, T n) { \
        const T sign = signbit(d) != signbit(n) ? -1 : 1; \
        if (n != n) return n; \
        if (d != d) return d; \
        if ((d == 0 && n == 0) || (isinf(d) && isinf(n))) return -NAN; \
        if (d == 0 || isinf(n)) return sign * (T)INFINITY; \
        if (exponent_of(n) - exponent_of(d) > most) return sign * (T)INFINITY; \
        if (isinf(d) || n == 0 || exponent_of(n) - exponent_of(d) < exponents) return sign * (T)0; \
        return copysign(q, sign); } \
    V3(v_div_fixup_##t, T, T, T, T, div_fixup_##t(a, b, c))
DIV_FIXUP(F32, f32, -150, 128) DIV_FIXUP(F64, f64, -1075, 1024) DIV_FIXUP(F16, f16, -50, 16)

// Conversions. To integers: towards zero, saturating, 0 from NaN.
#define TO_INTEGER(x, least, most, T) ((x) != (x) ? 0 : (x) <= least ? (T)least : (x) >= most ? (T)most : (T)(x))
V1(v_cvt_u32_f32, U32, F32, TO_INTEGER((double)a, 0., 4294967295., U32))
V1(v_cvt_i32_f32, I32, F32, TO_INTEGER((double)a, -2147483648., 2147483647., I32))
V1(v_cvt_u32_f64, U32, F64, TO_INTEGER(a, 0., 4294967295., U32))
V1(v_cvt_i32_f64, I32, F64, TO_INTEGER(a, -2147483648., 2147483647., I32))
V1(v_cvt_u16_f16, U16, F16, TO_INTEGER((float)a, 0.f, 65535.f, U16))
V1(v_cvt_i16_f16, I16, F16, TO_INTEGER((float)a, -32768.f, 32767.f, I16))
V1(v_cvt_floor_i32_f32, I32, F32, TO_INTEGER(floor((double)a), -2147483648., 2147483647., I32))
V1(v_cvt_f32_u32, F32, U32, a)
V1(v_cvt_f32_i32, F32, I32, a)
V1(v_cvt_f64_u32, F64, U32, a)
V1(v_cvt_f64_i32, F64, I32, a)
V1(v_cvt_f16_u16, F16, U16, a)
V1(v_cvt_f16_i16, F16, I16, a)
V1(v_cvt_f32_f16, F32, F16, a)
V1(v_cvt_f16_f32, F16, F32, a)
V1(v_cvt_f32_f64, F32, F64, a)
V1(v_cvt_f64_f32, F64, F32, a)
V1(v_cvt_f32_ubyte0, F32, U32, a & 255)
V1(v_cvt_f32_ubyte1, F32, U32, a >> 8 & 255)
V1(v_cvt_f32_ubyte2, F32, U32, a >> 16 & 255)
V1(v_cvt_f32_ubyte3, F32, U32, a >> 24)
