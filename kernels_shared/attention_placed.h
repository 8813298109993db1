// Tensors (b, h, s, d) of attention as arguments, and where their sequences lie.
//
// PLACED is a tensor with its four strides, 0 along dims that are broadcast; sequence b begins FIRST_OF(x, b) elements from the
// start, and OF(x, b, h) is its head h. Tensors without padding, tables of pages among them, have, instead of a stride along b, a pair in the table `ragged`, which attention_ragged fills (attention_rows.cl):
//
//   RAGGED         pairs of a sequence: its rows and columns that count, then where it begins in each such tensor, and how many
//                  rows it has there
//   RAGGED_x       the place of x's pair, 0 for a tensor with padding
//
// HAS_ROW(x, b, i) tells whether tensor x has row i of sequence b, of those that its dims have.

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
#ifndef RAGGED_q
#define RAGGED_q 0
#endif
#ifndef RAGGED_k
#define RAGGED_k 0
#endif
#ifndef RAGGED_v
#define RAGGED_v 0
#endif
#ifndef RAGGED_o
#define RAGGED_o 0
#endif
#ifndef RAGGED_stats
#define RAGGED_stats 0
#endif
#ifndef RAGGED_tops
#define RAGGED_tops 0
#endif
#ifndef RAGGED_sums
#define RAGGED_sums 0
#endif
#ifndef RAGGED_grad
#define RAGGED_grad 0
#endif
#ifndef RAGGED_dq
#define RAGGED_dq 0
#endif
#ifndef RAGGED_dk
#define RAGGED_dk 0
#endif
#ifndef RAGGED_table
#define RAGGED_table 0
#endif
#ifndef RAGGED_k_pages
#define RAGGED_k_pages 0
#endif
#ifndef RAGGED_v_pages
#define RAGGED_v_pages 0
#endif
#ifndef RAGGED_x
#define RAGGED_x 0
#endif
#ifndef RAGGED_dv
#define RAGGED_dv 0
#endif
// What always has padding
#define RAGGED_paged 0
#define RAGGED_drawn 0
#define RAGGED_dbias 0
