// Products of conv/mma.cu and conv/mma_filter.cu by warpgroups (common/wgmma.h), each of 64 * MT rows and WN columns.
//
//   a side along K     panels of all its lines, 128 bytes of K wide
//   across K           panels of 64 lines with BK rows each
//
// A sub-group's tile i of 16 rows, and tiles of 8 columns, are those that the kernels store: where they are not neighbours, lines
// have other places in the panels, A_SLOT and B_SLOT. AHEAD slices are on their way while one is multiplied; with KEPT, its
// products still run when those of the next are issued. RESIDENT work-groups shall share a multiprocessor.

#include "common/wgmma.h"

#define KEPT (STAGES > 3)
#define AHEAD (STAGES - 1 - KEPT)
#define BOUNDS __launch_bounds__(ITEMS, RESIDENT)
#define PANELS_AT(tiles) ((local_address(tiles) + 1023) / 1024 * 1024)
static_assert(BK * sizeof(E) == 128 && BM % (4 * WM) == 0, "a slice is as wide as a panel, and warpgroups have their rows alone");

#define A_TURN(v) ((v) / (8 * ROW_RUN) * (ROW_RUN / 2) + (v) % ROW_RUN / 2)
#define GROUP_SLOT(row) ((row) / (4 * WM) * (4 * WM) + (row) / WM % 4 * 16)
#define ROW_SLOT(row) (GROUP_SLOT(row) + (row) % WM / 16 * 64 + (row) % 16)
#define RUN_SLOT(row) (GROUP_SLOT(row) + A_TURN((row) % WM) * 64 + (row) % (8 * ROW_RUN) / ROW_RUN + (row) % 2 * 8)
#define A_SLOT(row) (ROW_RUN > 2 ? RUN_SLOT(row) : ROW_SLOT(row))
#define B_SLOT(column) \
    ((column) / (8 * RUN) * (8 * RUN) + (column) % (2 * RUN) / 2 * 8 + (column) % (8 * RUN) / (2 * RUN) * 2 + (column) % 2)
#define A_AT(row, chunk) in_panel(A_SLOT(row), chunk)
#define B_AT(column, chunk) in_panel(B_SLOT(column), chunk)
#define PLANE_AT(k, chunk) ACROSS_AT(k, ROW_SLOT((chunk) * 8) / 8)
#define ACROSS_DOWN 128  // bytes from a row to the next
#define ACROSS_AT(k, chunk) ((chunk) / 8 * (BK * 128) + in_panel(k, (chunk) % 8))

// What a warpgroup adds of a slice, whose sides lie at these bytes
template <int LEFT_ACROSS, int ACROSS> DEVICE void issue_slice(float acc[MT][NT][4], u32 a_tile, u32 b_tile, int group) {
    const int row = group % (BM / (4 * WM)) * (4 * WM), column = group / (BM / (4 * WM)) * WN;
    const u64 a = panels_of(a_tile + row * 128, LEFT_ACROSS ? BK * 128 : 0);
    const u64 b = panels_of(b_tile + column * 128, ACROSS ? BK * 128 : 0);
    products_begin();
    UNROLL for (int step = 0; step < 4; ++step) {
        const int down = step * (LEFT_ACROSS ? 16 * 128 : 32), right = step * (ACROSS ? 16 * 128 : 32);
        UNROLL for (int i = 0; i < MT; ++i) {
            multiply_local<LEFT_ACROSS, ACROSS>(columns<WN>(), acc[i][0], a + IN_PANELS(i * 64 * 128 + down), b + IN_PANELS(right));
        }
    }
    products_issued();
}

// Adds all slices, of which the first AHEAD are on their way; bring(s) starts the copies of another one, and finish(s) ends them
template <int LEFT_ACROSS, int ACROSS, class Bring, class Finish>
DEVICE void multiply_slices(float acc[MT][NT][4], u32 base, u32 a_bytes, int count, Bring bring, Finish finish) {
    const int group = of_all_lanes(threadIdx.x / 128);
    for (int s = 0; s < count; ++s) {
        copies_wait<AHEAD - 1>();
        local_written();
        __syncthreads();
        const u32 stage = base + s % STAGES * STAGE_BYTES;
        issue_slice<LEFT_ACROSS, ACROSS>(acc, stage, stage + a_bytes, group);
        bring(s + AHEAD);
        finish(s + AHEAD);
        products_wait<KEPT>();
    }
    products_wait<0>();
    UNROLL for (int i = 0; i < MT; ++i) sums_stay<NT * 4>(acc[i][0]);
}
