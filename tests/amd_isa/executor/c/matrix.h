// Matrix instructions: D = A B + C, over all lanes whether they are active or not. Every product is exact and each sum
// is rounded once. Sources of the layouts: AMD's matrix instruction calculator, and the ISA guides of CDNA3, RDNA3, RDNA4.
typedef double (*element)(const u32 *words, int i);  // element i of packed words

static double word_f64(const u32 *p, int i) { return f64_of(pair(p + 2 * i)); }
static double word_f32(const u32 *p, int i) { return f32_of(p[i]); }
static double word_i32(const u32 *p, int i) { return (i32)p[i]; }
static u16 word_16(const u32 *p, int i) { return p[i / 2] >> 16 * (i % 2); }
static u8 word_8(const u32 *p, int i) { return p[i / 4] >> 8 * (i % 4); }
static double word_f16(const u32 *p, int i) { return f16_of(word_16(p, i)); }
static double word_bf16(const u32 *p, int i) { return bf16(word_16(p, i)); }
static double word_xf32(const u32 *p, int i) {  // 10 bits behind the point
    return f32_of((p[i] + 0xfff + (p[i] >> 13 & 1)) & 0xffffe000);
}
static double word_i8(const u32 *p, int i) { return (int8_t)word_8(p, i); }
static double word_u8(const u32 *p, int i) { return word_8(p, i); }
static double word_i4(const u32 *p, int i) { return part_of(p[i / 8], i % 8, 4, 1); }
static double word_u4(const u32 *p, int i) { return part_of(p[i / 8], i % 8, 4, 0); }
static double small_float(u8 x, int mantissa, int bias) {
    const int e = (x & 127) >> mantissa, m = x & ((1 << mantissa) - 1);
    const double y = e ? ldexp(m | 1 << mantissa, e - bias - mantissa) : ldexp(m, 1 - bias - mantissa);
    return x >> 7 ? -y : y;
}
// gfx942's 8-bit floats have one NaN and no infinities ("fnuz"), gfx12's are those of the Open Compute Project.
static double word_fp8_fnuz(const u32 *p, int i) { return word_8(p, i) == 0x80 ? NAN : small_float(word_8(p, i), 3, 8); }
static double word_bf8_fnuz(const u32 *p, int i) { return word_8(p, i) == 0x80 ? NAN : small_float(word_8(p, i), 2, 16); }
static double word_fp8(const u32 *p, int i) {
    return (word_8(p, i) & 127) == 127 ? NAN : small_float(word_8(p, i), 3, 7);
}
static double word_bf8(const u32 *p, int i) {
    const u8 x = word_8(p, i) & 127;
    return x > 124 ? NAN : x == 124 ? (word_8(p, i) >> 7 ? -INFINITY : INFINITY) : small_float(word_8(p, i), 2, 15);
}


// An instruction: its sizes, the bits of an element of A and B and of C and D, and where elements lie.
typedef struct shape shape;
typedef void (*layout)(const shape *s, int width, int rows, int i, int k, int block, int *lane, int *at);
struct shape { int m, n, k, blocks, in_bits, out_bits; element a, b, c; layout in, out; };
enum { CBSZ, ABID, BLGP };  // in `extra`

// The inner index runs through the elements of a lane, then through the blocks, then on.
static void mfma_in(const shape *s, int width, int rows, int i, int k, int block, int *lane, int *at) {
    const int of_lane = s->k / (width / (rows * s->blocks));
    *lane = i + rows * (block + s->blocks * (k / of_lane)), *at = k % of_lane;
}
// Four rows (one of f64) by all columns, side by side in a register; blocks first, then rows, fill it.
static void mfma_out(const shape *s, int width, int rows, int i, int j, int block, int *lane, int *at) {
    const int high = s->out_bits == 64 ? 1 : 4, strips = width / s->n, of_block = s->m * s->n / high;
    const int beside = of_block < width ? width / of_block : 1;
    *at = block * (s->m * s->n / width) + i / (high * strips) * high + i % high;
    *lane = block % beside * s->n + i / high % strips * beside * s->n + j;
    (void)rows;
}
// gfx11: a row of A, a column of B in a lane, the same in lanes 16 apart; rows of D alternate between 16 lanes.
static void wmma_in(const shape *s, int width, int rows, int i, int k, int block, int *lane, int *at) {
    (void)s, (void)width, (void)rows, (void)block;
    *lane = i, *at = k;
}
static void wmma_out(const shape *s, int width, int rows, int i, int j, int block, int *lane, int *at) {
    (void)rows, (void)block;
    *at = i / (width / 16) * (s->out_bits == 16 ? 2 : 1), *lane = i % (width / 16) * 16 + j;
}
// gfx12: nothing twice; lanes 16 apart have inner indices `run` apart.
static void wmma12_in(const shape *s, int width, int rows, int i, int k, int block, int *lane, int *at) {
    const int per = s->k * 16 / width, run = s->in_bits == 16 ? 4 : s->in_bits == 8 || s->k == 16 ? 8 : 16;
    (void)rows, (void)block;
    if (width == 32) *lane = k / run % 2 * 16 + i, *at = k / (2 * run) * run + k % run;
    else if (s->in_bits == 16) *lane = k / 8 % 2 * 32 + k / 4 % 2 * 16 + i, *at = k % 4;
    else if (s->in_bits == 4 && s->k == 16) *lane = k / 8 * 16 + i, *at = k % 8;
    else *lane = k / per % 2 * 32 + k / (2 * per) % 2 * 16 + i, *at = k % per;
}
static void wmma12_out(const shape *s, int width, int rows, int i, int j, int block, int *lane, int *at) {
    const int per = 256 / width;
    (void)s, (void)rows, (void)block;
    *at = i % per, *lane = (width == 32 ? i / 8 * 16 : i / 4 % 2 * 32 + i / 8 * 16) + j;
}
static int lane_of_b(int lane, int blgp) {  // broadcasts and rotations of B
    if (blgp == 0) return lane;
    if (blgp == 3) return (lane + 16) % 64;
    return blgp < 3 ? lane % 32 + 32 * (blgp - 1) : lane % 16 + 16 * (blgp - 4);
}


// Element `at` of a lane's operand.
static double read_element(const wave *w, const record *r, int operand, int lane, int at, int bits, element as) {
    const source s = source_of(w, r, operand);
    const u32 *p = s.p + lane * s.lane, next = r->o[operand].next;
    const u32 constant[2] = {bits == 64 ? s.p[1] : bits == 16 ? s.p[3] : s.p[0], s.p[2]};
    const u32 word = at * bits / 32, words[2] = {p[word * next], bits == 64 ? p[(word + 1) * next] : 0};
    return s.constant ? as(constant, 0) : as(words, bits < 32 ? at % (32 / bits) : 0);
}
static void write_element(wave *w, const record *r, int lane, int at, const shape *s, double x) {
    const destination d = destination_of(w, r, 0);
    const u64 y = s->c == word_f64 ? bits64(x) : s->c == word_i32 ? (u32)(i64)x : s->c == word_f32 ? bits32(x)
                  : s->c == word_bf16 ? to_bf16(x) : bits16((F16)x);
    u32 *p = d.p + lane + at * s->out_bits / 32 * d.next;
    if (s->out_bits == 16) *p = at % 2 ? (*p & 0xffff) | (u32)y << 16 : (*p & 0xffff0000) | (u32)y;
    else *p = y;
    if (s->out_bits == 64) p[d.next] = y >> 32;
}
static double clamped_sum(const record *r, const shape *s, double x) {
    if (s->c != word_i32) return x;
    if (r->flags & CLAMP) return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x;
    return (i32)(u32)(i64)x;
}
// One product for each block. A is m x k, B here n x k, C and D m x n.
static void multiply(wave *w, const record *r, const shape *s) {
    static double a[32][32], b[32][32], c[16][32][32];
    const int wmma = s->in != mfma_in, f64 = s->out_bits == 64, width = w->width;
    const int blgp = f64 ? 0 : r->extra[BLGP], negated = f64 ? r->extra[BLGP] : 0;
    const int upper = s->out == wmma_out && s->out_bits == 16 && r->op_sel & 4;
    const element of_a = s->a == word_u8 && r->neg_lo & 1 ? word_i8 : s->a == word_u4 && r->neg_lo & 1 ? word_i4 : s->a;
    const element of_b = s->b == word_u8 && r->neg_lo & 2 ? word_i8 : s->b == word_u4 && r->neg_lo & 2 ? word_i4 : s->b;
    int lane, at;
    for (int block = 0; block < s->blocks; block++) {
        const int from = (block >> r->extra[CBSZ] << r->extra[CBSZ]) + r->extra[ABID];
        for (int k = 0; k < s->k; k++) {
            const u32 turned = wmma && s->in_bits == 16 ? k % 2 ? r->neg_hi : r->neg_lo : negated;
            for (int i = 0; i < s->m; i++) {
                s->in(s, width, s->m, i, k, from, &lane, &at);
                a[i][k] = read_element(w, r, 1, lane, at, s->in_bits, of_a) * (turned & 1 ? -1 : 1);
            }
            for (int j = 0; j < s->n; j++) {
                s->in(s, width, s->n, j, k, block, &lane, &at);
                b[j][k] = read_element(w, r, 2, lane_of_b(lane, blgp), at, s->in_bits, of_b) * (turned & 2 ? -1 : 1);
            }
        }
        for (int i = 0; i < s->m; i++)
            for (int j = 0; j < s->n; j++) {
                s->out(s, width, 0, i, j, block, &lane, &at);
                double x = read_element(w, r, 3, lane, at + !!upper, s->out_bits, s->c);
                if (wmma && s->c != word_i32) x = (r->neg_lo & 4 ? -1 : 1) * (r->neg_hi & 4 ? fabs(x) : x);
                else if (negated & 4) x = -x;
                for (int k = 0; k < s->k; k++) x = fma(a[i][k], b[j][k], x);
                c[block][i][j] = clamped_sum(r, s, x);
            }
    }
    for (int block = 0; block < s->blocks; block++)
        for (int i = 0; i < s->m; i++)
            for (int j = 0; j < s->n; j++) {
                s->out(s, width, 0, i, j, block, &lane, &at);
                write_element(w, r, lane, at + !!upper, s, c[block][i][j]);
            }
}

#define MATRIX(name, m, n, k, blocks, in_bits, out_bits, a, b, c, in, out) OP(name) { \
    static const shape s = {m, n, k, blocks, in_bits, out_bits, word_##a, word_##b, word_##c, in, out}; multiply(w, r, &s); }
#define MFMA(type, size, rest, m, k, blocks, bits, a, b) \
    MATRIX(v_mfma_##type##_##size##rest, m, m, k, blocks, bits, 32, a, b, type, mfma_in, mfma_out)
MFMA(f32, 32x32x1, f32, 32, 1, 2, 32, f32, f32) MFMA(f32, 16x16x1, f32, 16, 1, 4, 32, f32, f32)
MFMA(f32, 4x4x1, f32, 4, 1, 16, 32, f32, f32) MFMA(f32, 32x32x2, f32, 32, 2, 1, 32, f32, f32)
MFMA(f32, 16x16x4, f32, 16, 4, 1, 32, f32, f32) MFMA(f32, 32x32x4, f16, 32, 4, 2, 16, f16, f16)
MFMA(f32, 16x16x4, f16, 16, 4, 4, 16, f16, f16) MFMA(f32, 4x4x4, f16, 4, 4, 16, 16, f16, f16)
MFMA(f32, 32x32x8, f16, 32, 8, 1, 16, f16, f16) MFMA(f32, 16x16x16, f16, 16, 16, 1, 16, f16, f16)
MFMA(f32, 32x32x2, bf16, 32, 2, 2, 16, bf16, bf16) MFMA(f32, 16x16x2, bf16, 16, 2, 4, 16, bf16, bf16)
MFMA(f32, 4x4x2, bf16, 4, 2, 16, 16, bf16, bf16) MFMA(f32, 32x32x4, bf16, 32, 4, 1, 16, bf16, bf16)
MFMA(f32, 16x16x8, bf16, 16, 8, 1, 16, bf16, bf16) MFMA(f32, 32x32x4, bf16_1k, 32, 4, 2, 16, bf16, bf16)
MFMA(f32, 16x16x4, bf16_1k, 16, 4, 4, 16, bf16, bf16) MFMA(f32, 4x4x4, bf16_1k, 4, 4, 16, 16, bf16, bf16)
MFMA(f32, 32x32x8, bf16_1k, 32, 8, 1, 16, bf16, bf16) MFMA(f32, 16x16x16, bf16_1k, 16, 16, 1, 16, bf16, bf16)
MFMA(f32, 32x32x4, xf32, 32, 4, 1, 32, xf32, xf32) MFMA(f32, 16x16x8, xf32, 16, 8, 1, 32, xf32, xf32)
MFMA(i32, 32x32x4, i8, 32, 4, 2, 8, i8, i8) MFMA(i32, 16x16x4, i8, 16, 4, 4, 8, i8, i8)
MFMA(i32, 4x4x4, i8, 4, 4, 16, 8, i8, i8) MFMA(i32, 32x32x8, i8, 32, 8, 1, 8, i8, i8)
MFMA(i32, 16x16x16, i8, 16, 16, 1, 8, i8, i8) MFMA(i32, 32x32x16, i8, 32, 16, 1, 8, i8, i8)
MFMA(i32, 16x16x32, i8, 16, 32, 1, 8, i8, i8)
#define MFMA_F8(a, b) MFMA(f32, 16x16x32, _##a##_##b, 16, 32, 1, 8, a##_fnuz, b##_fnuz) \
    MFMA(f32, 32x32x16, _##a##_##b, 32, 16, 1, 8, a##_fnuz, b##_fnuz)
MFMA_F8(fp8, fp8) MFMA_F8(fp8, bf8) MFMA_F8(bf8, fp8) MFMA_F8(bf8, bf8)
MATRIX(v_mfma_f64_16x16x4f64, 16, 16, 4, 1, 64, 64, f64, f64, f64, mfma_in, mfma_out)
MATRIX(v_mfma_f64_4x4x4f64, 4, 4, 4, 4, 64, 64, f64, f64, f64, mfma_in, mfma_out)

#define WMMA(type, k, rest, bits, out, a) \
    MATRIX(v_wmma_##type##_16x16x##k##rest, 16, 16, k, 1, bits, out, a, a, type, wmma_in, wmma_out) WMMA12(type, k, rest, bits, out, a, a)
#define WMMA12(type, k, rest, bits, out, a, b) \
    MATRIX(v_wmma_##type##_16x16x##k##rest##_gfx12, 16, 16, k, 1, bits, out, a, b, type, wmma12_in, wmma12_out)
WMMA(f32, 16, _f16, 16, 32, f16) WMMA(f32, 16, _bf16, 16, 32, bf16) WMMA(f16, 16, _f16, 16, 16, f16)
WMMA(bf16, 16, _bf16, 16, 16, bf16) WMMA(i32, 16, _iu8, 8, 32, u8) WMMA(i32, 16, _iu4, 4, 32, u4)
WMMA12(i32, 32, _iu4, 4, 32, u4, u4) WMMA12(f32, 16, _fp8_fp8, 8, 32, fp8, fp8) WMMA12(f32, 16, _fp8_bf8, 8, 32, fp8, bf8)
WMMA12(f32, 16, _bf8_fp8, 8, 32, bf8, fp8) WMMA12(f32, 16, _bf8_bf8, 8, 32, bf8, bf8)
