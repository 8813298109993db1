// Tensors (b, h, s, d) of attention as arguments, and where their sequences lie.
//
// PLACED is a tensor with its four strides, 0 along dims that are broadcast; sequence b begins FIRST_OF(x, b) elements from the
// start, and OF(x, b, h) is its head h. Tensors without padding, tables of pages among them, have a pair in the table `ragged` in
// place of a stride along b; attention_ragged fills it (attention/rows.cl). The host defines:
//
//   RAGGED         where there is such a tensor, the pairs of a sequence: its rows and columns that count, then where it begins
//                  in each such tensor, and how many rows it has there
//   RAGGED_x       of each tensor the place of its pair, 0 for one with padding
//
// HAS_ROW(x, b, i) tells whether tensor x has row i of sequence b, of those that its dims have.

#define SUMMED_AT(of, b, step) (of[((b) + 1) * (step)] - of[(b) * (step)])  // a length, from sums of lengths
#define PLACED(type, x) TENSOR(type, x), const i64 x##_b, const i64 x##_h, const i64 x##_s, const i64 x##_d
#define FIRST_OF(x, b) (RAGGED_##x ? RAGGED_BEGIN(b, RAGGED_##x) : (b) * (i64)x##_b)
#define OF(x, b, h) (x + FIRST_OF(x, b) + (h) * (i64)x##_h)
#define HAS_ROW(x, b, i) (!RAGGED_##x || (i) < RAGGED_ROWS(b, RAGGED_##x))

#ifdef RAGGED
#define PD_RAGGED , TENSOR(const i64, ragged)
#define PD_BIND_RAGGED BIND(const i64, ragged);
#define RAGGED_BEGIN(b, place) ragged[2 * ((b) * RAGGED + (place))]
#define RAGGED_ROWS(b, place) ragged[2 * ((b) * RAGGED + (place)) + 1]
#else
#define PD_RAGGED
#define PD_BIND_RAGGED
#define RAGGED_BEGIN(b, place) 0
#define RAGGED_ROWS(b, place) 0
#endif
// What always has padding
#define RAGGED_paged 0
#define RAGGED_drawn 0
#define RAGGED_dbias 0
