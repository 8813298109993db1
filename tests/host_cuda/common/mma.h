// kernels_cuda/common/mma.h by the definitions of PTX (ldmatrix, mma.m16n8k16, cp.async): the lanes of a sub-group show each other
// their registers. Fragments of 16-bit elements, two in a register, the first in the lower half.

#ifdef DTYPE_FLOAT
typedef float E;
#define VE 4
#else
typedef unsigned short E;
#define VE 8
#endif

struct alignas(16) Four {
    float v[4];
};
struct alignas(8) Two {
    float v[2];
};
DEVICE void store_two(float *to, Two two) { *(Two *)to = two; }
DEVICE void store_four(float *to, Four four) { *(Four *)to = four; }

DEVICE int of_all_lanes(int v) { return v; }
DEVICE u32 local_address(const void *p) { return (u32)((const unsigned char *)p - tiles); }

template <int BYTES> DEVICE void copy_bytes(u32 to, const E *from, bool in) {
    if (in) memcpy(tiles + to, from, BYTES);
    else memset(tiles + to, 0, BYTES);
}
DEVICE void copy_chunk(u32 to, const E *from, bool in) { copy_bytes<16>(to, from, in); }
DEVICE void copy_kept(u32 to, const E *from, bool in) { copy_bytes<16>(to, from, in); }
DEVICE void copies_issued() {}
template <int PENDING> DEVICE void copies_wait() {}

DEVICE void load_fresh(u32 *v, const void *from) { memcpy(v, from, 16); }
DEVICE void load_chunk(u32 *v, u32 at) { memcpy(v, tiles + at, 16); }
DEVICE void load_half_chunk(u32 *v, u32 at) { memcpy(v, tiles + at, 8); }
DEVICE void store_chunk(u32 at, const u32 *v) { memcpy(tiles + at, v, 16); }

// rounded to TF32, to nearest, ties away from zero
DEVICE u32 tf32_bits(float v) {
    u32 bits;
    memcpy(&bits, &v, 4);
    return std::isfinite(v) ? (bits + 0x1000) & 0xffffe000u : bits;
}

static u32 shown[32][32][6];  // by sub-group and lane
#define SHOWN shown[threadIdx.x / 32]
#define LANE_OF (threadIdx.x % 32)

static u32 two_at(u32 low, u32 high) {
    unsigned short a, b;
    memcpy(&a, tiles + low, 2);
    memcpy(&b, tiles + high, 2);
    return a | (u32)b << 16;
}

// Lane 8 m + r shows where row r of matrix m lies; lane l receives of each row l / 4, elements 2 (l % 4) and the next;
// transposed: of column l / 4 rows 2 (l % 4) and the next
DEVICE void load_matrices(u32 *v, u32 at) {
    SHOWN[LANE_OF][0] = at;
    sub_group_waits();
    for (int m = 0; m < 4; ++m) {
        const u32 from = SHOWN[8 * m + LANE_OF / 4][0] + LANE_OF % 4 * 4;
        v[m] = two_at(from, from + 2);
    }
    sub_group_waits();
}
DEVICE void load_matrices_transposed(u32 *v, u32 at) {
    SHOWN[LANE_OF][0] = at;
    sub_group_waits();
    for (int m = 0; m < 4; ++m) {
        const int row = 8 * m + LANE_OF % 4 * 2, column = LANE_OF / 4;
        v[m] = two_at(SHOWN[row][0] + 2 * column, SHOWN[row + 1][0] + 2 * column);
    }
    sub_group_waits();
}

static float element(u32 word, int which) {
    const unsigned short bits = which ? word >> 16 : word & 0xffff;
#ifdef DTYPE_BFLOAT16
    return as_float((u32)bits << 16);
#else
    return f16_to_float(bits);
#endif
}

// a: register i of lane 4 g + t holds row g + 8 (i % 2), columns 2 t + 8 (i / 2) and the next; b: register i rows 2 t + 8 i and
// the next, column g; acc: rows g and g + 8, columns 2 t and the next
#ifdef MMA_BYTES
typedef int MmaSum;
static int byte_of(u32 word, int which) { return (signed char)(word >> 8 * which & 0xff); }
static int image_byte(u32 word, int which) {
#ifdef IMAGE_UNSIGNED
    return word >> 8 * which & 0xff;
#else
    return byte_of(word, which);
#endif
}
#else
typedef float MmaSum;
#endif
DEVICE void multiply(MmaSum *acc, const u32 *a, u32 b0, u32 b1) {
    for (int i = 0; i < 4; ++i) SHOWN[LANE_OF][i] = a[i];
    SHOWN[LANE_OF][4] = b0;
    SHOWN[LANE_OF][5] = b1;
    sub_group_waits();
    for (int e = 0; e < 4; ++e) {
        const int row = LANE_OF / 4 + 8 * (e / 2), column = LANE_OF % 4 * 2 + e % 2;
        for (int k = 0; k < 16; ++k) {
            const u32 left = SHOWN[row % 8 * 4 + k % 8 / 2][row / 8 + 2 * (k / 8)];
            const u32 right = SHOWN[column * 4 + k % 8 / 2][4 + k / 8];
#ifdef MMA_BYTES  // m16n8k32: the four columns of a word are 4 t and the next, and 16 further on
            for (int byte = k % 2 * 2; byte < k % 2 * 2 + 2; ++byte) acc[e] += image_byte(left, byte) * byte_of(right, byte);
#else
            acc[e] += element(left, k % 2) * element(right, k % 2);
#endif
        }
    }
    sub_group_waits();
}
