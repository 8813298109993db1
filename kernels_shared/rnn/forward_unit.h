// The end of a forward step for one row and `count` hidden units from `unit` on, of direction d: included where these are
// known, SUM_OF(gate) is R h' of a gate, and VGET, VPUT, SGET and SPUT reach vectors of real and of T in memory.
const i64 at = (first + row) * width + d * hidden + unit;
const i64 begin = state + (i64)row * hidden + unit;  // in an initial or final state
vreal c = VSPLAT(0), h_old = VSPLAT(0);
#if defined(CELL_LSTM) || defined(CELL_GRU)
const i64 old = (before + row) * width + d * hidden + unit;
#endif
#ifdef CELL_LSTM
c = row < before_rows ? VGET(cells, cells_start + old) : VGET(c0, begin);
#endif
#ifdef CELL_GRU
h_old = row < before_rows ? VGET(h, h_start + old) : VGET(h0, begin);
#endif
const vreal value =
    cell_forward(gates + gates_start + ((first + row) * width + d * hidden) * SLOTS + unit,
                 bias + (i64)d * hidden * SLOTS + unit, hidden, count, h_old, &c, SUM_OF(0), SUM_OF(1), SUM_OF(2), SUM_OF(3));
VPUT(h, h_start + at, value);
#ifdef CELL_LSTM
VPUT(cells, cells_start + at, c);
#endif
#ifdef Y_ROUNDED
SPUT(y, at, value);
#endif
#ifdef HAS_HY
if (row >= after_rows) SPUT(hy, begin, value);
#endif
#ifdef HAS_CY
if (row >= after_rows) SPUT(cy, begin, c);
#endif
