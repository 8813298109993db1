// Which tap and channel conv/mma.cu copies next: the order of K.
//
// Taps and, fastest, their CPAD channels; or TAPS_INNER: slices are of one tap each, and all taps of some channels come before
// the next channels, so that the first-level cache has what neighbouring taps share.

typedef struct {
    int channel, d, h, w, k;  // the tap and the channel of a chunk, and their place in a filter's column
} Place;

DEVICE int taps_of(const Phase *phase) { return phase->taps_d * phase->taps_h * phase->taps_w; }
DEVICE int one_at_least(int size) { return size > 0 ? size : 1; }

#ifdef TAPS_INNER
#define copy_image copy_kept
DEVICE int slices_of(const Phase *phase) { return (CPAD + BK - 1) / BK * taps_of(phase); }
DEVICE bool in_sum(const Place *at, const Phase *phase) { return at->channel < CPAD; }
DEVICE int first_of(Place *at, int slice, int channel, const Phase *phase) {
    const int taps = one_at_least(taps_of(phase)), tap = slice % taps;
    at->channel = slice / taps * BK + channel;
    at->k = tap * FILTER_TAP + at->channel;
    return tap;
}
DEVICE void advance(Place *at, const Phase *phase) {
    at->k += FILTER_TAP;
    if (++at->w < phase->taps_w) return;
    at->w = 0;
    if (++at->h < phase->taps_h) return;
    at->h = 0;
    if (++at->d < phase->taps_d) return;
    at->d = 0;
    at->channel += BK;
    at->k = at->channel;
}
#else
#define copy_image copy_chunk
DEVICE int slices_of(const Phase *phase) { return (taps_of(phase) * CPAD + BK - 1) / BK; }
DEVICE bool in_sum(const Place *at, const Phase *phase) { return at->k < taps_of(phase) * CPAD; }
DEVICE int first_of(Place *at, int slice, int channel, const Phase *phase) {
    at->k = slice * BK + channel;
    at->channel = at->k % CPAD;
    return at->k / CPAD;
}
DEVICE void advance(Place *at, const Phase *phase) {
    at->k += BK;
    at->channel += BK;
    for (int taps = 0; taps < (BK - 1) / CPAD + 1 && at->channel >= CPAD; ++taps) {
        at->channel -= CPAD;
        if (++at->w < phase->taps_w) continue;
        at->w = 0;
        if (++at->h < phase->taps_h) continue;
        at->h = 0;
        ++at->d;
    }
}
#endif

// chunk `channel` of slice `slice`
DEVICE Place place_at(int slice, int channel, const Phase *phase) {
    Place at;
    const int tap = first_of(&at, slice, channel, phase), row = tap / one_at_least(phase->taps_w);
    at.w = tap % one_at_least(phase->taps_w);
    at.h = row % one_at_least(phase->taps_h);
    at.d = row / one_at_least(phase->taps_h);
    return at;
}

// and how it copies and reads the filter
#ifdef FILTER_ACROSS
#include "conv/mma_across.h"
#else
#include "conv/mma_along.h"
#endif
