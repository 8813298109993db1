// The filters of winograd/winograd_cpu.cl and winograd/channels_last_cpu.cl, transformed:
//
//     packed [group][plane][panel][ch][WIDTH]     PANEL_REST elements between panels
//
// Defines: those of winograd/taps_cpu.h; WIDTH, filters of a panel.

#include "conv/cpu.h"
#include "winograd/winograd_cpu.h"

#define PANEL (CH * WIDTH + PANEL_REST)
#define PANELS (M_PADDED / WIDTH)

#include "winograd/taps_cpu.h"

// One work-group transforms the filters of a panel for all channels, and the first one starts the counter
KERNEL WG_SIZE(1, 1, 1) winograd_cpu_filter(TENSOR(T, w), TENSOR(real, packed), TENSOR(int, next_tile)) {
    BIND(T, w);
    BIND(real, packed);
    BIND(int, next_tile);
    if (GRP(0) == 0 && GRP(1) == 0) *next_tile = 0;
    const int m0 = GRP(0) * WIDTH, group = GRP(1);
    w += W_FIRST + group * W_GROUP;
    GLOBAL real *a = packed + ((i64)group * PLANES * PANELS + GRP(0)) * PANEL;
    int ch = 0;
#if W_CH == 1 && VW > 1 && (WIDTH <= VW || WIDTH % VW == 0)  // VW channels at a time are transposed
    for (; ch <= CH - VW; ch += VW, w += VW, a += VW * WIDTH)
        for (int i0 = 0; i0 < WIDTH; i0 += VW) {
            vreal g[VW][9];
            for (int tap = 0; tap < 9; ++tap) {
                vreal block[VW];
                UNROLL for (int j = 0; j < VW; ++j) block[j] = VLOAD(w, MIN(m0 + i0 + j, M - 1) * W_M + TAP_PLACE(tap));
                transpose(block);
                UNROLL for (int i = 0; i < VW; ++i) g[i][tap] = block[i];
            }
            for (int i = 0; i < VW; ++i) transform_taps(a + i * WIDTH + i0, g[i]);
        }
#endif
    for (; ch < CH; ++ch, a += WIDTH, w += W_CH)
        for (int i0 = 0; i0 < WIDTH; i0 += VW) {  // writes lanes beyond WIDTH, too, where the next channel or nothing follows
            vreal g[9];
            load_filters(g, w, m0 + i0);
            transform_taps(a + i0, g);
        }
}
