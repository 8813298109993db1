"""Pooling: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.pooling import pooling_backward, pooling_forward
from ..calls import c_function
from ..descriptors import PoolingDescriptor, TensorDescriptor, destroy, value_of
from ..memory import tensor
from ..pooling import (
    cudnnGetPooling2dDescriptor as _GetPooling2dDescriptor,
    cudnnGetPooling2dDescriptor_v3 as _GetPooling2dDescriptor_v3,
    cudnnGetPooling2dDescriptor_v4 as _GetPooling2dDescriptor_v4,
    cudnnGetPooling2dForwardOutputDim as _GetPooling2dForwardOutputDim,
    cudnnGetPoolingNdDescriptor as _GetPoolingNdDescriptor,
    cudnnGetPoolingNdDescriptor_v3 as _GetPoolingNdDescriptor_v3,
    cudnnGetPoolingNdDescriptor_v4 as _GetPoolingNdDescriptor_v4,
    cudnnGetPoolingNdForwardOutputDim as _GetPoolingNdForwardOutputDim,
    cudnnSetPooling2dDescriptor as _SetPooling2dDescriptor,
    cudnnSetPooling2dDescriptor_v3 as _SetPooling2dDescriptor_v3,
    cudnnSetPooling2dDescriptor_v4 as _SetPooling2dDescriptor_v4,
    cudnnSetPoolingNdDescriptor as _SetPoolingNdDescriptor,
    cudnnSetPoolingNdDescriptor_v3 as _SetPoolingNdDescriptor_v3,
    cudnnSetPoolingNdDescriptor_v4 as _SetPoolingNdDescriptor_v4,
)
from .enums.pooling import cudnnPoolingMode_t
from .enums.tensor import cudnnNanPropagation_t


@c_function
def cudnnCreatePoolingDescriptor() -> PoolingDescriptor:
    """Return poolingDesc (guide 4.59, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t *poolingDesc)``

    In portadnn: ``PoolingDescriptor``.
    """
    return PoolingDescriptor()


@c_function
def cudnnSetPooling2dDescriptor(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    windowHeight: int,
    windowWidth: int,
    verticalPadding: int,
    horizontalPadding: int,
    verticalStride: int,
    horizontalStride: int,
) -> None:
    """Return nothing (guide 4.60, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t mode, cudnnNanPropagation_t maxpoolingNanOpt, int windowHeight, int windowWidth, int verticalPadding, int horizontalPadding, int verticalStride, int horizontalStride)``

    In portadnn: ``PoolingDescriptor.set_2d``.

    CUDNN_POOLING_MAX_DETERMINISTIC is CUDNN_POOLING_MAX, which is deterministic here.
    """
    _SetPooling2dDescriptor(
        poolingDesc,
        mode,
        maxpoolingNanOpt,
        windowHeight,
        windowWidth,
        verticalPadding,
        horizontalPadding,
        verticalStride,
        horizontalStride,
    )


@c_function
def cudnnGetPooling2dDescriptor(
    poolingDesc: PoolingDescriptor
) -> tuple[cudnnPoolingMode_t, cudnnNanPropagation_t, int, int, int, int, int, int]:
    """Return (mode, maxpoolingNanOpt, windowHeight, windowWidth, verticalPadding, horizontalPadding, verticalStride, horizontalStride) (guide 4.61, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t *mode, cudnnNanPropagation_t *maxpoolingNanOpt, int *windowHeight, int *windowWidth, int *verticalPadding, int *horizontalPadding, int *verticalStride, int *horizontalStride)``

    In portadnn: ``PoolingDescriptor.get_2d``.
    """
    return _GetPooling2dDescriptor(value_of(poolingDesc, PoolingDescriptor, "poolingDesc"), poolingDesc)


@c_function
def cudnnSetPoolingNdDescriptor(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    nbDims: int,
    windowDimA: Any,
    paddingA: Any,
    strideA: Any,
) -> None:
    """Return nothing (guide 4.62, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t poolingDesc, const cudnnPoolingMode_t mode, const cudnnNanPropagation_t maxpoolingNanOpt, int nbDims, const int windowDimA[], const int paddingA[], const int strideA[])``

    In portadnn: ``PoolingDescriptor.set_nd``.

    The arrays are sequences of at least `nbDims` integers: as many as there are spatial dims.
    """
    _SetPoolingNdDescriptor(poolingDesc, mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA)


@c_function
def cudnnGetPoolingNdDescriptor(
    poolingDesc: PoolingDescriptor, nbDimsRequested: int
) -> tuple[cudnnPoolingMode_t, cudnnNanPropagation_t, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return (mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA) (guide 4.63, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t poolingDesc, int nbDimsRequested, cudnnPoolingMode_t *mode, cudnnNanPropagation_t *maxpoolingNanOpt, int *nbDims, int windowDimA[], int paddingA[], int strideA[])``

    In portadnn: ``PoolingDescriptor.get_nd``.

    The arrays are tuples of at most `nbDimsRequested` values.
    """
    return _GetPoolingNdDescriptor(
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"), poolingDesc, nbDimsRequested
    )


@c_function
def cudnnSetPooling2dDescriptor_v3(
    poolingDesc: PoolingDescriptor,
    mode: int,
    windowHeight: int,
    windowWidth: int,
    verticalPadding: int,
    horizontalPadding: int,
    verticalStride: int,
    horizontalStride: int,
) -> None:
    """Return nothing (guide 4.64).

    C: ``cudnnStatus_t cudnnSetPooling2dDescriptor_v3(cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t mode, int windowHeight, int windowWidth, int verticalPadding, int horizontalPadding, int verticalStride, int horizontalStride)``

    In portadnn: ``PoolingDescriptor``.

    NaN does not propagate through maxima.
    """
    _SetPooling2dDescriptor_v3(
        poolingDesc,
        mode,
        windowHeight,
        windowWidth,
        verticalPadding,
        horizontalPadding,
        verticalStride,
        horizontalStride,
    )


@c_function
def cudnnGetPooling2dDescriptor_v3(
    poolingDesc: PoolingDescriptor
) -> tuple[cudnnPoolingMode_t, int, int, int, int, int, int]:
    """Return (mode, windowHeight, windowWidth, verticalPadding, horizontalPadding, verticalStride, horizontalStride) (guide 4.65).

    C: ``cudnnStatus_t cudnnGetPooling2dDescriptor_v3(const cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t *mode, int *windowHeight, int *windowWidth, int *verticalPadding, int *horizontalPadding, int *verticalStride, int *horizontalStride)``

    In portadnn: ``PoolingDescriptor.get_2d``.
    """
    return _GetPooling2dDescriptor_v3(value_of(poolingDesc, PoolingDescriptor, "poolingDesc"), poolingDesc)


@c_function
def cudnnSetPoolingNdDescriptor_v3(
    poolingDesc: PoolingDescriptor, mode: int, nbDims: int, windowDimA: Any, paddingA: Any, strideA: Any
) -> None:
    """Return nothing (guide 4.66).

    C: ``cudnnStatus_t cudnnSetPoolingNdDescriptor_v3(cudnnPoolingDescriptor_t poolingDesc, const cudnnPoolingMode_t mode, int nbDims, const int windowDimA[], const int paddingA[], const int strideA[])``

    In portadnn: ``PoolingDescriptor``.

    NaN does not propagate through maxima.
    """
    _SetPoolingNdDescriptor_v3(poolingDesc, mode, nbDims, windowDimA, paddingA, strideA)


@c_function
def cudnnGetPoolingNdDescriptor_v3(
    poolingDesc: PoolingDescriptor, nbDimsRequested: int
) -> tuple[cudnnPoolingMode_t, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return (mode, nbDims, windowDimA, paddingA, strideA) (guide 4.67).

    C: ``cudnnStatus_t cudnnGetPoolingNdDescriptor_v3(const cudnnPoolingDescriptor_t poolingDesc, const int nbDimsRequested, cudnnPoolingMode_t *mode, int *nbDims, int windowDimA[], int paddingA[], int strideA[])``

    In portadnn: ``PoolingDescriptor.get_nd``.
    """
    return _GetPoolingNdDescriptor_v3(
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"), poolingDesc, nbDimsRequested
    )


@c_function
def cudnnSetPooling2dDescriptor_v4(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    windowHeight: int,
    windowWidth: int,
    verticalPadding: int,
    horizontalPadding: int,
    verticalStride: int,
    horizontalStride: int,
) -> None:
    """Return nothing (guide 4.68).

    C: ``cudnnStatus_t cudnnSetPooling2dDescriptor_v4(cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t mode, cudnnNanPropagation_t maxpoolingNanOpt, int windowHeight, int windowWidth, int verticalPadding, int horizontalPadding, int verticalStride, int horizontalStride)``

    In portadnn: ``PoolingDescriptor.set_2d``.
    """
    _SetPooling2dDescriptor_v4(
        poolingDesc,
        mode,
        maxpoolingNanOpt,
        windowHeight,
        windowWidth,
        verticalPadding,
        horizontalPadding,
        verticalStride,
        horizontalStride,
    )


@c_function
def cudnnGetPooling2dDescriptor_v4(
    poolingDesc: PoolingDescriptor
) -> tuple[cudnnPoolingMode_t, cudnnNanPropagation_t, int, int, int, int, int, int]:
    """Return (mode, maxpoolingNanOpt, windowHeight, windowWidth, verticalPadding, horizontalPadding, verticalStride, horizontalStride) (guide 4.69).

    C: ``cudnnStatus_t cudnnGetPooling2dDescriptor_v4(const cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t *mode, cudnnNanPropagation_t *maxpoolingNanOpt, int *windowHeight, int *windowWidth, int *verticalPadding, int *horizontalPadding, int *verticalStride, int *horizontalStride)``

    In portadnn: ``PoolingDescriptor.get_2d``.
    """
    return _GetPooling2dDescriptor_v4(value_of(poolingDesc, PoolingDescriptor, "poolingDesc"), poolingDesc)


@c_function
def cudnnSetPoolingNdDescriptor_v4(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    nbDims: int,
    windowDimA: Any,
    paddingA: Any,
    strideA: Any,
) -> None:
    """Return nothing (guide 4.70).

    C: ``cudnnStatus_t cudnnSetPoolingNdDescriptor_v4(cudnnPoolingDescriptor_t poolingDesc, const cudnnPoolingMode_t mode, const cudnnNanPropagation_t maxpoolingNanOpt, int nbDims, const int windowDimA[], const int paddingA[], const int strideA[])``

    In portadnn: ``PoolingDescriptor.set_nd``.
    """
    _SetPoolingNdDescriptor_v4(poolingDesc, mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA)


@c_function
def cudnnGetPoolingNdDescriptor_v4(
    poolingDesc: PoolingDescriptor, nbDimsRequested: int
) -> tuple[cudnnPoolingMode_t, cudnnNanPropagation_t, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return (mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA) (guide 4.71).

    C: ``cudnnStatus_t cudnnGetPoolingNdDescriptor_v4(const cudnnPoolingDescriptor_t poolingDesc, int nbDimsRequested, cudnnPoolingMode_t *mode, cudnnNanPropagation_t *maxpoolingNanOpt, int *nbDims, int windowDimA[], int paddingA[], int strideA[])``

    In portadnn: ``PoolingDescriptor.get_nd``.
    """
    return _GetPoolingNdDescriptor_v4(
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"), poolingDesc, nbDimsRequested
    )


@c_function
def cudnnDestroyPoolingDescriptor(poolingDesc: PoolingDescriptor) -> None:
    """Return nothing (guide 4.72, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t poolingDesc)``

    In portadnn: ``PoolingDescriptor``.
    """
    destroy(poolingDesc, PoolingDescriptor, "poolingDesc")


@c_function
def cudnnGetPooling2dForwardOutputDim(
    poolingDesc: PoolingDescriptor, inputTensorDesc: TensorDescriptor
) -> tuple[int, int, int, int]:
    """Return (n, c, h, w) (guide 4.73, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc, const cudnnTensorDescriptor_t inputTensorDesc, int *n, int *c, int *h, int *w)``

    In portadnn: ``get_pooling_2d_forward_output_dim``.
    """
    return _GetPooling2dForwardOutputDim(
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"),
        value_of(inputTensorDesc, TensorDescriptor, "inputTensorDesc"),
    )


@c_function
def cudnnGetPoolingNdForwardOutputDim(
    poolingDesc: PoolingDescriptor, inputTensorDesc: TensorDescriptor, nbDims: int
) -> tuple[int, ...]:
    """Return outputTensorDimA (guide 4.74, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc, const cudnnTensorDescriptor_t inputTensorDesc, int nbDims, int outputTensorDimA[])``

    In portadnn: ``get_pooling_nd_forward_output_dim``.
    """
    return _GetPoolingNdForwardOutputDim(
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"),
        value_of(inputTensorDesc, TensorDescriptor, "inputTensorDesc"),
        nbDims,
    )


@c_function
def cudnnPoolingForward(
    handle: Handle,
    poolingDesc: PoolingDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.75, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``pooling_forward``.
    """
    pooling_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnPoolingBackward(
    handle: Handle,
    poolingDesc: PoolingDescriptor,
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
    """Return nothing (guide 4.76, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc, const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``pooling_backward``.
    """
    pooling_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
    )
