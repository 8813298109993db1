// Local response normalisation across channels on GPUs. A window reaches from BEHIND channels before its centre to
// AHEAD after it; WINDOW = BEHIND + 1 + AHEAD. Channels outside the tensor are zeros.
//
//   forward    y[c]  = x[c] * s[c]^-power,  s[c] = k + weight * sum of x^2 over the window of c
//   backward   dx[c] = g[c] - slope * x[c] * sum of r over the centres whose windows hold c: c - AHEAD .. c + BEHIND
//              with g[i] = dy[i] * s[i]^-power and r[i] = g[i] * x[i] / s[i]
//
// COLUMNS: a work-item walks through `length` channels of VW places, and carries what the next chunk of U needs:
//
//        carried          loaded, all U at once
//     [v v v v v v] + [v v v v]       CARRIED >= WINDOW - 1 numbers from before the chunk
//          [- - - - -]                window of the chunk's first output
//                [- - - - -]          window of its last output
//
//   Each number is read once (but for the ends of slices, into which few places are cut to fill the device).
//   The sums are formed anew for each channel, because differences of running sums would cancel.
//
// ROWS: channels lie side by side; a work-item makes RUN * VW of them from its vectors and the nearest vectors on both
//   sides, which its neighbours in the work-group read as well.
//
// PLACES and *_PLACE(o) come from places.py: where place (or row) number o begins.
#include "common/types.h"
#include "lrn/lrn.h"

#define INSIDE(c) ((u32)(c) < channels)
#if WINDOW > 1  // loops of one turn crash a compiler
#define ADD_WINDOW(sum, term)                                                                              \
    UNROLL for (int t = 0; t < WINDOW; ++t) sum = sum + (term);
#else
#define ADD_WINDOW(sum, term)                                                                              \
    {                                                                                                      \
        const int t = 0;                                                                                   \
        sum = sum + (term);                                                                                \
    }
#endif
#if VW > 1
#define EACH_LANE(l) UNROLL for (int l = 0; l < VW; ++l)
#else
#define EACH_LANE(l) const int l = 0;
#endif

#ifdef COLUMNS
#define COLUMN_ARGS const u32 outer, const u32 channels, const u32 length, const u32 x_step
#define COLUMN_PROLOGUE                                                                                    \
    const u32 o = (u32)GRP(0) * WG + LID(0);                                                               \
    if (o >= outer) return;                                                                                \
    const int first = GRP(1) * length;                                                                     \
    const int end = first + length < channels ? first + length : channels

#ifdef FORWARD
KERNEL WG_SIZE(WG, 1, 1)
lrn_columns(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, y), NORM_ARGS, COLUMN_ARGS, const u32 y_step, PLACES) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, y);
    COLUMN_PROLOGUE;
    const GLOBAL T *from = x + X_PLACE(o);
    GLOBAL T *to = y + Y_PLACE(o);
    vreal v[CARRIED + U];

    UNROLL for (int i = 0; i < CARRIED; ++i) {
        const int c = first + AHEAD - CARRIED + i;
        v[i] = INSIDE(c) ? VLOAD(from, (u32)c * x_step) : VSPLAT(0);
    }
    for (int c = first; c < end; c += U) {
        UNROLL for (int j = 0; j < U; ++j) {
            const int next = c + j + AHEAD;
            v[CARRIED + j] = INSIDE(next) ? VLOAD(from, (u32)next * x_step) : VSPLAT(0);
        }
        UNROLL for (int j = 0; j < U; ++j) {
            const int newest = CARRIED + j;
            vreal sum = VSPLAT(0);
            ADD_WINDOW(sum, v[newest - t] * v[newest - t])
            const vreal s = sum * weight + k;
            POWERS(vreal, s, f, inverse);
            if (c + j < end) VBLEND(to, (u32)(c + j) * y_step, alpha, v[newest - AHEAD] * f, beta);
        }
        UNROLL for (int i = 0; i < CARRIED; ++i) v[i] = v[i + U];
    }
}
#else
KERNEL WG_SIZE(WG, 1, 1)
lrn_columns_backward(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(T, dx), NORM_ARGS,
                     COLUMN_ARGS, const u32 dy_step, const u32 dx_step, PLACES) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(T, dx);
    COLUMN_PROLOGUE;
    const GLOBAL T *from = x + X_PLACE(o);
    const GLOBAL T *with = dy + DY_PLACE(o);
    GLOBAL T *to = dx + DX_PLACE(o);
    const int start = first > AHEAD ? first - AHEAD : 0;  // the first centre that reaches channel `first`
    vreal v[CARRIED + U], r[CARRIED + U], g[CARRIED_G + U];

    UNROLL for (int i = 0; i < CARRIED; ++i) {
        const int c = start + AHEAD - CARRIED + i;
        v[i] = INSIDE(c) ? VLOAD(from, (u32)c * x_step) : VSPLAT(0);
        r[i] = VSPLAT(0);
    }
    UNROLL for (int i = 0; i < CARRIED_G; ++i) g[i] = VSPLAT(0);
    for (int centre = start; centre < end + BEHIND; centre += U) {
        UNROLL for (int j = 0; j < U; ++j) {
            const int next = centre + j + AHEAD;
            v[CARRIED + j] = INSIDE(next) ? VLOAD(from, (u32)next * x_step) : VSPLAT(0);
            g[CARRIED_G + j] = INSIDE(centre + j) ? VLOAD(with, (u32)(centre + j) * dy_step) : VSPLAT(0);
        }
        UNROLL for (int j = 0; j < U; ++j) {
            const int newest = CARRIED + j;
            vreal sum = VSPLAT(0);
            ADD_WINDOW(sum, v[newest - t] * v[newest - t])
            const vreal s = sum * weight + k;
            POWERS(vreal, s, f, inverse);
            g[CARRIED_G + j] = g[CARRIED_G + j] * f;
            r[newest] = g[CARRIED_G + j] * v[newest - AHEAD] * inverse;
            vreal through = VSPLAT(0);
            ADD_WINDOW(through, r[newest - t])
            const int c = centre + j - BEHIND;  // its oldest x is the window's oldest
            const vreal value = g[CARRIED_G + j - BEHIND] - v[newest - WINDOW + 1] * through * slope;
            if (c >= first && c < end) VBLEND(to, (u32)c * dx_step, alpha, value, beta);
        }
        UNROLL for (int i = 0; i < CARRIED; ++i) {
            v[i] = v[i + U];
            r[i] = r[i + U];
        }
        UNROLL for (int i = 0; i < CARRIED_G; ++i) g[i] = g[i + U];
    }
}
#endif
#endif

#ifdef ROWS
// numbers[0 ..] = vectors of a row from channel c0 - vectors_before * VW on
#define GATHER(numbers, count, row, c0, vectors_before)                                                    \
    UNROLL for (int q = 0; q < (count); ++q) {                                                             \
        const int at = (c0) + (q - (vectors_before)) * VW;                                                 \
        vreal lanes = VSPLAT(0);                                                                           \
        if (INSIDE(at)) lanes = VLOAD(row, at);                                                            \
        EACH_LANE(l) numbers[q * VW + l] = LANE(lanes, l);                          \
    }
#define ROW_ARGS const u32 items, const u32 channels, const u32 runs
#define ROW_PROLOGUE                                                                                       \
    const u32 id = (u32)GRP(0) * WG + LID(0);                                                              \
    if (id >= items) return;                                                                               \
    const u32 o = id / runs;                                                                               \
    const int c0 = id % runs * (RUN * VW)
#define UP(a) (((a) + VW - 1) / VW)

#ifdef FORWARD
KERNEL WG_SIZE(WG, 1, 1)
lrn_rows(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, y), NORM_ARGS, ROW_ARGS, PLACES) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, y);
    ROW_PROLOGUE;
    const GLOBAL T *from = x + X_PLACE(o);
    GLOBAL T *to = y + Y_PLACE(o);
    real v[(UP(BEHIND) + RUN + UP(AHEAD)) * VW];

    GATHER(v, UP(BEHIND) + RUN + UP(AHEAD), from, c0, UP(BEHIND));
    UNROLL for (int q = 0; q < RUN; ++q) {
        vreal value = VSPLAT(0);
        EACH_LANE(l) {
            const int centre = (UP(BEHIND) + q) * VW + l;
            real sum = 0;
            ADD_WINDOW(sum, v[centre + AHEAD - t] * v[centre + AHEAD - t])
            const real s = sum * weight + k;
            POWERS(real, s, f, inverse);
            LANE(value, l) = v[centre] * f;
        }
        if (INSIDE(c0 + q * VW)) VBLEND(to, c0 + q * VW, alpha, value, beta);
    }
}
#else
KERNEL WG_SIZE(WG, 1, 1)
lrn_rows_backward(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(T, dx), NORM_ARGS,
                  ROW_ARGS, PLACES) {
    GRID_WAIT();
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(T, dx);
    ROW_PROLOGUE;
    const GLOBAL T *from = x + X_PLACE(o);
    const GLOBAL T *with = dy + DY_PLACE(o);
    GLOBAL T *to = dx + DX_PLACE(o);
    real v[(RUN + 2 * UP(WINDOW - 1)) * VW], g[(UP(AHEAD) + RUN + UP(BEHIND)) * VW], r[RUN * VW + WINDOW - 1];

    GATHER(v, RUN + 2 * UP(WINDOW - 1), from, c0, UP(WINDOW - 1));
    GATHER(g, UP(AHEAD) + RUN + UP(BEHIND), with, c0, UP(AHEAD));
    UNROLL for (int i = 0; i < RUN * VW + WINDOW - 1; ++i) {  // centre c0 - AHEAD + i
        const int centre = UP(WINDOW - 1) * VW - AHEAD + i, own = UP(AHEAD) * VW - AHEAD + i;
        real sum = 0;
        ADD_WINDOW(sum, v[centre + AHEAD - t] * v[centre + AHEAD - t])
        const real s = sum * weight + k;
        POWERS(real, s, f, inverse);
        g[own] *= f;
        r[i] = g[own] * v[centre] * inverse;
    }
    UNROLL for (int q = 0; q < RUN; ++q) {
        vreal value = VSPLAT(0);
        EACH_LANE(l) {
            const int i = q * VW + l;
            real through = 0;
            ADD_WINDOW(through, r[i + t])
            LANE(value, l) = g[UP(AHEAD) * VW + i] - slope * v[UP(WINDOW - 1) * VW + i] * through;
        }
        if (INSIDE(c0 + q * VW)) VBLEND(to, c0 + q * VW, alpha, value, beta);
    }
}
#endif
#endif
