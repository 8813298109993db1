// Runs kernels_shared/common/mma_tile.h with MMA_PTX on the CPU: 32 lanes one after the other, and the instruction by its definition.
//
// What lanes hand to the instruction depends on no result. So all lanes run once to note their operands in the order of the
// calls, and a second time to compute, each from what the others handed over.
//
// Defines: BM BN WM WN, and TEXT, the header's file. Prints the number of wrong sums.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int u32;
typedef unsigned int uint4 __attribute__((ext_vector_type(4)));
typedef unsigned int uint2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef unsigned short E;
#define VE 8
#define DEVICE static inline
#define LOCAL_ARG
#define GLOBAL
#define UNROLL
#define PENDING 0
#define MMA_PTX 1
#define FRAG 16
#define WAVE 32
#define DTYPE_HALF 1

#define CALLS 4096
static u32 operands[CALLS][32][6];
static int lane_now, call_now, computing;

static float dot(u32 a, u32 b) { return (float)(a & 0xffff) * (float)(b & 0xffff) + (float)(a >> 16) * (float)(b >> 16); }

// PTX ISA, mma.m16n8k16 with 16-bit elements. A: register 0 has row lane / 4 and words lane % 4 of K, register 1 row + 8, registers
// 2 and 3 the same rows and words + 4. B: registers 0 and 1 have column lane / 4 and the same words. D: row lane / 4, columns
// 2 * (lane % 4) and + 1, then row + 8.
static u32 a_word(int call, int row, int word) {
    return operands[call][row % 8 * 4 + word % 4][(word / 4) * 2 + row / 8];
}
static u32 b_word(int call, int column, int word) { return operands[call][column * 4 + word % 4][4 + word / 4]; }

static void product(float *d0, float *d1, float *d2, float *d3, u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    const int call = call_now++;
    if (!computing) {
        const u32 given[6] = {a0, a1, a2, a3, b0, b1};
        memcpy(operands[call][lane_now], given, sizeof given);
        return;
    }
    float *d[4] = {d0, d1, d2, d3};
    for (int e = 0; e < 4; ++e) {
        const int row = lane_now / 4 + e / 2 * 8, column = 2 * (lane_now % 4) + e % 2;
        for (int word = 0; word < 8; ++word) *d[e] += dot(a_word(call, row, word), b_word(call, column, word));
    }
}
#define PD_PRODUCT(d00, d01, d10, d11, ...) product(&d00, &d01, &d10, &d11, __VA_ARGS__)

#include TEXT

static Chunk slice[SLICE];
static unsigned short a[BM][BK], b[BN][BK];

int main(void) {
    int wrong = 0;
    for (int row = 0; row < BM + BN; ++row)
        for (int k = 0; k < BK; ++k) {
            unsigned short *at = row < BM ? &a[row][k] : &b[row - BM][k];
            *at = (unsigned short)(rand() % 16);
            const int place = row < BM ? PLACE(FRAG_PLACE(row), k / VE) : BM * CHUNKS + PLACE(row - BM, k / VE);
            ((unsigned short *)&slice[place])[k % VE] = *at;
        }
    for (int group = 0; group < ITEMS / 32; ++group)
        for (computing = 0; computing < 2; ++computing)
            for (lane_now = 0; lane_now < 32; ++lane_now) {
                Sums acc[MT][NT];
                const int item = group * 32 + lane_now, m = PART_M(item), n = PART_N(item);
                call_now = 0;
                clear_sums(acc);
                multiply_slice(slice, first_row(lane_now, m), first_column(lane_now, n), acc);
                for (int i = 0; computing && i < MT; ++i)
                    for (int j = 0; j < NT; ++j)
                        for (int e = 0; e < SUMS; ++e) {
                            const int row = m + SUM_ROW(lane_now, i) + e, column = n + SUM_COLUMN(lane_now, j);
                            float want = 0;
                            for (int k = 0; k < BK; ++k) want += (float)a[row][k] * (float)b[column][k];
                            wrong += acc[i][j][e] != want;
                        }
            }
    printf("%d\n", wrong);
    return wrong != 0;
}
