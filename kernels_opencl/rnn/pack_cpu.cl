// R of a layer in the order in which the steps on a CPU read it: packed[direction][panel][k][PANEL], zeros beyond the
// units. Forward, a vector of a panel is one gate of neighbouring units, and k runs over the hidden state, as R's memory
// does: blocks of VW by VW are turned over. TURNED, for gradients, vectors are units and k runs over the gates' rows.
//
// A work-group packs a panel.

#include "rnn/step_cpu.h"

KERNEL WG_SIZE(1, 1, 1)
rnn_pack(TENSOR(const T, w), TENSOR(real, packed_all), const i64 w_start, const i64 w_direction, const int hidden,
         const int depth, const int panels) {
    BIND(const T, w);
    BIND(real, packed_all);
    const int panel = GRP(0) % panels, d = GRP(0) / panels;
    GLOBAL real *packed = packed_all + (i64)GRP(0) * depth * PANEL;
    const GLOBAL T *from = w + w_start + d * w_direction;
    for (int v = 0; v < PANEL_VECTORS; ++v) {
        const int unit = (panel * GATE_VECTORS + v % GATE_VECTORS) * VW, gate = v / GATE_VECTORS;
        const int count = hidden - unit;
        GLOBAL real *to = packed + v * VW;
        int k = 0;
#ifdef TURNED
        if (count >= VW)
            for (; k < depth; ++k) RSTORE(VLOAD(from, (i64)k * hidden + unit), to + (i64)k * PANEL);
        for (; k < depth; ++k)
            for (int j = 0; j < VW; ++j) to[(i64)k * PANEL + j] = j < count ? LOAD(from, (i64)k * hidden + unit + j) : (real)0;
#else
        const GLOBAL T *rows = from + ((i64)gate * hidden + unit) * hidden;
        for (; count >= VW && k <= depth - VW; k += VW) {
            vreal block[VW];
            UNROLL for (int i = 0; i < VW; ++i) block[i] = VLOAD(rows, (i64)i * hidden + k);
            transpose(block);
            UNROLL for (int i = 0; i < VW; ++i) RSTORE(block[i], to + (i64)(k + i) * PANEL);
        }
        for (; k < depth; ++k)
            for (int j = 0; j < VW; ++j) to[(i64)k * PANEL + j] = j < count ? LOAD(rows, (i64)j * hidden + k) : (real)0;
#endif
    }
}
