// VEXP(v) and, for float, VSIGMOID(v) on CPUs: exp(v) and 1 / (1 + exp(-v)) of a vector. PoCL 3.0's own exp takes longer, and
// crashes the compiler for 64 bytes.
//
// For float, exp(x) = 2^n * exp(r) with n = round(x / ln 2), |r| <= ln(2) / 2 and a polynomial for exp(r): the scheme and the
// coefficients of expf in S. L. Moshier's Cephes library. 2^n comes in two factors, so that results may be subnormal.
#ifdef DTYPE_DOUBLE
#define VEXP(v) exp(v)
#else
typedef PD_CAT(int, VW) pd_ints;
#define PD_POWER_OF_2(n) PD_CAT(as_float, VW)(((n) + 127) << 23)

DEVICE vreal VEXP(vreal x) {
    const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to integers, and leaves them in the low bits
    x = x > 89.0f ? VSPLAT(89.0f) : x;  // beyond are infinity and zero; a NaN passes
    x = x < -104.0f ? VSPLAT(-104.0f) : x;
    const vreal shifted = x * 1.44269504088896341f + shift;
    const vreal n = shifted - shift;
    const vreal r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    vreal p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    const pd_ints bits = PD_CAT(as_int, VW)(shifted) - 0x4b400000;
    const pd_ints first = bits >> 1;
    return p * PD_POWER_OF_2(first) * PD_POWER_OF_2(bits - first);
}

#define PD_EXP_IN_LANES

// exp(-x) = 2^n * 2^r with n = round(-x / ln 2), |r| <= 1/2 and a polynomial for 2^r, fitted to the least largest relative
// error (2e-9). It lies in [0.7, 1.42], so that n can be added to its exponent: two steps where VEXP takes nine. That cannot
// give infinity: below -88 the result is 0, which is right to 6e-39.
#define VSIGMOID(v) pd_sigmoid(v)
DEVICE vreal pd_sigmoid(const vreal x) {
    const float shift = 12582912.0f;
    vreal z = x > 87.0f ? VSPLAT(87.0f) : x;
    z = z < -88.0f ? VSPLAT(-88.0f) : z;
    const vreal shifted = z * -1.44269502162933349609f + shift;
    const vreal n = shifted - shift;
    const vreal r = (z * -1.44269502162933349609f - n) + z * -1.92596299e-8f;
    vreal p = r * 1.5353362e-4f + 1.33988739e-3f;
    p = p * r + 9.61843692e-3f;
    p = p * r + 5.55033237e-2f;
    p = p * r + 2.40226477e-1f;
    p = p * r + 6.93147182e-1f;
    p = p * r + 1.0f;
    p = PD_CAT(as_float, VW)(PD_CAT(as_int, VW)(p) + (PD_CAT(as_int, VW)(shifted) << 23));
    return x < -88.0f ? VSPLAT(0) : VSPLAT(1) / (p + 1.0f);
}
#endif
