// The matrix product inside a step of a recurrent network on a CPU, and vectors of hidden units in memory.
//
//   packed panel [k][PANEL]: GATE_VECTORS vectors of neighbouring units for each gate, PANEL_VECTORS in all
//   register tiles (conv/cpu.h) are MR rows of states by NV vectors of the panel; the sums of all its tiles go through
//   memory, [MR][PANEL], to the cell
//
// Include after common/types.h has been told VW. Units beyond the hidden size are zeros in the panel; `count` lanes exist.

#include "conv/cpu.h"

#define PANEL (PANEL_VECTORS * VW)

DEVICE vreal get_lanes(const GLOBAL real *p, int count) {
    if (count >= VW) return RLOAD(p);
    vreal v = VSPLAT(0);
    for (int j = 0; j < count; ++j) LANE(v, j) = p[j];
    return v;
}
DEVICE void put_lanes(GLOBAL real *p, vreal v, int count) {
    if (count >= VW) {
        RSTORE(v, p);
    } else {
        for (int j = 0; j < count; ++j) p[j] = LANE(v, j);
    }
}
DEVICE vreal get_stored(const GLOBAL T *p, i64 i, int count) {
    if (count >= VW) return VLOAD(p, i);
    vreal v = VSPLAT(0);
    for (int j = 0; j < count; ++j) LANE(v, j) = LOAD(p, i + j);
    return v;
}
DEVICE void put_stored(GLOBAL T *p, i64 i, vreal v, int count) {
    if (count >= VW) {
        VSTORE(p, i, v);
    } else {
        for (int j = 0; j < count; ++j) STORE(p, i + j, LANE(v, j));
    }
}
#ifdef WHOLE_VECTORS
#define VGET(p, i) RLOAD((p) + (i))
#define VPUT(p, i, v) RSTORE(v, (p) + (i))
#define SGET(p, i) VLOAD(p, i)
#define SPUT(p, i, v) VSTORE(p, i, v)
#else
#define VGET(p, i) get_lanes((p) + (i), count)
#define VPUT(p, i, v) put_lanes((p) + (i), v, count)
#define SGET(p, i) get_stored(p, i, count)
#define SPUT(p, i, v) put_stored(p, i, v, count)
#endif

// Rows of states: the first `before_rows` lie in `from`, the others, up to `rows`, in `begin`.
typedef struct {
    const GLOBAL real *from, *begin;
    i64 pitch, begin_pitch;
    int rows, before_rows;
} States;

DEVICE const GLOBAL real *state_row(const States *states, int row) {
    row = row < states->rows ? row : states->rows - 1;
    return row < states->before_rows ? states->from + row * states->pitch : states->begin + row * states->begin_pitch;
}

// Asks for the gates of a block of rows, which are far apart in memory, while the product before their use goes on
DEVICE void prefetch_rows(const GLOBAL real *gates, int row, int rows, i64 pitch, int slots, int hidden) {
    for (int i = 0; i < MR && row + i < rows; ++i)
        for (int slot = 0; slot < slots; ++slot) PREFETCH(gates + (row + i) * pitch + slot * hidden);
}

// NV vectors of c[MR][PANEL] (+)= MR rows of states from `row` on, at numbers k0 and following, times b[depth][PANEL]
NOINLINE void multiply_vectors(GLOBAL real *c, const States *states, int row, i64 k0, const GLOBAL real *b, int depth,
                              int add) {
    const int pitch = PANEL;
#define START_ROW(i) const GLOBAL real *a_row##i = state_row(states, row + i) + k0;
#define STEP_ROW(i) { const vreal a##i = (vreal)(a_row##i[k]); COLS(FMA_VECTOR, i) }
    ROWS(START_ROW)
    ROWS(DECLARE_ROW)
    for (int k = 0; k < depth; ++k) {
        PREFETCH(b + 24 * PANEL);
        COLS(LOAD_B, 0)
        ROWS(STEP_ROW)
        b += PANEL;
    }
    if (add) {
        ROWS(ADD_ROW)
    }
    ROWS(WRITE_ROW)
}

// the same for the whole panel
DEVICE void multiply_states(GLOBAL real *c, const States *states, int row, i64 k0, const GLOBAL real *b, int depth, int add) {
    for (int j = 0; j < PANEL; j += NR) multiply_vectors(c + j, states, row, k0, b + j, depth, add);
}
