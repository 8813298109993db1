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
// are a matrix product of its own. A work-group computes one tile of all 16 (gemm_tile.h):
//
//   work-item:   ITEMS share a plane      | plane 0 | plane 1 | ... | plane 15 |      each holds TM x TN results
//   local:       a[plane][kk][BM], b[plane][kk][BN]; one slice of BK at a time. Per slice, work-items transform what
//                they loaded into registers and store it, then load for the next slice while they multiply.
//
// Numbers in capitals are defines, or kernel parameters where the host does not bake them in:
//   TILES, TILES_H, TILES_W   tiles of 2 x 2 outputs: in all images, per column and per row of an image
//   IN_N IN_C IN_H IN_W       strides of the 4 x 4 side, EXTENT_H x EXTENT_W its image, START_H, START_W the input of
//                             output 0 and tap 0
//   OUT_N OUT_C OUT_H OUT_W   strides of the 2 x 2 side, SIZE_H x SIZE_W its image
//   CHANNELS, FILTERS         of a group, on the 4 x 4 and on the 2 x 2 side
// Defines: BM BN BK TM TN A_PITCH B_PITCH (gemm_tile.h), COLUMNS (of a work-item's TN, exchanged at a time).

#define PLANES 16
#define GROUP (PLANES * ITEMS)
#define NOWHERE (-(1 << 30))  // a coordinate that is outside of every image

#if defined(PD_CUDA) && defined(RESIDENT)
#define PLANES_WG_SIZE __launch_bounds__(GROUP, RESIDENT)
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
#define UP(a, b) (((a) + (b) - 1) / (b))

// d[4 x 4] = load(r, s) where row h + r and column w + s lie in the image, else 0
#define LOAD_INPUT(d, from, h, w)                                                                          \
    UNROLL for (int r = 0; r < 4; ++r) {                                                                   \
        UNROLL for (int s = 0; s < 4; ++s) {                                                               \
            real v = 0;                                                                                    \
            if ((u32)((h) + r) < (u32)EXTENT_H && (u32)((w) + s) < (u32)EXTENT_W) {                        \
                v = LOAD(from, r * IN_H + s * IN_W);                                                       \
            }                                                                                              \
            d[r * 4 + s] = v;                                                                              \
        }                                                                                                  \
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
