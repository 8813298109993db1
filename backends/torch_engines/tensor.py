"""Tensor operations, reductions, and dropout through a mask that is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn.enums import NanPropagation, OpTensorOp, ReduceTensorOp
from portadnn.ops.dropout import DropoutBackward, DropoutForward, SetDropoutDescriptor
from portadnn.ops.reduce import EXTREMES, ReduceTensor
from portadnn.ops.tensor import AddTensor, OpTensor, ScaleTensor, SetTensor, TransformTensor

from ..base import DeviceInfo
from .way import Bound, Numbers, Tensors, Way, Ways, blended


def _transform(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x = t["x"]
    return lambda: {"y": x}


def _add(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    a = t["a"].expand(p.c.dims)
    return lambda: {"c": a}


def _set(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    y = t["y"]
    return lambda: {"y": torch.full_like(y, numbers["value"])}


def _scale(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    y = t["y"]
    return lambda: {"y": torch.mul(y, numbers["alpha"])}


def _op(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    keeps = p.nan_propagation is NanPropagation.PROPAGATE_NAN
    functions: dict[OpTensorOp, Callable[[Any, Any], Any]] = {
        OpTensorOp.ADD: torch.add,
        OpTensorOp.MUL: torch.mul,
        OpTensorOp.MIN: torch.minimum if keeps else torch.fmin,
        OpTensorOp.MAX: torch.maximum if keeps else torch.fmax,
    }
    function = functions[p.operation]
    a, b = t["a"], t["b"]
    return lambda: {"c": function(numbers["alpha1"] * a, numbers["alpha2"] * b)}


# reductions


def _in_rows(p: Any, a: Any) -> Any:
    """Return a with the reduced axes as one, the last."""
    kept = [axis for axis in range(a.dim()) if axis not in p.reduced]
    return a.permute(*kept, *p.reduced).reshape([*(a.shape[axis] for axis in kept), p.count])


def _sums(torch: Any) -> dict[ReduceTensorOp, Callable[[Any], Any]]:
    norm = torch.linalg.vector_norm
    return {
        ReduceTensorOp.ADD: lambda rows: rows.sum(-1),
        ReduceTensorOp.MUL: lambda rows: rows.prod(-1),
        ReduceTensorOp.AVG: lambda rows: rows.mean(-1),
        ReduceTensorOp.NORM1: lambda rows: norm(rows, 1, -1),
        ReduceTensorOp.NORM2: lambda rows: norm(rows, 2, -1),
        ReduceTensorOp.MUL_NO_ZEROS: lambda rows: rows.masked_fill(rows == 0, 1).prod(-1),
    }


def _reduce(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    a, dims = t["a"], p.c.dims
    if p.operation not in EXTREMES:
        function = _sums(torch)[p.operation]
        return lambda: {"c": function(_in_rows(p, a)).view(dims)}
    least = p.operation is ReduceTensorOp.MIN
    best, where = (torch.amin, torch.argmin) if least else (torch.amax, torch.argmax)

    def run() -> Tensors:
        rows = _in_rows(p, a.abs() if p.operation is ReduceTensorOp.AMAX else a)
        if p.nan_propagation is NanPropagation.PROPAGATE_NAN:  # as PyTorch's extremes always do
            value, index = best(rows, -1), where(rows, -1)
        else:
            nan = rows.isnan()
            passed = rows.masked_fill(nan & ~nan.all(-1, keepdim=True), torch.inf if least else -torch.inf)
            value = best(passed, -1)
            index = (rows == value.unsqueeze(-1)).byte().argmax(-1)  # the first of equal ones
        found = {"c": value.view(dims)}
        return found if p.indices is None else found | {"indices": index.view(dims)}

    return run


# dropout


def _why_no_dropout(problem: Any, info: DeviceInfo) -> str | None:
    return "PyTorch draws other random numbers than the states say"


def _no_dropout(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    raise NotImplementedError


def _dropout_gradient(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    dy, count = t["dy"], p.dy.size
    bits = torch.arange(8, device=dy.device, dtype=torch.uint8)
    kept = (t["reserve_space"][:, None] >> bits & 1).flatten()[:count].view(p.dy.dims).bool()
    scale = 0.0 if p.dropout == 1 else 1 / (1 - p.dropout)
    return lambda: {"dx": torch.ops.aten.native_dropout_backward(dy, kept, scale)}


WAYS: Ways = {
    TransformTensor: Way(_transform, blends=blended("y")),
    AddTensor: Way(_add, blends=blended("c")),
    OpTensor: Way(_op, blends={"c": ("", "beta")}),
    SetTensor: Way(_set),
    ScaleTensor: Way(_scale),
    ReduceTensor: Way(_reduce, blends=blended("c")),
    DropoutBackward: Way(_dropout_gradient),
    DropoutForward: Way(_no_dropout, _why_no_dropout),
    SetDropoutDescriptor: Way(_no_dropout, _why_no_dropout),
}
