// The filters of winograd/pack_cpu.cl: nine taps each, read for VW filters at a time, and transformed into panels.
//
// Defines: W_M, W_H, W_W, strides of filters and taps; TAPS_TOGETHER where the nine taps are neighbours; M filters; PANELS and PANEL.

#define TAP_PLACE(tap) ((tap) / 3 * W_H + (tap) % 3 * W_W)

// The nine taps of one channel of VW filters from filter m on; beyond the last filter, the last one again
DEVICE void load_filters(vreal *g, const GLOBAL T *w, int m) {
#ifdef TAPS_TOGETHER
    UNROLL for (int first = 0; first < 9; first += VW) {  // the last vector overlaps the one before, because nothing may follow
        const int t = MIN(first, 9 - VW);
        vreal block[VW];
        UNROLL for (int j = 0; j < VW; ++j) block[j] = VLOAD(w, MIN(m + j, M - 1) * W_M + t);
        transpose(block);
        UNROLL for (int i = 0; i < VW; ++i) g[W_W < 0 ? 8 - t - i : t + i] = block[i];
    }
#else
#if W_M == 1
    if (m + VW <= M) {
        UNROLL for (int tap = 0; tap < 9; ++tap) g[tap] = VLOAD(w, m + TAP_PLACE(tap));
        return;
    }
#endif
    for (int tap = 0; tap < 9; ++tap)
        UNROLL for (int j = 0; j < VW; ++j) LANE(g[tap], j) = LOAD(w, MIN(m + j, M - 1) * W_M + TAP_PLACE(tap));
#endif
}

// Transform one channel of VW filters into a panel
DEVICE void transform_taps(GLOBAL real *a, const vreal *g) {
    vreal rows[3][SIDE];
    UNROLL for (int r = 0; r < 3; ++r) transform_filter(rows[r], g[3 * r], g[3 * r + 1], g[3 * r + 2]);
    UNROLL for (int s = 0; s < SIDE; ++s) {
        vreal column[SIDE];
        transform_filter(column, rows[0][s], rows[1][s], rows[2][s]);
        UNROLL for (int r = 0; r < SIDE; ++r) RSTORE(column[r], a + (i64)(r * SIDE + s) * PANELS * PANEL);
    }
}
