"""Softmax: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import miopenTensorDescriptor_t, tensor
from ..names import function
from ..softmax import (
    miopenSoftmaxBackward as _SoftmaxBackward,
    miopenSoftmaxBackward_V2 as _SoftmaxBackward_V2,
    miopenSoftmaxForward as _SoftmaxForward,
    miopenSoftmaxForward_V2 as _SoftmaxForward_V2,
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
    """Compute ``y = alpha * softmax(x) + beta * y`` over channels, subtracting the maximum (cuDNN's ACCURATE).

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenSoftmaxForward(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t yDesc, void *y)``

    In cuDNN: ``cudnnSoftmaxForward``; what a port changes: drops algo, mode.

    In portadnn: ``softmax_forward``.
    """
    _SoftmaxForward(handle, tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y"), xDesc, alpha, beta)


@function
def miopenSoftmaxForward_V2(
    handle: Handle,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    algorithm: int,
    mode: int,
) -> None:
    """Compute ``y = alpha * softmax(x) + beta * y`` by any algorithm and mode.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenSoftmaxForward_V2(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t yDesc, void *y, miopenSoftmaxAlgorithm_t algorithm, miopenSoftmaxMode_t mode)``

    In cuDNN: ``cudnnSoftmaxForward``; what a port changes: moves algo, mode; renames algo -> algorithm.

    In portadnn: ``softmax_forward``.
    """
    _SoftmaxForward_V2(
        handle, algorithm, mode, tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y"), alpha, beta
    )


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
    """Compute the gradient of miopenSoftmaxForward.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenSoftmaxBackward(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t yDesc, const void *y, const miopenTensorDescriptor_t dyDesc, const void *dy, const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx)``

    In cuDNN: ``cudnnSoftmaxBackward``; what a port changes: drops algo, mode.

    In portadnn: ``softmax_backward``.
    """
    _SoftmaxBackward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dxDesc, dx, "dx"),
        yDesc,
        alpha,
        beta,
    )


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
    algorithm: int,
    mode: int,
) -> None:
    """Compute the gradient of miopenSoftmaxForward_V2.

    Return nothing (since 2.0.0).

    C: ``miopenStatus_t miopenSoftmaxBackward_V2(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t yDesc, const void *y, const miopenTensorDescriptor_t dyDesc, const void *dy, const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx, miopenSoftmaxAlgorithm_t algorithm, miopenSoftmaxMode_t mode)``

    In cuDNN: ``cudnnSoftmaxBackward``; what a port changes: moves algo, mode; renames algo -> algorithm.

    In portadnn: ``softmax_backward``.
    """
    _SoftmaxBackward_V2(
        handle,
        algorithm,
        mode,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha,
        beta,
    )
