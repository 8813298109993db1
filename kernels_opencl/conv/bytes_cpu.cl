// Forward convolution of bytes on CPUs that add up products of four bytes at once (AVX-512 VNNI).
//
//     image  [n][PADDED_H][PADDED_W][WORDS]              with its borders, bytes without a sign: those with one get 128 more
//     packed [16 filters][tap][WORDS][16]                a word has four channels
//     shifts [filter]                                    128 times the sum of its bytes, which the sums have too much
//
//              b0 ..  b[NV-1]      16 filters each
//            +---------------+
//   a[0]     |  c0_0  ..     |     a pixel's word, the same in all lanes; sums are integers of 32 bits, FLOAT as they
//    ..      |               |     are stored
//   a[MR-1]  |               |
//            +---------------+
//
// Defines: MR NV VW (16), PIXELS FILTERS OUT_H OUT_W WORDS, TAPS_i PAD_i STRIDE_i DILATION_i, IMAGE_i of the image's strides
// in words, SIZE_i, PADDED_i, SIGNED, VISITS register tiles of a work-group.

#include "conv/cpu.h"
#include "conv/epilogue.h"

typedef int16 words_t;
typedef words_t unaligned_words_t __attribute__((aligned(4)));
#define WORDS_AT(p) (*(const GLOBAL unaligned_words_t *)(p))
#define PUT_WORDS(v, p) (*(GLOBAL unaligned_words_t *)(p) = (v))
#define TAPS (TAPS_H * TAPS_W)
#define PANEL (TAPS * WORDS * 16)
#ifdef SIGNED
#define SIGN ((int)0x80808080)
#else
#define SIGN 0
#endif
// sum += products of four bytes each: those of a have no sign, those of b have one
#define ADD_PRODUCTS(sum, a, b) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))

KERNEL WG_SIZE(1, 1, 1) conv_bytes_pack(TENSOR(T, w), TENSOR(int, packed), TENSOR(int, shifts)) {
    BIND(T, w);
    BIND(int, packed);
    BIND(int, shifts);
    const int first = GRP(0) * 16;
    GLOBAL int *to = packed + (i64)GRP(0) * PANEL;
    for (int f = 0; f < 16; ++f) {
        const GLOBAL int *row = (const GLOBAL int *)w + (i64)MIN(first + f, FILTERS - 1) * (TAPS * WORDS);
        for (int tap = 0; tap < TAPS; ++tap) {
#ifdef FLIP
            const GLOBAL int *from = row + (TAPS - 1 - tap) * WORDS;
#else
            const GLOBAL int *from = row + tap * WORDS;
#endif
            for (int c = 0; c < WORDS; ++c) to[(tap * WORDS + c) * 16 + f] = from[c];
        }
    }
    words_t sum = (words_t)(0);
#ifdef SIGNED
    const words_t all = (words_t)(SIGN);
    for (int i = 0; i < PANEL; i += 16) ADD_PRODUCTS(sum, all, WORDS_AT(to + i));
#endif
    PUT_WORDS(sum, shifts + first);
}

// a row of the image
KERNEL WG_SIZE(1, 1, 1) conv_bytes_image(TENSOR(T, x), TENSOR(int, image)) {
    BIND(T, x);
    BIND(int, image);
    const int row = GRP(0), n = row / PADDED_H, h = row % PADDED_H - PAD_H;
    GLOBAL int *to = image + (i64)row * (PADDED_W * WORDS);
    const GLOBAL int *from = (const GLOBAL int *)x + (i64)n * IMAGE_N + h * IMAGE_H;
    for (int w = -PAD_W; w < PADDED_W - PAD_W; ++w, to += WORDS) {
        if (h >= 0 && h < SIZE_H && w >= 0 && w < SIZE_W)
            for (int c = 0; c < WORDS; ++c) to[c] = from[w * IMAGE_W + c] ^ SIGN;
        else
            for (int c = 0; c < WORDS; ++c) to[c] = SIGN;
    }
}

#define DECLARE_SUM(i, j) words_t c##i##_##j = (words_t)(0);
#define DECLARE_SUMS(i) COLS(DECLARE_SUM, i)
#define LOAD_FILTERS(unused, j) const words_t b##j = WORDS_AT(b + j * PANEL);
#define ADD_SUM(i, j) ADD_PRODUCTS(c##i##_##j, a##i, b##j);
#define ADD_SUMS(i)                                                                                        \
    {                                                                                                      \
        const words_t a##i = (words_t)(at[i][c]);                                                          \
        COLS(ADD_SUM, i)                                                                                   \
    }
#define WRITE_SUM(i, j) PUT_WORDS(c##i##_##j, sums + (i * NV + j) * 16);
#define WRITE_SUMS(i) COLS(WRITE_SUM, i)

NOINLINE void multiply_bytes(GLOBAL int *sums, const GLOBAL int *const *pixels, const GLOBAL int *b) {
    ROWS(DECLARE_SUMS)
    for (int r = 0; r < TAPS_H; ++r)
        for (int s = 0; s < TAPS_W; ++s) {
            const GLOBAL int *at[MR];
            const int tap = (r * DILATION_H * PADDED_W + s * DILATION_W) * WORDS;
            UNROLL for (int i = 0; i < MR; ++i) at[i] = pixels[i] + tap;
            for (int c = 0; c < WORDS; ++c, b += 16) {
                COLS(LOAD_FILTERS, 0)
                ROWS(ADD_SUMS)
            }
        }
    ROWS(WRITE_SUMS)
}

KERNEL WG_SIZE(1, 1, 1) conv_bytes(TENSOR(int, image), TENSOR(int, packed), TENSOR(int, shifts), TENSOR(int, scratch),
                                   real alpha, real beta EPILOGUE_TENSORS) {
    BIND(int, image);
    BIND(int, packed);
    BIND(int, shifts);
    BIND(int, scratch);
    EPILOGUE_BIND
    const int blocks_m = (PIXELS + MR * VISITS - 1) / (MR * VISITS);
    const int k0 = GRP(0) / blocks_m * (NV * 16), m0 = GRP(0) % blocks_m * (MR * VISITS);
    GLOBAL int *sums = scratch + (i64)GRP(0) * (MR * NV * 16);
    for (int m = m0; m < MIN(m0 + MR * VISITS, PIXELS); m += MR) {
        const GLOBAL int *pixels[MR];
        for (int i = 0; i < MR; ++i) {
            const int pixel = MIN(m + i, PIXELS - 1), n = pixel / (OUT_H * OUT_W);
            const int p = pixel / OUT_W % OUT_H, q = pixel % OUT_W;
            pixels[i] = image + (((i64)n * PADDED_H + p * STRIDE_H) * PADDED_W + q * STRIDE_W) * WORDS;
        }
        multiply_bytes(sums, pixels, packed + (i64)(k0 / 16) * PANEL);
        for (int i = 0; i < MIN(MR, PIXELS - m); ++i)
            for (int j = 0; j < NV && k0 + j * 16 < FILTERS; ++j) {
                const int k = k0 + j * 16, place = (m + i) * FILTERS + k;
                const words_t whole = WORDS_AT(sums + (i * NV + j) * 16) - WORDS_AT(shifts + k);
                const vreal v = __builtin_convertvector(whole, vreal);
                EPILOGUE_FEW(place, v, MIN(16, FILTERS - k));
            }
    }
}
