// Winograd's minimal filtering F(2x2, 3x3): 2 x 2 outputs of a 3 x 3 filter from 4 x 4 inputs with 16 products, not 36.
//
//   y = A' [(G w G') o (B' d B)] A      the filter's gradient is the transposed form:   dw = G' [(A dy A') o (B' d B)] G
//
//        | 1  0 -1  0 |        |  1    0    0  |        | 1  0 |
//   B' = | 0  1  1  0 |    G = | 1/2  1/2  1/2 |    A = | 1  1 |      A. Lavin and S. Gray, CVPR 2016
//        | 0 -1  1  0 |        | 1/2 -1/2  1/2 |        | 1 -1 |
//        | 0  1  0 -1 |        |  0    0    1  |        | 0 -1 |
//
// The 16 elements of a transformed tile are called planes: the products of a plane, summed over channels (or tiles),
// are a matrix product of its own. A work-group computes one tile of all 16 (gemm/tile.h):
//
//   work-items:  ITEMS share a plane      | plane 0 | plane 1 | ... | plane 15 |      each holds TM x TN results of it
//                (and of PLANES_EACH - 1 others)
//   local:       a[plane][kk][BM], b[plane][kk][BN]; one slice of BK at a time. Per slice, work-items transform what
//                they loaded into registers and store it, then load for the next slice while they multiply.
//
// Numbers in capitals are defines, or kernel parameters where the host does not bake them in:
//   TILES, TILES_H, TILES_W   tiles of 2 x 2 outputs: in all images, per column and per row of an image
//   IN_N IN_C IN_H IN_W       strides of the 4 x 4 side, EXTENT_H x EXTENT_W its image, START_H, START_W the input of
//                             output 0 and tap 0
//   OUT_N OUT_C OUT_H OUT_W   strides of the 2 x 2 side, SIZE_H x SIZE_W its image
//   CHANNELS, FILTERS         of a group, on the 4 x 4 and on the 2 x 2 side
// Defines: BM BN BK TM TN A_PITCH B_PITCH (gemm/tile.h); PLANES_EACH, the planes of a work-item; COLUMNS, of its TN how
// many are exchanged at a time; PAIRS (below); RESIDENT, how many work-groups shall share a multiprocessor.

#define PLANES 16
#define A_PLANE (BK * A_PITCH)
#define B_PLANE (BK * B_PITCH)
#define GROUP (PLANES / PLANES_EACH * ITEMS)
#define NOWHERE (-(1 << 30))  // a coordinate that is outside of every image

#ifdef RESIDENT
#define PLANES_WG_SIZE WG_RESIDENT(GROUP, RESIDENT)
#else
#define PLANES_WG_SIZE WG_SIZE(GROUP, 1, 1)
#endif

#ifdef TILES
#define GEOMETRY
#else
#define GEOMETRY                                                                                           \
    , const int TILES, const int TILES_H, const int TILES_W, const int IN_N, const int IN_C, const int IN_H, \
        const int IN_W, const int EXTENT_H, const int EXTENT_W, const int START_H, const int START_W,      \
        const int OUT_N, const int OUT_C, const int OUT_H, const int OUT_W, const int SIZE_H,              \
        const int SIZE_W, const int CHANNELS, const int FILTERS
#endif
// Where a work-item's results lie in its plane, which is 4 work-items high. Neighbouring lanes differ in tx, the next
// two bits are ty: NVIDIA's 16-byte local reads take two passes where the four lanes of a quad name at most two
// addresses, and four where a row of lanes names four (counted on an H200).
#define PLANE_TX(item) ((item) % ITEMS % 2 + (item) % ITEMS / 8 * 2)
#define PLANE_TY(item) ((item) % ITEMS / 2 % 4)
#define UP(a, b) (((a) + (b) - 1) / (b))

#ifdef PAIRS
#ifdef PD_CUDA
struct alignas(2 * sizeof(T)) pair_t {
    T x, y;
};
#else
typedef PD_CAT(PD_REAL, 2) pair_t;
#endif
#endif

// d[4 x 4] = load(r, s) where row h + r and column w + s lie in the image, else 0. PAIRS: rows are whole pairs of
// neighbours, and the middle two of the columns are one of them.
#ifdef PAIRS
#define LOAD_ROW(d, from, in, w)                                                                           \
    {                                                                                                      \
        pair_t v;                                                                                          \
        v.x = v.y = 0;                                                                                     \
        real left = 0, right = 0;                                                                          \
        if (in) v = *(const GLOBAL pair_t *)((from) + 1);                                                  \
        if ((in) && (w) >= 0) left = (from)[0];                                                            \
        if ((in) && (w) + 3 < EXTENT_W) right = (from)[3];                                                 \
        (d)[0] = left;                                                                                     \
        (d)[1] = v.x;                                                                                      \
        (d)[2] = v.y;                                                                                      \
        (d)[3] = right;                                                                                    \
    }
#else
#define LOAD_ROW(d, from, in, w)                                                                           \
    UNROLL for (int s = 0; s < 4; ++s) {                                                                   \
        real v = 0;                                                                                        \
        if ((in) && (u32)((w) + s) < (u32)EXTENT_W) v = LOAD(from, s * IN_W);                              \
        (d)[s] = v;                                                                                        \
    }
#endif
#define LOAD_INPUT(d, from, h, w)                                                                          \
    UNROLL for (int r = 0; r < 4; ++r) {                                                                   \
        const int in = (u32)((h) + r) < (u32)EXTENT_H;                                                     \
        LOAD_ROW((d) + r * 4, (from) + r * IN_H, in, w)                                                    \
    }

// B' d B, element [i][j] to to[(i * 4 + j) * step]
DEVICE void transform_input(const real *d, LOCAL_ARG real *to, int step) {
    real t[16];
    UNROLL for (int s = 0; s < 4; ++s) {
        t[s] = d[s] - d[8 + s];
        t[4 + s] = d[4 + s] + d[8 + s];
        t[8 + s] = d[8 + s] - d[4 + s];
        t[12 + s] = d[4 + s] - d[12 + s];
    }
    UNROLL for (int i = 0; i < 4; ++i) {
        to[(i * 4) * step] = t[i * 4] - t[i * 4 + 2];
        to[(i * 4 + 1) * step] = t[i * 4 + 1] + t[i * 4 + 2];
        to[(i * 4 + 2) * step] = t[i * 4 + 2] - t[i * 4 + 1];
        to[(i * 4 + 3) * step] = t[i * 4 + 1] - t[i * 4 + 3];
    }
}

// A y A' of y[2 x 2]
DEVICE void transform_gradient(const real *y, LOCAL_ARG real *to, int step) {
    real t[8];
    UNROLL for (int s = 0; s < 2; ++s) {
        t[s] = y[s];
        t[2 + s] = y[s] + y[2 + s];
        t[4 + s] = y[s] - y[2 + s];
        t[6 + s] = -y[2 + s];
    }
    UNROLL for (int i = 0; i < 4; ++i) {
        to[(i * 4) * step] = t[i * 2];
        to[(i * 4 + 1) * step] = t[i * 2] + t[i * 2 + 1];
        to[(i * 4 + 2) * step] = t[i * 2] - t[i * 2 + 1];
        to[(i * 4 + 3) * step] = -t[i * 2 + 1];
    }
}

// y[2 x 2] = A' m A
DEVICE void transform_output(const real *m, real *y) {
    real t[8];
    UNROLL for (int s = 0; s < 4; ++s) {
        t[s] = m[s] + m[4 + s] + m[8 + s];
        t[4 + s] = m[4 + s] - m[8 + s] - m[12 + s];
    }
    UNROLL for (int i = 0; i < 2; ++i) {
        y[i * 2] = t[i * 4] + t[i * 4 + 1] + t[i * 4 + 2];
        y[i * 2 + 1] = t[i * 4 + 1] - t[i * 4 + 2] - t[i * 4 + 3];
    }
}

// Registers are short where two work-groups share a multiprocessor: then no more than one kk is unrolled at a time.
#if defined(PD_CUDA) && defined(RESIDENT)
#define PASS 1
#else
#define PASS BK
#endif

// acc += a * b over one slice of a plane
DEVICE void multiply_plane(const LOCAL_ARG real4 *a, const LOCAL_ARG real4 *b, int tx, int ty, real acc[TM][TN]) {
    _Pragma("unroll 1") for (int first = 0; first < BK; first += PASS) {
        UNROLL for (int kk = 0; kk < PASS; ++kk) {
            real row[TM];
            real column[TN];
            UNROLL for (int i = 0; i < TM; i += 4) unpack4(row + i, a[(kk * A_PITCH + TILE_ROW(ty, i)) / 4]);
            UNROLL for (int j = 0; j < TN; j += 4) unpack4(column + j, b[(kk * B_PITCH + TILE_COLUMN(tx, j)) / 4]);
            UNROLL for (int i = 0; i < TM; ++i) {
                UNROLL for (int j = 0; j < TN; ++j) acc[i][j] = fma(row[i], column[j], acc[i][j]);
            }
        }
        a += PASS * A_PITCH / 4;
        b += PASS * B_PITCH / 4;
    }
}
