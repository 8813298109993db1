// lrn/divisive_norm.cl as a CPU likes it, where channels do not lie side by side: a work-group is one work-item and makes
// `chunk` image rows, in blocks of BLOCK columns. Every row of the window is copied to an array with its halo, zeros
// outside the image, so that each cell of the window is one unaligned vector:
//
//     array    [ 0 0 | x x x x ... x x | 0 0 0 ]       first column: block - BEHIND
//     inside   [ 0 0 | 1 1 1 1 ... 1 1 | 0 0 0 ]       where there is no pixel nothing is added, whatever m is
//
// The modes are those of lrn/divisive_norm.cl. UNIT: pixels of a row lie side by side in all tensors.
#include "common/types.h"
#include "common/lines.h"
#include "common/power.h"
#include "lrn/lrn.h"

#define INSIDE(v, size) ((u32)(v) < (u32)(size))
#define OFFSET(t, n, c, d, h, w) ((n) * t##_n + (c) * t##_c + (d) * t##_d + (h) * t##_h + (w) * t##_w)
#define VECTORS (BLOCK / VW)
#ifdef UNIT
#define STEP(t) 1
#else
#define STEP(t) t##_w
#endif

// columns from w0 on of a row of pixels, whose numbers are of that type
#define COPY(type, array, line, step, w0, count)                                                           \
    COPY_LINE(array, type##_VLOAD, type##_LOAD, line, step, w0, count, width)
#define T_VLOAD(p, i) VLOAD(p, i)
#define T_LOAD(p, i) LOAD(p, i)
typedef vreal unaligned_scratch __attribute__((aligned(sizeof(real))));
#define real_VLOAD(p, i) (*(const GLOBAL unaligned_scratch *)((p) + (i)))
#define real_LOAD(p, i) ((p)[i])
#define SCRATCH_STORE(p, v)                                                                                \
    if (have == VW)                                                                                        \
        *(GLOBAL unaligned_scratch *)(p) = v;                                                              \
    else                                                                                                   \
        for (u32 l = 0; l < have; ++l) (p)[l] = LANE(v, l)
#define OUT(t, column, value)                                                                              \
    {                                                                                                      \
        GLOBAL T *to = t + OFFSET(t, n, c, d, h, column);                                                  \
        if (STEP(t) == 1 && have == VW)                                                                    \
            VBLEND(to, 0, alpha, value, beta);                                                             \
        else                                                                                               \
            PART_BLEND(to, have, STEP(t), value)                                                           \
    }

#define ROW_LOOP                                                                                           \
    const u32 first = (u32)GRP(0) * chunk, last = rows - first < chunk ? rows : first + chunk;             \
    for (u32 row = first; row < last; ++row)
#define ROW_PLACE                                                                                          \
    const int h = row % height, d = row / height % depth;                                                  \
    const u32 c = row / height / depth % units, n = row / height / depth / units;
#define BLOCK_LOOP                                                                                         \
    for (u32 w0 = 0; w0 < width; w0 += BLOCK)
#define BLOCK_PLACE                                                                                        \
    const int count = width - w0 < BLOCK ? width - w0 : BLOCK;
#define EACH_LINE                                                                                          \
    for (int dd = d - BEHIND_D; dd <= d + AHEAD_D; ++dd)                                                   \
        if (INSIDE(dd, depth))                                                                             \
            for (int hh = h - BEHIND; hh <= h + AHEAD; ++hh)                                               \
                if (INSIDE(hh, height))
#define EACH_VECTOR for (int i = 0; i < count; i += VW)
#define HAVE const u32 have = count - i < VW ? count - i : VW

// the means of a line from a column on, and the difference from one inside of the image
#define COPY_MEANS(place, first, count) PD_CAT(COPY_MEANS_, MEANS)(place, first, count)
#define COPY_MEANS_0(place, first, count)
#define COPY_MEANS_1(place, first, count) COPY(T, m, means + place, STEP(means), first, count)
#define GAP(t) PD_CAT(GAP_, MEANS)(t)
#define GAP_0(t) AT(line, i + t)
#define GAP_1(t) PICK(AT(inside, i + t) != (real)0, AT(line, i + t) - AT(m, i), VSPLAT(0))

// what becomes of a sum: y, its factor, or what the gradient gathers
#define FINISH(i) PD_CAT(FINISH_, MODE)(i)
#define FINISH_FORWARD(i) OUT(y, w0 + i, own[i / VW] * f)
#define FINISH_FACTORS(i) SCRATCH_STORE(factors + OFFSET(scratch, n, c, d, h, w0 + i), f);
#define FINISH_GRADIENT(i)                                                                                 \
    vreal scaled = VSPLAT(0);                                                                              \
    const GLOBAL T *with = dy + OFFSET(dy, n, c, d, h, w0 + i);                                            \
    if (STEP(dy) == 1 && have == VW)                                                                       \
        scaled = VLOAD(with, 0);                                                                           \
    else                                                                                                   \
        PART_LOAD(scaled, with, have, STEP(dy))                                                            \
    scaled = scaled * f;                                                                                   \
    vreal pull = scaled * own[i / VW] * inverse;                                                           \
    SCRATCH_STORE(g + OFFSET(scratch, n, c, d, h, w0 + i), scaled);                                        \
    SCRATCH_STORE(q + OFFSET(scratch, n, c, d, h, w0 + i), pull);                                          \
    PD_CAT(OUT_DMEANS_, DMEANS)(w0 + i, pull * offsets[i / VW] * slope)
#define OUT_DMEANS_0(column, v)
#define OUT_DMEANS_1(column, v) OUT(dmeans, column, v)

#ifdef SUMS
KERNEL WG_SIZE(1, 1, 1) divisive_norm(PARAMETER_LIST) {
    BIND_PARAMETERS;
    real line[BLOCK + WINDOW + 2 * VW], inside[BLOCK + WINDOW + 2 * VW], m[BLOCK + 2 * VW];
    vreal squares[VECTORS], offsets[VECTORS], own[VECTORS];

    BLOCK_LOOP {
        BLOCK_PLACE
        for (int i = 0; i < count + VW + WINDOW; ++i) inside[i] = INSIDE((int)w0 - BEHIND + i, width);
        ROW_LOOP {
            ROW_PLACE
            EACH_VECTOR squares[i / VW] = offsets[i / VW] = VSPLAT(0);
            COPY_MEANS(OFFSET(means, n, c, d, h, 0), (int)w0, count + VW)  // the last vector: whole
            EACH_LINE {
                COPY(T, line, x + OFFSET(x, n, c, dd, hh, 0), STEP(x), (int)w0 - BEHIND, count + VW + WINDOW)
                EACH_VECTOR {
                    vreal square = squares[i / VW], offset = offsets[i / VW];
                    UNROLL for (int t = 0; t < WINDOW; ++t) {
                        const vreal gap = GAP(t);
                        square = square + gap * gap;
                        if (DMEANS) offset = offset + gap;
                    }
                    squares[i / VW] = square;
                    offsets[i / VW] = offset;
                    if (dd == d && hh == h) own[i / VW] = AT(line, i + BEHIND);
                }
            }
            EACH_VECTOR {
                HAVE;
                const vreal s = squares[i / VW] * weight + k;
                POWERS(vreal, s, f, inverse);
                FINISH(i)
            }
        }
    }
}
#endif

#ifdef SCALE
KERNEL WG_SIZE(1, 1, 1) divisive_norm_scale(PARAMETER_LIST) {
    BIND_PARAMETERS;
    real own[BLOCK + VW], f[BLOCK + VW];

    BLOCK_LOOP {
        BLOCK_PLACE
        ROW_LOOP {
            ROW_PLACE
            COPY(T, own, x + OFFSET(x, n, c, d, h, 0), STEP(x), (int)w0, count)
            COPY(real, f, factors + OFFSET(scratch, n, c, d, h, 0), 1, (int)w0, count)
            EACH_VECTOR {
                HAVE;
                OUT(y, w0 + i, AT(own, i) * AT(f, i))
            }
        }
    }
}
#endif

#ifdef GATHER
KERNEL WG_SIZE(1, 1, 1) divisive_norm_gather(PARAMETER_LIST) {
    BIND_PARAMETERS;
    real line[BLOCK + WINDOW + 2 * VW], m[BLOCK + WINDOW + 2 * VW], own[BLOCK + VW], scaled[BLOCK + VW];
    vreal sums[VECTORS];

    BLOCK_LOOP {
        BLOCK_PLACE
        ROW_LOOP {
            ROW_PLACE
            COPY(T, own, x + OFFSET(x, n, c, d, h, 0), STEP(x), (int)w0, count)
            COPY(real, scaled, g + OFFSET(scratch, n, c, d, h, 0), 1, (int)w0, count)
            EACH_VECTOR sums[i / VW] = VSPLAT(0);
            EACH_LINE {
                COPY(real, line, q + OFFSET(scratch, n, c, dd, hh, 0), 1, (int)w0 - BEHIND, count + VW + WINDOW)
                COPY_MEANS(OFFSET(means, n, c, dd, hh, 0), (int)w0 - BEHIND, count + VW + WINDOW)
                EACH_VECTOR {
                    vreal sum = sums[i / VW];
                    UNROLL for (int t = 0; t < WINDOW; ++t)
                        sum = sum + (MEANS ? AT(line, i + t) * (AT(own, i) - AT(m, i + t)) : AT(line, i + t));
                    sums[i / VW] = sum;
                }
            }
            EACH_VECTOR {
                HAVE;
                if (!MEANS) sums[i / VW] = sums[i / VW] * AT(own, i);
                OUT(dx, w0 + i, AT(scaled, i) - sums[i / VW] * slope)
            }
        }
    }
}
#endif
