// Divisive normalisation over spatial windows, every output gathering what it needs. A 2-D problem has D = 1 and no
// neighbours along it (BEHIND_D = AHEAD_D = 0). Windows end at the borders of the image.
//
//   FORWARD    y[i]  = x[i] * f[i],  f = s^-power,  s[i] = k + weight * sum over the window of (x[j] - m[i])^2
//   FACTORS    f into the workspace; SCALE multiplies x by it afterwards, so y may be x
//   GRADIENT   g = dy * f and q = g * x / s into the workspace, dm[i] = slope * q[i] * sum over the window of (x[j] - m[i])
//   GATHER     dx[j] = g[j] - slope * sum over the window of q[i] * (x[j] - m[i])
//
//   A work-item makes TP outputs below each other of VW channels; each number of its columns is read once for all of them:
//
//        w  ->
//     h  [x x x]                 rows 0-2: window of the first output (n = 3)
//     |  [x x x]      ->  [y]
//     v  [x x x]          [y]    rows 1-3: window of the second
//        [x x x]
//
// Lanes of a vector are channels that lie side by side. MEANS: 1 where there is a tensor of means; otherwise m = 0. The sums are those of
// differences, not of squares less a mean's square, which would cancel. MODE is one of the first three with SUMS.
// Parameters (engines/norm/divisive.py): tensors and workspaces, the numbers of lrn/lrn.h, sizes and every tensor's strides.
#include "common/types.h"
#include "lrn/lrn.h"

#define INSIDE(v, size) ((u32)(v) < (u32)(size))
#if WINDOW <= 8
#define WINDOW_LOOP UNROLL
#else
#define WINDOW_LOOP
#endif
#define OFFSET(t, n, c, d, h, w) ((n) * t##_n + (c) * t##_c + (d) * t##_d + (h) * t##_h + (w) * t##_w)

#ifdef CHANNELS_LAST
#define PLACE                                                                                              \
    u32 rest = (u32)GRP(0) * GROUP + LID(0);                                                               \
    if (rest >= items) return;                                                                             \
    const u32 c = rest % units * VW;                                                                       \
    rest /= units;                                                                                         \
    const int w = rest % width;                                                                            \
    rest /= width;                                                                                         \
    const int row = rest % tiles * TP;                                                                     \
    rest /= tiles;                                                                                         \
    const int d = rest % depth;                                                                            \
    const u32 n = rest / depth;
#else
#define PLACE                                                                                              \
    u32 rest = (u32)GRP(0) * GROUP + LID(0);                                                               \
    if (rest >= items) return;                                                                             \
    const int w = rest % width;                                                                            \
    rest /= width;                                                                                         \
    const int row = rest % tiles * TP;                                                                     \
    rest /= tiles;                                                                                         \
    const int d = rest % depth;                                                                            \
    rest /= depth;                                                                                         \
    const u32 c = rest % units;                                                                            \
    const u32 n = rest / units;
#endif

// Before a block that runs for every cell (dd, HH, WW) of the image in the windows of the TP outputs; i is the row among them.
#define HH (row - BEHIND + i)
#if WINDOW > 1  // loops of one turn crash a compiler
#define WW (w - BEHIND + s)
#define EACH_COLUMN WINDOW_LOOP for (int s = 0; s < WINDOW; ++s) if (INSIDE(WW, width))
#else
#define WW w
#define EACH_COLUMN
#endif
#define EACH_CELL                                                                                          \
    for (int dd = d - BEHIND_D; dd <= d + AHEAD_D; ++dd)                                                   \
        if (INSIDE(dd, depth))                                                                             \
            WINDOW_LOOP for (int i = 0; i < TP + WINDOW - 1; ++i) if (INSIDE(HH, height)) EACH_COLUMN
#define IN_WINDOW(t) (i >= (t) && i < (t) + WINDOW)
#define EACH_OUTPUT UNROLL for (int t = 0; t < TP; ++t)

// numbers of the workspace: VW in a row, of type real
DEVICE vreal scratch_load(const GLOBAL real *p) {
    vreal v = VSPLAT(0);
    UNROLL for (int l = 0; l < VW; ++l) LANE(v, l) = p[l];
    return v;
}
DEVICE void scratch_store(GLOBAL real *p, vreal v) { UNROLL for (int l = 0; l < VW; ++l) p[l] = LANE(v, l); }

#define MEAN_AT(place) PD_CAT(MEAN_AT_, MEANS)(place)
#define MEAN_AT_0(place) VSPLAT(0)
#define MEAN_AT_1(place) VLOAD(means, place)

// what becomes of a sum: y, its factor, or what the gradient gathers
#define FINISH(t) PD_CAT(FINISH_, MODE)(t)
#define FINISH_FORWARD(t)                                                                                  \
    const vreal own = VLOAD(x, OFFSET(x, n, c, d, row + t, w));                                            \
    VBLEND(y, OFFSET(y, n, c, d, row + t, w), alpha, own * f, beta);
#define FINISH_FACTORS(t) scratch_store(factors + OFFSET(scratch, n, c, d, row + t, w), f);
#define FINISH_GRADIENT(t)                                                                                 \
    const vreal own = VLOAD(x, OFFSET(x, n, c, d, row + t, w));                                            \
    const u32 at = OFFSET(scratch, n, c, d, row + t, w);                                                   \
    const vreal scaled = VLOAD(dy, OFFSET(dy, n, c, d, row + t, w)) * f;                                   \
    const vreal pull = scaled * own * inverse;                                                             \
    scratch_store(g + at, scaled);                                                                         \
    scratch_store(q + at, pull);                                                                           \
    PD_CAT(BLEND_DMEANS_, DMEANS)(OFFSET(dmeans, n, c, d, row + t, w), pull * offsets[t] * slope)
#define BLEND_DMEANS_0(place, v)
#define BLEND_DMEANS_1(place, v) VBLEND(dmeans, place, alpha, v, beta);

#ifdef SUMS
KERNEL WG_SIZE(GROUP, 1, 1) divisive_norm(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    PLACE
    vreal m[TP], squares[TP], offsets[TP];

    EACH_OUTPUT {
        squares[t] = offsets[t] = m[t] = VSPLAT(0);
        if (MEANS && row + t < height) m[t] = MEAN_AT(OFFSET(means, n, c, d, row + t, w));
    }
    EACH_CELL {
        const vreal v = VLOAD(x, OFFSET(x, n, c, dd, HH, WW));
        EACH_OUTPUT {
            if (IN_WINDOW(t)) {
                const vreal gap = v - m[t];
                squares[t] = squares[t] + gap * gap;
                offsets[t] = offsets[t] + gap;
            }
        }
    }
    EACH_OUTPUT {
        if (row + t >= height) continue;
        const vreal s = squares[t] * weight + k;
        POWERS(vreal, s, f, inverse);
        FINISH(t)
    }
}
#endif

#ifdef SCALE
KERNEL WG_SIZE(GROUP, 1, 1) divisive_norm_scale(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    PLACE
    EACH_OUTPUT {
        if (row + t >= height) continue;
        const vreal f = scratch_load(factors + OFFSET(scratch, n, c, d, row + t, w));
        const vreal own = VLOAD(x, OFFSET(x, n, c, d, row + t, w));
        VBLEND(y, OFFSET(y, n, c, d, row + t, w), alpha, own * f, beta);
    }
}
#endif

#ifdef GATHER
KERNEL WG_SIZE(GROUP, 1, 1) divisive_norm_gather(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    PLACE
    vreal own[TP], sum[TP];

    EACH_OUTPUT {
        sum[t] = own[t] = VSPLAT(0);
        if (row + t < height) own[t] = VLOAD(x, OFFSET(x, n, c, d, row + t, w));
    }
    EACH_CELL {
        const vreal pull = scratch_load(q + OFFSET(scratch, n, c, dd, HH, WW));
        const vreal m = MEAN_AT(OFFSET(means, n, c, dd, HH, WW));
        EACH_OUTPUT {
            if (IN_WINDOW(t)) sum[t] = sum[t] + (MEANS ? pull * (own[t] - m) : pull);
        }
    }
    EACH_OUTPUT {
        if (row + t >= height) continue;
        if (!MEANS) sum[t] = sum[t] * own[t];
        const vreal scaled = scratch_load(g + OFFSET(scratch, n, c, d, row + t, w));
        VBLEND(dx, OFFSET(dx, n, c, d, row + t, w), alpha, scaled - sum[t] * slope, beta);
    }
}
#endif
