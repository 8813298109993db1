"""The definitions of matmul, convolution, reductions and softmax in graphs, by those of Problems where they exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portadnn.enums import ConvolutionMode, DataType, NanPropagation, ReduceTensorOp
from portadnn.graph.operation_graph import Operation, OperationGraph
from portadnn.graph.ops.convolution import groups_of
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.ops.reduce import ReduceTensor
from portadnn.problem import TensorSpec

from ..outcomes import outcomes

Array = npt.NDArray[Any]
Tensors = Mapping[str, Array]


def _spec(dims: tuple[int, ...]) -> TensorSpec:
    return TensorSpec.packed(DataType.DOUBLE, dims)


def _matmul(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    return {"C": np.matmul(t["A"], t["B"])}


class _Window:
    """A convolution over the image with its padding, which may differ at both ends, written out."""

    def __init__(self, op: Operation, kind: type[Convolution], image: tuple[int, ...], filter: tuple[int, ...]) -> None:
        self.op = op
        self.kind = kind
        self.groups = groups_of(image, filter)
        self.padding = tuple(zip(op["pre_padding"], op["post_padding"], strict=True))
        self.inside: tuple[Any, ...] = (
            ...,
            *(slice(pre, pre + d) for (pre, _), d in zip(self.padding, image[2:], strict=True)),
        )
        self.dims = (*image[:2], *(d + a + b for d, (a, b) in zip(image[2:], self.padding, strict=True)))

    def padded(self, image: Array) -> Array:
        """Return the image with zeros around it."""
        return np.pad(image, ((0, 0), (0, 0), *self.padding))

    def run(self, first: Array, second: Array, out: tuple[int, ...]) -> Array:
        """Evaluate the Problem."""
        specs = dict(zip(self.kind.tensor_names(), (*map(_spec, (first.shape, second.shape)), _spec(out)), strict=True))
        mode = ConvolutionMode[self.op["convolution_mode"].name]
        none, op = (0,) * len(self.padding), self.op
        problem: Any = self.kind
        problem = problem(
            **specs, padding=none, stride=op["stride"], dilation=op["dilation"], groups=self.groups, mode=mode
        )
        return outcomes(problem, (first, second, np.empty(out)), (1.0, 0.0))[self.kind.outputs[0]]


def _fprop(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    window = _Window(op, ConvolutionForward, t["X"].shape, t["W"].shape)
    return {"Y": window.run(window.padded(t["X"]), t["W"], graph.at(op, "Y").dims)}


def _dgrad(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    window = _Window(op, ConvolutionBackwardData, graph.at(op, "DX").dims, t["W"].shape)
    return {"DX": window.run(t["W"], t["DY"], window.dims)[window.inside]}


def _wgrad(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    filter = graph.at(op, "DW").dims
    window = _Window(op, ConvolutionBackwardFilter, t["X"].shape, filter)
    return {"DW": window.run(window.padded(t["X"]), t["DY"], filter)}


def _reduction(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    out = graph.at(op, "Y").dims
    how = ReduceTensorOp[op["mode"].name]
    problem = ReduceTensor(_spec(t["X"].shape), _spec(out), how, nan_propagation=NanPropagation.PROPAGATE_NAN)
    return {"Y": outcomes(problem, (t["X"], np.empty(out)), (1.0, 0.0))["c"]}


def _genstats(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    axes = (0, *range(2, t["X"].ndim))
    return {"SUM": t["X"].sum(axes, keepdims=True), "SQ_SUM": (t["X"] ** 2).sum(axes, keepdims=True)}


def _softmax(graph: OperationGraph, op: Operation, t: Tensors) -> Mapping[str, Any]:
    """Where all is -inf, there are no probabilities (NaN), but there is a sum of exponentials: 0."""
    x, axis = t["P"], op["axis"]
    top = x.max(axis, keepdims=True)
    powers = np.exp(x - top)
    total = powers.sum(axis, keepdims=True)
    return {"S": powers / total, "STATS": np.where(np.isneginf(top), top, top + np.log(total))}


DEFINITIONS = {
    "matmul": _matmul,
    "conv_fprop": _fprop,
    "conv_dgrad": _dgrad,
    "conv_wgrad": _wgrad,
    "reduction": _reduction,
    "genstats": _genstats,
    "softmax": _softmax,
}
