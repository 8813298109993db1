// The gradients of normalisation on a CPU where neighbouring numbers are normalised apart; norm/columns_cpu.cl draws the
// panels, and norm/backward.cl has the formulas.
//
//   WHOLE, PARTIAL, APPLY   which kernels. Without saved statistics a column's are made again: by norm_columns_backward itself,
//                           or of the parts that norm_columns_partial left (STATS is PARTS).

#include "common/types.h"
#include "common/reduce.h"
#include "norm/norm.h"
#include "norm/backward.h"
#include "norm/columns_cpu.h"

#define COLUMN_STATS() PD_CAT(COLUMN_STATS_, STATS)()
#define COLUMN_STATS_SAVED_INVERSE()                                                                       \
    for (int v = 0; v < vectors; ++v) {                                                                    \
        pivots[v] = rests[v] = VSPLAT(0);                                                                  \
        inverses[v] = COLUMN_READ(saved_inv_variance, SAVED_INV_VARIANCE, v);                              \
    }
#define COLUMN_STATS_SAVED()                                                                               \
    for (int v = 0; v < vectors; ++v) {                                                                    \
        pivots[v] = COLUMN_READ(saved_mean, SAVED_MEAN, v);                                                \
        rests[v] = VSPLAT(0);                                                                              \
        inverses[v] = COLUMN_READ(saved_inv_variance, SAVED_INV_VARIANCE, v);                              \
    }
#define COLUMN_STATS_PARTS()                                                                               \
    for (int v = 0; v < vectors; ++v) {                                                                    \
        vreal squares;                                                                                     \
        pivots[v] = NUMBERS_AT(part_means, SLICES * (BLOCKS * COLUMNS) + PART_AT(v));                      \
        merged_moments(part_means, part_squares, PART_AT(v), &rests[v], &squares);                         \
        inverses[v] = (real)1 / sqrt(squares / (real)COUNT + epsilon);                                     \
    }
#define COLUMN_STATS_OWN()                                                                                 \
    for (int v = 0; v < vectors; ++v)                                                                      \
        pivots[v] = RMS ? VSPLAT(0) : VLOAD(x, from + X_REDUCE(0) + COLUMN(v));                            \
    column_moments(x, from, panel, vectors, begin, end, pivots, rests, inverses);                          \
    for (int v = 0; v < vectors; ++v) inverses[v] = (real)1 / sqrt(inverses[v] / (real)COUNT + epsilon);
#define AWAY(value, v) ((value) - pivots[v] - rests[v])

// sums of dy and of dy * a over rows begin .. end; those of BLOCK rows before they join the others'
#define SUM_COLUMNS                                                                                        \
    for (int v = 0; v < vectors; ++v) sums[v] = products[v] = VSPLAT(0);                                   \
    for (u32 r = begin; r < end; r += BLOCK) {                                                             \
        const u32 rows = end - r < BLOCK ? end - r : BLOCK;                                                \
        const GLOBAL T *p[BLOCK], *q[BLOCK];                                                               \
        for (int i = 0; i < BLOCK; ++i) {                                                                  \
            p[i] = x + (from + X_REDUCE(i < rows ? r + i : r));                                            \
            q[i] = dy + (DY_OUTER(b) + DY_REDUCE(i < rows ? r + i : r));                                   \
        }                                                                                                  \
        for (int v = 0; v < vectors; ++v) {                                                                \
            const u32 at = COLUMN(v);                                                                      \
            vreal g[BLOCK], t[BLOCK];                                                                      \
            UNROLL for (int i = 0; i < BLOCK; ++i) {                                                       \
                g[i] = i < rows ? VLOAD(q[i], at) : VSPLAT(0);                                             \
                t[i] = i < rows ? AWAY(VLOAD(p[i], at), v) * g[i] : VSPLAT(0);                             \
            }                                                                                              \
            sums[v] = sums[v] + ((g[0] + g[1]) + (g[2] + g[3]));                                           \
            products[v] = products[v] + ((t[0] + t[1]) + (t[2] + t[3]));                                   \
        }                                                                                                  \
    }

#define STORE_COLUMN_GRADIENTS(v) PD_CAT(STORE_COLUMN_, GRADIENTS)(v)
#define STORE_COLUMN_NONE(v)
#define STORE_COLUMN_BLENDED(v)                                                                            \
    COLUMN_BLEND(dscale, DSCALE, v, alpha_param, products[v] * inverses[v], beta_param);                   \
    COLUMN_BLEND(dbias, DBIAS, v, alpha_param, sums[v], beta_param);
#define STORE_COLUMN_PARTS(v)                                                                              \
    COLUMN_WRITE(part_dscale, SLOT, v, products[v] * inverses[v]);                                         \
    COLUMN_WRITE(part_dbias, SLOT, v, sums[v]);
#define COLUMN_GAIN(inverse, v) PD_CAT(COLUMN_GAIN_, HAS_SCALE)(inverse, v)
#define COLUMN_GAIN_0(inverse, v) (inverse)
#define COLUMN_GAIN_1(inverse, v) ((inverse) * COLUMN_READ(scale, SCALE, v))

// dx of rows begin .. end; sums and products become shift and slope, inverses the gain
#define APPLY_COLUMNS                                                                                      \
    for (int v = 0; v < vectors; ++v) {                                                                    \
        if (slice == 0) {                                                                                  \
            STORE_COLUMN_GRADIENTS(v)                                                                      \
        }                                                                                                  \
        sums[v] = sums[v] / (real)COUNT;                                                                   \
        products[v] = inverses[v] * inverses[v] * products[v] / (real)COUNT;                               \
        inverses[v] = COLUMN_GAIN(inverses[v], v);                                                         \
    }                                                                                                      \
    if (beta == (real)0)                                                                                   \
        DX_COLUMNS((real)0)                                                                                \
    else                                                                                                   \
        DX_COLUMNS(beta)
// One row after the other, unrolled, as norm/columns_cpu.cl has it.
#define DX_COLUMNS(beta)                                                                                   \
    for (u32 r = begin; r < end; ++r) {                                                                    \
        const GLOBAL T *in = x + (from + X_REDUCE(r)), *change = dy + (DY_OUTER(b) + DY_REDUCE(r));        \
        GLOBAL T *out = dx + (DX_OUTER(b) + DX_REDUCE(r));                                                 \
        _Pragma("unroll 8") for (int v = 0; v < vectors; ++v) {                                            \
            const u32 at = COLUMN(v);                                                                      \
            const vreal a = AWAY(VLOAD(in, at), v), g = VLOAD(change, at);                                 \
            const vreal result = (WITHOUT_MEAN(g, sums[v]) - a * products[v]) * inverses[v];               \
            COLUMN_STORE(out, at, v, result, beta)                                                         \
        }                                                                                                  \
    }

#define COLUMN_ARRAYS vreal pivots[PANEL], rests[PANEL], inverses[PANEL], sums[PANEL], products[PANEL];

#ifdef WHOLE
KERNEL WG_SIZE(1, 1, 1) norm_columns_backward(PARAMETER_LIST) {
    BIND_PARAMETERS;
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    COLUMN_ARRAYS
    COLUMN_STATS()
    SUM_COLUMNS
    APPLY_COLUMNS
}
#endif

#ifdef PARTIAL
KERNEL WG_SIZE(1, 1, 1) norm_columns_backward_partial(PARAMETER_LIST) {
    BIND_PARAMETERS;
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    COLUMN_ARRAYS
    COLUMN_STATS()
    SUM_COLUMNS
    for (int v = 0; v < vectors; ++v) {
        PUT_NUMBERS(part_sums, slice * (BLOCKS * COLUMNS) + PART_AT(v), sums[v]);
        PUT_NUMBERS(part_products, slice * (BLOCKS * COLUMNS) + PART_AT(v), products[v]);
    }
}
#endif

#ifdef APPLY
KERNEL WG_SIZE(1, 1, 1) norm_columns_backward_apply(PARAMETER_LIST) {
    BIND_PARAMETERS;
    COLUMN_PROLOGUE
    const u32 from = X_OUTER(b);
    COLUMN_ARRAYS
    COLUMN_STATS()
    for (int v = 0; v < vectors; ++v) {
        sums[v] = products[v] = VSPLAT(0);
        for (u32 k = 0; k < SLICES; ++k) {
            sums[v] = sums[v] + NUMBERS_AT(part_sums, k * (BLOCKS * COLUMNS) + PART_AT(v));
            products[v] = products[v] + NUMBERS_AT(part_products, k * (BLOCKS * COLUMNS) + PART_AT(v));
        }
    }
    APPLY_COLUMNS
}
#endif
