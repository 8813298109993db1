// lrn/lrn.cl as a CPU likes it: a work-group is one work-item; explicit vectors; what windows share lies in small arrays.
//
// STRIPS: places that follow one another (pixels of a plane) in strips of STRIP vectors. Channel after channel is read
//   into the oldest row of a ring, so that it always holds the window; rows that lie outside the tensor are zeros.
//
//       ring   [ x of channel 7 ]      the window of channel 8 with n = 5: 6 .. 10, where 10 has replaced 5
//              [ x of channel 8 ]
//              [ x of channel 9 ]
//              [ x of channel 10 ]
//              [ x of channel 6 ]
//
// ROWS: channels lie side by side: BLOCK of them, with the halo that their windows need, are copied to an array.

#include "common/types.h"
#include "common/lines.h"
#include "common/power.h"
#include "lrn/lrn.h"

#define INSIDE(c) ((u32)(c) < channels)

#ifdef STRIPS
#ifdef UNIT
#define STRIP_LOAD(v, p, step)                                                                             \
    if (have == VW)                                                                                        \
        v = VLOAD(p, 0);                                                                                   \
    else                                                                                                   \
        PART_LOAD(v, p, have, 1)
#define STRIP_BLEND(p, step, value)                                                                        \
    if (have == VW)                                                                                        \
        VBLEND(p, 0, alpha, value, beta);                                                                  \
    else                                                                                                   \
        PART_BLEND(p, have, 1, value)
#else
#define STRIP_LOAD(v, p, step) PART_LOAD(v, p, have, step)
#define STRIP_BLEND(p, step, value) PART_BLEND(p, have, step, value)
#endif

#define STRIP_ARGS const u32 inner, const u32 channels, const u32 x_near, const u32 x_step
// Group g treats one strip of one line of `inner` places.
#define STRIP_PROLOGUE                                                                                     \
    const u32 strips = (inner + STRIP * VW - 1) / (STRIP * VW);                                            \
    const u32 o = GRP(0) / strips, place = GRP(0) % strips * (STRIP * VW);                                 \
    const u32 count = inner - place < STRIP * VW ? inner - place : STRIP * VW;                             \
    const u32 vectors = (count + VW - 1) / VW
#define SQUARES(sum, i)                                                                                    \
    vreal sum = VSPLAT(0);                                                                                 \
    UNROLL for (int t = 0; t < WINDOW; ++t) sum = sum + ring[t * STRIP + i] * ring[t * STRIP + i]
#define EACH_VECTOR for (u32 i = 0; i < vectors; ++i)
#define HAVE const u32 have = count - i * VW < VW ? count - i * VW : VW
#define RING(c) ((u32)(c) % WINDOW * STRIP)
// row[0 ..] = the strip of channel c of tensor t. A loop that reads and computes would take up to four times as long.
#define READ(row, t, c)                                                                                    \
    {                                                                                                      \
        const GLOBAL T *line = t##_line + (c) * t##_step;                                                  \
        if ((c) < channels) {                                                                              \
            EACH_VECTOR {                                                                                  \
                HAVE;                                                                                      \
                STRIP_LOAD((row)[i], line + i * VW * t##_near, t##_near)                                   \
            }                                                                                              \
        } else {                                                                                           \
            EACH_VECTOR (row)[i] = VSPLAT(0);                                                              \
        }                                                                                                  \
    }

#ifdef FORWARD
KERNEL WG_SIZE(1, 1, 1)
lrn_strips(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, y), NORM_ARGS, STRIP_ARGS, const u32 y_near,
           const u32 y_step, PLACES) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, y);
    STRIP_PROLOGUE;
    const GLOBAL T *x_line = x + (X_PLACE(o) + place * x_near);
    GLOBAL T *y_line = y + (Y_PLACE(o) + place * y_near);
    vreal ring[WINDOW * STRIP];

    for (u32 i = 0; i < WINDOW * STRIP; ++i) ring[i] = VSPLAT(0);
    for (u32 next = 0; next < channels + AHEAD; ++next) {
        const int c = (int)next - AHEAD;
        READ(ring + RING(next), x, next)
        if (c < 0) continue;
        const vreal *own = ring + RING(c);
        GLOBAL T *line = y_line + (u32)c * y_step;
        EACH_VECTOR {
            HAVE;
            SQUARES(sum, i);
            const vreal s = sum * weight + k;
            POWERS(vreal, s, f, inverse);
            STRIP_BLEND(line + i * VW * y_near, y_near, own[i] * f)
        }
    }
}
#else
KERNEL WG_SIZE(1, 1, 1)
lrn_strips_backward(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(T, dx), NORM_ARGS,
                    STRIP_ARGS, const u32 dy_near, const u32 dy_step, const u32 dx_near, const u32 dx_step, PLACES) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(T, dx);
    STRIP_PROLOGUE;
    const GLOBAL T *x_line = x + (X_PLACE(o) + place * x_near);
    const GLOBAL T *dy_line = dy + (DY_PLACE(o) + place * dy_near);
    GLOBAL T *dx_line = dx + (DX_PLACE(o) + place * dx_near);
    vreal ring[WINDOW * STRIP], r[WINDOW * STRIP], g[(BEHIND + 1) * STRIP];

    for (u32 i = 0; i < WINDOW * STRIP; ++i) ring[i] = r[i] = VSPLAT(0);
    // centre `centre` completes the sums of channel `centre - BEHIND`, whose x is the oldest in the ring
    for (int centre = -AHEAD; centre < (int)channels + BEHIND; ++centre) {
        const int c = centre - BEHIND;
        READ(ring + RING(centre + AHEAD), x, (u32)(centre + AHEAD))
        if (centre < 0) continue;
        vreal *newest = r + RING(centre), *scaled = g + (u32)centre % (BEHIND + 1) * STRIP;
        READ(scaled, dy, (u32)centre)
        const vreal *own = ring + RING(centre);
        EACH_VECTOR {
            SQUARES(sum, i);
            const vreal s = sum * weight + k;
            POWERS(vreal, s, f, inverse);
            scaled[i] = scaled[i] * f;
            newest[i] = scaled[i] * own[i] * inverse;
        }
        if (c < 0) continue;
        own = ring + RING(c);
        scaled = g + (u32)c % (BEHIND + 1) * STRIP;
        GLOBAL T *line = dx_line + (u32)c * dx_step;
        EACH_VECTOR {
            HAVE;
            vreal through = VSPLAT(0);
            UNROLL for (int t = 0; t < WINDOW; ++t) through = through + r[t * STRIP + i];
            STRIP_BLEND(line + i * VW * dx_near, dx_near, scaled[i] - own[i] * through * slope)
        }
    }
}
#endif
#endif

#ifdef ROWS
#define COPY(array, row, c0, count) COPY_LINE(array, VLOAD, LOAD, row, 1, c0, count, channels)
#define SQUARES(sum, i)                                                                                    \
    vreal sum = VSPLAT(0);                                                                                 \
    UNROLL for (int t = 0; t < WINDOW; ++t) sum = sum + AT(v, (i) + t) * AT(v, (i) + t)
#define ROW_BLEND(p, i, value)                                                                             \
    if ((i) + VW <= (int)count)                                                                            \
        VBLEND(p, i, alpha, value, beta);                                                                  \
    else                                                                                                   \
        PART_BLEND((p) + (i), count - (i), 1, value)

#define ROW_ARGS const u32 rows, const u32 chunk, const u32 channels
#define ROW_LOOP                                                                                           \
    const u32 first = (u32)GRP(0) * chunk, last = rows - first < chunk ? rows : first + chunk;             \
    for (u32 o = first; o < last; ++o)                                                                     \
        for (u32 c0 = 0; c0 < channels; c0 += BLOCK)

#ifdef FORWARD
KERNEL WG_SIZE(1, 1, 1)
lrn_rows(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(T, y), NORM_ARGS, ROW_ARGS, PLACES) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(T, y);
    real v[BLOCK + WINDOW + 2 * VW];

    ROW_LOOP {
        const u32 count = channels - c0 < BLOCK ? channels - c0 : BLOCK;
        const GLOBAL T *from = x + X_PLACE(o);
        GLOBAL T *to = y + (Y_PLACE(o) + c0);
        COPY(v, from, (int)c0 - BEHIND, (int)count + VW + WINDOW)
        for (int i = 0; i < (int)count; i += VW) {
            SQUARES(sum, i);
            const vreal s = sum * weight + k;
            POWERS(vreal, s, f, inverse);
            ROW_BLEND(to, i, AT(v, i + BEHIND) * f)
        }
    }
}
#else
KERNEL WG_SIZE(1, 1, 1)
lrn_rows_backward(TENSOR_RESTRICT(const T, x), TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(T, dx), NORM_ARGS,
                  ROW_ARGS, PLACES) {
    BIND_RESTRICT(const T, x);
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(T, dx);
    real v[BLOCK + 2 * WINDOW + 3 * VW], g[BLOCK + WINDOW + 2 * VW], r[BLOCK + WINDOW + 2 * VW];

    ROW_LOOP {
        const u32 count = channels - c0 < BLOCK ? channels - c0 : BLOCK;
        const int centres = (int)count + WINDOW - 1;  // the first is c0 - AHEAD
        const GLOBAL T *from = x + X_PLACE(o);
        const GLOBAL T *with = dy + DY_PLACE(o);
        GLOBAL T *to = dx + (DX_PLACE(o) + c0);
        COPY(v, from, (int)c0 - (WINDOW - 1), centres + VW + WINDOW)
        COPY(g, with, (int)c0 - AHEAD, centres + VW)
        for (int i = 0; i < centres; i += VW) {
            SQUARES(sum, i);
            const vreal s = sum * weight + k;
            POWERS(vreal, s, f, inverse);
            const vreal own = AT(g, i) * f;
            AT(g, i) = own;
            AT(r, i) = own * AT(v, i + BEHIND) * inverse;
        }
        for (int i = 0; i < (int)count; i += VW) {
            vreal through = VSPLAT(0);
            UNROLL for (int t = 0; t < WINDOW; ++t) through = through + AT(r, i + t);
            ROW_BLEND(to, i, AT(g, i + AHEAD) - AT(v, i + WINDOW - 1) * through * slope)
        }
    }
}
#endif
#endif
