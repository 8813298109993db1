"""Tensor operations, reductions, and dropout through a mask that is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portadnn.enums import NanPropagation, OpTensorOp, ReduceTensorOp
from portadnn.ops.dropout import DropoutBackward, DropoutForward, SetDropoutDescriptor
from portadnn.ops.reduce import EXTREMES, ReduceTensor
from portadnn.ops.tensor import AddTensor, OpTensor, ScaleTensor, SetTensor, TransformTensor

from .way import Bound, Numbers, Tensors, Way, Ways, blended, lacking, rounded


def _transform(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    x = t["x"]
    return lambda: {"y": x}


def _add(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    a = t["a"].expand(p.c.dims)
    return lambda: {"c": a}


def _set(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    y = t["y"]
    return lambda: {"y": torch.full_like(y, rounded(torch, numbers["value"], y.dtype))}


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
        OpTensorOp.SQRT: lambda a, b: torch.sqrt(a),
        OpTensorOp.NOT: lambda a, b: 1 - a,
    }
    function = functions[p.operation]
    a, b = t["a"], t["b"]
    return lambda: {"c": function(numbers["alpha1"] * a, numbers["alpha2"] * b)}


# reductions


def _in_rows(p: Any, a: Any) -> Any:
    """Return a with the reduced axes as one, the last."""
    kept = [axis for axis in range(a.dim()) if axis not in p.reduced]
    return a.permute(*kept, *p.reduced).reshape([*(a.shape[axis] for axis in kept), p.count])


def _reduced(p: Any, a: Any) -> tuple[Any, tuple[int, ...]]:
    """Return a and the dims to reduce: one of length 1 where there are none, which are all of them to PyTorch."""
    return (a, p.reduced) if p.reduced else (a.unsqueeze(-1), (-1,))


def _sums(torch: Any, p: Any, a: Any) -> Bound:
    """Return the reductions that are sums or products; PyTorch multiplies along one dim at a time."""
    if p.skip_nan:
        a = a.masked_fill(a.isnan(), 0 if p.operation is ReduceTensorOp.ADD else 1)
    if p.operation in (ReduceTensorOp.MUL, ReduceTensorOp.MUL_NO_ZEROS):
        factors = a.masked_fill(a == 0, 1) if p.operation is ReduceTensorOp.MUL_NO_ZEROS else a
        return lambda: {"c": _in_rows(p, factors).prod(-1)}
    a, dims = _reduced(p, a)
    norm = torch.linalg.vector_norm
    functions: dict[ReduceTensorOp, Callable[[], Any]] = {
        ReduceTensorOp.ADD: lambda: a.sum(dims),
        ReduceTensorOp.AVG: lambda: a.mean(dims),
        ReduceTensorOp.NORM1: lambda: norm(a, 1, dims),
        ReduceTensorOp.NORM2: lambda: norm(a, 2, dims),
    }
    function = functions[p.operation]
    return lambda: {"c": function()}


def _extremes(torch: Any, p: Any, a: Any) -> Bound:
    """Return the reductions that are extremes; PyTorch's always propagate NaN."""
    least, absolute = p.operation is ReduceTensorOp.MIN, p.operation is ReduceTensorOp.AMAX
    find, best = (torch.min, torch.amin) if least else (torch.max, torch.amax)
    if p.nan_propagation is NanPropagation.PROPAGATE_NAN:
        if p.indices is None:
            a, dims = _reduced(p, a)
            return lambda: {"c": best(a.abs() if absolute else a, dims)}
        return lambda: dict(zip(("c", "indices"), find(_in_rows(p, a.abs() if absolute else a), -1), strict=True))

    def run() -> Tensors:
        rows = _in_rows(p, a.abs() if absolute else a)
        nan = rows.isnan()
        value = best(rows.masked_fill(nan & ~nan.all(-1, keepdim=True), torch.inf if least else -torch.inf), -1)
        if p.indices is None:
            return {"c": value}
        return {"c": value, "indices": (rows == value.unsqueeze(-1)).byte().argmax(-1)}  # the first of equal ones

    return run


def _reduce(torch: Any, p: Any, numbers: Numbers, t: Tensors) -> Bound:
    run = (_extremes if p.operation in EXTREMES else _sums)(torch, p, t["a"])
    return lambda: {name: value.view(p.c.dims) for name, value in run().items()}


# dropout


_NO_DROPOUT = lacking("PyTorch draws other random numbers than the states say")


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
    DropoutForward: _NO_DROPOUT,
    SetDropoutDescriptor: _NO_DROPOUT,
}
