"""Mistakes about attention."""

from __future__ import annotations

from graphs import D
from mistakes import NOT_SUPPORTED, SHAPE, UNSET, VALUE, out, wrong, x

import portadnn.graph as cudnn


def attend(g, q=(2, 4, 5, 8), k=(2, 2, 7, 8), v=(2, 2, 7, 6), kind=D.NOT_SET, **options):
    """Add attention of these dims."""
    tensors = (x(g, *dims, name=name, data_type=kind) for dims, name in ((q, "q"), (k, "k"), (v, "v")))
    return out(g.sdpa(*tensors, name="attention", **options)[0])


def lengths(g, b=2, kind=D.INT32):
    return x(g, b, 1, 1, 1, data_type=kind)


@wrong("PG-SDPA-001", SHAPE, "sdpa 'attention'", "K = tensor 'k'", "dim[3] = 8", "got 9", "[2, 2, 7, 8]")
def products_of_two_lengths(g):
    attend(g, k=(2, 2, 7, 9))


@wrong("PG-SDPA-001", SHAPE, "'v'", "dim[2] = 7", "got 6", "[2, 2, 7, 6]")
def more_keys_than_values(g):
    attend(g, v=(2, 2, 6, 6))


@wrong("PG-SDPA-001", SHAPE, "'k'", "dim[0] = 2", "got 1")
def keys_of_another_batch(g):
    attend(g, k=(1, 2, 7, 8))


@wrong("PG-NODE-006", SHAPE, "'q'", "4 dims", "3")
def queries_without_heads(g):
    attend(g, q=(2, 5, 8))


@wrong("PG-SDPA-002", SHAPE, "'k'", "divides the 4 heads", "got 3", "K.dim[1] = 4")
def heads_that_do_not_divide(g):
    attend(g, k=(2, 3, 7, 8))


@wrong("PG-SDPA-003", VALUE, "left_bound=4 and sliding_window_length=3", "no other")
def two_windows(g):
    attend(g, sliding_window_length=3, left_bound=4)


@wrong("PG-SDPA-003", VALUE, "use_causal_mask_bottom_right")
def two_causal_masks(g):
    attend(g, use_causal_mask=True, use_causal_mask_bottom_right=True)


@wrong("PG-SDPA-003", VALUE, "BOTTOM_RIGHT")
def a_causal_mask_from_the_other_corner(g):
    attend(g, use_causal_mask=True, diagonal_alignment=cudnn.diagonal_alignment.BOTTOM_RIGHT)


@wrong("PG-SDPA-003", VALUE, "diagonal_band_right_bound=2")
def a_causal_mask_with_another_bound(g):
    attend(g, use_causal_mask=True, right_bound=2)


@wrong("PG-SDPA-003", VALUE, "generate_stats", "not is_inference")
def inference_with_statistics(g):
    attend(g, is_inference=True, generate_stats=True)


@wrong("PG-SDPA-015", NOT_SUPPORTED, "'q'", "at most 4 queries", "got 5", "queries without a key give 0")
def a_triangle_from_the_end_with_more_queries_than_keys(g):
    attend(g, k=(2, 2, 4, 8), v=(2, 2, 4, 6), use_causal_mask_bottom_right=True)


@wrong("PG-SDPA-015", NOT_SUPPORTED, "at most 4 queries")
def a_window_with_more_queries_than_keys(g):
    attend(g, k=(2, 2, 4, 8), v=(2, 2, 4, 6), left_bound=2)


@wrong("PG-SDPA-004", UNSET, "use_padding_mask=True", "no lengths", "seq_len_q=...")
def padding_without_lengths(g):
    attend(g, use_padding_mask=True)


@wrong("PG-SDPA-004", UNSET, "use_padding_mask=False", "SEQ_LEN_Q, SEQ_LEN_KV")
def lengths_without_padding(g):
    attend(g, seq_len_q=lengths(g), seq_len_kv=lengths(g))


@wrong("PG-SDPA-004", UNSET, "SEQ_LEN_KV")
def lengths_of_keys_alone(g):
    attend(g, use_padding_mask=True, seq_len_kv=lengths(g))


@wrong("PG-SDPA-004", UNSET, "SEQ_LEN_Q, CU_SEQ_LEN_Q", "cu_seq_len_q")
def lengths_and_their_sums(g):
    attend(g, use_padding_mask=True, seq_len_q=lengths(g), cu_seq_len_q=lengths(g, 3))


@wrong("PG-NODE-007", SHAPE, "CU_SEQ_LEN_KV", "[3, 1, 1, 1]", "[2, 1, 1, 1]")
def sums_of_too_few_lengths(g):
    attend(g, use_padding_mask=True, seq_len_q=lengths(g), cu_seq_len_kv=lengths(g))


@wrong("PG-NODE-007", SHAPE, "SEQ_LEN_Q", "[2, 1, 1, 1]", "[3, 1, 1, 1]")
def lengths_of_another_batch(g):
    attend(g, use_padding_mask=True, seq_len_q=lengths(g, 3), seq_len_kv=lengths(g))


@wrong("PG-SDPA-005", VALUE, "SEQ_LEN_KV", "INT32 or INT64", "FLOAT", "data_type.INT32")
def lengths_with_fractions(g):
    attend(g, use_padding_mask=True, seq_len_q=lengths(g), seq_len_kv=lengths(g, kind=D.FLOAT))


@wrong("PG-SDPA-005", VALUE, "'q'", "INT32")
def attention_of_integers(g):
    attend(g, kind=D.INT32)


@wrong("PG-SDPA-005", VALUE, "FP8_E4M3", "FLOAT", "use sdpa")
def fp8_attention_of_floats(g):
    tensors = (x(g, *dims) for dims in ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)))
    out(g.sdpa_fp8(*tensors, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)[0])


@wrong("PG-SDPA-006", SHAPE, "BIAS", "[2, 4, 5, 7]", "[2, 4, 5, 6]")
def a_bias_that_does_not_broadcast(g):
    attend(g, bias=x(g, 2, 4, 5, 6))


@wrong("PG-SDPA-006", SHAPE, "DROPOUT_MASK", "3, 1, 1, 1")
def a_mask_that_does_not_broadcast(g):
    attend(g, dropout=(x(g, 3, 1, 1, 1), 2.0))


@wrong("PG-SDPA-007", VALUE, "(probability, seed, offset) or (mask, scale)", "0.5")
def a_dropout_without_seed(g):
    attend(g, dropout=(0.5,))


@wrong("PG-SDPA-007", VALUE, "from 0 to below 1", "1.0")
def a_dropout_of_everything(g):
    attend(g, dropout=(1.0, 1, 2))


@wrong("PG-SDPA-007", VALUE, "(mask, scale, scale_inv)")
def a_backward_dropout_of_two(g):
    back(g, dropout=(x(g, 2, 4, 5, 7), 2.0))


@wrong("PG-SDPA-007", VALUE, "probability, seed and offset together")
def a_seed_alone(g):
    q, k, v = x(g, 2, 4, 5, 8), x(g, 2, 2, 7, 8), x(g, 2, 2, 7, 6)
    g._graph.add("sdpa", {"Q": q, "K": k, "V": v, "SEED": 3}, {})


@wrong("PG-SDPA-008", NOT_SUPPORTED, "use_causal_mask", "score_mod", "gen_index")
def a_mask_beside_a_function_of_the_scores(g):
    attend(g, score_mod=lambda graph, scores: graph.tanh(scores), use_causal_mask=True)


@wrong("PG-SDPA-008", NOT_SUPPORTED, "score_mod", "returns a tensor", "got function")
def a_function_of_the_scores_that_returns_nothing(g):
    attend(g, score_mod=lambda graph, scores: None)


@wrong("PG-SDPA-009", UNSET, "'q'", "ragged offsets", "use_padding_mask=True")
def ragged_queries(g):
    offsets = x(g, 3, 1, 1, 1, data_type=D.INT32)
    q = x(g, 2, 4, 5, 8, name="q", ragged_offset=offsets)
    out(g.sdpa(q, x(g, 2, 2, 7, 8), x(g, 2, 2, 7, 6))[0])


@wrong("PG-TENSOR-023", NOT_SUPPORTED, "'x'", "attention", "pad the sequences")
def ragged_numbers(g):
    out(g.relu(x(g, 2, 4, 5, 8, name="x", ragged_offset=x(g, 3, 1, 1, 1, data_type=D.INT32))))


@wrong("PG-SDPA-010", UNSET, "RNG_DUMP", "leave rng_dump out")
def a_mask_that_is_not_drawn(g):
    attend(g, rng_dump=x(g, 2, 4, 5, 7))


@wrong("PG-SDPA-011", VALUE, "left_bound", "at least 1", "0")
def a_window_of_nothing(g):
    attend(g, sliding_window_length=0)


@wrong("PG-SDPA-011", VALUE, "right_bound", "at least 0", "-1")
def a_band_left_of_the_diagonal(g):
    attend(g, diagonal_band_right_bound=-1)


@wrong("PG-SDPA-012", UNSET, "PAGE_TABLE_K", "use_padding_mask=True")
def pages_without_lengths(g):
    attend(g, k=(9, 2, 2, 8), paged_attention_k_table=x(g, 2, 1, 4, 1, data_type=D.INT32))


@wrong("PG-NODE-007", SHAPE, "PAGE_TABLE_V", "[2, 1, 4, 1]", "[2, 1, 3, 1]")
def too_few_pages(g):
    table = x(g, 2, 1, 3, 1, data_type=D.INT32)
    pages = {"paged_attention_v_table": table, "seq_len_q": lengths(g), "seq_len_kv": lengths(g)}
    attend(g, v=(9, 2, 2, 6), use_padding_mask=True, **pages)


def back(g, stats=(2, 4, 5, 1), **options):
    q, o = (2, 4, 5, 8), (2, 4, 5, 6)
    tensors = (x(g, *dims) for dims in (q, (2, 2, 7, 8), (2, 2, 7, 6), o, o, stats))
    return out(g.sdpa_backward(*tensors, **options)[0])


@wrong("PG-NODE-007", SHAPE, "STATS", "[2, 4, 5, 1]", "[2, 4, 1, 5]")
def statistics_of_columns(g):
    back(g, stats=(2, 4, 1, 5))


@wrong("PG-SDPA-013", UNSET, "DBIAS", "BIAS as well")
def the_gradient_of_no_bias(g):
    back(g, dBias=x(g, 1, 4, 5, 7))


@wrong("PG-NODE-008", SHAPE, "DQ", "[2, 4, 5, 8]", "[2, 4, 5, 7]")
def a_gradient_of_other_dims(g):
    back(g).set_dim([2, 4, 5, 7])
