// conv/mma_filter.cu's slices and their products by sub-groups; those of warpgroups are in conv/mma_filter_panels.h.
//
//   2 bytes: rows of chunks, XOR-swizzled; 4 bytes: rows with a gap, whose words a lane reads by four

#include "conv/mma_chunks.h"

#ifdef DTYPE_FLOAT
#define A_PITCH ((BM + 8) * 4)
#define B_PITCH ((BN + 4) * 4)
#define A_PLACE(k, chunk) ((k) * A_PITCH + (chunk) * 16)
#define B_PLACE(k, chunk) ((k) * B_PITCH + (chunk) * 16)
#define ROW_OF(i, r) ((i) / 2 * 32 + (r) % 8 * 4 + (i) % 2 * 2 + (r) / 8)
#define COLUMN_OF(j, c) ((j) / 4 * 32 + SPOT(c) * 4 + (j) % 4)
#define SPOT(c) ((c) / 2 + (c) % 2 * 4)  // what the lanes of a row store is one run
#else
#define A_PITCH (BM * 2)
#define B_PITCH (BN * 2)
#define A_PLACE(k, chunk) ((k) * A_PITCH + ((chunk) ^ ((k) % 8)) * 16)
#define B_PLACE(k, chunk) ((k) * B_PITCH + ((chunk) ^ ((k) % 8)) * 16)
#define ROW_OF(i, r) (16 * (i) + (r))
#define COLUMN_OF(j, c) (8 * (j) + (c))
#endif
#define A_DOWN A_PITCH  // bytes from a row to the next
#define B_DOWN B_PITCH

// Adds all slices, of which the first AHEAD are on their way; bring(s) starts the copies of another one
template <class Bring> DEVICE void multiply_slices(float acc[MT][NT][4], u32 base, int count, Bring bring) {
    const int item = threadIdx.x, lane = item % 32;
    const int wm = item / 32 % (BM / WM) * WM, wn = item / 32 / (BM / WM) * WN;
    for (int s = 0; s < count; ++s) {
        copies_wait<AHEAD - 1>();
        __syncthreads();
        bring(s + AHEAD);
        const u32 a_tile = base + s % STAGES * STAGE_BYTES, b_tile = a_tile + A_BYTES;
        UNROLL for (int k = 0; k < BK; k += 2 * VE) {
            u32 a[MT][4], b[NT][2];
#ifdef DTYPE_FLOAT
            UNROLL for (int x = 0; x < 2; ++x) {  // words t and t + 4 of K
                const int row = k + 4 * x + lane % 4;
                UNROLL for (int i = 0; i < MT; i += 2) {
                    u32 v[4];
                    load_chunk(v, a_tile + A_PLACE(row, (wm + i * 16) / 4 + lane / 4));
                    UNROLL for (int e = 0; e < 4; ++e) {
#ifdef ROUND_DY
                        v[e] = tf32_bits(__uint_as_float(v[e]));
#endif
                        a[i + e / 2][2 * x + e % 2] = v[e];
                    }
                }
                UNROLL for (int j = 0; j < NT; j += 4) {
                    u32 v[4];
                    load_chunk(v, b_tile + B_PLACE(row, (wn + j * 8) / 4 + SPOT(lane / 4)));
                    UNROLL for (int e = 0; e < 4; ++e) {
#ifdef ROUND_IMAGE
                        v[e] = tf32_bits(__uint_as_float(v[e]));
#endif
                        b[j + e][x] = v[e];
                    }
                }
            }
#else
            UNROLL for (int i = 0; i < MT; ++i) {
                const int row = k + lane % 8 + lane / 16 * 8;
                load_matrices_transposed(a[i], a_tile + A_PLACE(row, wm / 8 + 2 * i + lane / 8 % 2));
            }
            UNROLL for (int j = 0; j < NT; j += 2) {
                u32 v[4];
                load_matrices_transposed(v, b_tile + B_PLACE(k + lane % 16, wn / 8 + j + lane / 16));
                UNROLL for (int e = 0; e < 4; ++e) b[j + e / 2][e % 2] = v[e];
            }
#endif
            UNROLL for (int i = 0; i < MT; ++i) {
                UNROLL for (int j = 0; j < NT; ++j) multiply(acc[i][j], a[i], b[j][0], b[j][1]);
            }
        }
    }
}
