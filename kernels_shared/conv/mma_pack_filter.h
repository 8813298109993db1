// Filters for tensor cores: packed[group][phase][column][FILTER_PITCH], K = (taps of the phase, channel), floats rounded as these want them.
//
// A work-group moves TILE_COL columns x TILE_CH channels x TILE_TAP taps through local memory: reads follow the filter's
// own order, ELEMENT(e) = column, channel and tap of the e-th; writes have channels fastest.
//
// Defines: those of conv/geometry.h, COLS CHANNELS CPAD GROUPS PHASES FILTER_PITCH FILTER_G FILTER_M FILTER_C FILTER_D
// FILTER_H FILTER_W, TILE_COL TILE_CH TILE_TAP, READ_COL(e) READ_CH(e) READ_TAP(e). After common/types.h, common/mma.h, conv/geometry.h.

#define TAPS (SIZE_D * SIZE_H * SIZE_W)
#define TILES_COL ((COLS + TILE_COL - 1) / TILE_COL)
#define TILES_CH ((CPAD + TILE_CH - 1) / TILE_CH)
#define TILES_TAP ((TAPS + TILE_TAP - 1) / TILE_TAP)
#define PACK_PIECES (TILES_COL * TILES_CH * TILES_TAP * GROUPS)
#define PACK_PLACES (TILE_COL * TILE_TAP * (TILE_CH + 1))  // of a tile in local memory
#define SPOT(col, tap, ch) (((col) * TILE_TAP + (tap)) * (TILE_CH + 1) + (ch))

#ifdef PROLOGUE_FILTER
#define FILTER_ELEMENT(at) element_of(FILTER_LOAD(filter, at, 0))
#else
#define FILTER_ELEMENT(at) CONVERT(filter[at])
#endif
#ifdef DTYPE_FLOAT
#define CONVERT(v) as_float(tf32_bits(v))
#else
#define CONVERT(v) (v)
#endif

#ifdef DATA_GRADIENT
// the phase that the tap belongs to in one dimension: (phase + padding - tap * dilation) % stride == 0
#define PHASE_OF(tap, X) ((((tap) * DILATION_##X - PADDING_##X) % PHASES_##X + PHASES_##X) % PHASES_##X)
#endif

DEVICE void pack_piece(const GLOBAL E *filter, GLOBAL E *packed, LOCAL_ARG E *tile, u32 group, int item, int items FILTER_PARAMS) {
    const int ch0 = group % TILES_CH * TILE_CH;
    group /= TILES_CH;
    const int tap0 = group % TILES_TAP * TILE_TAP;
    group /= TILES_TAP;
    const int col0 = group % TILES_COL * TILE_COL, g = group / TILES_COL;
    for (int e = item; e < TILE_COL * TILE_TAP * TILE_CH; e += items) {
        const int col = READ_COL(e), ch = READ_CH(e), tap = READ_TAP(e);
        const int w = (tap0 + tap) % SIZE_W, h = (tap0 + tap) / SIZE_W % SIZE_H, d = (tap0 + tap) / (SIZE_W * SIZE_H);
        const int in = col0 + col < COLS && ch0 + ch < CHANNELS && tap0 + tap < TAPS;
        const i64 at = (i64)g * FILTER_G + (i64)(col0 + col) * FILTER_M + (i64)(ch0 + ch) * FILTER_C +
                       (i64)FILTER_INDEX(d, SIZE_D) * FILTER_D + (i64)FILTER_INDEX(h, SIZE_H) * FILTER_H +
                       (i64)FILTER_INDEX(w, SIZE_W) * FILTER_W;
        tile[SPOT(col, tap, ch)] = in ? FILTER_ELEMENT(at) : (E)0;
    }
    BARRIER();
    for (int e = item; e < TILE_COL * TILE_TAP * TILE_CH; e += items) {
        const int ch = e % TILE_CH, tap = e / TILE_CH % TILE_TAP, col = e / (TILE_CH * TILE_TAP);
        if (col0 + col >= COLS || ch0 + ch >= CPAD || tap0 + tap >= TAPS) continue;
        int w = (tap0 + tap) % SIZE_W, h = (tap0 + tap) / SIZE_W % SIZE_H, d = (tap0 + tap) / (SIZE_W * SIZE_H);
        int z = 0, index = tap0 + tap;
#ifdef DATA_GRADIENT
        z = (PHASE_OF(d, D) * PHASES_H + PHASE_OF(h, H)) * PHASES_W + PHASE_OF(w, W);
        const Phase phase = phase_of(z);
        w = (w - phase.first_w) / HOP_W;
        h = (h - phase.first_h) / HOP_H;
        d = (d - phase.first_d) / HOP_D;
        index = (d * phase.taps_h + h) * phase.taps_w + w;
#endif
        const i64 row = ((i64)g * PHASES + z) * COLS + col0 + col;
        packed[row * FILTER_PITCH + index * CPAD + ch0 + ch] = tile[SPOT(col, tap, ch)];
    }
}
