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
    miopenGetGetitemWorkspaceSize as _GetGetitemWorkspaceSize,
    miopenGetMultiMarginLossForwardWorkspaceSize as _GetMultiMarginLossForwardWorkspaceSize,
    miopenGetPReLUBackwardWorkspaceSize as _GetPReLUBackwardWorkspaceSize,
    miopenGetSoftMarginLossForwardWorkspaceSize as _GetSoftMarginLossForwardWorkspaceSize,
    miopenGetitemBackward as _GetitemBackward,
    miopenKthvalueForward as _KthvalueForward,
    miopenMultiMarginLossForward as _MultiMarginLossForward,
    miopenPReLUBackward as _PReLUBackward,
    miopenRoPEBackward as _RoPEBackward,
    miopenRoPEForward as _RoPEForward,
    miopenSoftMarginLossBackward as _SoftMarginLossBackward,
    miopenSoftMarginLossForward as _SoftMarginLossForward,
)
from ..names import function
from ..optimizers import (
    miopenFusedAdam as _FusedAdam,
    miopenFusedAdamWithOutput as _FusedAdamWithOutput,
    miopenTransformersAdamW as _TransformersAdamW,
    miopenTransformersAdamWWithOutput as _TransformersAdamWWithOutput,
)


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
def miopenFusedAdam(
    handle: Handle,
    paramDesc: miopenTensorDescriptor_t,
    param: Any,
    gradDesc: miopenTensorDescriptor_t,
    grad: Any,
    expAvgDesc: miopenTensorDescriptor_t,
    expAvg: Any,
    expAvgSqDesc: miopenTensorDescriptor_t,
    expAvgSq: Any,
    maxExpAvgSqDesc: miopenTensorDescriptor_t,
    maxExpAvgSq: Any,
    stateStepDesc: miopenTensorDescriptor_t,
    stateStep: Any,
    state_step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    adamw: bool,
    gradScaleDesc: miopenTensorDescriptor_t,
    gradScale: Any,
    foundInfDesc: miopenTensorDescriptor_t,
    foundInf: Any,
) -> None:
    """Make a step of Adam or AdamW in place. Unused tensors and their descriptors are None; foundInf is one byte.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenFusedAdam(miopenHandle_t handle, const miopenTensorDescriptor_t paramDesc, void *param, const miopenTensorDescriptor_t gradDesc, const void *grad, const miopenTensorDescriptor_t expAvgDesc, void *expAvg, const miopenTensorDescriptor_t expAvgSqDesc, void *expAvgSq, const miopenTensorDescriptor_t maxExpAvgSqDesc, void *maxExpAvgSq, const miopenTensorDescriptor_t stateStepDesc, void *stateStep, const unsigned int state_step, const float lr, const float beta1, const float beta2, const float weight_decay, const float eps, const bool amsgrad, const bool maximize, const bool adamw, const miopenTensorDescriptor_t gradScaleDesc, const void *gradScale, const miopenTensorDescriptor_t foundInfDesc, const void *foundInf)``

    In portadnn: ``adam``.
    """
    _FusedAdam(
        handle,
        amsgrad=amsgrad,
        maximize=maximize,
        adamw=adamw,
        paramDesc=paramDesc,
        param=param,
        gradDesc=gradDesc,
        grad=grad,
        expAvgDesc=expAvgDesc,
        expAvg=expAvg,
        expAvgSqDesc=expAvgSqDesc,
        expAvgSq=expAvgSq,
        maxExpAvgSqDesc=maxExpAvgSqDesc,
        maxExpAvgSq=maxExpAvgSq,
        stateStepDesc=stateStepDesc,
        stateStep=stateStep,
        state_step=state_step,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=eps,
        gradScaleDesc=gradScaleDesc,
        gradScale=gradScale,
        foundInfDesc=foundInfDesc,
        foundInf=foundInf,
    )


@function
def miopenFusedAdamWithOutput(
    handle: Handle,
    paramInDesc: miopenTensorDescriptor_t,
    paramIn: Any,
    paramOutDesc: miopenTensorDescriptor_t,
    paramOut: Any,
    paramOutFloat16Desc: miopenTensorDescriptor_t,
    paramOutFloat16: Any,
    gradInDesc: miopenTensorDescriptor_t,
    gradIn: Any,
    expAvgInDesc: miopenTensorDescriptor_t,
    expAvgIn: Any,
    expAvgOutDesc: miopenTensorDescriptor_t,
    expAvgOut: Any,
    expAvgSqInDesc: miopenTensorDescriptor_t,
    expAvgSqIn: Any,
    expAvgSqOutDesc: miopenTensorDescriptor_t,
    expAvgSqOut: Any,
    maxExpAvgSqInDesc: miopenTensorDescriptor_t,
    maxExpAvgSqIn: Any,
    maxExpAvgSqOutDesc: miopenTensorDescriptor_t,
    maxExpAvgSqOut: Any,
    stateStepInDesc: miopenTensorDescriptor_t,
    stateStepIn: Any,
    stateStepOutDesc: miopenTensorDescriptor_t,
    stateStepOut: Any,
    state_step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    adamw: bool,
    gradScaleDesc: miopenTensorDescriptor_t,
    gradScale: Any,
    foundInfDesc: miopenTensorDescriptor_t,
    foundInf: Any,
) -> None:
    """Make a step of Adam or AdamW; the results go to the tensors called Out, and as halves to paramOutFloat16 unless that is None.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenFusedAdamWithOutput(miopenHandle_t handle, const miopenTensorDescriptor_t paramInDesc, void *paramIn, const miopenTensorDescriptor_t paramOutDesc, void *paramOut, const miopenTensorDescriptor_t paramOutFloat16Desc, void *paramOutFloat16, const miopenTensorDescriptor_t gradInDesc, const void *gradIn, const miopenTensorDescriptor_t expAvgInDesc, void *expAvgIn, const miopenTensorDescriptor_t expAvgOutDesc, void *expAvgOut, const miopenTensorDescriptor_t expAvgSqInDesc, void *expAvgSqIn, const miopenTensorDescriptor_t expAvgSqOutDesc, void *expAvgSqOut, const miopenTensorDescriptor_t maxExpAvgSqInDesc, void *maxExpAvgSqIn, const miopenTensorDescriptor_t maxExpAvgSqOutDesc, void *maxExpAvgSqOut, const miopenTensorDescriptor_t stateStepInDesc, void *stateStepIn, const miopenTensorDescriptor_t stateStepOutDesc, void *stateStepOut, const unsigned int state_step, const float lr, const float beta1, const float beta2, const float weight_decay, const float eps, const bool amsgrad, const bool maximize, const bool adamw, const miopenTensorDescriptor_t gradScaleDesc, const void *gradScale, const miopenTensorDescriptor_t foundInfDesc, const void *foundInf)``

    In portadnn: ``adam``.
    """
    _FusedAdamWithOutput(
        handle,
        amsgrad=amsgrad,
        maximize=maximize,
        adamw=adamw,
        paramInDesc=paramInDesc,
        paramIn=paramIn,
        paramOutDesc=paramOutDesc,
        paramOut=paramOut,
        paramOutFloat16Desc=paramOutFloat16Desc,
        paramOutFloat16=paramOutFloat16,
        gradInDesc=gradInDesc,
        gradIn=gradIn,
        expAvgInDesc=expAvgInDesc,
        expAvgIn=expAvgIn,
        expAvgOutDesc=expAvgOutDesc,
        expAvgOut=expAvgOut,
        expAvgSqInDesc=expAvgSqInDesc,
        expAvgSqIn=expAvgSqIn,
        expAvgSqOutDesc=expAvgSqOutDesc,
        expAvgSqOut=expAvgSqOut,
        maxExpAvgSqInDesc=maxExpAvgSqInDesc,
        maxExpAvgSqIn=maxExpAvgSqIn,
        maxExpAvgSqOutDesc=maxExpAvgSqOutDesc,
        maxExpAvgSqOut=maxExpAvgSqOut,
        stateStepInDesc=stateStepInDesc,
        stateStepIn=stateStepIn,
        stateStepOutDesc=stateStepOutDesc,
        stateStepOut=stateStepOut,
        state_step=state_step,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=eps,
        gradScaleDesc=gradScaleDesc,
        gradScale=gradScale,
        foundInfDesc=foundInfDesc,
        foundInf=foundInf,
    )


@function
def miopenTransformersAdamW(
    handle: Handle,
    paramDesc: miopenTensorDescriptor_t,
    param: Any,
    gradDesc: miopenTensorDescriptor_t,
    grad: Any,
    expAvgDesc: miopenTensorDescriptor_t,
    expAvg: Any,
    expAvgSqDesc: miopenTensorDescriptor_t,
    expAvgSq: Any,
    stateStepDesc: miopenTensorDescriptor_t,
    stateStep: Any,
    state_step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    correct_bias: bool,
    gradScaleDesc: miopenTensorDescriptor_t,
    gradScale: Any,
    foundInfDesc: miopenTensorDescriptor_t,
    foundInf: Any,
) -> None:
    """Make a step of AdamW as Transformers has it, in place. Unused tensors and their descriptors are None; foundInf is one byte.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenTransformersAdamW(miopenHandle_t handle, const miopenTensorDescriptor_t paramDesc, void *param, const miopenTensorDescriptor_t gradDesc, const void *grad, const miopenTensorDescriptor_t expAvgDesc, void *expAvg, const miopenTensorDescriptor_t expAvgSqDesc, void *expAvgSq, const miopenTensorDescriptor_t stateStepDesc, void *stateStep, const unsigned int state_step, const float lr, const float beta1, const float beta2, const float weight_decay, const float eps, const bool correct_bias, const miopenTensorDescriptor_t gradScaleDesc, const void *gradScale, const miopenTensorDescriptor_t foundInfDesc, const void *foundInf)``

    In portadnn: ``adam``.
    """
    _TransformersAdamW(
        handle,
        correct_bias=correct_bias,
        paramDesc=paramDesc,
        param=param,
        gradDesc=gradDesc,
        grad=grad,
        expAvgDesc=expAvgDesc,
        expAvg=expAvg,
        expAvgSqDesc=expAvgSqDesc,
        expAvgSq=expAvgSq,
        stateStepDesc=stateStepDesc,
        stateStep=stateStep,
        state_step=state_step,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=eps,
        gradScaleDesc=gradScaleDesc,
        gradScale=gradScale,
        foundInfDesc=foundInfDesc,
        foundInf=foundInf,
    )


@function
def miopenTransformersAdamWWithOutput(
    handle: Handle,
    paramInDesc: miopenTensorDescriptor_t,
    paramIn: Any,
    paramOutDesc: miopenTensorDescriptor_t,
    paramOut: Any,
    paramOutFloat16Desc: miopenTensorDescriptor_t,
    paramOutFloat16: Any,
    gradInDesc: miopenTensorDescriptor_t,
    gradIn: Any,
    expAvgInDesc: miopenTensorDescriptor_t,
    expAvgIn: Any,
    expAvgOutDesc: miopenTensorDescriptor_t,
    expAvgOut: Any,
    expAvgSqInDesc: miopenTensorDescriptor_t,
    expAvgSqIn: Any,
    expAvgSqOutDesc: miopenTensorDescriptor_t,
    expAvgSqOut: Any,
    stateStepInDesc: miopenTensorDescriptor_t,
    stateStepIn: Any,
    stateStepOutDesc: miopenTensorDescriptor_t,
    stateStepOut: Any,
    state_step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    step_size: float,
    correct_bias: bool,
    gradScaleDesc: miopenTensorDescriptor_t,
    gradScale: Any,
    foundInfDesc: miopenTensorDescriptor_t,
    foundInf: Any,
) -> None:
    """Make a step of AdamW as Transformers has it; a step_size that is not negative is taken instead of lr with corrections.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenTransformersAdamWWithOutput(miopenHandle_t handle, const miopenTensorDescriptor_t paramInDesc, void *paramIn, const miopenTensorDescriptor_t paramOutDesc, void *paramOut, const miopenTensorDescriptor_t paramOutFloat16Desc, void *paramOutFloat16, const miopenTensorDescriptor_t gradInDesc, const void *gradIn, const miopenTensorDescriptor_t expAvgInDesc, void *expAvgIn, const miopenTensorDescriptor_t expAvgOutDesc, void *expAvgOut, const miopenTensorDescriptor_t expAvgSqInDesc, void *expAvgSqIn, const miopenTensorDescriptor_t expAvgSqOutDesc, void *expAvgSqOut, const miopenTensorDescriptor_t stateStepInDesc, void *stateStepIn, const miopenTensorDescriptor_t stateStepOutDesc, void *stateStepOut, const unsigned int state_step, const float lr, const float beta1, const float beta2, const float weight_decay, const float eps, const float step_size, const bool correct_bias, const miopenTensorDescriptor_t gradScaleDesc, const void *gradScale, const miopenTensorDescriptor_t foundInfDesc, const void *foundInf)``

    In portadnn: ``adam``.
    """
    _TransformersAdamWWithOutput(
        handle,
        correct_bias=correct_bias,
        paramInDesc=paramInDesc,
        paramIn=paramIn,
        paramOutDesc=paramOutDesc,
        paramOut=paramOut,
        paramOutFloat16Desc=paramOutFloat16Desc,
        paramOutFloat16=paramOutFloat16,
        gradInDesc=gradInDesc,
        gradIn=gradIn,
        expAvgInDesc=expAvgInDesc,
        expAvgIn=expAvgIn,
        expAvgOutDesc=expAvgOutDesc,
        expAvgOut=expAvgOut,
        expAvgSqInDesc=expAvgSqInDesc,
        expAvgSqIn=expAvgSqIn,
        expAvgSqOutDesc=expAvgSqOutDesc,
        expAvgSqOut=expAvgSqOut,
        stateStepInDesc=stateStepInDesc,
        stateStepIn=stateStepIn,
        stateStepOutDesc=stateStepOutDesc,
        stateStepOut=stateStepOut,
        state_step=state_step,
        lr=lr,
        beta1=beta1,
        beta2=beta2,
        weight_decay=weight_decay,
        eps=eps,
        step_size=step_size,
        gradScaleDesc=gradScaleDesc,
        gradScale=gradScale,
        foundInfDesc=foundInfDesc,
        foundInf=foundInf,
    )


@function
def miopenCatForward(
    handle: Handle, xCount: int, xDescs: Any, xs: Any, yDesc: miopenTensorDescriptor_t, y: Any, dim: int
) -> None:
    """Put up to 8 tensors one behind the other along dim.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenCatForward(miopenHandle_t handle, const int32_t xCount, const miopenTensorDescriptor_t *xDescs, const void **xs, const miopenTensorDescriptor_t yDesc, void *y, const int32_t dim)``

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


@function
def miopenGetitemBackward(
    handle: Handle,
    workspace: Any,
    workspaceSizeInBytes: int,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    indexCount: int,
    indexDescs: Any,
    indexs: Any,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    errorDesc: miopenTensorDescriptor_t,
    error: Any,
    dimCount: int,
    dims: Any,
    sliceCount: int,
    slices: Any,
    offset: int,
) -> None:
    """Add the gradient of indexing to dx, in the order of dy; error is -1 for each index with a number out of range, else 0.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenGetitemBackward(miopenHandle_t handle, void *workspace, size_t workspaceSizeInBytes, const miopenTensorDescriptor_t dyDesc, const void *dy, uint32_t indexCount, const miopenTensorDescriptor_t *indexDescs, const void* const *indexs, const miopenTensorDescriptor_t dxDesc, void *dx, const miopenTensorDescriptor_t errorDesc, void *error, uint32_t dimCount, const int32_t *dims, uint32_t sliceCount, const int32_t *slices, uint32_t offset)``

    In portadnn: ``getitem_backward``.
    """
    _GetitemBackward(
        handle,
        workspace,
        workspaceSizeInBytes,
        dyDesc,
        dy,
        indexCount,
        indexDescs,
        indexs,
        dxDesc,
        dx,
        errorDesc,
        error,
        dimCount,
        dims,
        sliceCount,
        slices,
        offset,
    )


@function
def miopenGetGetitemWorkspaceSize(handle: Handle, indexCount: int, indexDescs: Any) -> int:
    """Return 0: the handle has what is needed.

    Return sizeInBytes (since 3.3.0).

    C: ``miopenStatus_t miopenGetGetitemWorkspaceSize(miopenHandle_t handle, uint32_t indexCount, const miopenTensorDescriptor_t *indexDescs, size_t *sizeInBytes)``
    """
    return _GetGetitemWorkspaceSize(handle, indexCount, indexDescs)
