// What a tile of conv/channels_last_cpu.cl meets of the image, copied for it, with zeros around. After conv/channels_last_tile.h.

// A loop of few turns: compilers would make several of it
#define PLAIN_LOOP _Pragma("clang loop vectorize(disable) unroll(disable)")

#if !IN_PLACE
// Copy `count` neighbours; writes up to VW - 1 reals more, which what is copied next replaces
DEVICE void copy_run(GLOBAL real *x, const GLOBAL T *src, i64 from, int count SIZES_PARAMS) {
    const int whole = from + count <= SRC_SPAN - VW ? count : count - VW + 1;  // near its end no vector goes beyond src
    int i = 0;
    PLAIN_LOOP for (; i < whole; i += VW) RSTORE(VLOAD(src + from, i), x + i);
    PLAIN_LOOP for (; i < count; ++i) x[i] = LOAD(src + from, i);
}

// Copy `channels` of `count` pixels, `step` apart, from `first` on, zeros where they are outside of the row's `size`
NOINLINE void copy_pixels(GLOBAL real *x, const GLOBAL T *src, i64 row, int first, const int step, int size, int count,
                          int channels SIZES_PARAMS) {
    const int low = MIN(count, first < 0 ? (step - 1 - first) / step : 0);
    const int high = MAX(low, MIN(count, first < size ? (size - 1 - first) / step + 1 : 0));
    const i64 pitch = step * (i64)S_W;
    row += first * (i64)S_W;
    clear_scratch(x, low * X_CH);
    if (pitch == X_CH && channels == X_CH)
        copy_run(x + low * X_CH, src, row + low * pitch, (high - low) * X_CH SIZES_ARGS);
    else
        PLAIN_LOOP for (int p = low; p < high; ++p) copy_run(x + p * X_CH, src, row + p * pitch, channels SIZES_ARGS);
    clear_scratch(x + high * X_CH, (count - high) * X_CH);
}

// Copy `count` pixels that tap (t, r) of a row of positions meets, from the tap's column `first` on
DEVICE void copy_tap(GLOBAL real *x, const GLOBAL T *src, row_t at, taps_t td, taps_t th, int t, int r, int first,
                     const int step, int count, int ch0, int channels SIZES_PARAMS) {
    const int d = at.d * SRC_STEP_D + td.offset + t * TAP_SHIFT_D, h = at.h * SRC_STEP_H + th.offset + r * TAP_SHIFT_H;
    const int inside = d >= 0 && d < SRC_D && h >= 0 && h < SRC_H;
    const i64 row = at.n * (i64)S_N + d * (i64)S_D + h * (i64)S_H + ch0;
    copy_pixels(x, src, row, first, step, inside ? SRC_W : 0, count, channels SIZES_ARGS);
}

#if GATHERED
// Copy the pixels that each tap meets, tap by tap: of `columns` positions from q0 on, and zeros for the last register tile
DEVICE void gather(GLOBAL real *x, const GLOBAL T *src, taps_t td, taps_t th, taps_t tw, int q0, int columns, int ch0,
                   int channels SIZES_PARAMS) {
    for (int t = 0; t < td.count; ++t)
        for (int r = 0; r < th.count; ++r)
            for (int s = 0; s < tw.count; ++s, x += COPIED * X_CH) {
                for (int p = 0, count; p < columns; p += count) {
                    const int q = (q0 + p) % GRID_W;
                    count = MIN(GRID_W - q, columns - p);
                    copy_tap(x + p * X_CH, src, find_row((q0 + p) / GRID_W SIZES_ARGS), td, th, t, r,
                             q * SRC_STEP_W + tw.offset + s * TAP_SHIFT_W, SRC_STEP_W, count, ch0, channels SIZES_ARGS);
                }
                copy_pixels(x + columns * X_CH, src, 0, 0, 0, 0, (MR - columns % MR) % MR, channels SIZES_ARGS);
            }
}
#endif
#endif
