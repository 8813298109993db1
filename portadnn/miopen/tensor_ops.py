"""Operations on tensors: transform, combine, fill, scale, and the bias of a convolution."""

from __future__ import annotations

from typing import Any

from ..dispatch.problems import check_handle
from ..enums import DataType, OpTensorOp
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..ops.tensor import op_tensor, scale_tensor, set_tensor, transform_tensor
from ..problem import TensorSpec
from .composed_graphs import run_graph
from .descriptors import spec_of, tensor, view
from .generated.enums import miopenStatus_t, miopenTensorOp_t
from .names import number, one_and_zero, parse, unified

_OPS = {
    miopenTensorOp_t.miopenTensorOpAdd: OpTensorOp.ADD,
    miopenTensorOp_t.miopenTensorOpMul: OpTensorOp.MUL,
    miopenTensorOp_t.miopenTensorOpMin: OpTensorOp.MIN,
    miopenTensorOp_t.miopenTensorOpMax: OpTensorOp.MAX,
}


_INTEGERS = (DataType.INT8, DataType.INT32)


def miopenTransformTensor(handle, xDesc, raw_x, yDesc, raw_y, alpha, beta):
    x, y = spec_of(xDesc, "xDesc"), spec_of(yDesc, "yDesc")
    if x.dtype is DataType.INT8 and y.dtype is DataType.INT8 and len(x.dims) >= 3:
        _transform_bytes(handle, xDesc.wide, raw_x, yDesc.wide, raw_y, alpha, beta)
    elif x.dtype in _INTEGERS and x.dtype is y.dtype:
        if x.dims != y.dims:
            raise BadParam(argument="yDesc", expected=f"dims {x.dims} as x", got=y.dims)
        factors = number(alpha, "alpha"), number(beta, "beta")
        _integers(handle, xDesc.wide, raw_x, 0, yDesc.wide, raw_y, 0, factors)
    else:
        given, out = tensor(handle, xDesc, raw_x, "x"), tensor(handle, yDesc, raw_y, "y")
        transform_tensor(handle, given, out, alpha=alpha, beta=beta)


def _transform_bytes(handle: Handle, x: TensorSpec, given: Any, y: TensorSpec, out: Any, alpha: Any, beta: Any) -> None:
    """Copy bytes; up to 3 more channels of y become 0, so that there is a multiple of 4, or are left out of x.

    src/ocl/tensorocl.cpp, TransformTensor, copies so between packed tensors. Here strides hold.
    """
    one_and_zero(alpha, beta, status=miopenStatus_t.miopenStatusNotImplemented)
    (n, channels, *rest), more = x.dims, y.dims[1]
    if (n, *rest) != (y.dims[0], *y.dims[2:]):
        raise BadParam(argument="yDesc", expected=f"dims {x.dims} but for the channels", got=y.dims)
    if (more > channels and more != -(-channels // 4) * 4) or (more < channels and channels % 4):
        expected = "the channels of x, those up to the next multiple of 4, or fewer than the multiple of 4 of x"
        raise BadParam(argument="yDesc", expected=expected, got=f"{more} channels of {channels}")
    same = (n, min(channels, more), *rest)
    _integers(handle, TensorSpec(x.dtype, same, x.strides), given, 0, TensorSpec(y.dtype, same, y.strides), out, 0)
    one = (n, 1, *rest)
    for place in range(channels, more):
        zeros, at = TensorSpec(y.dtype, one, y.strides), place * y.strides[1]
        _integers(handle, TensorSpec(x.dtype, one, x.strides), given, 0, zeros, out, at, (0.0, 0.0))


def _integers(
    handle: Handle,
    x: TensorSpec,
    given: Any,
    first: int,
    y: TensorSpec,
    out: Any,
    at: int,
    factors: tuple[float, float] = (1.0, 0.0),
) -> None:
    """Compute ``y = alpha * x + beta * y`` of integers from elements `first` and `at` on, rounded and saturated."""
    alpha, beta = factors
    wrap = check_handle(handle).device.wrap
    memory = {"x": wrap(view(handle, x, given, "x", first), "x"), "y": wrap(view(handle, y, out, "y", at), "y")}
    inputs = {"x": x}
    if beta:
        inputs["prior"], memory["prior"] = y, memory["y"]

    def describe(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        total = graph.identity(t["x"]) if alpha == 1 else graph.mul(t["x"], alpha)
        return {"y": graph.add(total, graph.mul(t["prior"], beta)) if beta else total}

    wide = x.dtype is DataType.INT32  # whose numbers FLOAT does not hold
    run_graph(handle, ("transform", factors), inputs, {"y": y}, memory, describe, wide=wide)


def miopenOpTensor(handle, tensorOp, A, B, C, bDesc, cDesc, alpha1, alpha2, beta):
    op = unified(_OPS, parse(miopenTensorOp_t, tensorOp, "tensorOp"), "tensorOp")
    if bDesc.wide == cDesc.wide and handle.device.address(B) == handle.device.address(C):
        A, B, alpha1, alpha2 = B, A, alpha2, alpha1  # all operations commute, and in portadnn C may be A
    op_tensor(handle, op, A, B, C, alpha1=alpha1, alpha2=alpha2, beta=beta)


def miopenConvolutionForwardBias(handle, bDesc, yDesc, y, b, alpha, beta):
    if DataType.BFLOAT16 in (spec_of(bDesc, "bDesc").dtype, spec_of(yDesc, "yDesc").dtype):
        raise NotSupported("miopenOpTensor takes them", argument="yDesc", expected="no miopenBFloat16", got="one")
    op_tensor(handle, OpTensorOp.ADD, y, b, y, alpha1=alpha, alpha2=alpha, beta=beta)


def miopenSetTensor(handle, yDesc, raw_y, alpha):
    if spec_of(yDesc, "yDesc").dtype in _INTEGERS:
        _changed(handle, yDesc.wide, raw_y, 0.0, number(_given(alpha), "alpha"))
        return
    set_tensor(handle, tensor(handle, yDesc, raw_y, "y"), _given(alpha))


def miopenScaleTensor(handle, yDesc, raw_y, alpha):
    if spec_of(yDesc, "yDesc").dtype in _INTEGERS:
        _changed(handle, yDesc.wide, raw_y, number(_given(alpha), "alpha"), 0.0)
        return
    scale_tensor(handle, tensor(handle, yDesc, raw_y, "y"), _given(alpha))


def _constant(value: float) -> float | int:
    """Return a constant of a graph, whose floats have 24 bits: an integer where it is one."""
    return int(value) if value.is_integer() and abs(value) < 2**31 else value


def _changed(handle: Handle, y: TensorSpec, out: Any, factor: float, term: float) -> None:
    """Compute ``y = factor * y + term`` of integers, rounded and saturated."""
    check_handle(handle)
    memory = dict.fromkeys(("prior", "y"), handle.device.wrap(view(handle, y, out, "y"), "y"))

    def describe(graph: Any, t: dict[str, Any]) -> dict[str, Any]:
        return {"y": graph.add(graph.mul(t["prior"], factor), _constant(term))}

    wide = y.dtype is DataType.INT32
    run_graph(handle, ("change", factor, term), {"prior": y}, {"y": y}, memory, describe, wide=wide)


def _given(alpha: Any) -> Any:
    if alpha is None:
        raise BadParam(argument="alpha", expected="a number", got=None)
    return alpha
