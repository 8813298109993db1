// Resampling in graphs, and its gradient, for every type, layout, padding and mode; tensors are (n, c, 3 spatial axes).
//
//   resample            of each element of y: the largest or the mean of a window, and the place of the largest in it; or the
//                       cell that the window's centre lies in, or what is between the cells around it
//   resample_backward   of each element of dx: what the windows that hold it give it, of which MAX knows its cell by index
//
// A window of output o begins at cell o * STEP - PAD; cells are counted row by row, and the first of equal maxima is taken, NaN
// before all. Elements of y (dx) are met as they lie in memory: ROWS times INNER, whose axis is INNER_AXIS; UNRAVEL(row) declares
// the other indices n, c, i0, i1, i2. GPUs: a work-item each; CPUs (ROWS_EACH): a work-group for several rows, CHUNK channels of a
// place at a time where these are innermost. What is done to channel j of a chunk stands in EACH_CHANNEL.
//
// Host defines, besides fusion/fused.h's: A, the register of sums, and A_S, its scalar; MODE_MAX, MODE_MEAN, MODE_NEAREST or MODE_BILINEAR;
// WINDOW, STEP and PAD of axes 0 to 2; X_n X_c X_0 X_1 X_2 and the same of Y and INDEX, strides; SIZE of x along 0 to 2, OUT of y;
// X_S Y_S INDEX_S, elements, READ_X(e) READ_Y(e) READ_INDEX(e), A or int of an element, AS_X(v) AS_Y(v) AS_INDEX(v), an element of
// those; EXCLUDE, to count only cells that are there; interpolations: output o reads at (o * NUM + START) / DEN, of type POSITION,
// between ENDS cells (1 along an axis that the tensor does not have).

#include "fusion/fused.h"

#ifdef ROWS_EACH
#define EACH_PLACE                                                           \
    for (idx_t row = GRP(0); row < (idx_t)ROWS; row += NGRP(0)) {            \
        UNRAVEL(row)                                                         \
        for (int INNER_AXIS = 0; INNER_AXIS < INNER; INNER_AXIS += CHUNK)
#define END_EACH }
#else
#define EACH_PLACE                                                           \
    const idx_t place = (idx_t)GRP(0) * ITEMS + LID(0), row = place / INNER; \
    const int INNER_AXIS = (int)(place % INNER);                             \
    UNRAVEL(row)                                                             \
    if (row < (idx_t)ROWS)
#define END_EACH
#endif
// A whole chunk has a loop of its own, which becomes vectors
#if CHUNK > 1
#define EACH_CHANNEL(statement)                                              \
    if (INNER - c >= CHUNK) {                                                \
        UNROLL for (int j = 0; j < CHUNK; ++j) { statement; }                \
    } else {                                                                 \
        for (int j = 0; j < INNER - c; ++j) { statement; }                   \
    }
#else
#define EACH_CHANNEL(statement) \
    {                           \
        const int j = 0;        \
        statement;              \
    }
#endif
#define AT(T, n, c, a, b, d) ((idx_t)(n) * T##_n + (idx_t)(c) * T##_c + (idx_t)(a) * T##_0 + (idx_t)(b) * T##_1 + (idx_t)(d) * T##_2)
#define WITHIN(i, size) ((i) >= 0 && (i) < (size))
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define NUMBER_OF(a, b, d) (((a) * WINDOW_1 + (b)) * WINDOW_2 + (d))

// Cells of output o's window along an axis that are there, and of the whole window
#define THERE(o, axis) (LEAST((o) * STEP_##axis - PAD_##axis + WINDOW_##axis, SIZE_##axis) - MOST((o) * STEP_##axis - PAD_##axis, 0))
#ifdef EXCLUDE
#define COUNT(a, b, d) ((A)(MOST(THERE(a, 0) * THERE(b, 1) * THERE(d, 2), 1)))
#else
#define COUNT(a, b, d) ((A)(WINDOW_0 * WINDOW_1 * WINDOW_2))
#endif

#ifdef DEN_0
DEVICE int floor_of(POSITION a, POSITION b) {
    const POSITION whole = a / b;
    return (int)(a % b < 0 ? whole - 1 : whole);
}
#define CELL(i, axis) ((i) < 0 ? 0 : (i) < SIZE_##axis ? (i) : SIZE_##axis - 1)
#define CENTRE(o, axis) ((POSITION)(o) * NUM_##axis + START_##axis)
#define BETWEEN(o, axis)                                                               \
    const POSITION at_##axis = CENTRE(o, axis) - DEN_##axis / 2;                       \
    const int low_##axis = floor_of(at_##axis, DEN_##axis);                            \
    const A share_##axis = (A)(at_##axis - (POSITION)low_##axis * DEN_##axis) / (A)(DEN_##axis);
#define WEIGHT(k, axis) (ENDS_##axis == 1 ? (A)1 : (k) ? share_##axis : (A)1 - share_##axis)
#endif

// Whether a number is larger than the largest one before, or the first NaN
#define BETTER(here, largest) (!((here) <= (largest)) & ((largest) == (largest)))

// One more cell of channel j's window
#ifdef MODE_MAX
#define NOTHING -INFINITY_OF(A_S)
#define TAKE_CELL                                                                \
    {                                                                            \
        const A here = READ_X(cell[j * X_c]);                                    \
        const bool better = BETTER(here, value[j]);                              \
        value[j] = better ? here : value[j];                                     \
        which[j] = better ? NUMBER_OF(a, b, d) : which[j];                       \
    }
#else
#define NOTHING 0
#define TAKE_CELL value[j] += READ_X(cell[j * X_c])
#endif
// What one window more gives channel j
#ifdef MODE_MAX
#define TAKE_WINDOW value[j] += READ_INDEX(where[j * INDEX_c]) == NUMBER_OF(a, b, d) ? READ_Y(from[j * Y_c]) : (A)0
#else
#define TAKE_WINDOW value[j] += READ_Y(from[j * Y_c]) / count
#endif
// Output o along an axis whose window has cell i as its cell k; goes on with the next k where there is none
#define OUTPUT_OF(o, i, k, axis)                                                 \
    const int reach_##axis = (i) + PAD_##axis - (k), o = reach_##axis / STEP_##axis; \
    if (reach_##axis < 0 || reach_##axis % STEP_##axis || o >= OUT_##axis) continue;
// Cell x along an axis that is cell k of output o's window; goes on with the next k where that is padding
#define CELL_OF(x, o, k, axis)                                                   \
    const int x = (o) * STEP_##axis - PAD_##axis + (k);                          \
    if (!WITHIN(x, SIZE_##axis)) continue;

#ifdef FORWARD
KERNEL WG_SIZE(ITEMS, 1, 1)
resample(TENSOR(const X_S, x)
#ifdef Y_S
         , TENSOR(Y_S, y)
#endif
#ifdef INDEX_S
         , TENSOR(INDEX_S, index)
#endif
) {
    GRID_WAIT();
    BIND(const X_S, x);
#ifdef Y_S
    BIND(Y_S, y);
#endif
#ifdef INDEX_S
    BIND(INDEX_S, index);
#endif
    EACH_PLACE {
        A value[CHUNK];
#if defined(MODE_NEAREST)
        const int a = floor_of(CENTRE(i0, 0), DEN_0), b = floor_of(CENTRE(i1, 1), DEN_1), d = floor_of(CENTRE(i2, 2), DEN_2);
        const GLOBAL X_S *cell = x + AT(X, n, c, CELL(a, 0), CELL(b, 1), CELL(d, 2));
        EACH_CHANNEL(value[j] = READ_X(cell[j * X_c]))
#elif defined(MODE_BILINEAR)
        BETWEEN(i0, 0)
        BETWEEN(i1, 1)
        BETWEEN(i2, 2)
        for (int j = 0; j < CHUNK; ++j) value[j] = 0;
        UNROLL for (int a = 0; a < ENDS_0; ++a) {
            UNROLL for (int b = 0; b < ENDS_1; ++b) {
                UNROLL for (int d = 0; d < ENDS_2; ++d) {
                    const GLOBAL X_S *cell = x + AT(X, n, c, CELL(low_0 + a, 0), CELL(low_1 + b, 1), CELL(low_2 + d, 2));
                    const A weight = WEIGHT(a, 0) * WEIGHT(b, 1) * WEIGHT(d, 2);
                    EACH_CHANNEL(value[j] += READ_X(cell[j * X_c]) * weight)
                }
            }
        }
#else
        int which[CHUNK];
        for (int j = 0; j < CHUNK; ++j) {
            value[j] = NOTHING;
            which[j] = 0;
        }
        for (int a = 0; a < WINDOW_0; ++a) {
            CELL_OF(x0, i0, a, 0)
            for (int b = 0; b < WINDOW_1; ++b) {
                CELL_OF(x1, i1, b, 1)
                for (int d = 0; d < WINDOW_2; ++d) {
                    CELL_OF(x2, i2, d, 2)
                    const GLOBAL X_S *cell = x + AT(X, n, c, x0, x1, x2);
                    EACH_CHANNEL(TAKE_CELL)
                }
            }
        }
#ifdef MODE_MEAN
        for (int j = 0; j < CHUNK; ++j) value[j] /= COUNT(i0, i1, i2);
#endif
#endif
#ifdef Y_S
        GLOBAL Y_S *to = y + AT(Y, n, c, i0, i1, i2);
        EACH_CHANNEL(to[j * Y_c] = AS_Y(value[j]))
#endif
#ifdef INDEX_S
        GLOBAL INDEX_S *at = index + AT(INDEX, n, c, i0, i1, i2);
        EACH_CHANNEL(at[j * INDEX_c] = AS_INDEX(which[j]))
#endif
    }
    END_EACH
}
#else
// x is dx here, y is dy
KERNEL WG_SIZE(ITEMS, 1, 1)
resample_backward(TENSOR(const Y_S, y), TENSOR(X_S, x)
#ifdef INDEX_S
                  , TENSOR(const INDEX_S, index)
#endif
) {
    GRID_WAIT();
    BIND(const Y_S, y);
    BIND(X_S, x);
#ifdef INDEX_S
    BIND(const INDEX_S, index);
#endif
    EACH_PLACE {
        A value[CHUNK];
        for (int j = 0; j < CHUNK; ++j) value[j] = 0;
        for (int a = 0; a < WINDOW_0; ++a) {
            OUTPUT_OF(o0, i0, a, 0)
            for (int b = 0; b < WINDOW_1; ++b) {
                OUTPUT_OF(o1, i1, b, 1)
                for (int d = 0; d < WINDOW_2; ++d) {
                    OUTPUT_OF(o2, i2, d, 2)
                    const GLOBAL Y_S *from = y + AT(Y, n, c, o0, o1, o2);
#ifdef MODE_MAX
                    const GLOBAL INDEX_S *where = index + AT(INDEX, n, c, o0, o1, o2);
#else
                    const A count = COUNT(o0, o1, o2);
#endif
                    EACH_CHANNEL(TAKE_WINDOW)
                }
            }
        }
        GLOBAL X_S *to = x + AT(X, n, c, i0, i1, i2);
        EACH_CHANNEL(to[j * X_c] = AS_X(value[j]))
    }
    END_EACH
}
#endif
