"""Normalisation: cuDNN 8's, layers and groups: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import miopenTensorDescriptor_t, tensor
from ..names import function
from ..normalization import (
    miopenAddLayerNormForward as _AddLayerNormForward,
    miopenGetT5LayerNormBackwardWorkspaceSize as _GetT5LayerNormBackwardWorkspaceSize,
    miopenGroupNormForward as _GroupNormForward,
    miopenLayerNormForward as _LayerNormForward,
    miopenT5LayerNormBackward as _T5LayerNormBackward,
    miopenT5LayerNormForward as _T5LayerNormForward,
)


@function
def miopenLayerNormForward(
    handle: Handle,
    mode: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    weightDesc: miopenTensorDescriptor_t,
    weight: Any,
    biasDesc: miopenTensorDescriptor_t,
    bias: Any,
    epsilon: float,
    normalized_dim: int,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    meanDesc: miopenTensorDescriptor_t,
    mean: Any,
    rstdDesc: miopenTensorDescriptor_t,
    rstd: Any,
) -> None:
    """Normalise each sample over its dims from `normalized_dim` on.

    Return nothing (since 3.0.0, changed by 3.1.0).

    C: ``miopenStatus_t miopenLayerNormForward(miopenHandle_t handle, miopenLayerNormMode_t mode, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t weightDesc, const void *weight, const miopenTensorDescriptor_t biasDesc, const void *bias, const float epsilon, const int32_t normalized_dim, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t meanDesc, void *mean, const miopenTensorDescriptor_t rstdDesc, void *rstd)``

    In portadnn: ``normalization_forward``.

    MIOPEN_ELEMENTWISE_AFFINE ignores weight and bias, as MIOpen does; MIOPEN_WEIGHT_BIAS uses them. mean and rstd take
    the statistics, both or neither (None).
    """
    _LayerNormForward(
        handle,
        mode,
        xDesc,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        normalized_dim,
        weightDesc,
        weight,
        biasDesc,
        bias,
        meanDesc,
        mean,
        rstdDesc,
        rstd,
        epsilon,
    )


@function
def miopenAddLayerNormForward(
    handle: Handle,
    mode: int,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    x2Desc: miopenTensorDescriptor_t,
    x2: Any,
    weightDesc: miopenTensorDescriptor_t,
    weight: Any,
    biasDesc: miopenTensorDescriptor_t,
    bias: Any,
    epsilon: float,
    normalized_dim: int,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    meanDesc: miopenTensorDescriptor_t,
    mean: Any,
    rstdDesc: miopenTensorDescriptor_t,
    rstd: Any,
) -> None:
    """Normalise x + x2 as miopenLayerNormForward does, in the modes with FUSED_ADD.

    Return nothing (since 3.2.0).

    C: ``miopenStatus_t miopenAddLayerNormForward(miopenHandle_t handle, miopenNormMode_t mode, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t x2Desc, const void *x2, const miopenTensorDescriptor_t weightDesc, const void *weight, const miopenTensorDescriptor_t biasDesc, const void *bias, const float epsilon, const int32_t normalized_dim, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t meanDesc, void *mean, const miopenTensorDescriptor_t rstdDesc, void *rstd)``
    """
    _AddLayerNormForward(
        handle,
        mode,
        xDesc,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, x2Desc, x2, "x2"),
        tensor(handle, yDesc, y, "y"),
        normalized_dim,
        weightDesc,
        weight,
        biasDesc,
        bias,
        meanDesc,
        mean,
        rstdDesc,
        rstd,
        epsilon,
    )


@function
def miopenGroupNormForward(
    handle: Handle,
    mode: int,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    weightDesc: miopenTensorDescriptor_t,
    weight: Any,
    biasDesc: miopenTensorDescriptor_t,
    bias: Any,
    num_groups: int,
    epsilon: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    meanDesc: miopenTensorDescriptor_t,
    mean: Any,
    rstdDesc: miopenTensorDescriptor_t,
    rstd: Any,
) -> None:
    """Normalise groups of neighbouring channels of each image; weight and bias have a number for each channel.

    Return nothing (since 3.1.0).

    C: ``miopenStatus_t miopenGroupNormForward(miopenHandle_t handle, miopenNormMode_t mode, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t weightDesc, const void *weight, const miopenTensorDescriptor_t biasDesc, const void *bias, const uint64_t num_groups, const float epsilon, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t meanDesc, void *mean, const miopenTensorDescriptor_t rstdDesc, void *rstd)``

    In portadnn: ``normalization_forward``.
    """
    _GroupNormForward(
        handle,
        mode,
        xDesc,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        num_groups,
        weightDesc,
        weight,
        biasDesc,
        bias,
        meanDesc,
        mean,
        rstdDesc,
        rstd,
        epsilon,
    )


@function
def miopenT5LayerNormForward(
    handle: Handle,
    mode: int,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    weightDesc: miopenTensorDescriptor_t,
    weight: Any,
    epsilon: float,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    rstdDesc: miopenTensorDescriptor_t,
    rstd: Any,
) -> None:
    """Divide by the root of the mean of squares over the last dim; rstd takes its inverse, or is None.

    Return nothing (since 3.2.0).

    C: ``miopenStatus_t miopenT5LayerNormForward(miopenHandle_t handle, miopenNormMode_t mode, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t weightDesc, const void *weight, const float epsilon, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t rstdDesc, void *rstd)``

    In portadnn: ``normalization_forward``.
    """
    _T5LayerNormForward(
        handle,
        mode,
        xDesc,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        weightDesc,
        weight,
        rstdDesc,
        rstd,
        epsilon,
    )


@function
def miopenT5LayerNormBackward(
    handle: Handle,
    mode: int,
    workspace: Any,
    workspaceSizeInBytes: int,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    weightDesc: miopenTensorDescriptor_t,
    weight: Any,
    rstdDesc: miopenTensorDescriptor_t,
    rstd: Any,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    dwDesc: miopenTensorDescriptor_t,
    dw: Any,
) -> None:
    """Compute the gradients of miopenT5LayerNormForward; dw may be None in the mode without weights.

    Return nothing (since 3.2.0).

    C: ``miopenStatus_t miopenT5LayerNormBackward(miopenHandle_t handle, miopenNormMode_t mode, void *workspace, size_t workspaceSizeInBytes, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t weightDesc, const void *weight, const miopenTensorDescriptor_t rstdDesc, const void *rstd, const miopenTensorDescriptor_t dxDesc, void *dx, const miopenTensorDescriptor_t dwDesc, void *dw)``

    In portadnn: ``normalization_backward``.
    """
    _T5LayerNormBackward(
        handle,
        mode,
        workspace,
        workspaceSizeInBytes,
        tensor(handle, dyDesc, dy, "dy"),
        xDesc,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dxDesc, dx, "dx"),
        weightDesc,
        weight,
        rstdDesc,
        rstd,
        dwDesc,
        dw,
    )


@function
def miopenGetT5LayerNormBackwardWorkspaceSize(
    handle: Handle,
    mode: int,
    dyDesc: miopenTensorDescriptor_t,
    xDesc: miopenTensorDescriptor_t,
    weightDesc: miopenTensorDescriptor_t,
    rstdDesc: miopenTensorDescriptor_t,
    dxDesc: miopenTensorDescriptor_t,
    dwDesc: miopenTensorDescriptor_t,
) -> int:
    """Return 0: the handle has what is needed.

    Return sizeInBytes (since 3.2.0).

    C: ``miopenStatus_t miopenGetT5LayerNormBackwardWorkspaceSize(miopenHandle_t handle, miopenNormMode_t mode, const miopenTensorDescriptor_t dyDesc, const miopenTensorDescriptor_t xDesc, const miopenTensorDescriptor_t weightDesc, const miopenTensorDescriptor_t rstdDesc, const miopenTensorDescriptor_t dxDesc, const miopenTensorDescriptor_t dwDesc, size_t *sizeInBytes)``
    """
    return _GetT5LayerNormBackwardWorkspaceSize(handle, mode, dyDesc, xDesc, rstdDesc, dxDesc)
