// The gradient of pooling as a CPU likes it: a work-item makes one image plane of dx, and its lanes are neighbouring windows.
//
// Rows are kept taken apart by stride, so that any tap of neighbouring windows is one run of memory; u = w + PAD_W:
//
//   row       u:  0 1 2 3 4 5 6 7        part 0:  0 2 4 6       window q, tap s:  part s % STRIDE_W, place q + s / STRIDE_W
//                                        part 1:  1 3 5 7       (stride 2)
//
// A ring holds the rows that the windows of one row p cover, of x and of dx. Max pooling finds each window's winner as it
// goes along, so x is read once and nothing is noted; then each tap adds dy to dx where it won.
//
// Host defines: those of pool/pooling.h; RING (rows), LENGTH (numbers of a part, whole vectors), PARTS = STRIDE_W, VW >= 4, HALF_VW = VW / 2,
// VECTORS_Q (vectors of a row of windows), CONTIGUOUS_Y (rows of dy are read in vectors), STREAMED (dx is larger than caches, so
// it goes past them).

#include "pool/pooling.h"

#define REACH ((WINDOW_W - 1) / STRIDE_W)
#define TOP_ROW(p) ((p)*STRIDE_H - PAD_H)
#define SLOT(h) (((h) + RING * 64) % RING)  // for rows above the image as well
#define GAPS (STRIDE_H > WINDOW_H)  // rows that no window covers
#define FIRST_HERE(r) (!GAPS && (r) >= WINDOW_H - STRIDE_H)  // no window above has its row
#if WINDOW_H * WINDOW_W <= 64
#define UNROLL_ROWS UNROLL
#else
#define UNROLL_ROWS  // more would take seconds to compile
#endif
#if W <= 16 * VW
#define UNROLL_WIDTH UNROLL
#else
#define UNROLL_WIDTH
#endif
typedef PD_CAT(PD_REAL, HALF_VW) half_vreal;
typedef half_vreal half_at __attribute__((aligned(sizeof(real))));
typedef vreal vreal_at __attribute__((aligned(sizeof(real))));
#define LANES(p) (*(vreal_at *)(p))
#define HALF_LANES(p) (*(half_at *)(p))

#define PART(row, u) ((row) + (u) % PARTS * LENGTH + (u) / PARTS)

#if PARTS == 2
#define LEFT_PART (PAD_W % 2)  // of column 0
#define FIRST_PLACE ((PAD_W + 1) / 2)
#define OF_EVEN(row, w) ((row) + LEFT_PART * LENGTH + ((w) + PAD_W) / 2)
#define OF_ODD(row, w) ((row) + (1 - LEFT_PART) * LENGTH + ((w) + 1 + PAD_W) / 2)
#endif

// The last vector of a row may overlap the one before; an odd place would exchange the parts.
#define OVERLAP (W % VW != 0 && W > VW && (W - VW) % PARTS == 0)

#if PARTS == 1
DEVICE void take_vector(const GLOBAL T *from, real *row, int w) { LANES(row + w + PAD_W) = VLOAD(from, w); }
DEVICE vreal put_vector(const real *row, int w) { return LANES(row + w + PAD_W); }
#elif PARTS == 2
DEVICE void take_vector(const GLOBAL T *from, real *row, int w) {
    const vreal v = VLOAD(from, w);
    HALF_LANES(OF_EVEN(row, w)) = v.even;
    HALF_LANES(OF_ODD(row, w)) = v.odd;
}
DEVICE vreal put_vector(const real *row, int w) {
    vreal v;
    v.even = HALF_LANES(OF_EVEN(row, w));
    v.odd = HALF_LANES(OF_ODD(row, w));
    return v;
}
#endif

DEVICE void take_apart(const GLOBAL T *from, real *row) {
    int w = 0;
#if PARTS <= 2
    UNROLL_WIDTH for (; w + VW <= W; w += VW) take_vector(from, row, w);
    if (OVERLAP) {
        take_vector(from, row, W - VW);
        w = W;
    }
#endif
    for (; w < W; ++w) *PART(row, w + PAD_W) = LOAD(from, w);
}

#if defined(STREAMED) && defined(PD_VECTORS_STREAM) && PARTS <= 2
#define HALF_STREAM(p, v) __builtin_nontemporal_store(v, (GLOBAL half_vreal *)(p))
DEVICE void stream_together(const real *row, GLOBAL T *to, real alpha) {
    int w = 0;
    UNROLL_WIDTH for (; w + VW <= W; w += VW) {
        const vreal v = put_vector(row, w) * alpha;
        HALF_STREAM(to + w, v.lo);
        HALF_STREAM(to + w + HALF_VW, v.hi);
    }
    if (OVERLAP) {
        const vreal v = put_vector(row, W - VW) * alpha;
        if (W % VW == HALF_VW) HALF_STREAM(to + W - HALF_VW, v.hi);
        else VSTORE(to, W - VW, v);
        w = W;
    }
    for (; w < W; ++w) STORE(to, w, *PART(row, w + PAD_W) * alpha);
}
#define STREAM_TAKES(p) ((u64)(p) % sizeof(half_vreal) == 0)
#else
#define STREAM_TAKES(p) 0
#define stream_together(row, to, alpha)
#endif

DEVICE void put_together(const real *row, GLOBAL T *to, real alpha, real beta) {
    int w = 0;
    if (beta == (real)0 && STREAM_TAKES(to)) {
        stream_together(row, to, alpha);
        return;
    }
#if PARTS <= 2
    UNROLL_WIDTH for (; w + VW <= W; w += VW) VBLEND(to, w, alpha, put_vector(row, w), beta);
    if (OVERLAP && beta == (real)0) {
        VSTORE(to, W - VW, put_vector(row, W - VW) * alpha);
        w = W;
    }
#endif
    for (; w < W; ++w) BLEND(to, w, alpha, *PART(row, w + PAD_W), beta);
}

DEVICE void clear(real *row) {
    for (int i = 0; i < PARTS * LENGTH; i += VW) LANES(row + i) = VSPLAT(0);
}

#ifdef PROPAGATE_NAN
#define OUTSIDE (-INFINITY_OF(real))  // which is above nothing
// The places of windows q0, q0 + 1, ..., of which some have no winner: they hold nothing above -inf.
DEVICE vreal with_first_cells(vreal place, const GLOBAL T *from, int first_h, int q0) {
    real lanes[VW];
    LANES(lanes) = place;
    _Pragma("unroll 1") for (int i = 0; i < VW; ++i) {
        if (lanes[i] < (real)0 && q0 + i < Q)
            lanes[i] = (real)first_cell(from, 0, first_h, (q0 + i) * STRIDE_W - PAD_W);
    }
    return LANES(lanes);
}
#else
#define OUTSIDE ((real)NAN)  // which is no more than -inf either
#endif

KERNEL WG_SIZE(1, 1, 1)
pooling_planes(TENSOR_RESTRICT(const T, dy),
#ifdef MODE_MAX
               TENSOR_RESTRICT(const T, x),
#endif
               TENSOR_RESTRICT(T, dx), const real alpha, const real beta) {
    BIND_RESTRICT(const T, dy);
#ifdef MODE_MAX
    BIND_RESTRICT(const T, x);
#endif
    BIND_RESTRICT(T, dx);
    const idx_t plane = GRP(0), c = plane % C, n = plane / C;
    const GLOBAL T *gradient = dy + (n * Y_N + c * Y_C);
    GLOBAL T *to = dx + (n * X_N + c * X_C);
    // dy and the winners of a row of windows, REACH of none before the first and enough behind the last
    real sums[(RING + 1) * PARTS * LENGTH], around[REACH + LENGTH];
    real *const g = around + REACH;
    for (int i = 0; i < (RING + 1) * PARTS * LENGTH; i += VW) LANES(sums + i) = VSPLAT(0);
    for (int i = 0; i < REACH + LENGTH; ++i) around[i] = 0;
#ifdef MODE_MAX
    real winners[REACH + LENGTH];
    real *const won = winners + REACH;
    for (int i = 0; i < REACH + LENGTH; ++i) winners[i] = NONE;
    const GLOBAL T *from = x + (n * X_N + c * X_C);
    real lines[(RING + 1) * PARTS * LENGTH + VW];  // windows past the last may reach into the next part
    for (int i = 0; i < (RING + 1) * PARTS * LENGTH + VW; i += VW) LANES(lines + i) = VSPLAT(OUTSIDE);
#ifdef PROPAGATE_NAN
    const real numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#endif
    int taken = 0;
#endif
    int done = 0;

    for (int p = 0; p < P; ++p) {
        const GLOBAL T *row = gradient + p * Y_H;
        int q = 0;
#ifdef MODE_MAX
#ifdef CONTIGUOUS_Y
        for (; q + VW <= Q; q += VW) LANES(g + q) = VLOAD(row, q);
#endif
        for (; q < Q; ++q) g[q] = LOAD(row, q * Y_W);
        if (taken < TOP_ROW(p)) taken = TOP_ROW(p);
        for (; taken < TOP_ROW(p) + WINDOW_H && taken < H; ++taken)
            take_apart(from + taken * X_H, lines + SLOT(taken) * (PARTS * LENGTH));
#else
        for (; q < Q; ++q) g[q] = LOAD(row, q * Y_W) * SHARE(0, p, q);
#endif
#ifdef MODE_MAX
        const real *rows[WINDOW_H];
        for (int r = 0; r < WINDOW_H; ++r)  // a row outside is one that nothing was ever put into
            rows[r] = lines + (INSIDE(TOP_ROW(p) + r, H) ? SLOT(TOP_ROW(p) + r) : RING) * (PARTS * LENGTH);
        for (int b = 0; b < VECTORS_Q * VW; b += VW) {
            vreal best = VSPLAT(-INFINITY_OF(real)), place = VSPLAT(NONE);
#ifdef PROPAGATE_NAN
            UNROLL for (int r = 0; r < WINDOW_H; ++r) {
                const real *line = rows[r] + b;
                UNROLL for (int s = 0; s < WINDOW_W; ++s) {
                    const vreal v = LANES(PART(line, s));
                    place = KEEPS(best, v, place, VSPLAT(r * WINDOW_W + s));
                    best = KEEPS(best, v, best, v);
                }
            }
            if (any((place < (vreal)0) & (LANES(numbers) < (vreal)(Q - b))))
                place = with_first_cells(place, from, TOP_ROW(p), b);
#else
            UNROLL for (int r = WINDOW_H - 1; r >= 0; --r) {  // backwards: the last that is as large is the first
                const real *line = rows[r] + b;
                UNROLL for (int s = WINDOW_W - 1; s >= 0; --s) {
                    const vreal v = LANES(PART(line, s));
                    place = PICK(v >= best, VSPLAT(r * WINDOW_W + s), place);
                    best = KEEPS(best, v, best, v);
                }
            }
#endif
            LANES(won + b) = place;
        }
#endif
        // place i of part k belongs to tap s = k, k + PARTS, ... of window i - s / PARTS
        real *into[WINDOW_H];
        for (int r = 0; r < WINDOW_H; ++r)  // a row outside goes to one that nothing is ever read from
            into[r] = sums + (INSIDE(TOP_ROW(p) + r, H) ? SLOT(TOP_ROW(p) + r) : RING) * (PARTS * LENGTH);
        for (int b = 0; b < LENGTH; b += VW) {
            UNROLL_ROWS for (int r = 0; r < WINDOW_H; ++r) {
                real *sum = into[r];
                UNROLL for (int k = 0; k < PARTS; ++k) {
                    vreal total = FIRST_HERE(r) ? VSPLAT(0) : LANES(sum + k * LENGTH + b);
                    UNROLL for (int s = k; s < WINDOW_W; s += PARTS) {
                        const int i = b - s / PARTS;
#ifdef MODE_MAX
                        total += PICK(LANES(won + i) == VSPLAT(r * WINDOW_W + s), LANES(g + i), VSPLAT(0));
#else
                        total += LANES(g + i);
#endif
                    }
                    LANES(sum + k * LENGTH + b) = total;
                }
            }
        }
        for (; done < TOP_ROW(p + 1) && done < H; ++done) {
            real *sum = sums + SLOT(done) * (PARTS * LENGTH);
            put_together(sum, to + done * X_H, alpha, beta);
            if (GAPS) clear(sum);
        }
    }
    for (; done < H; ++done) {
        real *sum = sums + SLOT(done) * (PARTS * LENGTH);
        if (done >= TOP_ROW(P - 1) + WINDOW_H) clear(sum);
        put_together(sum, to + done * X_H, alpha, beta);
    }
}
