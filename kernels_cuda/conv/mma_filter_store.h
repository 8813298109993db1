// What a work-group of conv/mma_filter.cu or conv/mma_filter_planes.cu adds up, and its end: sums go to parts, which conv_mma_reduce
// adds up, or, STORE_FILTER, into the filter itself, by way of local memory: VW channels that are neighbours at a time, or one by one.
// Of work-items STORERS have sums, who meet by STORERS_MEET: all, where nothing else is said.
//
// LEAVE_FILTER is the statement, STORE_PARAMS what the kernel has for it. ADD_PARTS: add to the parts of earlier images.

#define TILES_R ((ROWS + BM - 1) / BM)
#define TILES_C ((COLS + BN - 1) / BN)
#define PADDED_ROWS ((i64)TILES_R * BM)
#define PADDED_COLS ((i64)TILES_C * BN)

typedef struct {
    int n0, m0, z, first, count;  // first column and row, group, slices
    u32 part;
} Share;
DEVICE Share share_of(u32 number) {
    Share share;
    share.n0 = number % TILES_C * BN;
    number /= TILES_C;
    share.m0 = number % TILES_R * BM;
    share.part = number / TILES_R;
    share.z = share.part % GROUPS;
    const int split = share.part / GROUPS, slices = ((u32)COUNT + BK - 1) / BK;
    share.first = (i64)slices * split / SPLITS;
    share.count = (int)((i64)slices * (split + 1) / SPLITS) - share.first;
    return share;
}

#ifdef STORE_FILTER
#include "conv/column.h"
#define STORE_PARAMS , T *out, float alpha, float beta
#define LEAVE_FILTER store_filter(acc, (float *)tiles, out, &share, wm, wn, item, &phase, alpha, beta);

#ifndef STORERS
#define STORERS ITEMS
#define STORERS_MEET __syncthreads()
#endif
#define SUMS_PITCH (BN + 4)
static_assert(BM * SUMS_PITCH * 4 <= STAGES * STAGE_BYTES, "the slices' local memory holds the sums");

DEVICE void store_filter(float acc[MT][NT][4], float *sums, T *out, const Share *share, int wm, int wn, int item,
                         const Phase *phase, float alpha, float beta) {
    const int lane = item % 32;
    STORERS_MEET;  // all have read the last slice
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int e = 0; e < 4; ++e) {
                const int row = wm + ROW_OF(i, lane / 4 + e / 2 * 8), column = wn + COLUMN_OF(j, lane % 4 * 2 + e % 2);
                sums[row * SUMS_PITCH + column] = acc[i][j][e];
            }
        }
    }
    STORERS_MEET;
    for (int place = item; place < BM * (BN / VW); place += STORERS) {
        const int row = place / (BN / VW), column = place % (BN / VW) * VW;
        const int filter = share->m0 + row, at = share->n0 + column, channel = at % CPAD;
        if (filter >= ROWS || at >= COLS || channel >= CHANNELS) continue;
        const Column to = column_of((u32)(FILTER_INDEX(at / CPAD, COLS / CPAD) * CHANNELS + channel), phase);
        vreal v;
        UNROLL for (int x = 0; x < VW; ++x) LANE(v, x) = sums[row * SUMS_PITCH + column + x];
        VBLEND(out, (i64)(share->z * ROWS + filter) * OUT_M + to.offset, alpha, v, beta);
    }
}
#else
#define STORE_PARAMS
#define LEAVE_FILTER leave_part(acc, parts, &share, wm, wn, lane);
#ifdef ADD_PARTS
#define ADD_OLD(lanes, value, old) UNROLL for (int l = 0; l < lanes; ++l) value.v[l] += (old).v[l];
#else
#define ADD_OLD(lanes, value, old)
#endif

DEVICE void leave_part(float acc[MT][NT][4], float *parts, const Share *share, int wm, int wn, int lane) {
    float *part = parts + (i64)share->part * (PADDED_ROWS * PADDED_COLS) + (i64)(share->m0 + wm) * PADDED_COLS + share->n0 + wn;
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
