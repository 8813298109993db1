// Any image to NHWC with the channels of each group padded by zeros to chunks of 16 bytes, floats rounded as the tensor cores want them.
//
//   to[pixel][GROUPS * CPAD]     pixel = (n, d, h, w)
//
// TILED: pixels are neighbours in memory (NCHW): 64 pixels x TC channels go through local memory, so that both sides move
// runs of 128 bytes or more. Otherwise a work-item gathers a chunk.
//
// Defines: PLANE_D PLANE_H PLANE_W IMAGES GROUPS CHANNELS CPAD, FROM_N FROM_C FROM_D FROM_H FROM_W (strides), VP (pixels
// of a load, aligned; 1 or 4).

#include "common/types.h"
#include "common/mma.h"
#define PROLOGUE_RUN 1
#include "conv/prologue.h"
#include "conv/mma_element.h"

// what is packed may be computed, as either operand of conv/prologue.h
#ifdef PROLOGUE_FILTER
#define SOURCE_TENSORS FILTER_TENSORS
#define SOURCE_BIND FILTER_BIND
#define SOURCE_LOAD FILTER_LOAD
#else
#define SOURCE_TENSORS IMAGE_TENSORS
#define SOURCE_BIND IMAGE_BIND
#define SOURCE_LOAD IMAGE_LOAD
#endif
#if defined(PROLOGUE_IMAGE) || defined(PROLOGUE_FILTER)
#define COMPUTED
#endif

#define PLANE (PLANE_D * PLANE_H * PLANE_W)
#define WIDTH (GROUPS * CPAD)
#define TC (8 * VE)

#ifdef DTYPE_FLOAT
#define CONVERT(v) tf32_bits(v)
#define SET(chunk, e, bits) (chunk).v[e] = as_float(bits)
#else
#define CONVERT(v) (u32)(v)
#define SET(chunk, e, bits) (chunk).v[e] = (E)(bits)
#endif

// VP neighbouring pixels, which VP divides the plane into
typedef struct ALIGNED(VP * sizeof(E)) {
    E v[VP];
} Pixels;

// the source's channel, or -1 for padding
DEVICE int channel_of(int to) { return to < WIDTH && to % CPAD < CHANNELS ? to / CPAD * CHANNELS + to % CPAD : -1; }

KERNEL WG_SIZE(256, 1, 1) pack_image(TENSOR_RESTRICT(const E, from), TENSOR_RESTRICT(E, to) SOURCE_TENSORS) {
    GRID_WAIT();
    BIND_RESTRICT(const E, from);
    BIND_RESTRICT(E, to);
    SOURCE_BIND
#ifdef TILED
    LOCAL u32 tile[TC * 65];
    const int item = LID(0);
    u32 group = (u32)GRP(0);
    const int c0 = group % ((WIDTH + TC - 1) / TC) * TC;
    group /= (WIDTH + TC - 1) / TC;
    const int p0 = group % ((PLANE + 63) / 64) * 64;
    const u32 n = group / ((PLANE + 63) / 64);
    const int x = item % (64 / VP) * VP, step = 4 * VP;
    Pixels values[TC / (4 * VP)];
    UNROLL for (int i = 0; i < TC / step; ++i) {
        const int channel = channel_of(c0 + i * step + item / (64 / VP));
        const Pixels none = {{0}};
        const int in = channel >= 0 && p0 + x < PLANE;
#ifdef COMPUTED
        values[i] = none;
        UNROLL for (int e = 0; e < VP; ++e) {
            if (in) values[i].v[e] = stored_of(SOURCE_LOAD(from, n * FROM_N + (u32)channel * FROM_C + (u32)(p0 + x), e));
        }
        continue;
#endif
        values[i] = in ? *(const GLOBAL Pixels *)(from + n * FROM_N + (u32)channel * FROM_C + (u32)(p0 + x)) : none;
    }
    UNROLL for (int i = 0; i < TC / step; ++i) {
        UNROLL for (int e = 0; e < VP; ++e) {
            tile[(i * step + item / (64 / VP)) * 65 + x + e] = CONVERT(values[i].v[e]);
        }
    }
    BARRIER();
    UNROLL for (int i = 0; i < 2; ++i) {
        const int p = i * 32 + item / 8, c = item % 8 * VE;
        if (p0 + p >= PLANE || c0 + c >= WIDTH) continue;
        Elements v;
        UNROLL for (int e = 0; e < VE; ++e) SET(v, e, tile[(c + e) * 65 + p]);
        *(GLOBAL Elements *)(to + ((i64)n * PLANE + p0 + p) * WIDTH + c0 + c) = v;
    }
#else
    const u32 i = (u32)GRP(0) * 256u + (u32)LID(0);
    if (i >= (u32)IMAGES * PLANE * (WIDTH / VE)) return;
    const int c = i % (WIDTH / VE) * VE;
    const u32 pixel = i / (WIDTH / VE);
    const u32 w = pixel % PLANE_W, h = pixel / PLANE_W % PLANE_H, d = pixel / (PLANE_W * PLANE_H) % PLANE_D;
    const u32 n = pixel / PLANE;
    const GLOBAL E *at = from + (n * FROM_N + d * FROM_D + h * FROM_H + w * FROM_W);
    Elements v;
    UNROLL for (int e = 0; e < VE; ++e) {
        const int channel = channel_of(c + e);
#ifdef COMPUTED
        v.v[e] = channel >= 0 ? element_of(SOURCE_LOAD(0, (u32)(at - from), (u32)channel * FROM_C)) : (E)0;
#else
        SET(v, e, channel >= 0 ? CONVERT(at[(u32)channel * FROM_C]) : 0);
#endif
    }
    *(GLOBAL Elements *)(to + (i64)pixel * WIDTH + c) = v;
#endif
}
