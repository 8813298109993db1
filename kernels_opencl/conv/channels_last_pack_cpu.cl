// The filter as conv/channels_last_cpu.cl reads it.
//
// Defines: those of conv/cpu.h and conv/cpu_places.h; ALL_TAPS of the filter where they are neighbours in it (TAPS_TOGETHER);
// W_CH_IS_ONE, W_M_IS_ONE; and what conv/cpu/channels_last_text.py adds.

#include "conv/cpu.h"
#include "conv/cpu_places.h"

#include "conv/channels_last_units.h"

// Whether a unit has a channel m of dst, and where its first weight lies
#define HAS_ROW(m) ((m) < UNIT_GROUPS * M)
#ifdef GROUP_CH
#define ROW_PLACE(unit, m) (((unit) * UNIT_GROUPS + (m) / GROUP_CH) * (i64)W_GROUP + (m) % GROUP_CH * (i64)W_M)
#else
#define ROW_PLACE(unit, m) ((unit) * (i64)W_GROUP + (m) * (i64)W_M)
#endif

// b[channels][NR] of one tap and panel, zeros in channels of dst beyond the last
NOINLINE void pack_tap(GLOBAL real *b, const GLOBAL T *w, int unit, int m0, int channels SIZES_PARAMS) {
    int ch = 0;
    const int whole = W_M_IS_ONE && UNIT_GROUPS == 1 && m0 + NR <= M;
    for (const GLOBAL T *from = w + ROW_PLACE(unit, m0); whole && ch < channels; ++ch, from += W_CH)
        for (int i = 0; i < NR; i += VW) RSTORE(VLOAD(from, i), b + ch * NR + i);
#if W_CH_IS_ONE && !W_M_IS_ONE
    for (; ch <= channels - VW; ch += VW)
        for (int v = 0; v < NV; ++v) {
            vreal block[VW];
            UNROLL for (int i = 0; i < VW; ++i) {
                const int m = m0 + v * VW + i;
                const GLOBAL T *row = w + ROW_PLACE(unit, m) + ch;
                PREFETCH(row + 2 * VW); /* rows lie too far apart for the processor to find */
                block[i] = HAS_ROW(m) ? VLOAD(row, 0) : (vreal)((real)0);
            }
            transpose(block);
            UNROLL for (int j = 0; j < VW; ++j) RSTORE(block[j], b + (ch + j) * NR + v * VW);
        }
#endif
    for (; ch < channels; ++ch)
        for (int i = 0; i < NR; ++i)
            b[ch * NR + i] = HAS_ROW(m0 + i) ? LOAD(w + ROW_PLACE(unit, m0 + i), ch * W_CH) : (real)0;
}

// packed[phase][unit][block of ch][panel][tap][ch][NR]; a work-group packs PACK_BLOCKS blocks of a panel, neighbours in w
#define PHASE_PACKED ((i64)UNITS * CH * MAX_TAPS * M_PADDED)
#if TAPS_TOGETHER

// Where the first vector of each tap of the filter goes, for a block of `channels`: a tap is one phase's
DEVICE void find_targets(i64 *target, int panel, int channels SIZES_PARAMS) {
    for (int phase = 0; phase < PHASES_D * PHASES_H * PHASES_W; ++phase) {
        const taps_t td = TAPS_OF(D, PHASE_D(phase)), th = TAPS_OF(H, PHASE_H(phase)), tw = TAPS_OF(W, PHASE_W(phase));
        const int taps = td.count * th.count * tw.count;
        for (int t = 0, tap = 0; t < td.count; ++t)
            for (int r = 0; r < th.count; ++r)
                for (int s = 0; s < tw.count; ++s, ++tap)
                    target[find_place(td, th, tw, t, r, s SIZES_ARGS)] = phase * PHASE_PACKED + (panel * taps + tap) * (channels * NR);
    }
}

// All taps of a channel and VW channels of dst at a time, which are transposed: taps are neighbours in w
NOINLINE void pack_block(GLOBAL real *b, const GLOBAL T *w, int unit, int m0, int first, int channels SIZES_PARAMS) {
    i64 target[ALL_TAPS];
    find_targets(target, m0 / NR, channels SIZES_ARGS);
    for (int v = 0; v < NR; v += VW) {
        int row[VW];
        for (int i = 0; i < VW; ++i) row[i] = HAS_ROW(m0 + v + i) ? (int)ROW_PLACE(unit, m0 + v + i) : -1;
        for (int ch = 0; ch < channels; ++ch)
            for (int tap = 0; tap < ALL_TAPS; tap += VW) {
                const int at = (first + ch) * W_CH + tap, taps = MIN(VW, ALL_TAPS - tap);
                vreal block[VW];
                UNROLL for (int i = 0; i < VW; ++i) {
                    block[i] = (vreal)((real)0);
                    if (row[i] < 0) continue;
                    if (W_CH < W_M) PREFETCH(w + (row[i] + at + 4 * VW)); /* rows lie too far apart for the processor to find */
                    if (row[i] + at + VW <= W_SPAN) block[i] = VLOAD(w, row[i] + at);
                    else
                        for (int j = 0; j < taps; ++j) LANE(block[i], j) = LOAD(w, row[i] + at + j);
                }
                transpose(block);
                for (int j = 0; j < taps; ++j) RSTORE(block[j], b + target[tap + j] + ch * NR + v);
            }
    }
}
#endif

KERNEL WG_SIZE(1, 1, 1) conv_channels_last_pack(TENSOR(T, w), TENSOR(real, packed), TENSOR(int, next_tile) SIZES_GIVEN) {
    SIZES_BIND
    BIND(T, w);
    BIND(real, packed);
    BIND(int, next_tile);
    if (GRP(0) == 0 && GRP(1) == 0 && GRP(2) == 0) *next_tile = 0;
    const int unit = GRP(2) % UNITS, phase = GRP(2) / UNITS;
    const int begin = GRP(1) * (PACK_BLOCKS * BLOCK_CH), end = MIN(begin + PACK_BLOCKS * BLOCK_CH, CH);
    GLOBAL real *unit_b = packed + (i64)GRP(2) * CH * MAX_TAPS * M_PADDED;
#if TAPS_TOGETHER
    for (int ch0 = begin; ch0 < end; ch0 += BLOCK_CH)
        pack_block(unit_b + (i64)ch0 * MAX_TAPS * M_PADDED, w, unit, GRP(0) * NR, ch0, MIN(BLOCK_CH, CH - ch0) SIZES_ARGS);
#else
    const taps_t td = TAPS_OF(D, PHASE_D(phase)), th = TAPS_OF(H, PHASE_H(phase)), tw = TAPS_OF(W, PHASE_W(phase));
    const int taps = td.count * th.count * tw.count;
    for (int t = 0, tap = 0; t < td.count; ++t)
        for (int r = 0; r < th.count; ++r)
            for (int s = 0; s < tw.count; ++s, ++tap)
                for (int ch0 = begin; ch0 < end; ch0 += BLOCK_CH) {
                    const int channels = MIN(BLOCK_CH, CH - ch0);
                    GLOBAL real *b = unit_b + (i64)ch0 * MAX_TAPS * M_PADDED + (GRP(0) * taps + tap) * (i64)(channels * NR);
                    pack_tap(b, w + ch0 * (i64)W_CH + find_place(td, th, tw, t, r, s SIZES_ARGS), unit, GRP(0) * NR, channels SIZES_ARGS);
                }
#endif
}
