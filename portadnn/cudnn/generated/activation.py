"""Activation: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.activation import activation_backward, activation_forward
from ..activations import (
    cudnnActivationBackward_v3 as _ActivationBackward_v3,
    cudnnActivationForward_v3 as _ActivationForward_v3,
    cudnnGetActivationDescriptor as _GetActivationDescriptor,
    cudnnGetActivationDescriptorSwishBeta as _GetActivationDescriptorSwishBeta,
    cudnnSetActivationDescriptor as _SetActivationDescriptor,
    cudnnSetActivationDescriptorSwishBeta as _SetActivationDescriptorSwishBeta,
)
from ..calls import c_function
from ..descriptors import ActivationDescriptor, TensorDescriptor, destroy, value_of
from ..memory import tensor
from .enums.activation import cudnnActivationMode_t
from .enums.tensor import cudnnNanPropagation_t


@c_function
def cudnnCreateActivationDescriptor() -> ActivationDescriptor:
    """Return activationDesc (guide 4.79, since 4.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *activationDesc)``

    In portadnn: ``ActivationDescriptor``.
    """
    return ActivationDescriptor()


@c_function
def cudnnSetActivationDescriptor(
    activationDesc: ActivationDescriptor, mode: int, reluNanOpt: int, reluCeiling: float
) -> None:
    """Return nothing (guide 4.80, since 4.0, deprecated 9.0.0, changed by 6.0.2).

    C: ``cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activationDesc, cudnnActivationMode_t mode, cudnnNanPropagation_t reluNanOpt, double reluCeiling)``

    In cuDNN 6.0.2 the parameters are: activationDesc, mode, reluNanOpt, coef.

    In portadnn: ``ActivationDescriptor``.

    `reluCeiling` is what cuDNN 6 calls `coef`: the ceiling of CLIPPED_RELU or the alpha of ELU. Others ignore it.
    """
    _SetActivationDescriptor(activationDesc, mode, reluNanOpt, reluCeiling)


@c_function
def cudnnGetActivationDescriptor(
    activationDesc: ActivationDescriptor
) -> tuple[cudnnActivationMode_t, cudnnNanPropagation_t, float]:
    """Return (mode, reluNanOpt, reluCeiling) (guide 4.81, since 4.0, deprecated 9.0.0, changed by 6.0.2).

    C: ``cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t activationDesc, cudnnActivationMode_t *mode, cudnnNanPropagation_t *reluNanOpt, double *reluCeiling)``

    In cuDNN 6.0.2 the parameters are: activationDesc, mode, reluNanOpt, coef.

    In portadnn: ``ActivationDescriptor.get``.
    """
    return _GetActivationDescriptor(value_of(activationDesc, ActivationDescriptor, "activationDesc"), activationDesc)


@c_function
def cudnnSetActivationDescriptorSwishBeta(activationDesc: ActivationDescriptor, swish_beta: float) -> None:
    """Return nothing (since 8.2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activationDesc, double swish_beta)``

    In portadnn: ``ActivationDescriptor``.

    Before or after the mode is set.
    """
    _SetActivationDescriptorSwishBeta(activationDesc, swish_beta)


@c_function
def cudnnGetActivationDescriptorSwishBeta(activationDesc: ActivationDescriptor) -> float:
    """Return swish_beta (since 8.2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activationDesc, double *swish_beta)``

    In portadnn: ``ActivationDescriptor.coef``.
    """
    return _GetActivationDescriptorSwishBeta(activationDesc)


@c_function
def cudnnDestroyActivationDescriptor(activationDesc: ActivationDescriptor) -> None:
    """Return nothing (guide 4.82, since 4.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activationDesc)``

    In portadnn: ``ActivationDescriptor``.
    """
    destroy(activationDesc, ActivationDescriptor, "activationDesc")


@c_function
def cudnnActivationForward(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.77, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``activation_forward``.

    `y` may be `x`.
    """
    activation_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnActivationBackward(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """Return nothing (guide 4.78, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``activation_backward``.

    `dx` may be `dy`.
    """
    activation_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnActivationForward_v3(
    handle: Handle,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.83).

    C: ``cudnnStatus_t cudnnActivationForward_v3(cudnnHandle_t handle, cudnnActivationMode_t mode, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``activation_forward``.

    NaN does not propagate through RELU. `y` may be `x`.
    """
    _ActivationForward_v3(handle, tensor(handle, xDesc, x, "x"), tensor(handle, yDesc, y, "y"), mode, alpha, beta)


@c_function
def cudnnActivationBackward_v3(
    handle: Handle,
    mode: int,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """Return nothing (guide 4.84).

    C: ``cudnnStatus_t cudnnActivationBackward_v3(cudnnHandle_t handle, cudnnActivationMode_t mode, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``activation_backward``.

    `dx` may be `dy`.
    """
    _ActivationBackward_v3(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        mode,
        tensor(handle, dxDesc, dx, "dx"),
        alpha,
        beta,
    )


@c_function
def cudnnActivationForward_v4(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.85).

    C: ``cudnnStatus_t cudnnActivationForward_v4(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``activation_forward``.

    `y` may be `x`.
    """
    activation_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnActivationBackward_v4(
    handle: Handle,
    activationDesc: ActivationDescriptor,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """Return nothing (guide 4.86).

    C: ``cudnnStatus_t cudnnActivationBackward_v4(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``activation_backward``.

    `dx` may be `dy`.
    """
    activation_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(activationDesc, ActivationDescriptor, "activationDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
    )
