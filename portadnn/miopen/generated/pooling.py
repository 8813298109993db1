"""Pooling: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import destroy, miopenTensorDescriptor_t, tensor, value_of
from ..names import function
from ..pooling import (
    miopenGet2dPoolingDescriptor as _Get2dPoolingDescriptor,
    miopenGetNdPoolingDescriptor as _GetNdPoolingDescriptor,
    miopenGetPoolingForwardOutputDim as _GetPoolingForwardOutputDim,
    miopenGetPoolingIndexType as _GetPoolingIndexType,
    miopenGetPoolingNdForwardOutputDim as _GetPoolingNdForwardOutputDim,
    miopenGetPoolingPaddingMode as _GetPoolingPaddingMode,
    miopenGetPoolingWorkSpaceIndexMode as _GetPoolingWorkSpaceIndexMode,
    miopenPoolingBackward as _PoolingBackward,
    miopenPoolingDescriptor_t,
    miopenPoolingForward as _PoolingForward,
    miopenPoolingGetWorkSpaceSize as _PoolingGetWorkSpaceSize,
    miopenPoolingGetWorkSpaceSizeV2 as _PoolingGetWorkSpaceSizeV2,
    miopenSet2dPoolingDescriptor as _Set2dPoolingDescriptor,
    miopenSetNdPoolingDescriptor as _SetNdPoolingDescriptor,
    miopenSetPoolingIndexType as _SetPoolingIndexType,
    miopenSetPoolingWorkSpaceIndexMode as _SetPoolingWorkSpaceIndexMode,
)
from .enums import miopenIndexType_t, miopenPaddingMode_t, miopenPoolingMode_t, miopenPoolingWorkspaceIndexMode_t


@function
def miopenCreatePoolingDescriptor() -> miopenPoolingDescriptor_t:
    """Return poolDesc (since 1.0.0).

    C: ``miopenStatus_t miopenCreatePoolingDescriptor(miopenPoolingDescriptor_t *poolDesc)``

    In cuDNN: ``cudnnCreatePoolingDescriptor``; what a port changes: renames poolingDesc -> poolDesc.

    In portadnn: ``PoolingDescriptor``.
    """
    return miopenPoolingDescriptor_t()


@function
def miopenSet2dPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t,
    mode: int,
    windowHeight: int,
    windowWidth: int,
    pad_h: int,
    pad_w: int,
    u: int,
    v: int,
) -> None:
    """Describe a 2-D pooling with strides u, v. miopenPoolingAverage leaves the padding out of the mean.

    Return nothing (since 1.0.0, changed by 1.8.0).

    C: ``miopenStatus_t miopenSet2dPoolingDescriptor(miopenPoolingDescriptor_t poolDesc, miopenPoolingMode_t mode, int windowHeight, int windowWidth, int pad_h, int pad_w, int u, int v)``

    In MIOpen 1.8.0 the parameters are: poolDesc, mode, windowHeight, windowWidth, pad_h, pad_w, stride_h, stride_w.

    In cuDNN: ``cudnnSetPooling2dDescriptor``; what a port changes: drops maxpoolingNanOpt; renames poolingDesc -> poolDesc, verticalPadding -> pad_h, horizontalPadding -> pad_w, verticalStride -> u, horizontalStride -> v; in the newest versions: drops maxpoolingNanOpt; renames poolingDesc -> poolDesc, verticalPadding -> pad_h, horizontalPadding -> pad_w, verticalStride -> stride_h, horizontalStride -> stride_w.

    In portadnn: ``PoolingDescriptor.set_2d``.

    The type of the indices becomes miopenIndexUint8.
    """
    _Set2dPoolingDescriptor(poolDesc, mode, windowHeight, windowWidth, pad_h, pad_w, u, v)


@function
def miopenGet2dPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t
) -> tuple[miopenPoolingMode_t, int, int, int, int, int, int]:
    """Return (mode, windowHeight, windowWidth, pad_h, pad_w, u, v).

    Return (mode, windowHeight, windowWidth, pad_h, pad_w, u, v) (since 1.0.0, changed by 1.8.0).

    C: ``miopenStatus_t miopenGet2dPoolingDescriptor(const miopenPoolingDescriptor_t poolDesc, miopenPoolingMode_t *mode, int *windowHeight, int *windowWidth, int *pad_h, int *pad_w, int *u, int *v)``

    In MIOpen 1.8.0 the parameters are: poolDesc, mode, windowHeight, windowWidth, pad_h, pad_w, stride_h, stride_w.

    In cuDNN: ``cudnnGetPooling2dDescriptor``; what a port changes: drops maxpoolingNanOpt; renames poolingDesc -> poolDesc, verticalPadding -> pad_h, horizontalPadding -> pad_w, verticalStride -> u, horizontalStride -> v; in the newest versions: drops maxpoolingNanOpt; renames poolingDesc -> poolDesc, verticalPadding -> pad_h, horizontalPadding -> pad_w, verticalStride -> stride_h, horizontalStride -> stride_w.

    In portadnn: ``PoolingDescriptor.get_2d``.
    """
    return _Get2dPoolingDescriptor(value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"))


@function
def miopenSetNdPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t, mode: int, nbDims: int, windowDimA: Any, padA: Any, stridesA: Any
) -> None:
    """Describe a pooling of `nbDims` spatial dims.

    Return nothing (since 2.3.0).

    C: ``miopenStatus_t miopenSetNdPoolingDescriptor(miopenPoolingDescriptor_t poolDesc, const miopenPoolingMode_t mode, int nbDims, int *windowDimA, int *padA, int *stridesA)``

    In cuDNN: ``cudnnSetPoolingNdDescriptor``; what a port changes: drops maxpoolingNanOpt; renames poolingDesc -> poolDesc, paddingA -> padA, strideA -> stridesA.

    In portadnn: ``PoolingDescriptor.set_nd``.
    """
    _SetNdPoolingDescriptor(poolDesc, mode, nbDims, windowDimA, padA, stridesA)


@function
def miopenGetNdPoolingDescriptor(
    poolDesc: miopenPoolingDescriptor_t, nbDimsRequested: int
) -> tuple[miopenPoolingMode_t, int, int, int, int]:
    """Return (mode, nbDims, windowDimA, padA, stridesA), of the arrays the first `nbDimsRequested` values.

    Return (mode, nbDims, windowDimA, padA, stridesA) (since 2.3.0).

    C: ``miopenStatus_t miopenGetNdPoolingDescriptor(const miopenPoolingDescriptor_t poolDesc, int nbDimsRequested, miopenPoolingMode_t *mode, int *nbDims, int *windowDimA, int *padA, int *stridesA)``

    In cuDNN: ``cudnnGetPoolingNdDescriptor``; what a port changes: drops maxpoolingNanOpt; renames poolingDesc -> poolDesc, paddingA -> padA, strideA -> stridesA.

    In portadnn: ``PoolingDescriptor.get_nd``.
    """
    return _GetNdPoolingDescriptor(value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"), nbDimsRequested)


@function
def miopenDestroyPoolingDescriptor(poolDesc: miopenPoolingDescriptor_t) -> None:
    """Destroy a descriptor.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenDestroyPoolingDescriptor(miopenPoolingDescriptor_t poolDesc)``

    In cuDNN: ``cudnnDestroyPoolingDescriptor``; what a port changes: renames poolingDesc -> poolDesc.

    In portadnn: ``PoolingDescriptor``.
    """
    destroy(poolDesc, miopenPoolingDescriptor_t, "poolDesc")


@function
def miopenGetPoolingForwardOutputDim(
    poolDesc: miopenPoolingDescriptor_t, tensorDesc: miopenTensorDescriptor_t
) -> tuple[int, int, int, int]:
    """Return (n, c, h, w) of a 2-D pooling's output.

    Return (n, c, h, w) (since 1.0.0).

    C: ``miopenStatus_t miopenGetPoolingForwardOutputDim(const miopenPoolingDescriptor_t poolDesc, const miopenTensorDescriptor_t tensorDesc, int *n, int *c, int *h, int *w)``

    In cuDNN: ``cudnnGetPooling2dForwardOutputDim``; what a port changes: renames poolingDesc -> poolDesc, inputTensorDesc -> tensorDesc.

    In portadnn: ``get_pooling_2d_forward_output_dim``.
    """
    return _GetPoolingForwardOutputDim(
        value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"),
        value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"),
    )


@function
def miopenGetPoolingNdForwardOutputDim(
    poolDesc: miopenPoolingDescriptor_t, tensorDesc: miopenTensorDescriptor_t, dims: int
) -> int:
    """Return the `dims` sizes of a pooling's output.

    Return tensorDimArr (since 2.3.0).

    C: ``miopenStatus_t miopenGetPoolingNdForwardOutputDim(const miopenPoolingDescriptor_t poolDesc, const miopenTensorDescriptor_t tensorDesc, int dims, int *tensorDimArr)``

    In cuDNN: ``cudnnGetPoolingNdForwardOutputDim``; what a port changes: renames poolingDesc -> poolDesc, inputTensorDesc -> tensorDesc, nbDims -> dims, outputTensorDimA -> tensorDimArr.

    In portadnn: ``get_pooling_nd_forward_output_dim``.
    """
    return _GetPoolingNdForwardOutputDim(
        value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"),
        value_of(tensorDesc, miopenTensorDescriptor_t, "tensorDesc"),
        dims,
    )


@function
def miopenPoolingForward(
    handle: Handle,
    poolDesc: miopenPoolingDescriptor_t,
    alpha: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    beta: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    do_backward: bool,
    workSpace: Any,
    workSpaceSize: int,
) -> None:
    """Pool: ``y = pool(x)``, with alpha = 1 and beta = 0. NaN does not propagate through maxima.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenPoolingForward(miopenHandle_t handle, const miopenPoolingDescriptor_t poolDesc, const void *alpha, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t yDesc, void *y, bool do_backward, void *workSpace, size_t workSpaceSize)``

    In cuDNN: ``cudnnPoolingForward``; what a port changes: adds do_backward, workSpace, workSpaceSize; renames poolingDesc -> poolDesc.

    In portadnn: ``pooling_forward``.

    With `do_backward` maximum pooling takes a workspace of miopenPoolingGetWorkSpaceSizeV2 bytes, for the backward
    call.
    """
    _PoolingForward(
        handle,
        value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        alpha,
        beta,
        do_backward,
        xDesc,
        yDesc,
        workSpace,
        workSpaceSize,
    )


@function
def miopenPoolingGetWorkSpaceSize(yDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes of workspace for indices of type miopenIndexUint8: one for each element of y.

    Return workSpaceSize (since 1.0.0).

    C: ``miopenStatus_t miopenPoolingGetWorkSpaceSize(const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize)``
    """
    return _PoolingGetWorkSpaceSize(value_of(yDesc, miopenTensorDescriptor_t, "yDesc"))


@function
def miopenPoolingGetWorkSpaceSizeV2(poolDesc: miopenPoolingDescriptor_t, yDesc: miopenTensorDescriptor_t) -> int:
    """Return the bytes of workspace for indices of the descriptor's type; 0 for averages.

    Return workSpaceSize (since 1.8.0).

    C: ``miopenStatus_t miopenPoolingGetWorkSpaceSizeV2(const miopenPoolingDescriptor_t poolDesc, const miopenTensorDescriptor_t yDesc, size_t *workSpaceSize)``
    """
    return _PoolingGetWorkSpaceSizeV2(
        value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"), value_of(yDesc, miopenTensorDescriptor_t, "yDesc")
    )


@function
def miopenPoolingBackward(
    handle: Handle,
    poolDesc: miopenPoolingDescriptor_t,
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
    workspace: Any,
) -> None:
    """Compute the gradient of a pooling, with alpha = 1 and beta = 0.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenPoolingBackward(miopenHandle_t handle, const miopenPoolingDescriptor_t poolDesc, const void *alpha, const miopenTensorDescriptor_t yDesc, const void *y, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const void *beta, const miopenTensorDescriptor_t dxDesc, void *dx, const void *workspace)``

    In cuDNN: ``cudnnPoolingBackward``; what a port changes: adds workspace; renames poolingDesc -> poolDesc.

    In portadnn: ``pooling_backward``.

    Raises
    ------
    BadParam
        Maximum pooling, and the workspace is not the one that the forward call of this problem filled last.
    """
    _PoolingBackward(
        handle,
        value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"),
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha,
        beta,
        xDesc,
        yDesc,
        workspace,
    )


@function
def miopenSetPoolingIndexType(poolDesc: miopenPoolingDescriptor_t, index_type: int) -> None:
    """Choose the type of the indices: one that counts the cells of a window, or of an image.

    Return nothing (since 1.8.0).

    C: ``miopenStatus_t miopenSetPoolingIndexType(miopenPoolingDescriptor_t poolDesc, miopenIndexType_t index_type)``
    """
    _SetPoolingIndexType(poolDesc, index_type)


@function
def miopenGetPoolingIndexType(poolDesc: miopenPoolingDescriptor_t) -> miopenIndexType_t:
    """Return the type of the indices.

    Return index_type (since 1.8.0).

    C: ``miopenStatus_t miopenGetPoolingIndexType(miopenPoolingDescriptor_t poolDesc, miopenIndexType_t *index_type)``
    """
    return _GetPoolingIndexType(value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"))


@function
def miopenSetPoolingWorkSpaceIndexMode(poolDesc: miopenPoolingDescriptor_t, workspace_index: int) -> None:
    """Choose whether an index counts the cells of the window (mask) or of the image.

    Return nothing (since 2.6.0).

    C: ``miopenStatus_t miopenSetPoolingWorkSpaceIndexMode(miopenPoolingDescriptor_t poolDesc, miopenPoolingWorkspaceIndexMode_t workspace_index)``
    """
    _SetPoolingWorkSpaceIndexMode(poolDesc, workspace_index)


@function
def miopenGetPoolingWorkSpaceIndexMode(poolDesc: miopenPoolingDescriptor_t) -> miopenPoolingWorkspaceIndexMode_t:
    """Return whether an index counts the cells of the window or of the image.

    Return workspace_index (since 2.6.0).

    C: ``miopenStatus_t miopenGetPoolingWorkSpaceIndexMode(miopenPoolingDescriptor_t poolDesc, miopenPoolingWorkspaceIndexMode_t *workspace_index)``
    """
    return _GetPoolingWorkSpaceIndexMode(value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"))


@function
def miopenGetPoolingPaddingMode(poolDesc: miopenPoolingDescriptor_t) -> miopenPaddingMode_t:
    """Return how padding is stated: always by numbers (miopenPaddingDefault).

    Return paddingMode (MIOpen).

    C: ``miopenStatus_t miopenGetPoolingPaddingMode(miopenPoolingDescriptor_t poolDesc, miopenPaddingMode_t *paddingMode)``
    """
    return _GetPoolingPaddingMode(value_of(poolDesc, miopenPoolingDescriptor_t, "poolDesc"))
