"""The methods of :class:`~portadnn.graph.api.pygraph` for attention of FP8 with a scale for each 32 elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...enums import attention_implementation
from ...tensor import tensor
from ..arguments import text
from ..builder import NOT_SET, Builder
from .options import TOP_LEFT
from .sdpa import Maybe, sdpa, sdpa_backward


def _scaled_back(
    self: Builder, port: str, data: tensor, scale: tensor, size: Sequence[int], compute: Any, name: str
) -> tensor:
    step = f"{name}::{port}_scaled_back" if name else ""
    return self._add("block_scale_dequantize", {"X": data, "SCALE": scale}, compute, step, block_size=size)["Y"]


def _largest(self: Builder, of: Maybe, compute: Any, name: str) -> tensor:
    return self._add("reduction", {"X": of}, compute, name, mode="AMAX")["Y"].set_dim([1, 1, 1, 1])


def sdpa_mxfp8(
    self: Builder,
    q: tensor,
    k: tensor,
    v: tensor,
    descale_q: tensor,
    descale_k: tensor,
    descale_v: tensor,
    attn_scale: Any = None,
    use_causal_mask: bool = False,
    use_causal_mask_bottom_right: bool = False,
    diagonal_alignment: Any = TOP_LEFT,
    diagonal_band_left_bound: int | None = None,
    diagonal_band_right_bound: int | None = None,
    compute_data_type: Any = NOT_SET,
    name: str = "",
    generate_stats: bool | None = None,
    sink_token: Maybe = None,
    unfuse_fma: bool = False,
    implementation: Any = attention_implementation.AUTO,
    use_padding_mask: bool = False,
    seq_len_q: Maybe = None,
    seq_len_kv: Maybe = None,
    max_total_seq_len_q: int | None = None,
    max_total_seq_len_kv: int | None = None,
    cu_seq_len_q: Maybe = None,
    cu_seq_len_kv: Maybe = None,
    paged_attention_k_table: Maybe = None,
    paged_attention_v_table: Maybe = None,
    paged_attention_max_seq_len_kv: int | None = None,
) -> list[Maybe]:
    """Return O, the statistics or None, and the largest magnitude of O, of tensors with a scale for each 32 elements.

    Scales of q and k are along their last axes, those of v along the sequence, or where it is in pages along the rows
    of a page; FP8_E8M0, as ``block_scale_dequantize`` takes them. It is four nodes and a reduction: what is scaled
    back is FLOAT, and so are the probabilities, which cuDNN's kernels quantise.
    """
    given = (("Q", q, descale_q, [1, 32]), ("K", k, descale_k, [1, 32]), ("V", v, descale_v, [32, 1]))
    name = text(name, "name")
    back = [_scaled_back(self, *one, compute_data_type, name) for one in given]
    how = {"attn_scale": attn_scale, "sink_token": sink_token, "diagonal_alignment": diagonal_alignment}
    how |= {"use_causal_mask": use_causal_mask, "use_causal_mask_bottom_right": use_causal_mask_bottom_right}
    how |= {"left_bound": diagonal_band_left_bound, "right_bound": diagonal_band_right_bound}
    how |= {"use_padding_mask": use_padding_mask, "seq_len_q": seq_len_q, "seq_len_kv": seq_len_kv}
    how |= {"cu_seq_len_q": cu_seq_len_q, "cu_seq_len_kv": cu_seq_len_kv}
    how |= {"paged_attention_k_table": paged_attention_k_table, "paged_attention_v_table": paged_attention_v_table}
    how |= {"paged_attention_max_seq_len_kv": paged_attention_max_seq_len_kv}
    more = {
        "generate_stats": generate_stats,
        "implementation": implementation,
        "compute_data_type": compute_data_type,
        "name": name,
    }
    o, stats = sdpa(self, back[0], back[1], back[2], **how, **more)
    return [o, stats, _largest(self, o, compute_data_type, f"{name}::amax" if name else "")]


def sdpa_mxfp8_backward(
    self: Builder,
    q: tensor,
    q_T: tensor,
    k: tensor,
    k_T: tensor,
    v: tensor,
    o_f16: tensor,
    dO_f16: tensor,
    dO: tensor,
    dO_T: tensor,
    stats: tensor,
    descale_q: tensor,
    descale_q_T: tensor,
    descale_k: tensor,
    descale_k_T: tensor,
    descale_v: tensor,
    descale_dO: tensor,
    descale_dO_T: tensor,
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
) -> list[tensor]:
    """Return the gradients to queries, keys and values, and the largest magnitude of each.

    Scales of q, k and v are along their last axes. What is scaled back is FLOAT, and so are probabilities and the
    scores' gradient, which cuDNN's kernels quantise; so the gradient to O is read as `dO_f16`, and the copies that are
    quantised along the sequence (`q_T`, `k_T`, `dO_T`) and `dO` are not read. See :meth:`sdpa_backward`.
    """
    given = (("Q", q, descale_q, [1, 32]), ("K", k, descale_k, [1, 32]), ("V", v, descale_v, [1, 32]))
    name = text(name, "name")
    back = [_scaled_back(self, *one, compute_data_type, name) for one in given]
    how = {"attn_scale": attn_scale, "use_padding_mask": use_padding_mask, "seq_len_q": seq_len_q}
    how |= {"seq_len_kv": seq_len_kv, "use_causal_mask": use_causal_mask, "left_bound": left_bound}
    how |= {"use_causal_mask_bottom_right": use_causal_mask_bottom_right, "right_bound": right_bound}
    how |= {"diagonal_alignment": diagonal_alignment, "dropout": dropout, "sink_token": sink_token}
    how |= {"dSink_token": dSink_token, "compute_data_type": compute_data_type, "name": name}
    made = sdpa_backward(self, back[0], back[1], back[2], o_f16, dO_f16, stats, **how)
    steps = [f"{name}::amax_{port}" if name else "" for port in ("dQ", "dK", "dV")]
    return [*made, *(_largest(self, one, compute_data_type, step) for one, step in zip(made, steps, strict=True))]
