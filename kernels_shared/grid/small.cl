// Both gradients of the sampler for a small image, by one work-group in one launch: its points are sorted by cells in local
// memory, as grid/bins.cl sorts those of larger ones.
//
//   counts    how many points each cell has, then where they start; a point's place among them is a matter of luck
//   members   the points' numbers, by cell
//   points    the same in the order of their numbers: a point counts the smaller numbers in its cell
//
// A work-item has ROUNDS points, neighbours those side by side. Defines: WG, ROUNDS, CELLS (counters, a multiple of WG);
// CHANNELS and IN_FLIGHT as in grid/points.h and grid/corners.h.

#define SORTED_IN LOCAL_ARG

#include "common/types.h"
#include "grid/sample.h"
#include "grid/points.h"
#include "grid/corners.h"

#define EACH (CELLS / WG)

KERNEL WG_SIZE(WG, 1, 1)
sampler_small(PARAMETER_LIST) {
    GRID_WAIT();
    BIND_PARAMETERS;
    LOCAL int counts[CELLS];
    LOCAL u32 sums[WG];
    LOCAL u32 members[WG * ROUNDS];
    LOCAL Point points[WG * ROUNDS];
    const int lid = LID(0);
    const u32 n = GRP(0), places = (u32)p * q;
    Place at[ROUNDS];
    int slot[ROUNDS], mine[EACH], total = 0;

    for (int c = lid; c < CELLS; c += WG) counts[c] = 0;
    BARRIER();
    UNROLL for (int k = 0; k < ROUNDS; ++k) {
        const u32 s = k * WG + lid, row = ROW_OF(s), column = s - row * q;
        at[k].inside = 0;
        if (s < places) {
            const idx_t g = n * g_n + row * g_h + column * g_w;
            at[k] = place_of(LOAD(grid, g), LOAD(grid, g + g_2), h, w);
            if (at[k].inside) slot[k] = ATOMIC_INC(counts + CELL(at[k], w));
            const Slopes sum = slopes_of(at[k], x + n * x_n, dy + (n * y_n + row * y_h + column * y_w), 0, 1, channels,
                                         h, w, x_c, x_h, x_w, y_c);
            GLOBAL T *to = dgrid + (n * d_n + row * d_h + column * d_w);
            BLEND(to, 0, alpha_dgrid, SCALED_SLOPE(sum.u, w), beta_dgrid);
            BLEND(to, d_2, alpha_dgrid, SCALED_SLOPE(sum.v, h), beta_dgrid);
        }
    }
    BARRIER();
    UNROLL for (int k = 0; k < EACH; ++k) {
        mine[k] = counts[lid * EACH + k];
        total += mine[k];
    }
    sums[lid] = total;
    BARRIER();
    for (int step = 1; step < WG; step *= 2) {
        const u32 other = lid >= step ? sums[lid - step] : 0;
        BARRIER();
        sums[lid] += other;
        BARRIER();
    }
    int before = (int)sums[lid] - total;
    UNROLL for (int k = 0; k < EACH; ++k) {
        counts[lid * EACH + k] = before;
        before += mine[k];
    }
    BARRIER();
    UNROLL for (int k = 0; k < ROUNDS; ++k)
        if (at[k].inside) members[counts[CELL(at[k], w)] + slot[k]] = k * WG + lid;
    BARRIER();
    UNROLL for (int k = 0; k < ROUNDS; ++k)
        if (at[k].inside) {
            const u32 s = k * WG + lid, cell = CELL(at[k], w);
            int to = counts[cell];
            for (int e = counts[cell]; e < counts[cell + 1]; ++e) to += members[e] < s;
            points[to] = point_of(at[k], s);
        }
    BARRIER();
    for (int first = 0; first < channels; first += CHANNELS)
        for (u32 pixel = lid; pixel < (u32)h * w; pixel += WG) {
            const u32 i = pixel / w, j = pixel - i * w;
            gather(dy + n * y_n, dx + (n * dx_n + i * dx_h + j * dx_w), counts, points, i, j, first, 1, channels, w, q,
                   dx_c, y_c, y_h, y_w, alpha, beta);
        }
}
