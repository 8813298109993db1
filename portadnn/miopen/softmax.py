"""Softmax."""

from __future__ import annotations

from typing import Any

from ..enums import DataType, SoftmaxAlgorithm, SoftmaxMode
from ..errors import NotSupported
from ..handle import Handle
from ..ops.softmax import softmax_backward, softmax_forward
from .descriptors import miopenTensorDescriptor_t, spec_of, tensor
from .enums import miopenSoftmaxAlgorithm_t, miopenSoftmaxMode_t
from .names import function, parse


def _no_bfloat16(desc: Any, argument: str) -> None:
    if spec_of(desc, argument).dtype is DataType.BFLOAT16:
        raise NotSupported("the form _V2 takes it", argument=argument, expected="no miopenBFloat16", got="one")


def _choice(algorithm: Any, mode: Any) -> tuple[SoftmaxAlgorithm, SoftmaxMode]:
    return (
        SoftmaxAlgorithm(parse(miopenSoftmaxAlgorithm_t, algorithm, "algorithm").value),
        SoftmaxMode(parse(miopenSoftmaxMode_t, mode, "mode").value),
    )


@function
def miopenSoftmaxForward(
    handle: Handle,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Compute ``y = alpha * softmax(x) + beta * y`` over channels, subtracting the maximum (cuDNN's ACCURATE)."""
    _no_bfloat16(xDesc, "xDesc")
    softmax_forward(handle, tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y"), alpha=alpha, beta=beta)


@function
def miopenSoftmaxForward_V2(
    handle: Handle,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    algorithm: Any,
    mode: Any,
) -> None:
    """Compute ``y = alpha * softmax(x) + beta * y`` by any algorithm and mode."""
    how, over = _choice(algorithm, mode)
    given = tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y")
    softmax_forward(handle, *given, algorithm=how, mode=over, alpha=alpha, beta=beta)


@function
def miopenSoftmaxBackward(
    handle: Handle,
    alpha: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
) -> None:
    """Compute the gradient of miopenSoftmaxForward."""
    _no_bfloat16(yDesc, "yDesc")
    given = tensor(handle, yDesc, y, "y"), tensor(handle, dyDesc, dy, "dy"), tensor(handle, dxDesc, dx, "dx")
    softmax_backward(handle, *given, alpha=alpha, beta=beta)


@function
def miopenSoftmaxBackward_V2(
    handle: Handle,
    alpha: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    algorithm: Any,
    mode: Any,
) -> None:
    """Compute the gradient of miopenSoftmaxForward_V2."""
    how, over = _choice(algorithm, mode)
    given = tensor(handle, yDesc, y, "y"), tensor(handle, dyDesc, dy, "dy"), tensor(handle, dxDesc, dx, "dx")
    softmax_backward(handle, *given, algorithm=how, mode=over, alpha=alpha, beta=beta)
