"""Pointwise nodes by op_tensor and activations: the modes that these have."""

from __future__ import annotations

from ...enums import ActivationMode, NanPropagation, OpTensorOp
from ...ops.activation import ActivationBackward, ActivationForward
from ...ops.tensor import MAX_BROADCAST_DIMS, OpTensor
from ..enums import pointwise_mode as mode
from ..errors import GraphError
from ..operation_graph import Operation, OperationGraph
from .steps import Lowering, View

NAN = NanPropagation.PROPAGATE_NAN
_BINARY = {  # operation, and the second operand's factor
    mode.ADD: (OpTensorOp.ADD, 1.0),
    mode.SUB: (OpTensorOp.ADD, -1.0),
    mode.MUL: (OpTensorOp.MUL, 1.0),
    mode.MAX: (OpTensorOp.MAX, 1.0),
    mode.MIN: (OpTensorOp.MIN, 1.0),
}
_ACTIVATIONS = {
    mode.TANH_FWD: ActivationMode.TANH,
    mode.SIGMOID_FWD: ActivationMode.SIGMOID,
    mode.ELU_FWD: ActivationMode.ELU,
    mode.SWISH_FWD: ActivationMode.SWISH,
}
_GRADIENTS = {
    mode.TANH_BWD: ActivationMode.TANH,
    mode.SIGMOID_BWD: ActivationMode.SIGMOID,
    mode.ELU_BWD: ActivationMode.ELU,
    mode.SWISH_BWD: ActivationMode.SWISH,
}
_OF_INPUT = (ActivationMode.RELU, ActivationMode.CLIPPED_RELU, ActivationMode.SWISH)  # gradients that do not read y


def combine(
    low: Lowering, op: OpTensorOp, a: View, b: View, out: View, factors: tuple[float, float] = (1.0, 1.0)
) -> None:
    """Add ``out = op(factor * a, factor * b)``, where one or both broadcast."""
    rank = len(out.dims)
    if rank > MAX_BROADCAST_DIMS and (a.dims != out.dims or b.dims != out.dims):
        raise low.refuse(
            "PG-ENGINE-004", argument="dims", expected=f"at most {MAX_BROADCAST_DIMS} to broadcast", got=rank
        )
    a, b = a.of_rank(rank), b.of_rank(rank)
    if a.dims != out.dims and b.dims == out.dims:
        a, b, factors = b, a, (factors[1], factors[0])
    if a.dims != out.dims:
        wide = low.temporary(out.dims, out.spec.dtype)
        low.copy(a, wide)
        a = wide
    low.emit(OpTensor, (a, b, out), (op, None, NAN), (*factors, 0.0))


def activate(low: Lowering, how: tuple[ActivationMode, float, float], x: View, y: View) -> None:
    """Add an activation: mode, ceiling and coefficient."""
    function, ceiling, coef = how
    low.emit(ActivationForward, (x, y), (function, NAN, ceiling, coef))


def _coefficient(low: Lowering, function: ActivationMode) -> float:
    if function is ActivationMode.ELU:
        return float(low.operation["elu_alpha"])
    return float(low.operation["swish_beta"]) if function is ActivationMode.SWISH else 1.0


def _relu(low: Lowering) -> tuple[ActivationMode, float, float] | float:
    """Return the activation that a RELU is, or the slope of a leaky one."""
    op = low.operation
    slope, lower, upper = (op[f"relu_{name}"] for name in ("lower_clip_slope", "lower_clip", "upper_clip"))
    if slope and lower is None and upper is None:
        return float(slope)
    if lower in (None, 0) and not slope and (slope is None or lower == 0):
        if upper is None:
            return ActivationMode.RELU, 0.0, 1.0
        if upper >= 0:
            return ActivationMode.CLIPPED_RELU, float(upper), 1.0
    got = f"slope {slope}, lower clip {lower}, upper clip {upper}"
    raise low.refuse("PG-ENGINE-004", argument="relu", expected="a slope alone, or clips from 0 to at least 0", got=got)


def activation_of(graph: OperationGraph, operation: Operation) -> tuple[ActivationMode, float, float] | None:
    """Return the activation that a pointwise operation is, with ceiling and coefficient; None for others."""
    low, what = Lowering(graph, operation), operation["mode"]
    if what in _ACTIVATIONS:
        function = _ACTIVATIONS[what]
        return function, 0.0, _coefficient(low, function)
    try:
        how = _relu(low) if what is mode.RELU_FWD else None
    except GraphError:
        return None
    return None if isinstance(how, float) else how


def _pointwise(low: Lowering) -> None:
    what = low.operation["mode"]
    out = low.view("OUT_0")
    low.check_compute(out.spec.dtype)
    forward = what in (*_BINARY, *_ACTIVATIONS, mode.RELU_FWD, mode.ADD_SQUARE, mode.ABS, mode.NEG, mode.IDENTITY)
    if not forward and what not in (*_GRADIENTS, mode.RELU_BWD):
        raise low.refuse(
            "PG-ENGINE-002", argument="mode", expected="a mode that op_tensor or an activation has", got=what
        )
    views = [low.view(port, out.spec.dtype).of_rank(len(out.dims)) for port, _ in low.operation.inputs]
    if not forward:
        _gradient(low, views[0], views[1], out)
    elif what in _BINARY:
        op, factor = _BINARY[what]
        combine(low, op, views[0], views[1], out, (1.0, factor))
    elif what is mode.ADD_SQUARE:
        square = low.work(views[1].dims, out.spec.dtype)
        combine(low, OpTensorOp.MUL, views[1], views[1], square)
        combine(low, OpTensorOp.ADD, views[0], square, out)
    else:
        _unary(low, views[0], out)


def _unary(low: Lowering, x: View, out: View) -> None:
    what = low.operation["mode"]
    if what in (mode.IDENTITY, mode.NEG):
        low.copy(x, out, -1.0 if what is mode.NEG else 1.0)
        return
    if x.dims != out.dims:
        wide = low.temporary(out.dims, out.spec.dtype)
        low.copy(x, wide)
        x = wide
    how = _relu(low) if what is mode.RELU_FWD else None
    if what is mode.ABS:
        combine(low, OpTensorOp.MAX, x, x, out, (1.0, -1.0))
    elif isinstance(how, float):  # the larger or the smaller of x and slope * x
        combine(low, OpTensorOp.MAX if how <= 1 else OpTensorOp.MIN, x, x, out, (1.0, how))
    elif how is not None:
        activate(low, how, x, out)
    else:
        function = _ACTIVATIONS[what]
        activate(low, (function, 0.0, _coefficient(low, function)), x, out)


def _gradient(low: Lowering, dy: View, x: View, dx: View) -> None:
    """Add an activation's gradient; those that are functions of y have it computed again."""
    what = low.operation["mode"]
    if dy.dims != dx.dims or x.dims != dx.dims:
        raise low.refuse("PG-ENGINE-004", "IN_0", expected=f"operands of dims {list(dx.dims)}", got="broadcast ones")
    if what is mode.RELU_BWD:
        how = _relu(low)
        if isinstance(how, float):
            _leaky_gradient(low, how, dy, x, dx)
            return
    else:
        function = _GRADIENTS[what]
        how = (function, 0.0, _coefficient(low, function))
        if function is ActivationMode.ELU and how[2] <= 0:  # the sign of y tells that of x
            raise low.refuse("PG-ENGINE-004", argument="elu_alpha", expected="a positive number", got=how[2])
    x = low.laid_out(x, dx.strides)
    y = dy
    if how[0] not in _OF_INPUT:
        y = low.work(dy.dims, dy.spec.dtype, dy.strides)
        activate(low, how, x, y)
    low.emit(ActivationBackward, (y, dy, x, dx), (how[0], NAN, how[1], how[2]))


def _leaky_gradient(low: Lowering, slope: float, dy: View, x: View, dx: View) -> None:
    """Add (1 - slope) * (dy where x > 0, else 0) + slope * dy."""
    x, work = low.laid_out(x, dx.strides), low.work(dx.dims, dx.spec.dtype, dx.strides)
    low.emit(ActivationBackward, (dy, dy, x, work), (ActivationMode.RELU, NAN, 0.0, 1.0))
    combine(low, OpTensorOp.ADD, work, dy, dx, (1.0 - slope, slope))


LOWERINGS = {"pointwise": _pointwise}
