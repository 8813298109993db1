// NVIDIA's tensor cores from OpenCL C, by the inline PTX that its compiler takes (sm_80 and later). After common/mma.h.
//
// A step has 16 rows of a and 16 columns of b, as two products of 16 columns by 8 rows (mma.sync.m16n8k16, m16n8k8: the columns
// stand for the instruction's rows). All chunks of a slice are multiplied at once: which elements of K an instruction takes does
// not matter as long as a and b agree, so lane l loads chunk l % 4, whole, and words 2s and 2s + 1 of it belong to product s.
//
//   acc[i][j]       of lane l: rows l % 4 * 4 .. + 3 of step i, column l / 4 of eight columns j
//
// (PTX ISA, mma.m16n8k16: lane l holds of its rows l / 4 and l / 4 + 8, of its columns l / 4, and sums of columns 2 * (l % 4), + 1.)

typedef uint4 Chunk;
typedef uint2 Half;  // of a chunk
typedef float4 Sums;
#define PD_AS(type, v) __builtin_astype(v, type)
#define FRAG_PLACE(row) (row)
#define SUMS 4
#define FRAG_M 16
#define FRAG_N 8
#define LANES_M 4
#define LANES_N 8
#define LANE_M(lane) ((lane) % 4)
#define LANE_N(lane) ((lane) / 4)
#define FIRST_ROW(lane, part) PLACE((part) + (lane) / 8 * 4 + (lane) / 4 % 2, (lane) % 4)  // the other product's: two rows on
#define FIRST_COLUMN(lane, part) PLACE((part) + (lane) / 4, (lane) % 4)                    // the other half's: eight on
#define TWO_ROWS_ON(at) ((at) ^ 13)
#define EIGHT_COLUMNS_ON(at) ((at) ^ 36)

#if defined(DTYPE_FLOAT)
#define PD_MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif defined(DTYPE_BFLOAT16)
#define PD_MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#else
#define PD_MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#endif

#ifdef DTYPE_FLOAT  // to TF32, to nearest: the tensor cores would cut off
DEVICE u32 pd_tf32(u32 word) {
    u32 bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(as_float(word)));
    return bits;
}
DEVICE Chunk rounded(Chunk v) { return (Chunk)(pd_tf32(v.x), pd_tf32(v.y), pd_tf32(v.z), pd_tf32(v.w)); }
#else
#define rounded(v) (v)
#endif

// d: sums of the first column's two rows, then of the one eight columns on; tests compute it by the definition
#ifndef PD_PRODUCT
#define PD_PRODUCT(d00, d01, d10, d11, low0, high0, low1, high1, row0, row1)                                              \
    asm volatile(PD_MMA " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                \
                 : "+f"(d00), "+f"(d01), "+f"(d10), "+f"(d11)                                                             \
                 : "r"(low0), "r"(high0), "r"(low1), "r"(high1), "r"(row0), "r"(row1))
#endif

DEVICE void pd_products(Sums *low, Sums *high, Chunk column, Chunk column8, Chunk row, Chunk row2) {
    float a0 = low->x, a1 = low->y, a2 = low->z, a3 = low->w, b0 = high->x, b1 = high->y, b2 = high->z, b3 = high->w;
    PD_PRODUCT(a0, a1, b0, b1, column.x, column8.x, column.y, column8.y, row.x, row.y);
    PD_PRODUCT(a2, a3, b2, b3, column.x, column8.x, column.y, column8.y, row2.x, row2.y);
    PD_PRODUCT(a0, a1, b0, b1, column.z, column8.z, column.w, column8.w, row.z, row.w);
    PD_PRODUCT(a2, a3, b2, b3, column.z, column8.z, column.w, column8.w, row2.z, row2.w);
    low->x = a0, low->y = a1, low->z = a2, low->w = a3;
    high->x = b0, high->y = b1, high->z = b2, high->w = b3;
}

#define MULTIPLY_SLICE(slice, a_at, b_at, acc)                                                                            \
    Chunk rows[WM / 16][2];                                                                                               \
    UNROLL for (int i = 0; i < WM / 16; ++i) {                                                                            \
        rows[i][0] = rounded((slice)[(a_at) + i * 16 * CHUNKS]);                                                          \
        rows[i][1] = rounded((slice)[TWO_ROWS_ON(a_at) + i * 16 * CHUNKS]);                                               \
    }                                                                                                                     \
    UNROLL for (int j = 0; j < WN / 8; j += 2) {                                                                          \
        const Chunk column = rounded((slice)[BM * CHUNKS + (b_at) + j * 8 * CHUNKS]);                                     \
        const Chunk column8 = rounded((slice)[BM * CHUNKS + EIGHT_COLUMNS_ON(b_at) + j * 8 * CHUNKS]);                    \
        UNROLL for (int i = 0; i < WM / 16; ++i)                                                                          \
            pd_products(&acc[i][j], &acc[i][j + 1], column, column8, rows[i][0], rows[i][1]);                             \
    }

// Copies of a chunk from global to local memory that a work-item does not wait for; zeros where not `in`
DEVICE void copy_chunk(LOCAL_ARG Chunk *to, const GLOBAL E *from, int in) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((u32)(size_t)to), "l"(from), "r"(in ? 16 : 0) : "memory");
}
DEVICE void copies_issued(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define PD_TEXT_(number) #number
#define PD_TEXT(number) PD_TEXT_(number)
DEVICE void copies_wait(void) { asm volatile("cp.async.wait_group " PD_TEXT(PENDING) ";" ::: "memory"); }
