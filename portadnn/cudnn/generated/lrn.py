"""LRN and divisive normalisation: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.lrn import lrn_cross_channel_backward, lrn_cross_channel_forward
from ..calls import c_function
from ..descriptors import LRNDescriptor, TensorDescriptor, destroy, value_of
from ..memory import optional, tensor
from ..response_norm import (
    cudnnDivisiveNormalizationBackward as _DivisiveNormalizationBackward,
    cudnnDivisiveNormalizationForward as _DivisiveNormalizationForward,
    cudnnGetLRNDescriptor as _GetLRNDescriptor,
    cudnnSetLRNDescriptor as _SetLRNDescriptor,
    lrn_mode,
)


@c_function
def cudnnCreateLRNDescriptor() -> LRNDescriptor:
    """Return normDesc (guide 4.87, since 3.0).

    C: ``cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t *normDesc)``

    In portadnn: ``LRNDescriptor``.
    """
    return LRNDescriptor()


@c_function
def cudnnSetLRNDescriptor(normDesc: LRNDescriptor, lrnN: int, lrnAlpha: float, lrnBeta: float, lrnK: float) -> None:
    """Return nothing (guide 4.88, since 3.0).

    C: ``cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t normDesc, unsigned lrnN, double lrnAlpha, double lrnBeta, double lrnK)``

    In portadnn: ``LRNDescriptor``.
    """
    _SetLRNDescriptor(normDesc, lrnN, lrnAlpha, lrnBeta, lrnK)


@c_function
def cudnnGetLRNDescriptor(normDesc: LRNDescriptor) -> tuple[int, float, float, float]:
    """Return (lrnN, lrnAlpha, lrnBeta, lrnK) (guide 4.89, since 3.0).

    C: ``cudnnStatus_t cudnnGetLRNDescriptor(cudnnLRNDescriptor_t normDesc, unsigned *lrnN, double *lrnAlpha, double *lrnBeta, double *lrnK)``

    In portadnn: ``LRNDescriptor.get``.
    """
    return _GetLRNDescriptor(value_of(normDesc, LRNDescriptor, "normDesc"))


@c_function
def cudnnDestroyLRNDescriptor(lrnDesc: LRNDescriptor) -> None:
    """Return nothing (guide 4.90, since 3.0).

    C: ``cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t lrnDesc)``

    In portadnn: ``LRNDescriptor``.
    """
    destroy(lrnDesc, LRNDescriptor, "lrnDesc")


@c_function
def cudnnLRNCrossChannelForward(
    handle: Handle,
    normDesc: LRNDescriptor,
    lrnMode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.91, since 3.0).

    C: ``cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc, cudnnLRNMode_t lrnMode, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``lrn_cross_channel_forward``.
    """
    lrn_cross_channel_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, yDesc, y, "y"),
        mode=lrn_mode(lrnMode, "lrnMode"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnLRNCrossChannelBackward(
    handle: Handle,
    normDesc: LRNDescriptor,
    lrnMode: int,
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
    """Return nothing (guide 4.92, since 3.0).

    C: ``cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc, cudnnLRNMode_t lrnMode, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``lrn_cross_channel_backward``.
    """
    lrn_cross_channel_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        mode=lrn_mode(lrnMode, "lrnMode"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnDivisiveNormalizationForward(
    handle: Handle,
    normDesc: LRNDescriptor,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    means: Any,
    temp: Any,
    temp2: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.93, since 3.0).

    C: ``cudnnStatus_t cudnnDivisiveNormalizationForward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc, cudnnDivNormMode_t mode, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *means, void *temp, void *temp2, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``divisive_normalization_forward``.

    `temp` and `temp2` must be there and are not used. `means` has x's layout; NULL stands for zeros.
    """
    _DivisiveNormalizationForward(
        handle,
        temp,
        temp2,
        tensor(handle, xDesc, x, "x"),
        optional(handle, xDesc, means, "means", "xDesc"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, yDesc, y, "y"),
        mode,
        alpha,
        beta,
    )


@c_function
def cudnnDivisiveNormalizationBackward(
    handle: Handle,
    normDesc: LRNDescriptor,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    means: Any,
    dy: Any,
    temp: Any,
    temp2: Any,
    beta: float,
    dXdMeansDesc: TensorDescriptor,
    dx: Any,
    dMeans: Any,
) -> None:
    """Return nothing (guide 4.94, since 3.0).

    C: ``cudnnStatus_t cudnnDivisiveNormalizationBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc, cudnnDivNormMode_t mode, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *means, const void *dy, void *temp, void *temp2, const void *beta, const cudnnTensorDescriptor_t dXdMeansDesc, void *dx, void *dMeans)``

    In portadnn: ``divisive_normalization_backward``.

    `temp` and `temp2` must be there and are not used. `means` and `dMeans` may be NULL.
    """
    _DivisiveNormalizationBackward(
        handle,
        temp,
        temp2,
        tensor(handle, xDesc, x, "x"),
        optional(handle, xDesc, means, "means", "xDesc"),
        tensor(handle, xDesc, dy, "dy", "xDesc"),
        value_of(normDesc, LRNDescriptor, "normDesc"),
        tensor(handle, dXdMeansDesc, dx, "dx", "dXdMeansDesc"),
        optional(handle, dXdMeansDesc, dMeans, "dMeans", "dXdMeansDesc"),
        mode,
        alpha,
        beta,
    )
