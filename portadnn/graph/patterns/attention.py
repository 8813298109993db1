"""Patterns of attention: products and softmax node by node (MhaFprop, MhaBprop), and flash attention in one node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..data_types import data_type
from ..enums import reduction_mode, rng_distribution
from ..tensor import tensor
from .base import FLOAT, Builder, Pattern, pattern, rows

if TYPE_CHECKING:
    from ..pygraph import pygraph

Q = (2, 4, 24, 16)  # batch, heads, length, size
MASKED = -1e9  # scores that do not count; -inf has no product with 0
SEED = 0x5EED


def _turned(graph: pygraph, name: str, dims: Sequence[int]) -> tensor:
    """Return an input with its last two dims exchanged, whose memory is as if they were not."""
    b, h, s, d = dims
    return graph.tensor(dim=(b, h, d, s), stride=(h * s * d, s * d, 1, d), name=name)


def _reduced(graph: pygraph, x: tensor, mode: reduction_mode, dims: Sequence[int], name: str) -> tensor:
    return graph.reduction(x, mode, name=name).set_dim([*dims[:3], 1])


def _softmax(graph: pygraph, scores: tensor, dims: Sequence[int]) -> tensor:
    """Add the specification's softmax over rows."""
    largest = _reduced(graph, scores, reduction_mode.MAX, dims, "row_max")
    powers = graph.exp(graph.sub(scores, largest, name="subtract_max"), name="exp")
    return graph.div(powers, _reduced(graph, powers, reduction_mode.ADD, dims, "row_sum"), name="divide")


def _causal(graph: pygraph, scores: tensor) -> tensor:
    """Add the specification's causal mask."""
    row, column = (graph.gen_index(scores, axis, name=f"index_{axis}") for axis in (2, 3))
    seen = graph.cmp_ge(row, column, name="compare")
    for one in (row, column):
        one.set_data_type(data_type.INT32)
    masked = graph.tensor_scalar(MASKED).set_name("masked")
    return graph.binary_select(scores, masked, seen.set_data_type(data_type.BOOLEAN), name="select")


def mha_fprop(graph: pygraph, q: Sequence[int] = Q, dropout: float = 0.25, causal: bool = True) -> Pattern:
    """O = dropout(softmax(mask(Q (scale K^T)))) V, each step a node: specification, Fused Attention fprop.

    P are the probabilities, mask what was drawn for them, with 1 - dropout, and S their product over 1 - dropout.
    """
    b, h, s, d = q
    given, k, v = rows(graph, "Q", q), _turned(graph, "K", q), rows(graph, "V", q)
    scores = graph.matmul(given, graph.mul(k, 1 / math.sqrt(d), name="scale_k"), name="qk")
    p = _softmax(graph, _causal(graph, scores) if causal else scores, (b, h, s, s))
    if not dropout:
        return pattern([given, k, v], P=p, O=graph.matmul(p, v, name="pv"))
    drawn = graph.rng([b, h, s, s], rng_distribution.BERNOULLI, SEED, 0, bernoulli_probability=1 - dropout, name="rng")
    kept = graph.mul(graph.mul(p, drawn, name="drop"), 1 / (1 - dropout), name="scale_kept")
    return pattern([given, k, v], P=p, mask=drawn, S=kept, O=graph.matmul(kept, v, name="pv"))


def mha_bprop(graph: pygraph, q: Sequence[int] = Q, dropout: float = 0.25) -> Pattern:
    """Return the gradients of MhaFprop from its probabilities and mask, each step a node: Fused Attention bprop."""
    b, h, s, d = q
    given, k, v = rows(graph, "Q", q), rows(graph, "K", q), _turned(graph, "V", q)
    do, p, mask = rows(graph, "dO", q), rows(graph, "P", (b, h, s, s)), rows(graph, "mask", (b, h, s, s))
    factor = graph.mul(mask, 1 / (1 - dropout), name="scale_mask")
    kept = graph.mul(p, factor, name="drop")
    dv = graph.matmul(graph.transpose(kept, [0, 1, 3, 2], name="turn_s"), do, name="dv")
    dp = graph.mul(graph.matmul(do, v, name="dov"), factor, name="drop_gradient")
    product = graph.mul(dp, p, name="weigh")
    total = _reduced(graph, product, reduction_mode.ADD, (b, h, s, s), "row_sum")
    ds = graph.mul(
        graph.mul(graph.sub(dp, total, name="subtract"), p, name="softmax_gradient"), 1 / math.sqrt(d), name="scale_ds"
    )
    dk = graph.matmul(graph.transpose(ds, [0, 1, 3, 2], name="turn_ds"), given, name="dk")
    return pattern([given, k, v, do, p, mask], dQ=graph.matmul(ds, k, name="dq"), dK=dk, dV=dv)


def _heads(dims: Sequence[int], heads: int) -> tuple[int, ...]:
    return dims[0], heads, *dims[2:]


def flash_fprop(graph: pygraph, q: Sequence[int] = Q, heads: int = 2) -> Pattern:
    """Causal attention with heads of keys that several heads of queries share: Fused Flash Attention fprop."""
    given = [rows(graph, "Q", q), *(rows(graph, name, _heads(q, heads)) for name in "KV")]
    o, stats = graph.sdpa(
        *given, generate_stats=True, attn_scale=1 / math.sqrt(q[3]), use_causal_mask=True, name="sdpa"
    )
    return pattern(given, O=o, **_stats(stats))


def flash_bprop(graph: pygraph, q: Sequence[int] = Q, heads: int = 2) -> Pattern:
    """Return the gradients of flash_fprop: specification, Fused Flash Attention bprop."""
    given = [rows(graph, "Q", q), *(rows(graph, name, _heads(q, heads)) for name in "KV")]
    given += [rows(graph, "O", q), rows(graph, "dO", q), rows(graph, "stats", (*q[:3], 1), FLOAT)]
    scale = 1 / math.sqrt(q[3])
    dq, dk, dv = graph.sdpa_backward(*given, attn_scale=scale, use_causal_mask=True, name="sdpa_backward")
    return pattern(given, dQ=dq, dK=dk, dV=dv)


def _stats(stats: tensor | None) -> dict[str, tensor]:
    return {} if stats is None else {"stats": stats.set_data_type(FLOAT)}


def fp8_flash_fprop(graph: pygraph, q: Sequence[int] = Q) -> Pattern:
    """Attention of FP8_E4M3 with scales, and the largest probability and output: FP8 Fused Flash Attention."""
    e4m3 = data_type.FP8_E4M3
    given = [rows(graph, name, q, e4m3) for name in "QKV"]
    o, stats, amax_s, amax_o = graph.sdpa_fp8(
        *given,
        *(0.0625, 0.0625, 0.0625, 1 / 256, 256.0, 16.0),
        generate_stats=True,
        attn_scale=1 / math.sqrt(q[3]),
        name="sdpa_fp8",
    )
    amaxes = {"amax_S": amax_s, "amax_O": amax_o}
    found = {name: one.set_data_type(FLOAT) for name, one in amaxes.items() if one is not None}
    return pattern(given, O=o.set_data_type(e4m3), **_stats(stats), **found)


def fp8_flash_bprop(graph: pygraph, q: Sequence[int] = Q) -> Pattern:
    """Return the gradients of fp8_flash_fprop in FP8_E5M2, and their largest magnitudes: FP8 Fused Flash Attention."""
    e4m3, e5m2 = data_type.FP8_E4M3, data_type.FP8_E5M2
    given = [rows(graph, name, q, e4m3) for name in ("Q", "K", "V", "O")]
    given += [rows(graph, "dO", q, e5m2), rows(graph, "stats", (*q[:3], 1), FLOAT)]
    descales = (0.0625, 0.0625, 0.0625, 0.0625, 0.0625, 1 / 256, 1 / 64)
    scales = (256.0, 16.0, 16.0, 16.0, 64.0)
    *gradients, amax_q, amax_k, amax_v, amax_p = graph.sdpa_fp8_backward(
        *given, *descales, *scales, attn_scale=1 / math.sqrt(q[3]), name="sdpa_fp8_backward"
    )
    named = {f"d{name}": one.set_data_type(e5m2) for name, one in zip("QKV", gradients, strict=True)}
    amaxes = {"amax_dQ": amax_q, "amax_dK": amax_k, "amax_dV": amax_v, "amax_dP": amax_p}
    return pattern(given, **named, **{name: one.set_data_type(FLOAT) for name, one in amaxes.items()})


ATTENTION: dict[str, Builder] = {
    "MhaFprop": mha_fprop,
    "MhaBprop": mha_bprop,
    "flash attention fprop": flash_fprop,
    "flash attention bprop": flash_bprop,
    "FP8 flash attention fprop": fp8_flash_fprop,
    "FP8 flash attention bprop": fp8_flash_bprop,
}
