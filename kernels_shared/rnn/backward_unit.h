// The end of a backward step for one row and `count` hidden units from `unit` on, of direction d: included where these are
// known, `sum` is what comes through R from the step after, and VGET, VPUT, SGET and SPUT reach vectors of real and of T
// in memory. With FINISH it is the end of the whole: the gradients of the initial state.
const i64 begin = state + (i64)row * hidden + unit;  // in an initial or final state
const i64 on = ((i64)d * batch + row) * hidden + unit;
#ifdef FINISH
#ifdef CELL_GRU
const vreal dh = sum + VGET(carry, on);
#else
const vreal dh = sum;
#endif
#ifdef HAS_DHX
SPUT(dhx, begin, dh);
#endif
#ifdef HAS_DCX
SPUT(dcx, begin, VGET(carry, on));
#endif
#else
const i64 at = (first + row) * width + d * hidden + unit;
vreal dh = row < after_rows ? sum : VSPLAT(0), carried = VSPLAT(0), c = VSPLAT(0), c_old = VSPLAT(0);
vreal h_now = VSPLAT(0), h_old = VSPLAT(0);
dh = dh + DY_GET(dy, at);
#ifdef HAS_DHY
if (row >= after_rows) dh = dh + SGET(dhy, begin);
#endif
#ifdef CELL_LSTM
const i64 old = (before + row) * width + d * hidden + unit;
if (row < after_rows) carried = VGET(carry, on);
#ifdef HAS_DCY
else carried = SGET(dcy, begin);
#endif
c = VGET(cells, cells_start + at);
c_old = row < before_rows ? VGET(cells, cells_start + old) : VGET(c0, begin);
#elif defined(CELL_GRU)
const i64 old = (before + row) * width + d * hidden + unit;
if (row < after_rows) dh = dh + VGET(carry, on);
h_old = row < before_rows ? H_GET(h, h_start + old) : VGET(h0, begin);
#else
h_now = H_GET(h, h_start + at);
#endif
carried = cell_backward(gates + gates_start + ((first + row) * width + d * hidden) * SLOTS + unit, hidden, count, dh,
                        carried, h_now, h_old, c, c_old);
#if defined(CELL_LSTM) || defined(CELL_GRU)
VPUT(carry, on, carried);
#endif
#endif
