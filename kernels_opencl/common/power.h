// s^p of float vectors in plain arithmetic: PoCL's exp and log take ten times as long.
//
//   log2(s) = e + log2(m), s = 2^e * m, m in sqrt(1/2) .. sqrt(2);  log2(m) = 2/ln 2 * atanh(z), z = (m - 1) / (m + 1)
//   2^x = 2^n * 2^r, n the nearest integer, r in -1/2 .. 1/2; 2^r by the exponential series in r * ln 2
//
// The series end where their next term is below 1e-8. The exponent's rounding, p * log2(s) times half a unit, remains: as
// with exp and log. Numbers that are not usual ones, or whose results are near the range's ends, are left to those: by
// lane, for a lane's result must not depend on its neighbours, of which those behind a row's end may be anything.
// Comes after common/types.h.

#if !defined(DTYPE_DOUBLE) && VW > 1 && defined(__x86_64__)
typedef PD_CAT(int, VW) pd_ints;
#define PD_TO_BITS(v) PD_CAT(as_int, VW)(v)
#define PD_TO_FLOATS(v) PD_CAT(as_float, VW)(v)
#define PD_ROUNDER 12582912.0f  // 1.5 * 2^23: the low bits of x + this are those of the nearest integer
#define PD_ROUNDER_BITS 0x4b400000

DEVICE vreal pd_power(vreal s, real p) {
    const pd_ints bits = PD_TO_BITS(s);
    const pd_ints e = (bits - 0x3f3504f3) >> 23;
    const vreal m = PD_TO_FLOATS(bits - (e << 23));
    const vreal z = (m - 1.0f) / (m + 1.0f), z2 = z * z;
    vreal series = z2 * 0.11111111f + 0.14285714f;
    series = series * z2 + 0.2f;
    series = series * z2 + 0.33333333f;
    series = series * z2 + 1.0f;
    const vreal log2 = (PD_TO_FLOATS(e + PD_ROUNDER_BITS) - PD_ROUNDER) + z * 2.88539008f * series;
    const vreal x = log2 * p;
    const vreal rounded = x + PD_ROUNDER;
    const vreal t = (x - (rounded - PD_ROUNDER)) * 0.69314718f;
    vreal power = t * 0.00019841270f + 0.0013888889f;
    power = power * t + 0.0083333333f;
    power = power * t + 0.041666667f;
    power = power * t + 0.16666667f;
    power = power * t + 0.5f;
    power = power * t + 1.0f;
    power = power * t + 1.0f;
    power = power * PD_TO_FLOATS((PD_TO_BITS(rounded) - PD_ROUNDER_BITS + 127) << 23);
    const pd_ints unusual = (s < 1e-37f) | (s > 3e38f) | (s != s) | (x < -125.0f) | (x > 125.0f);
    return any(unusual) ? PICK(unusual, exp(log(s) * p), power) : power;
}
#define VECTOR_POWER(s) pd_power(s, -power)
#endif
