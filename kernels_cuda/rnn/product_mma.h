// The product inside a step of a recurrent network on tensor cores: BM rows of states by BN columns of a packed matrix, both in
// T, without local memory until the sums are added. After common/mma.h; in place of rnn/product.h.
//
//   packed [k / 32][column / 8][lane][8]     lane l reads columns l / 4 and numbers 8 * (l % 4) .. + 7 of 32 of k at once; of a
//                                            state's row the same numbers, so that k's order within the 32 does not matter
//   warps = KPARTS (each takes AHEAD blocks of k in turn) x MPARTS (rows); the parts' sums are added through local memory
//   columns    plain cells and gradients: units; else of tiles 2i and 2i + 1, columns 2j, 2j + 1: gates 0, 1 and 2, 3 of unit 4i + j,
//              so that a lane has all sums of a unit
//
// Defines: BM BN KPARTS MPARTS AHEAD UNIT_COLUMNS (4 or 1).

#define GROUP_SIZE (32 * KPARTS * MPARTS)
#define MT (BM / 16 / MPARTS)
#define NT (BN / 8)
#define UNITS (BN / UNIT_COLUMNS)
#define SUM_PITCH (BN + 4)
#define SUMS_SIZE (KPARTS * BM * SUM_PITCH)

// Rows of states: the first `before_rows` lie in `from`, the others, up to `rows`, in `begin` or are zero without one.
typedef struct {
    const T *from, *begin;
    i64 pitch, begin_pitch;
    int rows, before_rows;
} States;

DEVICE const T *state_row(const States *states, int row) {
    if (row < states->before_rows) return states->from + row * states->pitch;
    return row < states->rows && states->begin ? states->begin + row * states->begin_pitch : 0;
}
struct alignas(16) Words {
    u32 v[4];
};
DEVICE Words words_at(const T *from, bool in) {
    const Words none = {{0, 0, 0, 0}};
    return in ? *(const Words *)from : none;
}

// sums[part][row][SUM_PITCH] of BM rows from m0 on; `blocks` of 32 numbers of k. All work-items call it.
DEVICE void step_product(float *sums, const States *states, const T *panel, int m0, int blocks, int lid) {
    const int lane = lid % 32, part = lid / 32 % KPARTS, row = lid / 32 / KPARTS * (MT * 16);
    const T *from[MT][2];
    float acc[MT][NT][4];
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int s = 0; s < 2; ++s) {
            from[i][s] = state_row(states, m0 + row + 16 * i + 8 * s + lane / 4);
            if (from[i][s]) from[i][s] += lane % 4 * 8;
        }
        UNROLL for (int j = 0; j < NT; ++j)
            UNROLL for (int e = 0; e < 4; ++e) acc[i][j][e] = 0;
    }
    panel += lane * 8;
    for (int k = part * AHEAD; k < blocks; k += KPARTS * AHEAD) {
        Words a[AHEAD][MT][2], b[AHEAD][NT];
        UNROLL for (int u = 0; u < AHEAD; ++u) {
            const bool in = k + u < blocks;
            UNROLL for (int j = 0; j < NT; ++j) b[u][j] = words_at(panel + ((i64)(k + u) * NT + j) * 256, in);
            UNROLL for (int i = 0; i < MT; ++i) {
                UNROLL for (int s = 0; s < 2; ++s) a[u][i][s] = words_at(from[i][s] + (k + u) * 32, in && from[i][s]);
            }
        }
        UNROLL for (int u = 0; u < AHEAD; ++u) {
            UNROLL for (int i = 0; i < MT; ++i) {
                UNROLL for (int h = 0; h < 2; ++h) {
                    const u32 *low = a[u][i][0].v + 2 * h, *high = a[u][i][1].v + 2 * h;
                    const u32 rows[4] = {low[0], high[0], low[1], high[1]};
                    UNROLL for (int j = 0; j < NT; ++j) multiply(acc[i][j], rows, b[u][j].v[2 * h], b[u][j].v[2 * h + 1]);
                }
            }
        }
    }
    UNROLL for (int i = 0; i < MT; ++i) {
        UNROLL for (int j = 0; j < NT; ++j) {
            UNROLL for (int s = 0; s < 2; ++s) {
                const int column = UNIT_COLUMNS == 4 ? (j / 2 * 4 + lane % 4) * 4 + j % 2 * 2 : j * 8 + lane % 4 * 2;
                float *to = sums + (part * BM + row + 16 * i + 8 * s + lane / 4) * SUM_PITCH + column;
                *(Two *)to = Two{acc[i][j][2 * s], acc[i][j][2 * s + 1]};
            }
        }
    }
    BARRIER();
}
// the sum of all parts at a row and a column of the tile
DEVICE float sum_of_parts(const float *sums, int row, int column) {
    float sum = 0;
    UNROLL for (int p = 0; p < KPARTS; ++p) sum += sums[(p * BM + row) * SUM_PITCH + column];
    return sum;
}
