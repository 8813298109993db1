"""Activation: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..activation import (
    miopenActivationBackward as _ActivationBackward,
    miopenActivationDescriptor_t,
    miopenActivationForward as _ActivationForward,
    miopenGetActivationDescriptor as _GetActivationDescriptor,
    miopenSetActivationDescriptor as _SetActivationDescriptor,
)
from ..descriptors import destroy, miopenTensorDescriptor_t, tensor, value_of
from ..names import function
from .enums import miopenActivationMode_t


@function
def miopenCreateActivationDescriptor() -> miopenActivationDescriptor_t:
    """Return activDesc (since 1.0.0).

    C: ``miopenStatus_t miopenCreateActivationDescriptor(miopenActivationDescriptor_t *activDesc)``

    In cuDNN: ``cudnnCreateActivationDescriptor``; what a port changes: renames activationDesc -> activDesc.

    In portadnn: ``ActivationDescriptor``.
    """
    return miopenActivationDescriptor_t()


@function
def miopenSetActivationDescriptor(
    activDesc: miopenActivationDescriptor_t, mode: int, activAlpha: float, activBeta: float, activPower: float
) -> None:
    """Choose the function.

    Return nothing (since 1.0.0, changed by 1.4.0).

    C: ``miopenStatus_t miopenSetActivationDescriptor(const miopenActivationDescriptor_t activDesc, miopenActivationMode_t mode, double activAlpha, double activBeta, double activPower)``

    In MIOpen 1.4.0 the parameters are: activDesc, mode, activAlpha, activBeta, activGamma.

    In cuDNN: ``cudnnSetActivationDescriptor``; what a port changes: drops reluNanOpt, reluCeiling; adds activAlpha, activBeta, activPower; renames activationDesc -> activDesc; in the newest versions: drops reluNanOpt, coef; adds activAlpha, activBeta, activGamma; renames activationDesc -> activDesc.

    In portadnn: ``ActivationDescriptor``.

    PASTHRU x; LOGISTIC 1 / (1 + exp(-x)); TANH beta * tanh(alpha * x); RELU max(0, x); SOFTRELU log(1 + exp(x));
    ABS; POWER (alpha + beta * x) ** power, 0 where the base is below 1e-6; CLIPPEDRELU min(alpha, max(0, x)); LEAKYRELU x, or alpha * x
    below 0; ELU x, or alpha * (exp(x) - 1) below 0; CLAMP max(alpha, min(beta, x)).
    """
    _SetActivationDescriptor(activDesc, mode, activAlpha, activBeta, activPower)


@function
def miopenGetActivationDescriptor(
    activDesc: miopenActivationDescriptor_t
) -> tuple[miopenActivationMode_t, float, float, float]:
    """Return (mode, activAlpha, activBeta, activPower).

    Return (mode, activAlpha, activBeta, activPower) (since 1.0.0, changed by 1.4.0).

    C: ``miopenStatus_t miopenGetActivationDescriptor(const miopenActivationDescriptor_t activDesc, miopenActivationMode_t *mode, double *activAlpha, double *activBeta, double *activPower)``

    In MIOpen 1.4.0 the parameters are: activDesc, mode, activAlpha, activBeta, activGamma.

    In cuDNN: ``cudnnGetActivationDescriptor``; what a port changes: drops reluNanOpt, reluCeiling; adds activAlpha, activBeta, activPower; renames activationDesc -> activDesc; in the newest versions: drops reluNanOpt, coef; adds activAlpha, activBeta, activGamma; renames activationDesc -> activDesc.

    In portadnn: ``ActivationDescriptor.get``.
    """
    return _GetActivationDescriptor(value_of(activDesc, miopenActivationDescriptor_t, "activDesc"))


@function
def miopenDestroyActivationDescriptor(activDesc: miopenActivationDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenDestroyActivationDescriptor(miopenActivationDescriptor_t activDesc)``

    In cuDNN: ``cudnnDestroyActivationDescriptor``; what a port changes: renames activationDesc -> activDesc.

    In portadnn: ``ActivationDescriptor``.
    """
    destroy(activDesc, miopenActivationDescriptor_t, "activDesc")


@function
def miopenActivationForward(
    handle: Handle,
    activDesc: miopenActivationDescriptor_t,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Apply an activation: ``y = f(x)``, with alpha = 1 and beta = 0.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenActivationForward(miopenHandle_t handle, const miopenActivationDescriptor_t activDesc, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t yDesc, void *y)``

    In cuDNN: ``cudnnActivationForward``; what a port changes: renames activationDesc -> activDesc.

    In portadnn: ``activation_forward``.
    """
    _ActivationForward(
        handle,
        value_of(activDesc, miopenActivationDescriptor_t, "activDesc"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        alpha,
        beta,
        xDesc,
    )


@function
def miopenActivationBackward(
    handle: Handle,
    activDesc: miopenActivationDescriptor_t,
    alpha: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
) -> None:
    """Compute an activation's gradient, with alpha = 1 and beta = 0.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenActivationBackward(miopenHandle_t handle, const miopenActivationDescriptor_t activDesc, const void *alpha, const miopenTensorDescriptor_t yDesc, const void *y, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx)``

    In cuDNN: ``cudnnActivationBackward``; what a port changes: renames activationDesc -> activDesc.

    In portadnn: ``activation_backward``.
    """
    _ActivationBackward(
        handle,
        value_of(activDesc, miopenActivationDescriptor_t, "activDesc"),
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha,
        beta,
        xDesc,
    )
