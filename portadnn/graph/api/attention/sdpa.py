"""The methods of :class:`~portadnn.graph.api.pygraph` for scaled dot-product attention.

Arguments are named and ordered as in cudnn-frontend; names that only some of its methods have are keywords of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...data_types import data_type
from ...enums import attention_implementation
from ...tensor import tensor
from ..arguments import text
from ..builder import NOT_SET, Builder
from . import flexible
from .flexible import demand_tensors, refuse_options
from .options import TOP_LEFT, band, dropout_ports, number, stats_wanted

Maybe = tensor | None
Function = Callable[..., Any] | None
_AUTO = attention_implementation.AUTO


def add_attention(
    self: Builder,
    kind: str,
    inputs: Mapping[str, Any],
    results: Mapping[str, Maybe],
    compute: Any,
    name: str,
    **attributes: Any,
) -> Mapping[str, tensor]:
    """Add a node, with numbers of an exact type for the scale, and tensors of the program's for some outputs."""
    inputs = {**inputs, "ATTN_SCALE": number(inputs.get("ATTN_SCALE"), data_type.DOUBLE)}
    return self._graph.add(kind, inputs, attributes, results=results, compute_type=compute, name=name).outputs


def sdpa(
    self: Builder,
    q: tensor,
    k: tensor,
    v: tensor,
    is_inference: bool | None = None,
    attn_scale: Any = None,
    bias: Maybe = None,
    block_mask: Maybe = None,
    use_alibi_mask: bool = False,
    use_padding_mask: bool = False,
    seq_len_q: Maybe = None,
    seq_len_kv: Maybe = None,
    use_causal_mask: bool = False,
    use_causal_mask_bottom_right: bool = False,
    sliding_window_length: int | None = None,
    diagonal_alignment: Any = TOP_LEFT,
    diagonal_band_left_bound: int | None = None,
    diagonal_band_right_bound: int | None = None,
    dropout: Any = None,
    rng_dump: Maybe = None,
    paged_attention_k_table: Maybe = None,
    paged_attention_v_table: Maybe = None,
    paged_attention_max_seq_len_kv: int | None = None,
    max_total_seq_len_q: int | None = None,
    max_total_seq_len_kv: int | None = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    score_mod: Function = None,
    generate_stats: bool | None = None,
    implementation: Any = _AUTO,
    score_max: Maybe = None,
    score_sum_exp: Maybe = None,
    sink_token: Maybe = None,
    unfuse_fma: bool = False,
    cu_seq_len_q: Maybe = None,
    cu_seq_len_kv: Maybe = None,
    stats_use_log2: bool = False,
    *,
    sliding_window: int | None = None,
    left_bound: int | None = None,
    right_bound: int | None = None,
    fn: Function = None,
) -> list[Maybe]:
    """Return the attention O, (b, h_q, s_q, d_v), and the logarithm of the sums of exponentials or None.

    Parameters
    ----------
    q, k, v
        (b, h_q, s_q, d), (b, h_k, s_kv, d) and (b, h_v, s_kv, d_v), in any layout. h_k and h_v divide h_q:
        neighbouring heads of queries share one of keys.
    is_inference, generate_stats
        Whether statistics are returned: (b, h_q, s_q, 1), FLOAT, for ``sdpa_backward``.
    attn_scale
        What the products are multiplied by, a number or a tensor; 1 by default.
    bias
        Added to the scores, dims 1 or theirs.
    block_mask
        (b, h_q, ceil(s_q / 128), ceil(s_kv / 1024)), UINT8: a bit for each block of 128 x 128 scores that counts.
    use_alibi_mask
        Adds ``slope * (column - row)``, with a slope for each head.
    use_padding_mask, seq_len_q, seq_len_kv
        Lengths of the sequences, (b, 1, 1, 1), INT32 or INT64.
    cu_seq_len_q, cu_seq_len_kv
        In their place the sums of the lengths before each sequence, from 0 on, (b + 1, 1, 1, 1).
    stats_use_log2
        The statistics are logarithms to the base of 2. ``sdpa_backward`` takes those to the base of e.
    use_causal_mask, use_causal_mask_bottom_right, diagonal_alignment
        Row i sees columns up to i, or up to i + keys - queries.
    diagonal_band_left_bound, left_bound, sliding_window_length, sliding_window
        Columns at and before row - bound are left out.
    diagonal_band_right_bound, right_bound
        Columns after row + bound are left out.
    dropout
        ``(probability, seed, offset)``, as ``rng`` draws with a probability of 1 - p for all scores in logical
        order, or ``(mask, scale)``.
    rng_dump
        Receives the mask of 0 and 1, with the dims of the scores.
    paged_attention_k_table, paged_attention_v_table, paged_attention_max_seq_len_kv
        Tables (b, 1, pages, 1) into k and v, which then are containers (pages, h, page, d).
    score_max, score_sum_exp
        Receive each row's maximum and its sum of ``exp(score - maximum)``, (b, h_q, s_q, 1).
    sink_token
        A score for each head, (1, h_q, 1, 1), that takes part in the sum and has no value.
    score_mod, fn
        A function (graph, scores) that adds nodes to the graph and returns the scores that the softmax takes. Masks,
        a bias and dropout are for it to add. The attention is several nodes then, not one.
    implementation, unfuse_fma, max_total_seq_len_q, max_total_seq_len_kv
        Taken and without effect.
    """
    lefts = (diagonal_band_left_bound, left_bound, sliding_window_length, sliding_window)
    rights = (diagonal_band_right_bound, right_bound)
    wanted = stats_wanted(is_inference, generate_stats)
    changed = fn if score_mod is None else score_mod
    if changed is not None:
        options = {"bias": bias, "block_mask": block_mask, "use_alibi_mask": use_alibi_mask, "dropout": dropout}
        options |= {"use_padding_mask": use_padding_mask, "rng_dump": rng_dump, "score_max": score_max}
        options |= {"score_sum_exp": score_sum_exp, "cu_seq_len_q": cu_seq_len_q, "cu_seq_len_kv": cu_seq_len_kv}
        options |= {"stats_use_log2": stats_use_log2}
        options |= {"use_causal_mask": use_causal_mask or use_causal_mask_bottom_right, "sink_token": sink_token}
        refuse_options(**options, bound=next((one for one in (*lefts, *rights) if one is not None), None))
        tables = {"k": paged_attention_k_table, "v": paged_attention_v_table}
        demand_tensors(q=q, k=k, v=v, **{f"{port}_table": one for port, one in tables.items() if one is not None})
        how = {"compute": compute_data_type, "name": text(name, "name")}
        length = paged_attention_max_seq_len_kv
        k = flexible.paged(self, k, paged_attention_k_table, length, f"{name}::K_pages" if how["name"] else "")
        v = flexible.paged(self, v, paged_attention_v_table, length, f"{name}::V_pages" if how["name"] else "")
        return flexible.forward(self, (q, k, v), attn_scale, changed, wanted, how)
    drawn, probability = dropout_ports(dropout, backward=False)
    if implementation is not None:
        attention_implementation.parse(implementation, "implementation")
    inputs = {
        **{"Q": q, "K": k, "V": v, "ATTN_SCALE": attn_scale, "BIAS": bias, "BLOCK_MASK": block_mask},
        **{"SEQ_LEN_Q": seq_len_q, "SEQ_LEN_KV": seq_len_kv, "SINK_TOKEN": sink_token, **drawn},
        **{"PAGE_TABLE_K": paged_attention_k_table, "PAGE_TABLE_V": paged_attention_v_table},
        **{"CU_SEQ_LEN_Q": cu_seq_len_q, "CU_SEQ_LEN_KV": cu_seq_len_kv},
    }
    out = add_attention(
        self,
        "sdpa",
        inputs,
        {"MAX": score_max, "SUM_EXP": score_sum_exp, "RNG_DUMP": rng_dump},
        compute_data_type,
        name,
        **band(use_causal_mask, use_causal_mask_bottom_right, diagonal_alignment, lefts, rights),
        use_alibi_mask=use_alibi_mask,
        use_padding_mask=use_padding_mask,
        dropout_probability=probability,
        generate_stats=wanted,
        max_seq_len_kv=paged_attention_max_seq_len_kv,
        stats_use_log2=stats_use_log2,
    )
    return [out["O"], out["STATS"] if wanted else None]


def sdpa_backward(
    self: Builder,
    q: tensor,
    k: tensor,
    v: tensor,
    o: tensor,
    dO: tensor,
    stats: tensor,
    attn_scale: Any = None,
    bias: Maybe = None,
    dBias: Maybe = None,
    use_alibi_mask: bool = False,
    use_padding_mask: bool = False,
    seq_len_q: Maybe = None,
    seq_len_kv: Maybe = None,
    max_total_seq_len_q: int | None = None,
    max_total_seq_len_kv: int | None = None,
    use_causal_mask: bool = False,
    use_causal_mask_bottom_right: bool = False,
    sliding_window_length: int | None = None,
    diagonal_alignment: Any = TOP_LEFT,
    diagonal_band_left_bound: int | None = None,
    diagonal_band_right_bound: int | None = None,
    dropout: Any = None,
    rng_dump: Maybe = None,
    use_deterministic_algorithm: bool = False,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    score_mod: Function = None,
    score_mod_bprop: Function = None,
    sink_token: Maybe = None,
    dSink_token: Maybe = None,
    *,
    sliding_window: int | None = None,
    left_bound: int | None = None,
    right_bound: int | None = None,
    fn: Function = None,
) -> list[tensor]:
    """Return the gradients to queries, keys and values, from the forward call's result `o` and its statistics.

    Parameters
    ----------
    dO
        The gradient to o.
    dBias, dSink_token
        Receive the gradients to the bias and to the sink, in their dims.
    dropout
        ``(probability, seed, offset)`` as forward, or ``(mask, scale, 1 / scale)``.
    score_mod, score_mod_bprop, fn
        The function of :meth:`sdpa` that changes the scores, and one (graph, gradient) that returns the gradient to the
        scores before it.
    max_total_seq_len_q, max_total_seq_len_kv, use_deterministic_algorithm
        Taken and without effect: results always are the same bits.
    """
    lefts = (diagonal_band_left_bound, left_bound, sliding_window_length, sliding_window)
    rights = (diagonal_band_right_bound, right_bound)
    changed = fn if score_mod is None else score_mod
    if changed is not None or score_mod_bprop is not None:
        options = {"bias": bias, "dBias": dBias, "use_alibi_mask": use_alibi_mask, "dropout": dropout}
        options |= {"use_padding_mask": use_padding_mask, "rng_dump": rng_dump, "dSink_token": dSink_token}
        options |= {"use_causal_mask": use_causal_mask or use_causal_mask_bottom_right, "sink_token": sink_token}
        refuse_options(**options, bound=next((one for one in (*lefts, *rights) if one is not None), None))
        given = {"q": q, "k": k, "v": v, "o": o, "dO": dO, "stats": stats}
        demand_tensors(**given)
        how = {"compute": compute_data_type, "name": text(name, "name")}
        return flexible.backward(self, given, attn_scale, (changed, score_mod_bprop), how)
    drawn, probability = dropout_ports(dropout, backward=True)
    inputs = {
        **{"Q": q, "K": k, "V": v, "O": o, "DO": dO, "STATS": stats, "ATTN_SCALE": attn_scale, "BIAS": bias},
        **{"SEQ_LEN_Q": seq_len_q, "SEQ_LEN_KV": seq_len_kv, "SINK_TOKEN": sink_token, **drawn},
    }
    out = add_attention(
        self,
        "sdpa_backward",
        inputs,
        {"DBIAS": dBias, "DSINK_TOKEN": dSink_token, "RNG_DUMP": rng_dump},
        compute_data_type,
        name,
        **band(use_causal_mask, use_causal_mask_bottom_right, diagonal_alignment, lefts, rights),
        use_alibi_mask=use_alibi_mask,
        use_padding_mask=use_padding_mask,
        dropout_probability=probability,
    )
    return [out["DQ"], out["DK"], out["DV"]]


scaled_dot_product_flash_attention = sdpa


scaled_dot_product_flash_attention_backward = sdpa_backward
