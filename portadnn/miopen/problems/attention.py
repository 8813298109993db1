"""Multi-head attention as MIOpen's problems have it, (n, heads, steps, size), computed by a graph.

Forward, with P the softmax and M and Z its maxima and sums: ``S = scale * descaleQ * descaleK * q k^T + bias``,
``P = exp(S - M) / Z``, ``O = scaleO * descaleS * descaleV * (scaleS * P) v``; amaxS and amaxO are the largest
absolute values of P, and of O before scaleO. Backward: see :func:`_backward`. src/kernels/MIOpenSoftmaxAttn.cpp and
test/gtest/mha_helper.hpp define both.

Dropout, of a probability above 0, multiplies P by a mask of seed and offset, 0 or ``1 / (1 - probability)``, once amaxS
was taken. MIOpen draws it from a generator for each thread of its launch; here it is what a graph's ``rng`` draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import graph as graphs
from ...enums import DataType
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...problem import TensorSpec
from ..composed_graphs import run_graph
from ..generated.enums import miopenMhaMask_t, miopenTensorArgumentId_t
from .problem import FORWARD, Id, MhaSettings, Single

OPTIONAL = {Id.miopenTensorMhaBias, Id.miopenTensorMhaMask}
_DRAWN = ("DropoutSeed", "DropoutOffset")
_DROPOUT = ("DropoutProbability", *_DRAWN)
_INTEGERS = (DataType.INT64, DataType.INT32)
_COMMON = ("K", "Q", "V", "DescaleK", "DescaleQ", "DescaleV", "DescaleS", "ScaleS")
_FORWARD_IN, _FORWARD_OUT = (*_COMMON, "ScaleO"), ("O", "AmaxO", "AmaxS", "M", "ZInv")
_BACKWARD_IN = (
    *_COMMON,
    *("O", "DO", "M", "ZInv", "DescaleO", "DescaleDO", "DescaleDS"),
    *("ScaleDS", "ScaleDQ", "ScaleDK", "ScaleDV"),
)
_BACKWARD_OUT = ("DQ", "DK", "DV", "AmaxDQ", "AmaxDK", "AmaxDV", "AmaxDS")
_TYPES = (DataType.FLOAT, DataType.HALF, DataType.BFLOAT16)


def _id(name: str) -> miopenTensorArgumentId_t:
    return miopenTensorArgumentId_t[f"miopenTensorMha{name}"]


def _names(problem: Single) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (_FORWARD_IN, _FORWARD_OUT) if problem.direction is FORWARD else (_BACKWARD_IN, _BACKWARD_OUT)


def specs(problem: Single) -> dict[miopenTensorArgumentId_t, TensorSpec | None]:
    """Return the tensors that a run takes; None for the mask, which is a number."""
    inputs, outputs = _names(problem)
    found: dict[miopenTensorArgumentId_t, TensorSpec | None] = {
        _id(name): problem.spec(_id(name)) for name in (*inputs, *outputs, *_DROPOUT)
    }
    _check(problem, {name: spec for name in (*inputs, *outputs) if (spec := found[_id(name)]) is not None})
    if problem.direction is FORWARD:
        if Id.miopenTensorMhaBias in problem.tensors:
            found[Id.miopenTensorMhaBias] = problem.spec(Id.miopenTensorMhaBias)
        found[Id.miopenTensorMhaMask] = None
    return found


def _check(problem: Single, known: Mapping[str, TensorSpec]) -> None:
    q, k, v = known["Q"], known["K"], known["V"]
    if len(q.dims) != 4 or q.dtype not in _TYPES:
        raise NotSupported(argument="problem", expected="q of 4 dims, miopenFloat, miopenHalf or miopenBFloat16", got=q)
    n, heads, steps, size = q.dims
    keys = k.dims[2] if len(k.dims) == 4 else 0
    wide = v.dims[3] if len(v.dims) == 4 else 0
    shapes = {
        **dict.fromkeys(("Q", "DQ"), (n, heads, steps, size)),
        **dict.fromkeys(("K", "DK"), (n, heads, keys, size)),
        **dict.fromkeys(("V", "DV"), (n, heads, keys, wide)),
        **dict.fromkeys(("O", "DO"), (n, heads, steps, wide)),
        **dict.fromkeys(("M", "ZInv"), (n, heads, steps, 1)),
    }
    for name, spec in known.items():
        wanted = shapes.get(name, (1, 1, 1, 1))
        if spec.dims != wanted:
            raise BadParam(argument="problem", expected=f"{_id(name).name} of dims {wanted}", got=spec.dims)
        kind = q.dtype if name in shapes and name not in ("M", "ZInv") else DataType.FLOAT
        if spec.dtype is not kind:
            raise BadParam(argument="problem", expected=f"{_id(name).name} of type {kind.name}", got=spec.dtype.name)


def run(handle: Handle, problem: Single, values: Mapping[miopenTensorArgumentId_t, Any]) -> None:
    """Run attention or its gradients on a problem's tensors.

    Raises
    ------
    BadParam
        A dropout probability outside of 0 to 1, or one above 0 with a seed or an offset that are no integers.
    """
    inputs, outputs = _names(problem)
    dropped = float(np.asarray(handle.to_numpy(values[_id("DropoutProbability")])).reshape(-1)[0])
    if not 0 <= dropped < 1:
        expected = "miopenTensorMhaDropoutProbability from 0 to below 1"
        raise BadParam(argument="tensors", expected=expected, got=dropped)
    if dropped:
        inputs = (*inputs, *_DRAWN)
        for name in _DRAWN:
            if (kind := problem.spec(_id(name)).dtype) not in _INTEGERS:
                raise BadParam(argument="problem", expected=f"{_id(name).name} of miopenInt64", got=kind.name)
    arrays = {name: values[_id(name)] for name in (*inputs, *outputs)}
    mask = miopenMhaMask_t.miopenMhaMaskNone
    if values.get(Id.miopenTensorMhaMask):
        mask = miopenMhaMask_t(int(values[Id.miopenTensorMhaMask]))
    if Id.miopenTensorMhaBias in values:
        arrays["Bias"] = values[Id.miopenTensorMhaBias]
    stated = {name: problem.spec(_id(name)) for name in arrays}
    settings = problem.settings
    assert isinstance(settings, MhaSettings)
    describe = _forward if problem.direction is FORWARD else _backward

    def described(graph: Any, tensors: dict[str, Any]) -> dict[str, Any]:
        return describe(graph, tensors, settings.scale, mask, dropped)

    taken = {name: spec for name, spec in stated.items() if name not in outputs}
    made = {name: stated[name] for name in outputs}
    run_graph(handle, ("mha", settings.scale, problem.direction, mask, dropped), taken, made, arrays, described)


def _turned(graph: Any, x: Any) -> Any:
    """Return a tensor with its last two axes exchanged."""
    return graph.transpose(x, permutation=[0, 1, 3, 2])


def _reduced(graph: Any, x: Any, mode: str, like: Any = None) -> Any:
    """Return a reduction to one number for each row of `like`, or to one number."""
    dims = [1, 1, 1, 1] if like is None else [*like.get_dim()[:3], 1]
    strides = [dims[1] * dims[2], dims[2], 1, 1]
    return graph.reduction(x, mode=graphs.reduction_mode[mode]).set_dim(dims).set_stride(strides)


def _scores(graph: Any, t: Mapping[str, Any], scale: float) -> Any:
    products = graph.matmul(t["Q"], _turned(graph, t["K"]))
    return graph.mul(graph.mul(products, scale), graph.mul(t["DescaleQ"], t["DescaleK"]))


def _kept(graph: Any, t: Mapping[str, Any], shares: Any, dropped: float) -> Any:
    """Return the shares times the mask of dropout."""
    if not dropped:
        return shares
    dims = [*t["Q"].get_dim()[:3], t["K"].get_dim()[2]]
    kind = graphs.rng_distribution.BERNOULLI
    drawn = graph.rng(dims, kind, t["DropoutSeed"], t["DropoutOffset"], bernoulli_probability=1 - dropped)
    return graph.mul(shares, graph.mul(drawn, 1 / (1 - dropped)))


def _forward(graph: Any, t: Mapping[str, Any], scale: float, mask: miopenMhaMask_t, dropped: float) -> dict[str, Any]:
    scores = _scores(graph, t, scale)
    if "Bias" in t:
        scores = graph.add(scores, t["Bias"])
    if mask is miopenMhaMask_t.miopenMhaMaskCausal:
        allowed = graph.cmp_ge(graph.gen_index(scores, axis=2), graph.gen_index(scores, axis=3))
        scores = graph.binary_select(scores, -3.4e38, allowed)
    largest = _reduced(graph, scores, "MAX", t["Q"])
    exponentials = graph.exp(graph.sub(scores, largest))
    inverse = graph.reciprocal(_reduced(graph, exponentials, "ADD", t["Q"]))
    shares = graph.mul(exponentials, inverse)
    summed = graph.matmul(graph.mul(_kept(graph, t, shares, dropped), t["ScaleS"]), t["V"])
    out = graph.mul(summed, graph.mul(t["DescaleS"], t["DescaleV"]))
    return {
        "O": graph.mul(out, t["ScaleO"]),
        "AmaxO": _reduced(graph, out, "AMAX"),
        "AmaxS": _reduced(graph, shares, "AMAX"),
        "M": largest,
        "ZInv": inverse,
    }


def _backward(graph: Any, t: Mapping[str, Any], scale: float, mask: miopenMhaMask_t, dropped: float) -> dict[str, Any]:
    """Describe the gradients; the softmax is recomputed from M and ZInv, without bias and mask, as MIOpen does.

    ``dV = scaleDV * descaleS * descaleDO * (scaleS * P)^T dO``; ``dS = scale * P * (descaleDO * descaleV * dO v^T -
    rows of (descaleDO * dO) * (descaleO * O) summed)``; ``dQ = scaleDQ * descaleDS * descaleK * (scaleDS * dS) k``,
    and dK of its transpose with q. Each amax is of the value before its scale. With dropout P is the masked one, and
    the difference in dS is multiplied by ``1 - probability``, as in MIOpen's kernels: less than the derivative has.
    """
    shares = graph.mul(graph.exp(graph.sub(_scores(graph, t, scale), t["M"])), t["ZInv"])
    shares = _kept(graph, t, shares, dropped)
    first = graph.matmul(_turned(graph, graph.mul(shares, t["ScaleS"])), t["DO"])
    dv = graph.mul(first, graph.mul(t["DescaleS"], t["DescaleDO"]))
    second = graph.matmul(t["DO"], _turned(graph, t["V"]))
    towards = graph.mul(second, graph.mul(t["DescaleDO"], t["DescaleV"]))
    weighed = graph.mul(graph.mul(t["DO"], t["DescaleDO"]), graph.mul(t["O"], t["DescaleO"]))
    difference = graph.sub(towards, _reduced(graph, weighed, "ADD", t["Q"]))
    change = graph.mul(graph.mul(difference, scale * (1 - dropped)), shares)
    scaled = graph.mul(change, t["ScaleDS"])
    dq = graph.mul(graph.matmul(scaled, t["K"]), graph.mul(t["DescaleDS"], t["DescaleK"]))
    dk = graph.mul(graph.matmul(_turned(graph, scaled), t["Q"]), graph.mul(t["DescaleDS"], t["DescaleQ"]))
    return {
        **{name: graph.mul(value, t[f"Scale{name}"]) for name, value in (("DQ", dq), ("DK", dk), ("DV", dv))},
        **{
            f"Amax{name}": _reduced(graph, value, "AMAX")
            for name, value in (("DQ", dq), ("DK", dk), ("DV", dv), ("DS", change))
        },
    }
