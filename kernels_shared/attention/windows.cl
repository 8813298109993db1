// What attention over windows of keys is told of them: the bounds of each row's, in multi-head attention. Host define: WG.

#include "common/types.h"

// The windows of rows as attention/attention.h has them, six numbers each; a window without keys widens no bound. A work-group has
// WG rows, and looks at all others for what those before and behind its own say; one of a CPU has all.
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define WINDOW_OF(i)                                                                                       \
    const i64 at_##i = i % steps * windows_step;                                                           \
    const int first = MOST(windows[at_##i], 0), last = LEAST(windows[windows_end + at_##i], keys), some = first < last;
#define PUT_WINDOW(i, which, v) to[(which) * rows + (i)] = v
KERNEL WG_SIZE(WG, 1, 1)
mha_windows(TENSOR(const int, windows), TENSOR(int, to), const i64 windows_end, const i64 windows_step, const int rows,
            const int steps, const int keys) {
    GRID_WAIT();
    BIND(const int, windows);
    BIND(int, to);
    int least = keys, most = 0, top = 0, low = keys;
#if WG == 1
    for (int i = 0; i < rows; ++i) {
        WINDOW_OF(i)
        most = some ? MOST(most, last) : most;
        top = some ? MOST(top, first) : keys;
        PUT_WINDOW(i, 0, first);
        PUT_WINDOW(i, 1, last);
        PUT_WINDOW(i, 3, most);
        PUT_WINDOW(i, 4, top);
    }
    for (int i = rows - 1; i >= 0; --i) {
        WINDOW_OF(i)
        least = some ? LEAST(least, first) : least;
        low = some ? LEAST(low, last) : 0;
        PUT_WINDOW(i, 2, least);
        PUT_WINDOW(i, 5, low);
    }
#else
    LOCAL int leasts[WG], mosts[WG], tops[WG], lows[WG];
    const int lid = LID(0), begin = GRP(0) * WG, own = begin + lid;
    int own_first = 0, own_last = 0;
    for (int i = lid; i < rows; i += WG) {
        WINDOW_OF(i)
        if (i == own) {
            own_first = first;
            own_last = last;
        } else if (i < begin) {
            most = some ? MOST(most, last) : most;
            top = some ? MOST(top, first) : keys;
        } else {
            least = some ? LEAST(least, first) : least;
            low = some ? LEAST(low, last) : 0;
        }
    }
#define SHOW_ALL()       \
    leasts[lid] = least; \
    mosts[lid] = most;   \
    tops[lid] = top;     \
    lows[lid] = low;
    SHOW_ALL()
    BARRIER();
    for (int step = WG / 2; step > 0; step /= 2) {
        if (lid < step) {
            leasts[lid] = LEAST(leasts[lid], leasts[lid + step]);
            mosts[lid] = MOST(mosts[lid], mosts[lid + step]);
            tops[lid] = MOST(tops[lid], tops[lid + step]);
            lows[lid] = LEAST(lows[lid], lows[lid + step]);
        }
        BARRIER();
    }
    least = leasts[0];
    most = mosts[0];
    top = tops[0];
    low = lows[0];
    if (own < rows) {
        const int some = own_first < own_last;
        least = some ? LEAST(least, own_first) : least;
        most = some ? MOST(most, own_last) : most;
        top = some ? MOST(top, own_first) : keys;
        low = some ? LEAST(low, own_last) : 0;
    }
    BARRIER();
    for (int step = 1; step < WG; step *= 2) {
        SHOW_ALL()
        BARRIER();
        if (lid >= step) {
            most = MOST(most, mosts[lid - step]);
            top = MOST(top, tops[lid - step]);
        }
        if (lid + step < WG) {
            least = LEAST(least, leasts[lid + step]);
            low = LEAST(low, lows[lid + step]);
        }
        BARRIER();
    }
    if (own >= rows) return;
    PUT_WINDOW(own, 0, own_first);
    PUT_WINDOW(own, 1, own_last);
    PUT_WINDOW(own, 2, least);
    PUT_WINDOW(own, 3, most);
    PUT_WINDOW(own, 4, top);
    PUT_WINDOW(own, 5, low);
#endif
}
