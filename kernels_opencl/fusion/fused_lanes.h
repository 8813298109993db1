// fusion/fused.h for CPUs: registers are vectors, memory is read and written by them, and common functions are polynomials in all
// lanes at once. The polynomials were fitted for the least largest error relative to the function (below 2e-7); what is left
// of a function's range comes from identities that name it.
#ifdef FUSED_DOUBLES
typedef PD_CAT(double, VW) D;
#endif
typedef PD_CAT(long, VW) L;
typedef PD_CAT(int, VW) I;
typedef PD_CAT(uint, VW) U;
#if defined(__x86_64__) && defined(__clang__)
#define TO_F(v) __builtin_convertvector(v, F)  // not a function, which PoCL's compiler may not inline
#define TO_D(v) __builtin_convertvector(v, D)
#define TO_L(v) __builtin_convertvector(v, L)
#define TO_I(v) __builtin_convertvector(v, I)
#define TO_U(v) __builtin_convertvector(v, U)
#define FUSED_NARROW(v, type) __builtin_convertvector(v, PD_CAT(type, VW))
#else
#define TO_F(v) PD_CAT(convert_float, VW)(v)
#define TO_D(v) PD_CAT(convert_double, VW)(v)
#define TO_L(v) PD_CAT(convert_long, VW)(v)
#define TO_I(v) PD_CAT(convert_int, VW)(v)
#define TO_U(v) PD_CAT(convert_uint, VW)(v)
#define FUSED_NARROW(v, type) PD_CAT(PD_CAT(convert_, type), VW)(v)
#endif
#define AS_U(v) PD_CAT(as_uint, VW)(v)
#define AS_F(v) PD_CAT(as_float, VW)(v)
#define SELECT(m, a, b) ((m) ? (a) : (b))

#define FUSED_LANES_1 0
#define FUSED_LANES_2 0, 1
#define FUSED_LANES_4 0, 1, 2, 3
#define FUSED_LANES_8 FUSED_LANES_4, 4, 5, 6, 7
#define FUSED_LANES_16 FUSED_LANES_8, 8, 9, 10, 11, 12, 13, 14, 15
#define FUSED_LANE ((I)(PD_CAT(FUSED_LANES_, VW)))
#define KEEP_F(n, v, w) SELECT(FUSED_LANE < (n), v, w)
#define KEEP_D(n, v, w) SELECT(TO_L(FUSED_LANE) < (n), v, w)
#define FIRST_F(v) ((F)((v)[0]))
#define FIRST_D(v) ((D)((v)[0]))

#define FUSED_ACROSS(name, R, S, join)                                                                     \
    DEVICE R name(R v) {                                                                                   \
        S *lanes = (S *)&v;                                                                                \
        for (int n = VW / 2; n > 0; n /= 2)                                                                \
            for (int j = 0; j < n; ++j) {                                                                  \
                const S a = lanes[j], b = lanes[j + n];                                                    \
                lanes[j] = join;                                                                           \
            }                                                                                              \
        return (R)(lanes[0]);                                                                              \
    }
#define FUSED_ACROSS_ALL(R, S)                                                                             \
    FUSED_ACROSS(ACROSS_SUM_##R, R, S, a + b)                                                              \
    FUSED_ACROSS(ACROSS_MUL_##R, R, S, a *b)                                                               \
    FUSED_ACROSS(ACROSS_MAX_##R, R, S, (a > b ? a : b >= a ? b : a + b))                                   \
    FUSED_ACROSS(ACROSS_MIN_##R, R, S, (a < b ? a : b <= a ? b : a + b))
FUSED_ACROSS_ALL(F, float)
#ifdef FUSED_DOUBLES
FUSED_ACROSS_ALL(D, double)
#endif

// memory: X_s *p; raw vectors of X_v, which lie at multiples of an element
#define FUSED_MEMORY(X, S, R, decode, encode)                                                              \
    typedef S X##_s;                                                                                       \
    typedef PD_CAT(S, VW) X##_v;                                                                           \
    typedef X##_v X##_at __attribute__((aligned(sizeof(S))));                                              \
    DEVICE R of_##X(X##_v raw) { return decode; }                                                          \
    DEVICE X##_v as_##X(R v) { return encode; }                                                            \
    DEVICE R load_##X(const GLOBAL S *p) { return of_##X(*(const GLOBAL X##_at *)p); }                     \
    DEVICE void store_##X(GLOBAL S *p, R v) { *(GLOBAL X##_at *)p = as_##X(v); }                           \
    DEVICE R splat_##X(const GLOBAL S *p) { return of_##X((X##_v)(*p)); }                                  \
    DEVICE void store_one_##X(GLOBAL S *p, R v) { *p = as_##X(v)[0]; }                                     \
    DEVICE R part_##X(const GLOBAL S *p, i64 step, int n) {                                                \
        S raw[VW] = {0};                                                                                   \
        for (int j = 0; j < n; ++j) raw[j] = p[j * step];                                                  \
        return of_##X(*(const X##_at *)raw);                                                               \
    }                                                                                                      \
    DEVICE void store_part_##X(GLOBAL S *p, i64 step, int n, R v) {                                        \
        const X##_v raw = as_##X(v);                                                                       \
        for (int j = 0; j < n; ++j) p[j * step] = ((const S *)&raw)[j];                                    \
    }

// lane by lane, where no polynomial is worth its while
#define FUSED_EACH(name, R, S, call)                                                                       \
    DEVICE R name(R v) {                                                                                   \
        for (int j = 0; j < VW; ++j) {                                                                     \
            const S x = ((S *)&v)[j];                                                                      \
            ((S *)&v)[j] = call;                                                                           \
        }                                                                                                  \
        return v;                                                                                          \
    }
#define FUSED_EACH_PAIR(name, R, S, call)                                                                  \
    DEVICE R name(R v, R w) {                                                                              \
        for (int j = 0; j < VW; ++j) {                                                                     \
            const S x = ((S *)&v)[j], y = ((S *)&w)[j];                                                    \
            ((S *)&v)[j] = call;                                                                           \
        }                                                                                                  \
        return v;                                                                                          \
    }
FUSED_EACH(sin_F, F, float, sin(x))
FUSED_EACH(cos_F, F, float, cos(x))
FUSED_EACH(tan_F, F, float, tan(x))
FUSED_EACH_PAIR(fmod_F, F, float, fmod(x, y))
FUSED_EACH_PAIR(pow_F, F, float, pow(x, y))
#ifdef FUSED_DOUBLES
FUSED_EACH(exp_D, D, double, exp(x))
FUSED_EACH(expm1_D, D, double, expm1(x))
FUSED_EACH(log_D, D, double, log(x))
FUSED_EACH(log1p_D, D, double, log1p(x))
FUSED_EACH(tanh_D, D, double, tanh(x))
FUSED_EACH(erf_D, D, double, erf(x))
FUSED_EACH(sin_D, D, double, sin(x))
FUSED_EACH(cos_D, D, double, cos(x))
FUSED_EACH(tan_D, D, double, tan(x))
FUSED_EACH(sigmoid_D, D, double, 1.0 / (1.0 + exp(-x)))
FUSED_EACH_PAIR(fmod_D, D, double, fmod(x, y))
FUSED_EACH_PAIR(pow_D, D, double, pow(x, y))
#endif

#define exp_F(v) VEXP(v)
#ifdef VSIGMOID
#define sigmoid_F(v) VSIGMOID(v)
#else
#define sigmoid_F(v) (1.0f / (VEXP(-(v)) + 1.0f))
#endif

#include "common/expm1.h"
EXPM1(expm1_F, F, fabs, exp_F, SELECT)
DEVICE F log_F(F x) {  // of the significand in [sqrt(1/2), sqrt(2)): f - f^2/2 + f^3 P(f), f one less; n of its exponent
    const F big = SELECT(x < 1.1754944e-38f, x * 8388608.0f, x);
    const U bits = AS_U(big) - 0x3f3504f3u;
    const I n = PD_CAT(as_int, VW)(bits) >> 23;
    const F f = AS_F((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f, z = f * f;
    F p = f * -0.083051614f + 0.12798812f;
    p = p * f - 0.12943453f;
    p = p * f + 0.14190249f;
    p = p * f - 0.16643487f;
    p = p * f + 0.20001879f;
    p = p * f - 0.2500028f;
    p = p * f + 0.33333325f;
    const F e = TO_F(n) - SELECT(x < 1.1754944e-38f, (F)(23.0f), (F)(0.0f));
    F r = (f - z * 0.5f + f * z * p + e * -2.12194440e-4f) + e * 0.693359375f;
    r = SELECT(x == INFINITY_OF(float), x, r);
    r = SELECT(x == 0.0f, (F)(-INFINITY_OF(float)), r);
    return SELECT(x >= 0.0f, r, (F)(NAN_OF(float)));
}
DEVICE F log1p_F(F x) {  // log(1 + x), and what the sum lost of x
    const F u = x + 1.0f;
    return SELECT(u == 1.0f, x, SELECT(u == INFINITY_OF(float), u, log_F(u) * (x / (u - 1.0f))));
}
DEVICE F erf_F(F x) {  // x P(x^2) up to 1, 1 - exp(-x^2) Q(1/x) beyond
    const F a = fabs(x), z = x * x;
    F p = z * -9.68013e-6f + 1.12705420e-4f;
    p = p * z - 8.4847113e-4f;
    p = p * z + 5.2210749e-3f;
    p = p * z - 0.026865445f;
    p = p * z + 0.11283783f;
    p = p * z - 0.37612638f;
    p = p * z + 1.1283792f;
    const F b = SELECT(a > 4.2f, (F)(4.2f), a), t = 1.0f / b;
    F q = t * -0.016944107f + 0.1167692f;
    q = q * t - 0.3471122f;
    q = q * t + 0.568754f;
    q = q * t - 0.50182056f;
    q = q * t + 0.0496105f;
    q = q * t + 0.55799633f;
    q = q * t + 3.3044981e-4f;
    const F far = 1.0f - VEXP(-b * b) * q;
    return SELECT(a <= 1.0f, x * p, SELECT(x != x, x, SELECT(x < 0.0f, -far, far)));
}
