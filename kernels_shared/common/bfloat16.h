// bfloat16 storage for devices without the type: the upper half of a float, so loads shift and stores round.
//
//   float   |s|eeeeeeee|mmmmmmm|mmmmmmmmmmmmmmmm|      rounded to nearest, ties to even: add half of the last place less
//   bf16    |s|eeeeeeee|mmmmmmm|                       a bit, and that bit again where the last place is odd. The carry
//                                                      may run into the exponent, and so to infinity, as it should.
//
// NaN stays NaN: its topmost mantissa bit is set, because the others may all be cut off.

#define BF16_ROUNDED(bits) (((bits) + 0x7fffu + ((bits) >> 16 & 1u)) >> 16)
#define BF16_NAN(bits) ((bits) >> 16 | 0x40u)

DEVICE float bf16_to_float(bf16_t bits) { return as_float((u32)bits << 16); }
#ifndef PD_BF16_FROM_FLOAT
DEVICE bf16_t bf16_from_float(float v) {
    const u32 bits = as_uint(v);
    return (bf16_t)((bits & 0x7fffffffu) > 0x7f800000u ? BF16_NAN(bits) : BF16_ROUNDED(bits));
}
#define PD_BF16_FROM_FLOAT(v) bf16_from_float(v)
#endif
DEVICE float bf16_load(const GLOBAL bf16_t *p, i64 i) { return bf16_to_float(p[i]); }
DEVICE void bf16_store(GLOBAL bf16_t *p, i64 i, float v) { p[i] = PD_BF16_FROM_FLOAT(v); }
