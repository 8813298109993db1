"""The methods of :class:`~portadnn.graph.api.pygraph` for attention of FP8 tensors.

Each ``descale`` makes true numbers of what is stored, each ``scale`` is multiplied before storing; both are numbers or
tensors of one element. Amax outputs are the largest magnitudes of true numbers, (1, 1, 1, 1).
"""

from __future__ import annotations

from typing import Any

from ...enums import attention_implementation
from ...tensor import tensor
from ..builder import NOT_SET, Builder
from .options import TOP_LEFT, band, dropout_ports, refuse_functions, stats_wanted
from .sdpa import Function, Maybe, add_attention


def sdpa_fp8(
    self: Builder,
    q: tensor,
    k: tensor,
    v: tensor,
    descale_q: Any,
    descale_k: Any,
    descale_v: Any,
    descale_s: Any,
    scale_s: Any,
    scale_o: Any,
    is_inference: bool | None = None,
    attn_scale: Any = None,
    bias: Maybe = None,
    use_alibi_mask: bool = False,
    use_padding_mask: bool = False,
    seq_len_q: Maybe = None,
    seq_len_kv: Maybe = None,
    use_causal_mask: bool = False,
    use_causal_mask_bottom_right: bool = False,
    sliding_window: int | None = None,
    diagonal_alignment: Any = TOP_LEFT,
    left_bound: int | None = None,
    right_bound: int | None = None,
    dropout: Any = None,
    rng_dump: Maybe = None,
    paged_attention_k_table: Maybe = None,
    paged_attention_v_table: Maybe = None,
    paged_attention_max_seq_len_kv: int | None = None,
    max_total_seq_len_q: int | None = None,
    max_total_seq_len_kv: int | None = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    fn: Function = None,
    generate_stats: bool | None = None,
    score_max: Maybe = None,
    score_sum_exp: Maybe = None,
    sink_token: Maybe = None,
    unfuse_fma: bool = False,
    implementation: Any = attention_implementation.AUTO,
    cu_seq_len_q: Maybe = None,
    cu_seq_len_kv: Maybe = None,
    stats_use_log2: bool = False,
    *,
    block_mask: Maybe = None,
    score_mod: Function = None,
    sliding_window_length: int | None = None,
    diagonal_band_left_bound: int | None = None,
    diagonal_band_right_bound: int | None = None,
) -> list[Maybe]:
    """Return O, the statistics or None, and the largest probability and output; see :meth:`sdpa`.

    What the values are multiplied by, exp(score - the row's largest), is stored in the type of q, times `scale_s`; the
    row's sum divides the products.
    """
    refuse_functions(score_mod=score_mod, fn=fn)
    if implementation is not None:
        attention_implementation.parse(implementation, "implementation")
    drawn, probability = dropout_ports(dropout, backward=False)
    inputs = {
        **{"Q": q, "K": k, "V": v, "ATTN_SCALE": attn_scale, "BIAS": bias, "BLOCK_MASK": block_mask},
        **{"DESCALE_Q": descale_q, "DESCALE_K": descale_k, "DESCALE_V": descale_v, "DESCALE_S": descale_s},
        **{"SCALE_S": scale_s, "SCALE_O": scale_o, "SINK_TOKEN": sink_token, **drawn},
        **{"SEQ_LEN_Q": seq_len_q, "SEQ_LEN_KV": seq_len_kv},
        **{"PAGE_TABLE_K": paged_attention_k_table, "PAGE_TABLE_V": paged_attention_v_table},
        **{"CU_SEQ_LEN_Q": cu_seq_len_q, "CU_SEQ_LEN_KV": cu_seq_len_kv},
    }
    wanted = stats_wanted(is_inference, generate_stats)
    lefts = (diagonal_band_left_bound, left_bound, sliding_window_length, sliding_window)
    rights = (diagonal_band_right_bound, right_bound)
    out = add_attention(
        self,
        "sdpa_fp8",
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
    return [out["O"], out["STATS"] if wanted else None, out["AMAX_S"], out["AMAX_O"]]


def sdpa_fp8_backward(
    self: Builder,
    q: tensor,
    k: tensor,
    v: tensor,
    o: tensor,
    dO: tensor,
    stats: tensor,
    descale_q: Any,
    descale_k: Any,
    descale_v: Any,
    descale_o: Any,
    descale_dO: Any,
    descale_s: Any,
    descale_dP: Any,
    scale_s: Any,
    scale_dQ: Any,
    scale_dK: Any,
    scale_dV: Any,
    scale_dP: Any,
    attn_scale: Any = None,
    use_padding_mask: bool = False,
    seq_len_q: Maybe = None,
    seq_len_kv: Maybe = None,
    use_causal_mask: bool = False,
    use_causal_mask_bottom_right: bool = False,
    diagonal_alignment: Any = TOP_LEFT,
    left_bound: int | None = None,
    right_bound: int | None = None,
    use_deterministic_algorithm: bool = False,
    dropout: Any = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    sink_token: Maybe = None,
    dSink_token: Maybe = None,
    max_total_seq_len_q: int | None = None,
    max_total_seq_len_kv: int | None = None,
    *,
    bias: Maybe = None,
    dBias: Maybe = None,
    use_alibi_mask: bool = False,
    rng_dump: Maybe = None,
    sliding_window: int | None = None,
    sliding_window_length: int | None = None,
    diagonal_band_left_bound: int | None = None,
    diagonal_band_right_bound: int | None = None,
) -> list[tensor]:
    """Return the gradients to queries, keys and values, and the largest magnitudes of these and of the scores'.

    See :meth:`sdpa_backward`. Probabilities and the gradient of the scores (which contains `attn_scale`) are stored
    in the type of q, times `scale_s` and `scale_dP`.
    """
    drawn, probability = dropout_ports(dropout, backward=True)
    inputs = {
        **{"Q": q, "K": k, "V": v, "O": o, "DO": dO, "STATS": stats, "ATTN_SCALE": attn_scale, "BIAS": bias},
        **{"DESCALE_Q": descale_q, "DESCALE_K": descale_k, "DESCALE_V": descale_v, "DESCALE_O": descale_o},
        **{"DESCALE_DO": descale_dO, "DESCALE_S": descale_s, "DESCALE_DP": descale_dP, "SCALE_S": scale_s},
        **{"SCALE_DQ": scale_dQ, "SCALE_DK": scale_dK, "SCALE_DV": scale_dV, "SCALE_DP": scale_dP},
        **{"SEQ_LEN_Q": seq_len_q, "SEQ_LEN_KV": seq_len_kv, "SINK_TOKEN": sink_token, **drawn},
    }
    lefts = (diagonal_band_left_bound, left_bound, sliding_window_length, sliding_window)
    rights = (diagonal_band_right_bound, right_bound)
    out = add_attention(
        self,
        "sdpa_fp8_backward",
        inputs,
        {"DBIAS": dBias, "DSINK_TOKEN": dSink_token, "RNG_DUMP": rng_dump},
        compute_data_type,
        name,
        **band(use_causal_mask, use_causal_mask_bottom_right, diagonal_alignment, lefts, rights),
        use_alibi_mask=use_alibi_mask,
        use_padding_mask=use_padding_mask,
        dropout_probability=probability,
    )
    return [out[port] for port in ("DQ", "DK", "DV", "AMAX_DQ", "AMAX_DK", "AMAX_DV", "AMAX_DP")]
