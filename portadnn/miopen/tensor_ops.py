"""Operations on tensors: transform, combine, fill, scale, and the bias of a convolution."""

from __future__ import annotations

from typing import Any

from ..enums import DataType, OpTensorOp
from ..errors import BadParam, NotSupported
from ..handle import Handle
from ..ops.tensor import op_tensor, scale_tensor, set_tensor, transform_tensor
from .descriptors import miopenTensorDescriptor_t, spec_of, tensor
from .enums import miopenTensorOp_t
from .names import function, parse, unified

_OPS = {
    miopenTensorOp_t.miopenTensorOpAdd: OpTensorOp.ADD,
    miopenTensorOp_t.miopenTensorOpMul: OpTensorOp.MUL,
    miopenTensorOp_t.miopenTensorOpMin: OpTensorOp.MIN,
    miopenTensorOp_t.miopenTensorOpMax: OpTensorOp.MAX,
}


@function
def miopenTransformTensor(
    handle: Handle,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Copy a tensor into another layout: ``y = alpha * x + beta * y``."""
    transform_tensor(handle, tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y"), alpha=alpha, beta=beta)


@function
def miopenOpTensor(
    handle: Handle,
    tensorOp: Any,
    alpha1: float,
    aDesc: miopenTensorDescriptor_t,
    A: Any,
    alpha2: float,
    bDesc: miopenTensorDescriptor_t,
    B: Any,
    beta: float,
    cDesc: miopenTensorDescriptor_t,
    C: Any,
) -> None:
    """Combine two tensors: ``C = op(alpha1 * A, alpha2 * B) + beta * C``; lengths of B may be 1."""
    op = unified(_OPS, parse(miopenTensorOp_t, tensorOp, "tensorOp"), "tensorOp")
    a, b, c = tensor(handle, aDesc, A, "A"), tensor(handle, bDesc, B, "B"), tensor(handle, cDesc, C, "C")
    op_tensor(handle, op, a, b, c, alpha1=alpha1, alpha2=alpha2, beta=beta)


@function
def miopenConvolutionForwardBias(
    handle: Handle,
    alpha: float,
    bDesc: miopenTensorDescriptor_t,
    b: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Add a convolution's bias: ``y = alpha * y + alpha * b + beta * y``.

    beta is 0 in a correct program: MIOpen adds y itself already. (cudnnAddTensor needs 1.)
    """
    if DataType.BFLOAT16 in (spec_of(bDesc, "bDesc").dtype, spec_of(yDesc, "yDesc").dtype):
        raise NotSupported("miopenOpTensor takes them", argument="yDesc", expected="no miopenBFloat16", got="one")
    out = tensor(handle, yDesc, y, "y")
    op_tensor(handle, OpTensorOp.ADD, out, tensor(handle, bDesc, b, "b"), out, alpha1=alpha, alpha2=alpha, beta=beta)


@function
def miopenSetTensor(handle: Handle, yDesc: miopenTensorDescriptor_t, y: Any, alpha: float) -> None:
    """Set every element to alpha."""
    set_tensor(handle, tensor(handle, yDesc, y, "y"), _given(alpha))


@function
def miopenScaleTensor(handle: Handle, yDesc: miopenTensorDescriptor_t, y: Any, alpha: float) -> None:
    """Multiply every element by alpha."""
    scale_tensor(handle, tensor(handle, yDesc, y, "y"), _given(alpha))


def _given(alpha: Any) -> Any:
    if alpha is None:
        raise BadParam(argument="alpha", expected="a number", got=None)
    return alpha
