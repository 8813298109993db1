// The end of conv/mma_filter.cu: its sums go to parts, which conv_mma_reduce adds up, or, STORE_FILTER, into the filter itself, by
// way of local memory: VW channels that are neighbours at a time, or one by one.
//
// LEAVE_FILTER is the statement, STORE_PARAMS what the kernel has for it. ADD_PARTS: add to the parts of earlier images.

#ifdef STORE_FILTER
#include "conv/column.h"
#define STORE_PARAMS , T *out, float alpha, float beta
#define LEAVE_FILTER store_filter(acc, (float *)tiles, out, m0, n0, z, wm, wn, item, &phase, alpha, beta);

#define SUMS_PITCH (BN + 4)
static_assert(BM * SUMS_PITCH * 4 <= STAGES * STAGE_BYTES, "the slices' local memory holds the sums");

DEVICE void store_filter(float acc[MT][NT][4], float *sums, T *out, int m0, int n0, int z, int wm, int wn, int item,
                         const Phase *phase, float alpha, float beta) {
    const int lane = item % 32;
    __syncthreads();  // all have read the last slice
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) {
                const int row = wm + ROW_OF(i, lane / 4 + e / 2 * 8), column = wn + COLUMN_OF(j, lane % 4 * 2 + e % 2);
                sums[row * SUMS_PITCH + column] = acc[i][j][e];
            }
        }
    }
    __syncthreads();
    for (int place = item; place < BM * (BN / VW); place += ITEMS) {
        const int row = place / (BN / VW), column = place % (BN / VW) * VW;
        const int filter = m0 + row, at = n0 + column, channel = at % CPAD;
        if (filter >= ROWS || at >= COLS || channel >= CHANNELS) continue;
        const Column to = column_of((u32)(FILTER_INDEX(at / CPAD, COLS / CPAD) * CHANNELS + channel), phase);
        vreal v;
        UNROLL for (int x = 0; x < VW; ++x) LANE(v, x) = sums[row * SUMS_PITCH + column + x];
        VBLEND(out, (i64)(z * ROWS + filter) * OUT_M + to.offset, alpha, v, beta);
    }
}
#else
#define STORE_PARAMS
#define LEAVE_FILTER leave_part(acc, parts, group, m0, n0, wm, wn, lane);
#ifdef ADD_PARTS
#define ADD_OLD(lanes, value, old) UNROLL for (int l = 0; l < lanes; ++l) value.v[l] += (old).v[l];
#else
#define ADD_OLD(lanes, value, old)
#endif

DEVICE void leave_part(float acc[MT][NT][4], float *parts, u32 part_number, int m0, int n0, int wm, int wn, int lane) {
    float *part = parts + (i64)part_number * (PADDED_ROWS * PADDED_COLS) + (i64)(m0 + wm) * PADDED_COLS + n0 + wn;
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int half = 0; half < 2; ++half) {
            float *row = part + ROW_OF(i, lane / 4 + half * 8) * PADDED_COLS;
#if defined(DTYPE_FLOAT) && !defined(WARPGROUPS)
            UNROLL for (int e = 0; e < 2; ++e) {
                UNROLL for (int j = 0; j < NT; j += 4) {
                    Four v = {{acc[i][j][2 * half + e], acc[i][j + 1][2 * half + e], acc[i][j + 2][2 * half + e],
                               acc[i][j + 3][2 * half + e]}};
                    float *const to = row + COLUMN_OF(j, lane % 4 * 2 + e);
                    ADD_OLD(4, v, *(Four *)to)
                    store_four(to, v);
                }
            }
#else
            UNROLL for (int j = 0; j < NT; ++j) {
                Two v = {{acc[i][j][2 * half], acc[i][j][2 * half + 1]}};
                float *const to = row + COLUMN_OF(j, lane % 4 * 2);
                ADD_OLD(2, v, *(Two *)to)
                store_two(to, v);
            }
#endif
        }
    }
}
#endif
