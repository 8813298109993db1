"""What MIOpen alone has: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..descriptors import miopenTensorDescriptor_t, optional, tensor
from ..miopen_only import (
    miopenCatForward as _CatForward,
    miopenGLUBackward as _GLUBackward,
    miopenGLUForward as _GLUForward,
    miopenGetMultiMarginLossForwardWorkspaceSize as _GetMultiMarginLossForwardWorkspaceSize,
    miopenGetPReLUBackwardWorkspaceSize as _GetPReLUBackwardWorkspaceSize,
    miopenGetSoftMarginLossForwardWorkspaceSize as _GetSoftMarginLossForwardWorkspaceSize,
    miopenKthvalueForward as _KthvalueForward,
    miopenMultiMarginLossForward as _MultiMarginLossForward,
    miopenPReLUBackward as _PReLUBackward,
    miopenRoPEBackward as _RoPEBackward,
    miopenRoPEForward as _RoPEForward,
    miopenSoftMarginLossBackward as _SoftMarginLossBackward,
    miopenSoftMarginLossForward as _SoftMarginLossForward,
)
from ..names import function


@function
def miopenGLUForward(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    outputDesc: miopenTensorDescriptor_t,
    output: Any,
    dim: int,
) -> None:
    """Multiply one half of the numbers along dim by the sigmoid of the other half.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenGLUForward(miopenHandle_t handle, const miopenTensorDescriptor_t inputDesc, const void *input, const miopenTensorDescriptor_t outputDesc, void *output, const uint32_t dim)``

    In portadnn: ``glu_forward``.
    """
    _GLUForward(handle, tensor(handle, inputDesc, input, "input"), tensor(handle, outputDesc, output, "output"), dim)


@function
def miopenGLUBackward(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    outputGradDesc: miopenTensorDescriptor_t,
    outputGrad: Any,
    inputGradDesc: miopenTensorDescriptor_t,
    inputGrad: Any,
    dim: int,
) -> None:
    """Compute the gradient of miopenGLUForward.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenGLUBackward(miopenHandle_t handle, const miopenTensorDescriptor_t inputDesc, const void *input, const miopenTensorDescriptor_t outputGradDesc, const void *outputGrad, const miopenTensorDescriptor_t inputGradDesc, void *inputGrad, const uint32_t dim)``

    In portadnn: ``glu_backward``.
    """
    _GLUBackward(
        handle,
        tensor(handle, inputDesc, input, "input"),
        tensor(handle, outputGradDesc, outputGrad, "outputGrad"),
        tensor(handle, inputGradDesc, inputGrad, "inputGrad"),
        dim,
    )


@function
def miopenRoPEForward(
    handle: Handle,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    cosDesc: miopenTensorDescriptor_t,
    cos: Any,
    sinDesc: miopenTensorDescriptor_t,
    sin: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
) -> None:
    """Turn pairs of neighbours in the last dim by tables of cosines and sines, whose dims are the last ones of x.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenRoPEForward(miopenHandle_t handle, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t cosDesc, const void *cos, const miopenTensorDescriptor_t sinDesc, const void *sin, const miopenTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``rope_forward``.
    """
    _RoPEForward(handle, xDesc, x, cosDesc, cos, sinDesc, sin, yDesc, y)


@function
def miopenRoPEBackward(
    handle: Handle,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    cosDesc: miopenTensorDescriptor_t,
    cos: Any,
    sinDesc: miopenTensorDescriptor_t,
    sin: Any,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
) -> None:
    """Compute the gradient of miopenRoPEForward.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenRoPEBackward(miopenHandle_t handle, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t cosDesc, const void *cos, const miopenTensorDescriptor_t sinDesc, const void *sin, const miopenTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``rope_backward``.
    """
    _RoPEBackward(handle, dyDesc, dy, cosDesc, cos, sinDesc, sin, dxDesc, dx)


@function
def miopenPReLUBackward(
    handle: Handle,
    workspace: Any,
    workspaceSizeInBytes: int,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    weightDesc: miopenTensorDescriptor_t,
    weight: Any,
    doutputDesc: miopenTensorDescriptor_t,
    doutput: Any,
    dinputDesc: miopenTensorDescriptor_t,
    dinput: Any,
    dweightDesc: miopenTensorDescriptor_t,
    dweight: Any,
) -> None:
    """Compute the gradients of PReLU, with one weight or one for each channel; dinput or dweight may be None.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenPReLUBackward(miopenHandle_t handle, void *workspace, size_t workspaceSizeInBytes, miopenTensorDescriptor_t inputDesc, const void *input, miopenTensorDescriptor_t weightDesc, const void *weight, miopenTensorDescriptor_t doutputDesc, const void *doutput, miopenTensorDescriptor_t dinputDesc, void *dinput, miopenTensorDescriptor_t dweightDesc, void *dweight)``

    In portadnn: ``prelu_backward``.
    """
    _PReLUBackward(
        handle,
        workspace,
        workspaceSizeInBytes,
        inputDesc,
        tensor(handle, inputDesc, input, "input"),
        weightDesc,
        weight,
        tensor(handle, doutputDesc, doutput, "doutput"),
        optional(handle, dinputDesc, dinput, "dinput"),
        dweightDesc,
        dweight,
    )


@function
def miopenGetPReLUBackwardWorkspaceSize(
    handle: Handle, inputDesc: miopenTensorDescriptor_t, weightDesc: miopenTensorDescriptor_t
) -> int:
    """Return 0: the handle has what is needed.

    Return sizeInBytes (since 3.3.0).

    C: ``miopenStatus_t miopenGetPReLUBackwardWorkspaceSize(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, miopenTensorDescriptor_t weightDesc, size_t *sizeInBytes)``
    """
    return _GetPReLUBackwardWorkspaceSize(handle, inputDesc, weightDesc)


@function
def miopenSoftMarginLossForward(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    targetDesc: miopenTensorDescriptor_t,
    target: Any,
    outputDesc: miopenTensorDescriptor_t,
    output: Any,
    reduction: int,
    workspace: Any = None,
    workspaceSizeInBytes: int = 0,
) -> None:
    """Compute log(1 + exp(-input * target)), of each element, summed up or averaged.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenSoftMarginLossForward(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, const void *input, miopenTensorDescriptor_t targetDesc, const void *target, miopenTensorDescriptor_t outputDesc, void *output, miopenLossReductionMode_t reduction, void *workspace, size_t workspaceSizeInBytes)``

    In portadnn: ``soft_margin_loss_forward``.
    """
    _SoftMarginLossForward(
        handle,
        inputDesc,
        tensor(handle, inputDesc, input, "input"),
        tensor(handle, targetDesc, target, "target"),
        outputDesc,
        output,
        reduction,
        workspace,
        workspaceSizeInBytes,
    )


@function
def miopenGetSoftMarginLossForwardWorkspaceSize(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    targetDesc: miopenTensorDescriptor_t,
    outputDesc: miopenTensorDescriptor_t,
    reduction: int,
) -> int:
    """Return 0: the handle has what is needed.

    Return sizeInBytes (since 3.3.0).

    C: ``miopenStatus_t miopenGetSoftMarginLossForwardWorkspaceSize(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, miopenTensorDescriptor_t targetDesc, miopenTensorDescriptor_t outputDesc, miopenLossReductionMode_t reduction, size_t *sizeInBytes)``
    """
    return _GetSoftMarginLossForwardWorkspaceSize(handle, inputDesc, targetDesc, outputDesc, reduction)


@function
def miopenSoftMarginLossBackward(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    targetDesc: miopenTensorDescriptor_t,
    target: Any,
    doutputDesc: miopenTensorDescriptor_t,
    doutput: Any,
    dinputDesc: miopenTensorDescriptor_t,
    dinput: Any,
    reduction: int,
) -> None:
    """Compute the gradient of miopenSoftMarginLossForward; doutput has the dims of input with any reduction.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenSoftMarginLossBackward(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, const void *input, miopenTensorDescriptor_t targetDesc, const void *target, miopenTensorDescriptor_t doutputDesc, const void *doutput, miopenTensorDescriptor_t dinputDesc, void *dinput, miopenLossReductionMode_t reduction)``

    In portadnn: ``soft_margin_loss_backward``.
    """
    _SoftMarginLossBackward(
        handle,
        tensor(handle, inputDesc, input, "input"),
        tensor(handle, targetDesc, target, "target"),
        tensor(handle, doutputDesc, doutput, "doutput"),
        tensor(handle, dinputDesc, dinput, "dinput"),
        reduction,
    )


@function
def miopenMultiMarginLossForward(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    targetDesc: miopenTensorDescriptor_t,
    target: Any,
    weightDesc: miopenTensorDescriptor_t,
    weight: Any,
    outputDesc: miopenTensorDescriptor_t,
    output: Any,
    p: Any,
    margin: float,
    reduction: int,
    workspace: Any,
    workspaceSizeInBytes: int,
) -> None:
    """Compute the multi-class margin loss; the loss of a target that is no class is NaN.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenMultiMarginLossForward(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, const void *input, miopenTensorDescriptor_t targetDesc, const void *target, miopenTensorDescriptor_t weightDesc, const void *weight, miopenTensorDescriptor_t outputDesc, void *output, long p, float margin, miopenLossReductionMode_t reduction, void *workspace, size_t workspaceSizeInBytes)``

    In portadnn: ``multi_margin_loss_forward``.
    """
    _MultiMarginLossForward(
        handle,
        inputDesc,
        input,
        targetDesc,
        target,
        weightDesc,
        weight,
        outputDesc,
        output,
        p,
        margin,
        reduction,
        workspace,
        workspaceSizeInBytes,
    )


@function
def miopenGetMultiMarginLossForwardWorkspaceSize(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    targetDesc: miopenTensorDescriptor_t,
    weightDesc: miopenTensorDescriptor_t,
    outputDesc: miopenTensorDescriptor_t,
    p: Any,
    margin: float,
    reduction: int,
) -> int:
    """Return 0: the handle has what is needed.

    Return sizeInBytes (since 3.3.0).

    C: ``miopenStatus_t miopenGetMultiMarginLossForwardWorkspaceSize(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, miopenTensorDescriptor_t targetDesc, miopenTensorDescriptor_t weightDesc, miopenTensorDescriptor_t outputDesc, long p, float margin, miopenLossReductionMode_t reduction, size_t *sizeInBytes)``
    """
    return _GetMultiMarginLossForwardWorkspaceSize(
        handle, inputDesc, targetDesc, weightDesc, outputDesc, p, margin, reduction
    )


@function
def miopenCatForward(
    handle: Handle, xCount: int, xDescs: Any, xs: Any, yDesc: miopenTensorDescriptor_t, y: Any, dim: int
) -> None:
    """Put up to 8 tensors one behind the other along dim.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenCatForward(miopenHandle_t handle, const int32_t xCount, const miopenTensorDescriptor_t *xDescs, const void* const *xs, const miopenTensorDescriptor_t yDesc, void *y, const int32_t dim)``

    In portadnn: ``cat_forward``.
    """
    _CatForward(handle, xCount, xDescs, xs, yDesc, tensor(handle, yDesc, y, "y"), dim)


@function
def miopenKthvalueForward(
    handle: Handle,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    outputDesc: miopenTensorDescriptor_t,
    output: Any,
    indicesDesc: miopenTensorDescriptor_t,
    indices: Any,
    k: int,
    dim: int = -1,
    keepDim: bool = False,
) -> None:
    """Find the k-th smallest number along dim and where the first of its equals is; indices are of miopenInt64 (size_t) or miopenInt32.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenKthvalueForward(miopenHandle_t handle, miopenTensorDescriptor_t inputDesc, const void *input, miopenTensorDescriptor_t outputDesc, void *output, miopenTensorDescriptor_t indicesDesc, size_t *indices, size_t k, int32_t dim, bool keepDim)``

    In portadnn: ``kthvalue_forward``.
    """
    _KthvalueForward(
        handle,
        inputDesc,
        tensor(handle, inputDesc, input, "input"),
        outputDesc,
        output,
        indices,
        indicesDesc,
        k,
        dim,
        keepDim,
    )
