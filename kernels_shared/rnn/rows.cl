// Rows of recurrent networks: to[start + row * pitch ..] = `hidden` numbers of a row of `from`, or zeros.
//
//   FROM_STORED, TO_STORED   memory of T, not of real      ADD   adds them to what is there
//   GPU: a work-group has 256 / LANES rows, a work-item every LANES-th number of one      CPU: a work-group of one has ROWS_EACH

#include "common/types.h"

#ifdef SCHEDULE_CPU
#define ROWS_SIZE WG_SIZE(1, 1, 1)
#else
#define ROWS_SIZE WG_SIZE(256, 1, 1)
#endif
#ifdef FROM_STORED
typedef T from_t;
#define FROM(i) LOAD(from, i)
#else
typedef real from_t;
#define FROM(i) from[i]
#endif
#ifdef TO_STORED
typedef T to_t;
#define TO(i, v) STORE(to, i, v)
#elif defined(ADD)
typedef real to_t;
#define TO(i, v) to[i] += (v)
#else
typedef real to_t;
#define TO(i, v) to[i] = (v)
#endif
#define ROW_NUMBER(unit) (zero ? (real)0 : FROM(from_start + row * from_pitch + (unit)))
KERNEL ROWS_SIZE
rnn_rows(TENSOR(const from_t, from), TENSOR(to_t, to), const i64 from_start, const i64 from_pitch, const i64 start,
         const i64 pitch, const int hidden, const int zero, const i64 rows) {
    GRID_WAIT();
    BIND(const from_t, from);
    BIND(to_t, to);
#ifdef SCHEDULE_CPU
    const i64 last = (GRP(0) + (i64)1) * ROWS_EACH < rows ? (GRP(0) + (i64)1) * ROWS_EACH : rows;
    for (i64 row = (i64)GRP(0) * ROWS_EACH; row < last; ++row)
        for (int unit = 0; unit < hidden; ++unit) TO(start + row * pitch + unit, ROW_NUMBER(unit));
#else
    const i64 row = (i64)GRP(0) * (256 / LANES) + LID(0) / LANES;
    if (row >= rows) return;
    for (int first = LID(0) % LANES; first < hidden; first += 4 * LANES) {
        real v[4];
        UNROLL for (int k = 0; k < 4; ++k) v[k] = first + k * LANES < hidden ? ROW_NUMBER(first + k * LANES) : (real)0;
        UNROLL for (int k = 0; k < 4; ++k)
            if (first + k * LANES < hidden) TO(start + row * pitch + first + k * LANES, v[k]);
    }
#endif
}
