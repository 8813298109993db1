"""Tensor operations: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import miopenTensorDescriptor_t, tensor
from ..names import function
from ..tensor_ops import (
    miopenConvolutionForwardBias as _ConvolutionForwardBias,
    miopenOpTensor as _OpTensor,
    miopenScaleTensor as _ScaleTensor,
    miopenSetTensor as _SetTensor,
    miopenTransformTensor as _TransformTensor,
)


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
    """Copy a tensor into another layout: ``y = alpha * x + beta * y``.

    Return nothing (since 1.7.0).

    C: ``miopenStatus_t miopenTransformTensor(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t yDesc, void *y)``

    In cuDNN: ``cudnnTransformTensor``; what a port changes: same arguments.

    In portadnn: ``transform_tensor``.
    """
    _TransformTensor(handle, xDesc, x, yDesc, y, alpha, beta)


@function
def miopenOpTensor(
    handle: Handle,
    tensorOp: int,
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
    """Combine two tensors: ``C = op(alpha1 * A, alpha2 * B) + beta * C``; lengths of B may be 1.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenOpTensor(miopenHandle_t handle, miopenTensorOp_t tensorOp, const void *alpha1, const miopenTensorDescriptor_t aDesc, const void *A, const void *alpha2, const miopenTensorDescriptor_t bDesc, const void *B, const void *beta, const miopenTensorDescriptor_t cDesc, void *C)``

    In cuDNN: ``cudnnAddTensor``; what a port changes: adds tensorOp, alpha1, aDesc, A; renames alpha -> alpha2, aDesc -> bDesc, A -> B.

    In portadnn: ``add_tensor``.
    """
    _OpTensor(
        handle,
        tensorOp,
        tensor(handle, aDesc, A, "A", "aDesc"),
        tensor(handle, bDesc, B, "B", "bDesc"),
        tensor(handle, cDesc, C, "C", "cDesc"),
        bDesc,
        cDesc,
        alpha1,
        alpha2,
        beta,
    )


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

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenConvolutionForwardBias(miopenHandle_t handle, const void *alpha, const miopenTensorDescriptor_t bDesc, const void *b, const void *beta, const miopenTensorDescriptor_t yDesc, void *y)``

    In cuDNN: ``cudnnAddTensor``; what a port changes: renames aDesc -> bDesc, A -> b, cDesc -> yDesc, C -> y.

    In portadnn: ``add_tensor``.

    beta is 0 in a correct program: MIOpen adds y itself already. (cudnnAddTensor needs 1.)
    """
    _ConvolutionForwardBias(
        handle, bDesc, yDesc, tensor(handle, yDesc, y, "y"), tensor(handle, bDesc, b, "b"), alpha, beta
    )


@function
def miopenSetTensor(handle: Handle, yDesc: miopenTensorDescriptor_t, y: Any, alpha: float) -> None:
    """Set every element to alpha.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenSetTensor(miopenHandle_t handle, const miopenTensorDescriptor_t yDesc, void *y, const void *alpha)``

    In cuDNN: ``cudnnSetTensor``; what a port changes: renames valuePtr -> alpha.

    In portadnn: ``set_tensor``.
    """
    _SetTensor(handle, yDesc, y, alpha)


@function
def miopenScaleTensor(handle: Handle, yDesc: miopenTensorDescriptor_t, y: Any, alpha: float) -> None:
    """Multiply every element by alpha.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenScaleTensor(miopenHandle_t handle, const miopenTensorDescriptor_t yDesc, void *y, const void *alpha)``

    In cuDNN: ``cudnnScaleTensor``; what a port changes: same arguments.

    In portadnn: ``scale_tensor``.
    """
    _ScaleTensor(handle, yDesc, y, alpha)
