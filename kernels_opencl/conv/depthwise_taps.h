// Numbers side by side in memory of VW channels each, and the taps of a depthwise filter, as vectors of VW channels on the stack.
//
// Defines: those of a filter in conv/geometry.h; FILTER_IN_ORDER, where a channel's taps are neighbours; FILTER_SPAN; conv/cpu.h is
// to be included before.

#define TAPS (SIZE_D * SIZE_H * SIZE_W)
#define BEYOND (VW * VW)  // what copies of rows may write behind the last one

// VW pixels of a channel from `at` on; beyond the end of the tensor nothing is read
DEVICE vreal load_pixels(const GLOBAL T *in, int at, const int span) {
    vreal v = (vreal)((real)0);
    for (int j = 0; j < MIN(VW, span - at); ++j) LANE(v, j) = LOAD(in, at + j);
    return v;
}

// Copy `count` neighbouring pixels of VW channels, and up to VW - 1 vectors more
NOINLINE void copy_run(__private real *to, const GLOBAL T *in, int from, const int in_c, int count, const int span) {
    for (int q = 0; q < count; q += VW, to += VW * VW) {
        vreal block[VW];
        if (from + q + (VW - 1) * in_c + VW <= span) {
            UNROLL for (int i = 0; i < VW; ++i) block[i] = VLOAD(in, from + q + i * in_c);
        } else {
            UNROLL for (int i = 0; i < VW; ++i) block[i] = load_pixels(in, from + q + i * in_c, span);
        }
        transpose(block);
        UNROLL for (int j = 0; j < VW; ++j) RSTORE(block[j], to + j * VW);
    }
}

// The taps of VW channels from c0 on, VW of each side by side
DEVICE void load_taps(__private real *taps, const GLOBAL T *w, int c0) {
#if FILTER_IN_ORDER
    copy_run(taps, w, c0 * FILTER_G, FILTER_G, TAPS, FILTER_SPAN);
#else
    for (int i = 0; i < TAPS; ++i) {
        const int at = i / (SIZE_H * SIZE_W) * FILTER_D + i / SIZE_W % SIZE_H * FILTER_H + i % SIZE_W * FILTER_W;
        for (int j = 0; j < VW; ++j) taps[i * VW + j] = LOAD(w, (c0 + j) * FILTER_G + at);
    }
#endif
}
