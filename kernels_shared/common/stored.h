// Elements of any type by its name, where a kernel meets several: X is FLOAT, HALF, BFLOAT16, FP8_E4M3, ... (after common/types.h).
//
//   ELEMENT(X)         the type in memory
//   GET(X, p, i)       real from p[i]
//   PUT(X, p, i, v)    p[i] = v, rounded to nearest, ties to even; FP8 saturates
//   ROUNDED(X, v)      v as it is after having been stored
//
// 16 and 8 bits become float by shifts: a product moves the exponent, so that subnormal numbers need no case of their own, and
// adding a number whose last place is the smallest subnormal rounds to it. PoCL would call its own conversions as functions.

#ifndef BF16_ROUNDED  // common/types.h may have it
#include "common/bfloat16.h"
#endif

#define ELEMENT(X) PD_CAT(element_, X)
#define GET(X, p, i) PD_CAT(get_, X)((p) + (i))
#define PUT(X, p, i, v) PD_CAT(put_, X)((p) + (i), v)
#define ROUNDED(X, v) PD_CAT(rounded_, X)(v)

typedef unsigned char byte;
typedef unsigned short twobytes;

DEVICE float half_value(u32 h) {
    const u32 m = h & 0x7fffu;
    const float v = as_float(m << 13) * 5.192296858534828e33f;  // 2^112
    return as_float((m >= 0x7c00u ? m << 13 | 0x7f800000u : as_uint(v)) | (h & 0x8000u) << 16);
}
DEVICE u32 half_bits(float v) {
    const u32 bits = as_uint(v), m = bits & 0x7fffffffu;
    const u32 normal = (m + 0xfffu + (m >> 13 & 1u) - 0x38000000u) >> 13;
    const u32 small = as_uint(as_float(m) + 0.5f) - 0x3f000000u;
    const u32 found = m < 0x38800000u ? small : m >= 0x477ff000u ? 0x7c00u : normal;
    return (m > 0x7f800000u ? 0x7e00u : found) | (bits >> 16 & 0x8000u);
}
DEVICE float e4m3_value(u32 h) {
    const u32 m = h & 0x7fu;
    const float v = as_float(m << 20) * 1.329227995784916e36f;  // 2^120
    return as_float((m == 0x7fu ? 0x7fc00000u : as_uint(v)) | (h & 0x80u) << 24);
}
DEVICE float e5m2_value(u32 h) { return half_value(h << 8); }

// `places` bits follow the point; the smallest normal number and the largest one as floats' bits; `unit` has the smallest
// subnormal number as its last place
DEVICE u32 fp8_bits(float v, int places, u32 least, u32 most, float unit) {
    const u32 bits = as_uint(v), size = bits & 0x7fffffffu, m = size < most ? size : most;
    const int shift = 23 - places;
    const u32 normal = (m + ((1u << (shift - 1)) - 1u) + (m >> shift & 1u) - (least - (1u << 23))) >> shift;
    const u32 small = as_uint(as_float(m) + unit) - as_uint(unit);
    return (size > 0x7f800000u ? 0x7fu : m < least ? small : normal) | (bits >> 24 & 0x80u);
}
DEVICE u32 e4m3_bits(float v) { return fp8_bits(v, 3, 0x3c800000u, 0x43e00000u, 16384.0f); }  // 2^-6, 448, 2^-9
DEVICE u32 e5m2_bits(float v) { return fp8_bits(v, 2, 0x38800000u, 0x47600000u, 128.0f); }    // 2^-14, 57344, 2^-16

#define PD_ELEMENT(X, type, value, stored)                                   \
    typedef type element_##X;                                                \
    DEVICE real get_##X(const GLOBAL type *p) {                              \
        const type x = *p;                                                   \
        return (real)(value);                                                \
    }                                                                        \
    DEVICE void put_##X(GLOBAL type *p, real v) { *p = (type)(stored); }     \
    DEVICE real rounded_##X(real v) {                                        \
        const type x = (type)(stored);                                       \
        return (real)(value);                                                \
    }
PD_ELEMENT(FLOAT, float, x, v)
#ifdef DTYPE_DOUBLE
PD_ELEMENT(DOUBLE, double, x, v)
#endif
PD_ELEMENT(HALF, twobytes, half_value(x), half_bits((float)v))
PD_ELEMENT(BFLOAT16, twobytes, bf16_to_float(x), PD_BF16_FROM_FLOAT((float)v))
PD_ELEMENT(FP8_E4M3, byte, e4m3_value(x), e4m3_bits((float)v))
PD_ELEMENT(FP8_E5M2, byte, e5m2_value(x), e5m2_bits((float)v))
PD_ELEMENT(BOOLEAN, byte, x != 0 ? 1.0f : 0.0f, v != 0)
PD_ELEMENT(UINT8, byte, x, v)
PD_ELEMENT(INT32, int, x, v)
PD_ELEMENT(INT64, i64, x, v)
