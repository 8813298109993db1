// What text for graphs is written in (backends/fusion): numbers of several types side by side, and every pointwise mode.
//
//   LANES     numbers that an expression stands for: a vector of VW on CPUs (OpenCL only), 1 on GPUs; after common/types.h, of floats
//   F D L I   registers: float, double, 64-bit and 32-bit integers, LANES of each; U has the bits of F
//   TO_F(v) ...        conversions between them
//   SELECT(m, a, b)    by lane; m is a comparison of numbers as wide as a and b
//   FUSED_LANE         0, 1, 2 ... as I
//   KEEP_F(n, v, w) ...     v in the first n lanes, w in the others
//   FIRST_F(v) ...     the first lane, in all lanes
//   ACROSS_SUM_F(v) ...     what all lanes give together, in all lanes: SUM, MUL, MAX or MIN
//
// Storage types are called f32 f64 f16 bf16 i8 u8 b8 i32 i64 e4m3 e5m2; each has
//
//   X_s                its elements in memory
//   of_X(raw)          the register that an element is, or LANES of them     as_X(v)    back again, rounded
//   load_X(p) store_X(p, v)                      neighbours in memory
//   part_X(p, step, n) store_part_X(p, step, n, v)  n of LANES, `step` elements apart; the other lanes are 0
//   splat_X(p) store_one_X(p, v)                 one element, in all lanes; lane 0
//   round_X(v)         the register after having been stored: to nearest, ties to even; integers and FP8 saturate
#ifndef BF16_ROUNDED  // common/types.h may have it
#include "common/bfloat16.h"
#endif

#if LANES == 1
typedef float F;
#else
typedef vreal F;
#endif
#if LANES == 1
#ifdef FUSED_DOUBLES
typedef double D;
#endif
typedef i64 L;
typedef int I;
typedef u32 U;
#define TO_F(v) ((F)(v))
#define TO_D(v) ((D)(v))
#define TO_L(v) ((L)(v))
#define TO_I(v) ((I)(v))
#define TO_U(v) ((U)(v))
#define AS_U(v) as_uint(v)
#define AS_F(v) as_float(v)
#define SELECT(m, a, b) ((m) ? (a) : (b))
#define FUSED_LANE 0
#else
#include "fusion/fused_lanes.h"
#endif

typedef unsigned char fused_byte;
typedef signed char fused_char;
typedef unsigned short fused_short;

// bits of the short types, in U; exponents move by a product, and adding a large number rounds to its last place
#if LANES == 1 && defined(PD_CUDA)
DEVICE F fused_from_half(U h) { return f16_to_float((unsigned short)h); }
DEVICE U fused_to_half(F v) { return f16_from_float(v); }
#else
DEVICE F fused_from_half(U h) {
    const U m = h & 0x7fffu;
    const F v = AS_F(m << 13) * 5.192296858534828e33f;
    return AS_F(AS_U(SELECT(m >= 0x7c00u, AS_F(m << 13 | 0x7f800000u), v)) | (h & 0x8000u) << 16);
}
DEVICE U fused_to_half(F v) {
    const U bits = AS_U(v), m = bits & 0x7fffffffu;
    const U whole = (m + 0xfffu + (m >> 13 & 1u) - 0x38000000u) >> 13;
    const U small = AS_U(AS_F(m) + 0.5f) - 0x3f000000u;
    const U r = SELECT(m < 0x38800000u, small, SELECT(m >= 0x477ff000u, (U)(0x7c00u), whole));
    return SELECT(m > 0x7f800000u, (U)(0x7e00u), r) | (bits >> 16 & 0x8000u);
}
#endif
DEVICE F fused_from_e4m3(U h) {
    const U m = h & 0x7fu;
    const F v = SELECT(m == 0x7fu, (F)(NAN_OF(float)), AS_F(m << 20) * 1.329227995784916e36f);
    return AS_F(AS_U(v) | (h & 0x80u) << 24);
}
DEVICE U fused_to_e4m3(F v) {
    const U bits = AS_U(v), m = bits & 0x7fffffffu;
    const F a = SELECT(AS_F(m) > 448.0f, (F)(448.0f), AS_F(m));
    const U n = AS_U(a);
    const U whole = (n + 0x7ffffu + (n >> 20 & 1u) - 0x3c000000u) >> 20;
    const U r = SELECT(n < 0x3c800000u, AS_U(a + 16384.0f) - 0x46800000u, whole);
    return SELECT(m > 0x7f800000u, (U)(0x7fu), r) | (bits >> 24 & 0x80u);
}
DEVICE U fused_to_e5m2(F v) {
    const U bits = AS_U(v), m = bits & 0x7fffffffu;
    const F a = SELECT(AS_F(m) > 57344.0f, (F)(57344.0f), AS_F(m));
    const U n = AS_U(a);
    const U whole = (n + 0xfffffu + (n >> 21 & 1u) - 0x38000000u) >> 21;
    const U r = SELECT(n < 0x38800000u, AS_U(a + 128.0f) - 0x43000000u, whole);
    return SELECT(m > 0x7f800000u, (U)(0x7fu), r) | (bits >> 24 & 0x80u);
}

// to integers: the nearest one within the type, 0 for NaN
DEVICE F fused_whole(F v, float low, float high) {
    v = SELECT(v == v, v, (F)(0.0f));
    v = SELECT(v < low, (F)(low), v);
    return rint(SELECT(v > high, (F)(high), v));
}
DEVICE I fused_int_F(F v) {
    const I cut = TO_I(fused_whole(v, -2147483648.0f, 2147483520.0f));
    return SELECT(v >= 2147483648.0f, (I)(2147483647), cut);
}
#ifdef FUSED_DOUBLES
DEVICE I fused_int_D(D v) {
    v = SELECT(v == v, v, (D)(0.0));
    v = SELECT(v < -2147483648.0, (D)(-2147483648.0), v);
    return TO_I(rint(SELECT(v > 2147483647.0, (D)(2147483647.0), v)));
}
DEVICE L fused_long_D(D v) {
    const D n = rint(SELECT(v == v, v, (D)(0.0)));
    const D low = SELECT(n < -9223372036854775808.0, (D)(-9223372036854775808.0), n);
    const L cut = TO_L(SELECT(low > 9223372036854774784.0, (D)(9223372036854774784.0), low));
    return SELECT(n >= 9223372036854775808.0, (L)(9223372036854775807L), cut);
}
DEVICE I fused_int_L(L v) {
    v = SELECT(v < -2147483647L, (L)(-2147483647L - 1), v);
    return TO_I(SELECT(v > 2147483647L, (L)(2147483647L), v));
}
#endif

#define round_f32(v) (v)
#define round_f64(v) (v)
#define round_i32(v) (v)
#define round_i64(v) (v)
#define round_f16(v) fused_from_half(fused_to_half(v))
#define round_bf16(v) fused_from_bf16(fused_to_bf16(v))
#define round_i8(v) fused_whole(v, -128.0f, 127.0f)
#define round_u8(v) fused_whole(v, 0.0f, 255.0f)
#define round_b8(v) SELECT((v) != 0.0f, (F)(1.0f), (F)(0.0f))
#define round_e4m3(v) fused_from_e4m3(fused_to_e4m3(v))
#define round_e5m2(v) fused_from_half(fused_to_e5m2(v) << 8)

DEVICE F fused_from_bf16(U h) { return AS_F(h << 16); }
#if LANES == 1 && defined(PD_CUDA)
DEVICE U fused_to_bf16(F v) { return PD_BF16_FROM_FLOAT(v); }
#else
DEVICE U fused_to_bf16(F v) {
    const U bits = AS_U(v);
    return SELECT((bits & 0x7fffffffu) > 0x7f800000u, BF16_NAN(bits), BF16_ROUNDED(bits));
}
#endif

#if LANES == 1
typedef float f32_s;
#ifdef FUSED_DOUBLES
typedef double f64_s;
#endif
typedef fused_short f16_s;
typedef fused_short bf16_s;
typedef fused_char i8_s;
typedef fused_byte u8_s;
typedef fused_byte b8_s;
typedef int i32_s;
typedef i64 i64_s;
typedef fused_byte e4m3_s;
typedef fused_byte e5m2_s;
#define of_f32(raw) (raw)
#define of_f64(raw) (raw)
#define of_i32(raw) (raw)
#define of_i64(raw) (raw)
#define of_f16(raw) fused_from_half(raw)
#define of_bf16(raw) fused_from_bf16(raw)
#define of_i8(raw) TO_F(raw)
#define of_u8(raw) TO_F(raw)
#define of_b8(raw) ((raw) != 0 ? 1.0f : 0.0f)
#define of_e4m3(raw) fused_from_e4m3(raw)
#define of_e5m2(raw) fused_from_half((U)(raw) << 8)
#define as_f32(v) (v)
#define as_f64(v) (v)
#define as_i32(v) (v)
#define as_i64(v) (v)
#define as_f16(v) ((f16_s)fused_to_half(v))
#define as_bf16(v) ((bf16_s)fused_to_bf16(v))
#define as_i8(v) ((i8_s)round_i8(v))
#define as_u8(v) ((u8_s)round_u8(v))
#define as_b8(v) ((b8_s)((v) != 0.0f))
#define as_e4m3(v) ((e4m3_s)fused_to_e4m3(v))
#define as_e5m2(v) ((e5m2_s)fused_to_e5m2(v))
#define exp_F(v) exp(v)
#define expm1_F(v) expm1(v)
#define log_F(v) log(v)
#define log1p_F(v) log1p(v)
#define erf_F(v) erf(v)
#define sin_F(v) sin(v)
#define cos_F(v) cos(v)
#define tan_F(v) tan(v)
#define fmod_F(a, b) fmod(a, b)
#define pow_F(a, b) pow(a, b)
#define sigmoid_F(v) RECIPROCAL_F(1.0f + exp(-(v)))
#define exp_D(v) exp(v)
#define expm1_D(v) expm1(v)
#define log_D(v) log(v)
#define log1p_D(v) log1p(v)
#define tanh_D(v) tanh(v)
#define erf_D(v) erf(v)
#define sin_D(v) sin(v)
#define cos_D(v) cos(v)
#define tan_D(v) tan(v)
#define fmod_D(a, b) fmod(a, b)
#define pow_D(a, b) pow(a, b)
#define sigmoid_D(v) (1.0 / (1.0 + exp(-(v))))
#else
FUSED_MEMORY(f32, float, F, raw, v)
FUSED_MEMORY(f16, ushort, F, fused_from_half(TO_U(raw)), FUSED_NARROW(fused_to_half(v), ushort))
FUSED_MEMORY(bf16, ushort, F, fused_from_bf16(TO_U(raw)), FUSED_NARROW(fused_to_bf16(v), ushort))
FUSED_MEMORY(i8, char, F, TO_F(raw), FUSED_NARROW(TO_I(round_i8(v)), char))
FUSED_MEMORY(u8, uchar, F, TO_F(raw), FUSED_NARROW(TO_I(round_u8(v)), uchar))
FUSED_MEMORY(b8, uchar, F, round_b8(TO_F(raw)), FUSED_NARROW(TO_I(round_b8(v)), uchar))
FUSED_MEMORY(e4m3, uchar, F, fused_from_e4m3(TO_U(raw)), FUSED_NARROW(fused_to_e4m3(v), uchar))
FUSED_MEMORY(e5m2, uchar, F, fused_from_half(TO_U(raw) << 8), FUSED_NARROW(fused_to_e5m2(v), uchar))
FUSED_MEMORY(i32, int, I, raw, v)
#ifdef FUSED_DOUBLES
FUSED_MEMORY(f64, double, D, raw, v)
FUSED_MEMORY(i64, long, L, raw, v)
#endif
#endif

#if LANES == 1 && VW > 1
// X_run: VW neighbours in memory, which begin at a multiple of their bytes or of 16
#define FUSED_RUN(X, bytes)                                                                                \
    typedef struct __attribute__((aligned(VW * (bytes) < 16 ? VW * (bytes) : 16))) {                       \
        X##_s e[VW];                                                                                       \
    } X##_run;
#endif

// lots of PROLOGUE_RUN neighbours, which a kernel defines, and which begin at a multiple of their bytes or of 16
#ifdef PROLOGUE_RUN
#define FUSED_LOT(X, bytes)                                                                                \
    typedef struct __attribute__((aligned(PROLOGUE_RUN * (bytes) < 16 ? PROLOGUE_RUN * (bytes) : 16))) {   \
        X##_s e[PROLOGUE_RUN];                                                                             \
    } X##_lot;
#endif

// 1 / v, as far as it is a normal number: within one unit in the last place on NVIDIA's, rounded elsewhere
#if defined(PD_CUDA) && !defined(PD_HIP)
DEVICE F RECIPROCAL_F(F v) {
    F r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}
#elif defined(__NV_CL_C_VERSION)
#define RECIPROCAL_F(v) native_recip(v)
#else
#define RECIPROCAL_F(v) (1.0f / (v))
#endif
#define RECIPROCAL_D(v) (1.0 / (v))

#include "common/tanh.h"
TANH(tanh_F, F, fabs, exp_F, RECIPROCAL_F, SELECT)

// pointwise modes of more than one operation, for R = F or D with the scalar type S
#define FUSED_FUNCTIONS(R, S)                                                                              \
    DEVICE R max_##R(R a, R b) { return SELECT(a > b, a, SELECT(b >= a, b, a + b)); }                      \
    DEVICE R min_##R(R a, R b) { return SELECT(a < b, a, SELECT(b <= a, b, a + b)); }                      \
    DEVICE R elu_##R(R x, S alpha) { return SELECT(x > (S)0, x, expm1_##R(x) * alpha); }                   \
    DEVICE R elu_backward_##R(R dy, R x, S alpha) {                                                        \
        return dy * SELECT(x > (S)0, (R)((S)1), exp_##R(x) * alpha);                                       \
    }                                                                                                      \
    DEVICE R gelu_##R(R x) { return x * (erf_##R(x * (S)0.7071067811865476) + (S)1) * (S)0.5; }            \
    DEVICE R gelu_backward_##R(R dy, R x) {                                                                \
        const R density = exp_##R(x * x * (S)-0.5) * (S)0.3989422804014327;                                \
        return dy * ((erf_##R(x * (S)0.7071067811865476) + (S)1) * (S)0.5 + x * density);                  \
    }                                                                                                      \
    DEVICE R gelu_tanh_##R(R x) { /* (1 + tanh(u)) / 2 is the sigmoid of 2u */                             \
        return x * sigmoid_##R((x + x * x * x * (S)0.044715) * (S)1.5957691216057308);                     \
    }                                                                                                      \
    DEVICE R gelu_tanh_backward_##R(R dy, R x) {                                                           \
        const R u = (x + x * x * x * (S)0.044715) * (S)1.5957691216057308;                                 \
        const R e = exp_##R(-fabs(u)), s = e + (S)1, inner = x * (x * x * (S)0.134145 + (S)1) * (S)1.5957691216057308;\
        return dy * (sigmoid_##R(u) + e * RECIPROCAL_##R(s * s) * inner);                                  \
    }                                                                                                      \
    DEVICE R softplus_##R(R x, S beta) {                                                                   \
        const R z = x * beta;                                                                              \
        const R top = SELECT(z > (S)0, z, (R)((S)0));                                                      \
        return (top + log1p_##R(exp_##R(-fabs(z)))) / beta;                                                \
    }                                                                                                      \
    DEVICE R swish_##R(R x, S beta) { return x * sigmoid_##R(x * beta); }                                  \
    DEVICE R swish_backward_##R(R dy, R x, S beta) {                                                       \
        const R s = sigmoid_##R(x * beta);                                                                 \
        return dy * (s + x * beta * s * ((S)1 - s));                                                       \
    }                                                                                                      \
    DEVICE R tanh_backward_##R(R dy, R x) { /* 1 - tanh(x)^2, without a difference */                      \
        const R e = exp_##R(fabs(x) * (S)-2), s = e + (S)1;                                                \
        return dy * (e * (S)4 * RECIPROCAL_##R(s * s));                                                    \
    }                                                                                                      \
    DEVICE R sigmoid_backward_##R(R dy, R x) { /* s * (1 - s), without a difference */                     \
        const R e = exp_##R(-fabs(x)), s = e + (S)1;                                                       \
        return dy * (e * RECIPROCAL_##R(s * s));                                                           \
    }
FUSED_FUNCTIONS(F, float)
#ifdef FUSED_DOUBLES
FUSED_FUNCTIONS(D, double)
#endif
