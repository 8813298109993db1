"""The definitions of normalisations in graphs, and of the parts of batch normalisation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.graph.operation_graph import Operation, OperationGraph
from portadnn.graph.ops.layer_norm import statistics_dims

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]
DEFAULT_EPSILON = 1e-5  # of the gradient of an instance normalisation that saved nothing


def _number(t: Tensors, port: str) -> float:
    return float(t[port].reshape(()))


def _channel_axes(x: Array) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    mean = x.mean(axes, keepdims=True)
    return mean, ((x - mean) ** 2).mean(axes, keepdims=True)


def _running(t: Tensors, mean: Array, variance: Array, count: float) -> dict[str, Array]:
    """Return the next running statistics: (1 - momentum) * previous + momentum * new, with the unbiased variance."""
    if "PREV_RUNNING_MEAN" not in t:
        return {}
    momentum = _number(t, "MOMENTUM")
    unbiased = variance * np.float64(count) / (np.float64(count) - 1)
    return {
        "NEXT_RUNNING_MEAN": (1 - momentum) * t["PREV_RUNNING_MEAN"] + momentum * mean,
        "NEXT_RUNNING_VAR": (1 - momentum) * t["PREV_RUNNING_VAR"] + momentum * unbiased,
    }


def _batchnorm(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    x = t["X"]
    mean, variance = _moments(x, _channel_axes(x))
    inverse = 1 / np.sqrt(variance + _number(t, "EPSILON"))
    y = t["SCALE"] * (x - mean) * inverse + t["BIAS"]
    running = _running(t, mean, variance, x.size / mean.size)
    return {"Y": y, "MEAN": mean, "INV_VARIANCE": inverse, **running}


def _inference(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    return {"Y": t["SCALE"] * (t["X"] - t["MEAN"]) * t["INV_VARIANCE"] + t["BIAS"]}


def _gradients(
    t: Tensors, mean: Array, inverse: Array, axes: tuple[int, ...], parameters: tuple[int, ...]
) -> dict[str, Array]:
    """Return dx, dscale and dbias for x normalised over `axes`, with parameters summed over `parameters`."""
    z, dy = (t["X"] - mean) * inverse, t["DY"]
    g = dy * t["SCALE"]
    dx = inverse * (g - g.mean(axes, keepdims=True) - z * (g * z).mean(axes, keepdims=True))
    return {"DX": dx, "DSCALE": (dy * z).sum(parameters, keepdims=True), "DBIAS": dy.sum(parameters, keepdims=True)}


def _batchnorm_backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    axes = _channel_axes(t["X"])
    return _gradients(t, t["MEAN"], t["INV_VARIANCE"], axes, axes)


def _axes(op: Operation, t: Tensors) -> tuple[int, ...]:
    """Return the axes that are normalised together."""
    statistics = statistics_dims(op.kind, t["X"].shape, t["SCALE"].shape)
    return tuple(axis for axis, size in enumerate(statistics) if size == 1)


def _parameter_axes(t: Tensors) -> tuple[int, ...]:
    return tuple(axis for axis, size in enumerate(t["SCALE"].shape) if size == 1)


def _forward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    x, axes = t["X"], _axes(op, t)
    mean, variance = _moments(x, axes)
    if op.kind == "rmsnorm":
        mean, variance = np.zeros_like(mean), (x**2).mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + _number(t, "EPSILON"))
    y = (x - mean) * inverse * t["SCALE"] + t.get("BIAS", np.float64(0))
    return {"Y": y, "MEAN": mean, "INV_VARIANCE": inverse}


def _backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    axes = _axes(op, t)
    if "MEAN" in t:
        mean, inverse = t["MEAN"], t["INV_VARIANCE"]
    else:
        mean, variance = _moments(t["X"], axes)
        inverse = 1 / np.sqrt(variance + DEFAULT_EPSILON)
    return _gradients(t, mean, inverse, axes, _parameter_axes(t))


def _rms_backward(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    z, dy, axes = t["X"] * t["INV_VARIANCE"], t["DY"], _axes(op, t)
    g = dy * t["SCALE"]
    dx = t["INV_VARIANCE"] * (g - z * (g * z).mean(axes, keepdims=True))
    summed = _parameter_axes(t)
    return {"DX": dx, "Dscale": (dy * z).sum(summed, keepdims=True), "Dbias": dy.sum(summed, keepdims=True)}


def _finalize(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    """Batch normalisation's statistics from genstats' sums, and y = EQ_SCALE * x + EQ_BIAS."""
    count = _number(t, "ACCUM_COUNT")
    mean = t["SUM"] / count
    variance = t["SQ_SUM"] / count - mean**2
    inverse = 1 / np.sqrt(variance + _number(t, "EPSILON"))
    scale = t["SCALE"] * inverse
    found = {"EQ_SCALE": scale, "EQ_BIAS": t["BIAS"] - mean * scale, "MEAN": mean, "INV_VARIANCE": inverse}
    return {**found, **_running(t, mean, variance, count)}


def _weight(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    """Gradients of scale and bias, and dx = EQ_SCALE_DY * dy + EQ_SCALE_X * x + EQ_BIAS."""
    axes = _channel_axes(t["X"])
    mean, inverse = t["MEAN"], t["INV_VARIANCE"]
    found = _gradients(t, mean, inverse, axes, axes)
    count = math.prod(t["X"].shape) / mean.size
    a = t["SCALE"] * inverse
    b = -a * inverse * found["DSCALE"] / count
    c = -a * found["DBIAS"] / count - b * mean
    return {"DSCALE": found["DSCALE"], "DBIAS": found["DBIAS"], "EQ_SCALE_DY": a, "EQ_SCALE_X": b, "EQ_BIAS": c}


DEFINITIONS = {
    "batchnorm": _batchnorm,
    "batchnorm_inference": _inference,
    "batchnorm_backward": _batchnorm_backward,
    "bn_finalize": _finalize,
    "dbn_weight": _weight,
    "layernorm": _forward,
    "layernorm_backward": _backward,
    "adalayernorm": _forward,
    "adalayernorm_backward": _backward,
    "instancenorm": _forward,
    "instancenorm_backward": _backward,
    "rmsnorm": _forward,
    "rmsnorm_backward": _rms_backward,
}
