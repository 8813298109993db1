"""Patterns of attention: products and softmax node by node (MhaFprop, MhaBprop), and flash attention in one node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..data_types import data_type
from ..enums import reduction_mode, rng_distribution
from ..tensor import tensor
from .base import FLOAT, Builder, Pattern, pattern, rows

if TYPE_CHECKING:
    from ..api.pygraph import pygraph

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


def _shared(graph: pygraph, q: Sequence[int], heads: int) -> dict[str, Any]:
    """Return queries, and keys and values of fewer heads."""
    dims = q[0], heads, *q[2:]
    return {"q": rows(graph, "Q", q), "k": rows(graph, "K", dims), "v": rows(graph, "V", dims)}


def flash_fprop(graph: pygraph, q: Sequence[int] = Q, heads: int = 2) -> Pattern:
    """Causal attention with heads of keys that several heads of queries share: Fused Flash Attention fprop."""
    given = _shared(graph, q, heads)
    how: dict[str, Any] = {"attn_scale": 1 / math.sqrt(q[3]), "use_causal_mask": True, "generate_stats": True}
    o, stats = graph.sdpa(**given, **how, name="sdpa")
    assert o is not None and stats is not None
    return pattern(list(given.values()), O=o, stats=stats.set_data_type(FLOAT))


def flash_bprop(graph: pygraph, q: Sequence[int] = Q, heads: int = 2) -> Pattern:
    """Return the gradients of flash_fprop: specification, Fused Flash Attention bprop."""
    given = _shared(graph, q, heads)
    given |= {"o": rows(graph, "O", q), "dO": rows(graph, "dO", q), "stats": rows(graph, "stats", (*q[:3], 1), FLOAT)}
    how: dict[str, Any] = {"attn_scale": 1 / math.sqrt(q[3]), "use_causal_mask": True}
    dq, dk, dv = graph.sdpa_backward(**given, **how, name="sdpa_backward")
    return pattern(list(given.values()), dQ=dq, dK=dk, dV=dv)


STORED = 16.0  # times which true numbers are stored in FP8; probabilities times 256, scores' gradients times 64
_DESCALES = {f"descale_{name}": 1 / STORED for name in "qkv"} | {"descale_s": 1 / 256, "scale_s": 256.0}


def fp8_flash_fprop(graph: pygraph, q: Sequence[int] = Q) -> Pattern:
    """Attention of FP8_E4M3 with scales, and the largest probability and output: FP8 Fused Flash Attention."""
    e4m3 = data_type.FP8_E4M3
    given: dict[str, Any] = {name.lower(): rows(graph, name, q, e4m3) for name in "QKV"}
    how: dict[str, Any] = {**_DESCALES, "scale_o": STORED, "generate_stats": True, "attn_scale": 1 / math.sqrt(q[3])}
    found = graph.sdpa_fp8(**given, **how, name="sdpa_fp8")
    names = ("O", "stats", "amax_S", "amax_O")
    outputs = {name: one.set_data_type(FLOAT) for name, one in zip(names, found, strict=True) if one is not None}
    outputs["O"].set_data_type(e4m3)
    return pattern(list(given.values()), **outputs)


def fp8_flash_bprop(graph: pygraph, q: Sequence[int] = Q) -> Pattern:
    """Return the gradients of fp8_flash_fprop in FP8_E5M2, and their largest magnitudes: FP8 Fused Flash Attention."""
    given: dict[str, Any] = {name.lower(): rows(graph, name, q, data_type.FP8_E4M3) for name in "QKVO"}
    given["dO"] = rows(graph, "dO", q, data_type.FP8_E5M2)
    given["stats"] = rows(graph, "stats", (*q[:3], 1), FLOAT)
    how: dict[str, Any] = {**_DESCALES, "descale_o": 1 / STORED, "descale_dO": 1 / STORED, "attn_scale": q[3] ** -0.5}
    how |= {"scale_dP": 64.0, "descale_dP": 1 / 64, **{f"scale_d{name}": STORED for name in "QKV"}}
    found = graph.sdpa_fp8_backward(**given, **how, name="sdpa_fp8_backward")
    names = ("dQ", "dK", "dV", "amax_dQ", "amax_dK", "amax_dV", "amax_dP")
    outputs = {name: one.set_data_type(FLOAT) for name, one in zip(names, found, strict=True)}
    for name in names[:3]:
        outputs[name].set_data_type(data_type.FP8_E5M2)
    return pattern(list(given.values()), **outputs)


ATTENTION: dict[str, Builder] = {
    "MhaFprop": mha_fprop,
    "MhaBprop": mha_bprop,
    "flash attention fprop": flash_fprop,
    "flash attention bprop": flash_bprop,
    "FP8 flash attention fprop": fp8_flash_fprop,
    "FP8 flash attention bprop": fp8_flash_bprop,
}
