// One work-group's tile of a matrix product: tile sizes, who computes what, and the multiply-add step.
//
//   A tile of BM x BN results; K is walked in slices of BK, which lie in local memory as a[kk][row], b[kk][column].
//   A work-item holds TM x TN results as blocks of 4 x 4, so that all local reads are real4 and neighbours read
//   neighbouring words:
//
//            TN = 8: columns 4tx .. 4tx+3 and BN/2 + 4tx .. +3        a sub-group of 32 items spans 4 x 8 items:
//          +----+----------+----+--------                             it reads 4 real4 of a and 8 of b at a time
//   TM = 8 |4x4 |          |4x4 |
//          +----+          +----+          rows 4ty .. 4ty+3 and BM/2 + 4ty .. +3
//
// Defines: GEMM_M GEMM_N BM BN BK TM TN, and A_PITCH, B_PITCH: reals from one kk to the next, multiples of 4.

#define TILES_M ((GEMM_M + BM - 1) / BM)
#define TILES_N (((u32)GEMM_N + BN - 1) / BN)
#define PADDED_M (TILES_M * BM)
#define PADDED_N ((i64)TILES_N * BN)

#define ITEMS_M (BM / TM)
#define ITEMS_N (BN / TN)
#define ITEMS (ITEMS_M * ITEMS_N)

// RESIDENT, where given, is how many work-items shall share the registers of a multiprocessor.
#ifdef RESIDENT
#define TILE_WG_SIZE WG_RESIDENT(ITEMS, RESIDENT / ITEMS)
#else
#define TILE_WG_SIZE WG_SIZE(ITEMS, 1, 1)
#endif

#ifdef PD_HIP  // clang leaves copies of a struct in scratch memory
typedef real real4 __attribute__((ext_vector_type(4), aligned(16)));
#elif defined(PD_CUDA)
struct alignas(16) real4 {
    real x, y, z, w;
};
#else
typedef PD_CAT(PD_REAL, 4) real4;
#endif

#define LANES_M (ITEMS_M < 4 ? ITEMS_M : 4)
#define LANES_N (32 / LANES_M)
#define TILE_TX(item) ((item) / 32 % (ITEMS_N / LANES_N) * LANES_N + (item) % LANES_N)
#define TILE_TY(item) ((item) / 32 / (ITEMS_N / LANES_N) * LANES_M + (item) % 32 / LANES_N)
#define TILE_ROW(ty, i) ((i) / 4 * (BM / (TM / 4)) + (ty) * 4 + (i) % 4)
#define TILE_COLUMN(tx, j) ((j) / 4 * (BN / (TN / 4)) + (tx) * 4 + (j) % 4)

DEVICE void unpack4(real *to, const real4 v) {
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
    to[3] = v.w;
}

// acc += a * b over one slice of BK
DEVICE void multiply_slice(const LOCAL_ARG real4 *a, const LOCAL_ARG real4 *b, int tx, int ty, real acc[TM][TN]) {
    UNROLL for (int kk = 0; kk < BK; ++kk) {
        real row[TM];
        real column[TN];
        UNROLL for (int i = 0; i < TM; i += 4) unpack4(row + i, a[(kk * A_PITCH + TILE_ROW(ty, i)) / 4]);
        UNROLL for (int j = 0; j < TN; j += 4) unpack4(column + j, b[(kk * B_PITCH + TILE_COLUMN(tx, j)) / 4]);
        UNROLL for (int i = 0; i < TM; ++i) {
            UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = fma(row[i], column[j], acc[i][j]);
        }
    }
}
