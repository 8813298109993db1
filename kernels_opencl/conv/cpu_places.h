// Which taps the positions of a phase meet, where these lie in the filter, and which image and place a row of positions is.
//
// Defines: the geometry of conv/cpu/gemm.py's Sum; conv/cpu.h is to be included before.

// Taps of one phase along one axis: first, first + TAP_STEP, ...; the first one reads at position * SRC_STEP + offset.
typedef struct {
    int first, count, offset;
} taps_t;

DEVICE taps_t find_taps(int phase, const int size, const int pad, const int stride, const int dilation, const int step) {
    taps_t taps;
#ifdef BACKWARD_DATA
    taps.first = 0;
    while (taps.first < size && (phase + pad - taps.first * dilation) % stride != 0) ++taps.first;
    taps.count = (size - taps.first + step - 1) / step;
    taps.offset = (phase + pad - taps.first * dilation) / stride;
#else
    taps.first = 0;
    taps.count = size;
    taps.offset = -pad;
#endif
    return taps;
}

#define TAPS_OF(axis, phase) find_taps(phase, TAPS_##axis, PAD_##axis, STRIDE_##axis, DILATION_##axis, TAP_STEP_##axis)
#define PHASE_D(phase) ((phase) / (PHASES_H * PHASES_W))
#define PHASE_H(phase) ((phase) / PHASES_W % PHASES_H)
#define PHASE_W(phase) ((phase) % PHASES_W)

// Where tap (t, r, s) of a phase lies in the filter
DEVICE int find_place(taps_t td, taps_t th, taps_t tw, int t, int r, int s SIZES_PARAMS) {
    int ft = td.first + t * TAP_STEP_D, fr = th.first + r * TAP_STEP_H, fs = tw.first + s * TAP_STEP_W;
#ifdef FLIP
    ft = TAPS_D - 1 - ft, fr = TAPS_H - 1 - fr, fs = TAPS_W - 1 - fs;
#endif
    return ft * W_D + fr * W_H + fs * W_W;
}

// Rows of positions: which image and which place in it
typedef struct {
    int n, d, h;
} row_t;

DEVICE row_t find_row(int row SIZES_PARAMS) {
    row_t at;
    at.h = row % GRID_H;
    at.d = row / GRID_H % GRID_D;
    at.n = row / (GRID_H * GRID_D);
    return at;
}
