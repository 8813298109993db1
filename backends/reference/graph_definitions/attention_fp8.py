"""The definitions of attention of FP8 tensors: as of others, with what is multiplied rounded to FP8 first.

Forward that is exp(score - the row's largest), and the sum divides behind the product, as in cuDNN's kernels, which
take the largest score met so far. Backward it is the probability.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.operation_graph import Operation, OperationGraph

from .attention import Attention, Tensors, bias_and_sink, probabilities, rows, score_gradient, softmax

Array = npt.NDArray[Any]


def _stored(graph: OperationGraph, at: Attention, true: Array, scale: str, descale: str) -> Array:
    """Return true numbers as they are after having been stored in the type of Q."""
    read: Array = graph.at(at.op, "Q").data_type.rounded(true * at.factor(scale)) * at.factor(descale)
    return read


def _largest(true: Array) -> Array:
    largest: Array = np.abs(true).max(keepdims=True)
    return largest


def _sdpa(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    at = Attention(op, t)
    p, top, total = softmax(at, at.scores(at.factor("DESCALE_Q") * at.factor("DESCALE_K")))
    p = p * at.dropout()
    o = _stored(graph, at, p * total, "SCALE_S", "DESCALE_S") @ at.v * at.factor("DESCALE_V")
    o = o / np.where(total == 0, 1, total)
    return {"O": o * at.factor("SCALE_O"), "AMAX_S": _largest(p), "AMAX_O": _largest(o), **rows(at, top, total)}


def _backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    at = Attention(op, t)
    do = at.alive(t["DO"]) * at.factor("DESCALE_DO")
    dot = (do * at.alive(t["O"])).sum(3, keepdims=True) * at.factor("DESCALE_O")
    p = probabilities(at, at.scores(at.factor("DESCALE_Q") * at.factor("DESCALE_K")))
    ds = score_gradient(at, p, do @ at.v.swapaxes(2, 3) * at.factor("DESCALE_V"), dot)
    scaled = ds * at.factor("ATTN_SCALE")
    stored = _stored(graph, at, scaled, "SCALE_DP", "DESCALE_DP")
    weights = _stored(graph, at, p * at.dropout(), "SCALE_S", "DESCALE_S")
    true = {
        "DQ": stored @ at.k * at.factor("DESCALE_K"),
        "DK": at.summed(stored.swapaxes(2, 3) @ at.q, at.sizes.hk) * at.factor("DESCALE_Q"),
        "DV": at.summed(weights.swapaxes(2, 3) @ do, at.sizes.hv),
    }
    return {
        **{port: value * at.factor(f"SCALE_{port}") for port, value in true.items()},
        **{f"AMAX_{port}": _largest(value) for port, value in true.items()},
        "AMAX_DP": _largest(scaled),
        **bias_and_sink(graph, at, ds, dot),
    }


DEFINITIONS = {"sdpa_fp8": _sdpa, "sdpa_fp8_backward": _backward}
