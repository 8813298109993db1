// norm/divisive_norm.cl as a CPU likes it, where channels do not lie side by side: a work-group is one work-item and makes
// `chunk` image rows, in blocks of BLOCK columns. Every row of the window is copied to an array with its halo, zeros
// outside the image, so that each cell of the window is one unaligned vector:
//
//     array    [ 0 0 | x x x x ... x x | 0 0 0 ]       first column: block - BEHIND
//     inside   [ 0 0 | 1 1 1 1 ... 1 1 | 0 0 0 ]       where there is no pixel nothing is added, whatever m is
//
// The modes are those of norm/divisive_norm.cl. UNIT: pixels of a row lie side by side in all tensors.
#include "common/types.h"
#include "common/lines.h"
#include "common/power.h"
#include "norm/lrn.h"

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

#if defined(FORWARD) || defined(FACTORS) || defined(GRADIENT)
KERNEL WG_SIZE(1, 1, 1)
divisive_norm(TENSOR_RESTRICT(const T, x),
#ifdef MEANS
              TENSOR_RESTRICT(const T, means),
#endif
#ifdef FORWARD
              TENSOR_RESTRICT(T, y),
#elif defined(FACTORS)
              TENSOR_RESTRICT(real, factors),
#else
              TENSOR_RESTRICT(const T, dy), TENSOR_RESTRICT(real, g), TENSOR_RESTRICT(real, q),
#ifdef DMEANS
              TENSOR_RESTRICT(T, dmeans),
#endif
#endif
              NORM_ARGS, GEOMETRY) {
    BIND_RESTRICT(const T, x);
#ifdef MEANS
    BIND_RESTRICT(const T, means);
#endif
#ifdef FORWARD
    BIND_RESTRICT(T, y);
#elif defined(FACTORS)
    BIND_RESTRICT(real, factors);
#else
    BIND_RESTRICT(const T, dy);
    BIND_RESTRICT(real, g);
    BIND_RESTRICT(real, q);
#ifdef DMEANS
    BIND_RESTRICT(T, dmeans);
#endif
#endif
    real line[BLOCK + WINDOW + 2 * VW], inside[BLOCK + WINDOW + 2 * VW], m[BLOCK + 2 * VW];
    vreal squares[VECTORS], offsets[VECTORS], own[VECTORS];

    BLOCK_LOOP {
        BLOCK_PLACE
        for (int i = 0; i < count + VW + WINDOW; ++i) inside[i] = INSIDE((int)w0 - BEHIND + i, width);
        ROW_LOOP {
            ROW_PLACE
            EACH_VECTOR squares[i / VW] = offsets[i / VW] = VSPLAT(0);
#ifdef MEANS
            COPY(T, m, means + OFFSET(means, n, c, d, h, 0), STEP(means), (int)w0, count + VW)  // the last vector: whole
#endif
            EACH_LINE {
                COPY(T, line, x + OFFSET(x, n, c, dd, hh, 0), STEP(x), (int)w0 - BEHIND, count + VW + WINDOW)
                EACH_VECTOR {
                    vreal square = squares[i / VW], offset = offsets[i / VW];
                    UNROLL for (int t = 0; t < WINDOW; ++t) {
#ifdef MEANS
                        const vreal gap =
                            PICK(AT(inside, i + t) != (real)0, AT(line, i + t) - AT(m, i), VSPLAT(0));
#else
                        const vreal gap = AT(line, i + t);
#endif
                        square = square + gap * gap;
#ifdef DMEANS
                        offset = offset + gap;
#endif
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
#ifdef FORWARD
                OUT(y, w0 + i, own[i / VW] * f)
#elif defined(FACTORS)
                SCRATCH_STORE(factors + OFFSET(scratch, n, c, d, h, w0 + i), f);
#else
                vreal scaled = VSPLAT(0);
                const GLOBAL T *with = dy + OFFSET(dy, n, c, d, h, w0 + i);
                if (STEP(dy) == 1 && have == VW)
                    scaled = VLOAD(with, 0);
                else
                    PART_LOAD(scaled, with, have, STEP(dy))
                scaled = scaled * f;
                vreal pull = scaled * own[i / VW] * inverse;
                SCRATCH_STORE(g + OFFSET(scratch, n, c, d, h, w0 + i), scaled);
                SCRATCH_STORE(q + OFFSET(scratch, n, c, d, h, w0 + i), pull);
#ifdef DMEANS
                OUT(dmeans, w0 + i, pull * offsets[i / VW] * slope)
#endif
#endif
            }
        }
    }
}
#endif

#ifdef SCALE  // not restrict: y may be x
KERNEL WG_SIZE(1, 1, 1)
divisive_norm_scale(TENSOR(const T, x), TENSOR_RESTRICT(const real, factors), TENSOR(T, y), NORM_ARGS, GEOMETRY) {
    BIND(const T, x);
    BIND_RESTRICT(const real, factors);
    BIND(T, y);
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
KERNEL WG_SIZE(1, 1, 1)
divisive_norm_gather(TENSOR_RESTRICT(const T, x),
#ifdef MEANS
                     TENSOR_RESTRICT(const T, means),
#endif
                     TENSOR_RESTRICT(const real, g), TENSOR_RESTRICT(const real, q), TENSOR_RESTRICT(T, dx),
                     NORM_ARGS, GEOMETRY) {
    BIND_RESTRICT(const T, x);
#ifdef MEANS
    BIND_RESTRICT(const T, means);
#endif
    BIND_RESTRICT(const real, g);
    BIND_RESTRICT(const real, q);
    BIND_RESTRICT(T, dx);
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
#ifdef MEANS
                COPY(T, m, means + OFFSET(means, n, c, dd, hh, 0), STEP(means), (int)w0 - BEHIND, count + VW + WINDOW)
#endif
                EACH_VECTOR {
                    vreal sum = sums[i / VW];
#ifdef MEANS
                    UNROLL for (int t = 0; t < WINDOW; ++t)
                        sum = sum + AT(line, i + t) * (AT(own, i) - AT(m, i + t));
#else
                    UNROLL for (int t = 0; t < WINDOW; ++t) sum = sum + AT(line, i + t);
#endif
                    sums[i / VW] = sum;
                }
            }
            EACH_VECTOR {
                HAVE;
#ifndef MEANS
                sums[i / VW] = sums[i / VW] * AT(own, i);
#endif
                OUT(dx, w0 + i, AT(scaled, i) - sums[i / VW] * slope)
            }
        }
    }
}
#endif
