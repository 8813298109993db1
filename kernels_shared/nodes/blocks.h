// Numbers of block scaling: powers of two (E8M0) and nibbles (E2M1), beside common/stored.h's.
#include "nodes/items.h"

DEVICE float e8m0_value(u32 h) {
    return as_float(h == 255u ? 0x7fc00000u : h == 0u ? 0x00400000u : h << 23);
}
// The least power of two that is no smaller than `largest` divided by the largest number of a type, which is MANTISSA_OF (as bits of a
// float's mantissa) times 2^EXPONENT_OF
DEVICE u32 e8m0_above(float largest, u32 mantissa, int exponent) {
    const u32 bits = as_uint(largest) & 0x7fffffffu;
    const int found = (int)(bits >> 23) - exponent + ((bits & 0x7fffffu) > mantissa ? 1 : 0);
    return bits > 0x7f800000u ? 255u : bits == 0x7f800000u ? 254u : (u32)(found < 0 ? 0 : found > 254 ? 254 : found);
}
DEVICE float e2m1_value(u32 h) {
    const u32 m = h & 7u;
    const float v = as_float(m << 22) * 8.507059173023462e37f;  // 2^126
    return as_float(as_uint(v) | (h & 8u) << 28);
}
// Ties to even, 6 for what is beyond and for NaN
DEVICE u32 e2m1_bits(float v) {
    const float m = fabs(v);
    const u32 code = m != m || m >= 5.0f ? (m == 5.0f ? 6u : 7u)
                     : m >= 3.5f         ? 6u
                     : m > 2.5f          ? 5u
                     : m >= 1.75f        ? 4u
                     : m > 1.25f         ? 3u
                     : m >= 0.75f        ? 2u
                     : m > 0.25f         ? 1u
                                         : 0u;
    return code | (m == m && as_uint(v) >> 31 ? 8u : 0u);
}
