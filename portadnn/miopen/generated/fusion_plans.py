"""Fusion plans: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..convolution.descriptor import miopenConvolutionDescriptor_t
from ..descriptors import destroy, miopenTensorDescriptor_t, tensor
from ..fusion.operations import (
    miopenFusionOpDescriptor_t,
    miopenOperatorArgs_t,
    miopenSetOpArgsActivBackward as _SetOpArgsActivBackward,
    miopenSetOpArgsActivForward as _SetOpArgsActivForward,
    miopenSetOpArgsBatchNormBackward as _SetOpArgsBatchNormBackward,
    miopenSetOpArgsBatchNormForward as _SetOpArgsBatchNormForward,
    miopenSetOpArgsBatchNormInference as _SetOpArgsBatchNormInference,
    miopenSetOpArgsBiasForward as _SetOpArgsBiasForward,
    miopenSetOpArgsConvForward as _SetOpArgsConvForward,
)
from ..fusion.plan import (
    miopenCompileFusionPlan as _CompileFusionPlan,
    miopenCreateFusionPlan as _CreateFusionPlan,
    miopenCreateOpActivationBackward as _CreateOpActivationBackward,
    miopenCreateOpActivationForward as _CreateOpActivationForward,
    miopenCreateOpBatchNormBackward as _CreateOpBatchNormBackward,
    miopenCreateOpBatchNormForward as _CreateOpBatchNormForward,
    miopenCreateOpBatchNormInference as _CreateOpBatchNormInference,
    miopenCreateOpBiasForward as _CreateOpBiasForward,
    miopenCreateOpConvForward as _CreateOpConvForward,
    miopenExecuteFusionPlan as _ExecuteFusionPlan,
    miopenExecuteFusionPlan_v2 as _ExecuteFusionPlan_v2,
    miopenFusionPlanConvolutionGetAlgo as _FusionPlanConvolutionGetAlgo,
    miopenFusionPlanConvolutionSetAlgo as _FusionPlanConvolutionSetAlgo,
    miopenFusionPlanDescriptor_t,
    miopenFusionPlanGetOp as _FusionPlanGetOp,
    miopenFusionPlanGetWorkSpaceSize as _FusionPlanGetWorkSpaceSize,
)
from ..names import function


@function
def miopenCreateFusionPlan(fuseDirection: int, inputDesc: miopenTensorDescriptor_t) -> miopenFusionPlanDescriptor_t:
    """Begin a sequence of operations on a tensor.

    Return fusePlanDesc (since 1.5.0).

    C: ``miopenStatus_t miopenCreateFusionPlan(miopenFusionPlanDescriptor_t *fusePlanDesc, const miopenFusionDirection_t fuseDirection, const miopenTensorDescriptor_t inputDesc)``

    `fuseDirection` is miopenVerticalFusion; the other raises miopenStatusNotImplemented. The plan keeps what the descriptor said.
    """
    return _CreateFusionPlan(fuseDirection, inputDesc)


@function
def miopenDestroyFusionPlan(fusePlanDesc: miopenFusionPlanDescriptor_t) -> None:
    """Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenDestroyFusionPlan(miopenFusionPlanDescriptor_t fusePlanDesc)``
    """
    destroy(fusePlanDesc, miopenFusionPlanDescriptor_t, "fusePlanDesc")


@function
def miopenCompileFusionPlan(handle: Handle, fusePlanDesc: miopenFusionPlanDescriptor_t) -> None:
    """Prepare a plan for a handle.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenCompileFusionPlan(miopenHandle_t handle, miopenFusionPlanDescriptor_t fusePlanDesc)``

    MIOpen compiles these sequences, and so does portadnn; every other one raises NotSupported with miopenStatusUnsupportedOp.
    C convolution, B bias, N normalisation, A activation: C, CB, CA, CBA, CN, CNA, CBN, CBNA; N inference and A; N training and
    A; N backward and A backward. MIOpen takes them in some sizes and on some GPUs only, portadnn in all that the operations take.
    An operation added later asks for another compilation.
    """
    _CompileFusionPlan(handle, fusePlanDesc)


@function
def miopenFusionPlanGetOp(fusePlanDesc: miopenFusionPlanDescriptor_t, op_idx: int) -> miopenFusionOpDescriptor_t:
    """Return an operation of a plan, by its place.

    Return op (since 1.5.0).

    C: ``miopenStatus_t miopenFusionPlanGetOp(miopenFusionPlanDescriptor_t fusePlanDesc, const int op_idx, miopenFusionOpDescriptor_t *op)``
    """
    return _FusionPlanGetOp(fusePlanDesc, op_idx)


@function
def miopenFusionPlanGetWorkSpaceSize(handle: Handle, fusePlanDesc: miopenFusionPlanDescriptor_t, algo: int) -> int:
    """Return the bytes of workspace of the plan's convolution.

    Return workSpaceSize (since 1.5.0).

    C: ``miopenStatus_t miopenFusionPlanGetWorkSpaceSize(miopenHandle_t handle, miopenFusionPlanDescriptor_t fusePlanDesc, size_t *workSpaceSize, miopenConvFwdAlgorithm_t algo)``

    They are 0: memory between the operations is the handle's.
    """
    return _FusionPlanGetWorkSpaceSize(handle, fusePlanDesc, algo)


@function
def miopenFusionPlanConvolutionGetAlgo(
    fusePlanDesc: miopenFusionPlanDescriptor_t, requestAlgoCount: int
) -> tuple[int, tuple[Any, ...]]:
    """Return the algorithms that SetAlgo takes: as in MIOpen Direct and Winograd.

    Return (returnedAlgoCount, returnedAlgos) (since 1.5.0).

    C: ``miopenStatus_t miopenFusionPlanConvolutionGetAlgo(miopenFusionPlanDescriptor_t fusePlanDesc, const int requestAlgoCount, int *returnedAlgoCount, miopenConvFwdAlgorithm_t returnedAlgos[])``
    """
    return _FusionPlanConvolutionGetAlgo(fusePlanDesc, requestAlgoCount)


@function
def miopenFusionPlanConvolutionSetAlgo(fusePlanDesc: miopenFusionPlanDescriptor_t, algo: int) -> None:
    """Choose the algorithm of the plan's convolution.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenFusionPlanConvolutionSetAlgo(miopenFusionPlanDescriptor_t fusePlanDesc, miopenConvFwdAlgorithm_t algo)``

    Where it does not take the problem, the compilation raises NotSupported with miopenStatusUnsupportedOp.
    """
    _FusionPlanConvolutionSetAlgo(fusePlanDesc, algo)


@function
def miopenCreateOpConvForward(
    fusePlanDesc: miopenFusionPlanDescriptor_t, convDesc: miopenConvolutionDescriptor_t, wDesc: miopenTensorDescriptor_t
) -> miopenFusionOpDescriptor_t:
    """Add a convolution, of what the operation before returns with a filter of `wDesc`.

    Return convOp (since 1.5.0).

    C: ``miopenStatus_t miopenCreateOpConvForward(miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *convOp, miopenConvolutionDescriptor_t convDesc, const miopenTensorDescriptor_t wDesc)``
    """
    return _CreateOpConvForward(fusePlanDesc, convDesc, wDesc)


@function
def miopenCreateOpActivationForward(
    fusePlanDesc: miopenFusionPlanDescriptor_t, mode: int
) -> miopenFusionOpDescriptor_t:
    """Add an activation.

    Return activFwdOp (since 1.5.0).

    C: ``miopenStatus_t miopenCreateOpActivationForward(miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *activFwdOp, miopenActivationMode_t mode)``
    """
    return _CreateOpActivationForward(fusePlanDesc, mode)


@function
def miopenCreateOpActivationBackward(
    fusePlanDesc: miopenFusionPlanDescriptor_t, mode: int
) -> miopenFusionOpDescriptor_t:
    """Add an activation's gradient: the plan's input is dy.

    Return activBwdOp (since 1.6.0).

    C: ``miopenStatus_t miopenCreateOpActivationBackward(miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *activBwdOp, miopenActivationMode_t mode)``
    """
    return _CreateOpActivationBackward(fusePlanDesc, mode)


@function
def miopenCreateOpBiasForward(
    fusePlanDesc: miopenFusionPlanDescriptor_t, bDesc: miopenTensorDescriptor_t
) -> miopenFusionOpDescriptor_t:
    """Add a bias, (1, k, 1, 1).

    Return biasOp (since 1.5.0).

    C: ``miopenStatus_t miopenCreateOpBiasForward(miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *biasOp, const miopenTensorDescriptor_t bDesc)``
    """
    return _CreateOpBiasForward(fusePlanDesc, bDesc)


@function
def miopenCreateOpBatchNormInference(
    fusePlanDesc: miopenFusionPlanDescriptor_t, bn_mode: int, bnScaleBiasMeanVarDesc: miopenTensorDescriptor_t
) -> miopenFusionOpDescriptor_t:
    """Add normalisation by given statistics; `bnScaleBiasMeanVarDesc` describes all four small tensors.

    Return bnOp (since 1.5.0).

    C: ``miopenStatus_t miopenCreateOpBatchNormInference(miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *bnOp, const miopenBatchNormMode_t bn_mode, const miopenTensorDescriptor_t bnScaleBiasMeanVarDesc)``
    """
    return _CreateOpBatchNormInference(fusePlanDesc, bn_mode, bnScaleBiasMeanVarDesc)


@function
def miopenCreateOpBatchNormForward(
    fusePlanDesc: miopenFusionPlanDescriptor_t, bn_mode: int, runningMeanVariance: bool
) -> miopenFusionOpDescriptor_t:
    """Add normalisation by the batch's statistics.

    Return bnFwdOp (since 1.6.0).

    C: ``miopenStatus_t miopenCreateOpBatchNormForward(miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *bnFwdOp, const miopenBatchNormMode_t bn_mode, bool runningMeanVariance)``

    The small tensors are laid out as miopenDeriveBNTensorDescriptor does. With `runningMeanVariance` running averages are updated.
    """
    return _CreateOpBatchNormForward(fusePlanDesc, bn_mode, runningMeanVariance)


@function
def miopenCreateOpBatchNormBackward(
    fusePlanDesc: miopenFusionPlanDescriptor_t, bn_mode: int
) -> miopenFusionOpDescriptor_t:
    """Add the gradient of normalisation by the batch's statistics.

    Return bnBwdOp (since 1.6.0).

    C: ``miopenStatus_t miopenCreateOpBatchNormBackward(miopenFusionPlanDescriptor_t fusePlanDesc, miopenFusionOpDescriptor_t *bnBwdOp, const miopenBatchNormMode_t bn_mode)``
    """
    return _CreateOpBatchNormBackward(fusePlanDesc, bn_mode)


@function
def miopenCreateOperatorArgs() -> miopenOperatorArgs_t:
    """Return args (since 1.5.0).

    C: ``miopenStatus_t miopenCreateOperatorArgs(miopenOperatorArgs_t *args)``
    """
    return miopenOperatorArgs_t()


@function
def miopenDestroyOperatorArgs(args: miopenOperatorArgs_t) -> None:
    """Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenDestroyOperatorArgs(miopenOperatorArgs_t args)``
    """
    destroy(args, miopenOperatorArgs_t, "args")


@function
def miopenSetOpArgsConvForward(
    args: miopenOperatorArgs_t, convOp: miopenFusionOpDescriptor_t, alpha: float, beta: float, w: Any
) -> None:
    """Give a convolution its filter. `alpha` and `beta` have no effect, as in MIOpen.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenSetOpArgsConvForward(miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t convOp, const void *alpha, const void *beta, const void *w)``
    """
    _SetOpArgsConvForward(args, convOp, alpha, beta, w)


@function
def miopenSetOpArgsActivForward(
    args: miopenOperatorArgs_t,
    activFwdOp: miopenFusionOpDescriptor_t,
    alpha: float,
    beta: float,
    activAlpha: float,
    activBeta: float,
    activGamma: float,
) -> None:
    """Give an activation its numbers. `alpha` and `beta` have no effect, as in MIOpen.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenSetOpArgsActivForward(miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t activFwdOp, const void *alpha, const void *beta, double activAlpha, double activBeta, double activGamma)``
    """
    _SetOpArgsActivForward(args, activFwdOp, alpha, beta, activAlpha, activBeta, activGamma)


@function
def miopenSetOpArgsActivBackward(
    args: miopenOperatorArgs_t,
    activBwdOp: miopenFusionOpDescriptor_t,
    alpha: float,
    beta: float,
    y: Any,
    reserved: Any,
    activAlpha: float,
    activBeta: float,
    activGamma: float,
) -> None:
    """Give an activation's gradient its numbers and `y`, what the activation returned.

    Return nothing (since 1.6.0).

    C: ``miopenStatus_t miopenSetOpArgsActivBackward(miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t activBwdOp, const void *alpha, const void *beta, const void *y, const void *reserved, double activAlpha, double activBeta, double activGamma)``

    Its input is recomputed from the normalisation's x, mean and deviation. `alpha`, `beta` and `reserved` have no effect.
    """
    _SetOpArgsActivBackward(args, activBwdOp, alpha, beta, y, reserved, activAlpha, activBeta, activGamma)


@function
def miopenSetOpArgsBatchNormInference(
    args: miopenOperatorArgs_t,
    bnOp: miopenFusionOpDescriptor_t,
    alpha: float,
    beta: float,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
) -> None:
    """Give normalisation its scale, bias and statistics. `alpha` and `beta` have no effect.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenSetOpArgsBatchNormInference(miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t bnOp, const void *alpha, const void *beta, const void *bnScale, const void *bnBias, const void *estimatedMean, const void *estimatedVariance, double epsilon)``
    """
    _SetOpArgsBatchNormInference(
        args,
        bnOp,
        alpha,
        beta,
        epsilon,
        bnScale=bnScale,
        bnBias=bnBias,
        estimatedMean=estimatedMean,
        estimatedVariance=estimatedVariance,
    )


@function
def miopenSetOpArgsBatchNormForward(
    args: miopenOperatorArgs_t,
    bnOp: miopenFusionOpDescriptor_t,
    alpha: float,
    beta: float,
    bnScale: Any,
    bnBias: Any,
    savedMean: Any,
    savedInvVariance: Any,
    runningMean: Any,
    runningVariance: Any,
    expAvgFactor: float,
    epsilon: float,
) -> None:
    """Give normalisation its scale, bias and where statistics go.

    Return nothing (since 1.6.0).

    C: ``miopenStatus_t miopenSetOpArgsBatchNormForward(miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t bnOp, const void *alpha, const void *beta, const void *bnScale, const void *bnBias, void *savedMean, void *savedInvVariance, void *runningMean, void *runningVariance, double expAvgFactor, double epsilon)``

    `savedMean` and `savedInvVariance` may be NULL, both of a pair. `runningMean` and `runningVariance` are demanded if the
    operation was created with `runningMeanVariance`, and left alone otherwise. `alpha` and `beta` have no effect.
    """
    _SetOpArgsBatchNormForward(
        args,
        bnOp,
        alpha,
        beta,
        bnScale,
        bnBias,
        savedMean,
        savedInvVariance,
        runningMean,
        runningVariance,
        expAvgFactor,
        epsilon,
    )


@function
def miopenSetOpArgsBatchNormBackward(
    args: miopenOperatorArgs_t,
    bnOp: miopenFusionOpDescriptor_t,
    alpha: float,
    beta: float,
    x: Any,
    bnScale: Any,
    bnBias: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """Give a normalisation's gradient what the way forward read and saved.

    Return nothing (since 1.6.0).

    C: ``miopenStatus_t miopenSetOpArgsBatchNormBackward(miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t bnOp, const void *alpha, const void *beta, const void *x, const void *bnScale, const void *bnBias, void *resultBnScaleDiff, void *resultBnBiasDiff, const void *savedMean, const void *savedInvVariance)``

    `alpha` and `beta` have no effect.
    """
    _SetOpArgsBatchNormBackward(
        args,
        bnOp,
        alpha,
        beta,
        x=x,
        bnScale=bnScale,
        bnBias=bnBias,
        resultBnScaleDiff=resultBnScaleDiff,
        resultBnBiasDiff=resultBnBiasDiff,
        savedMean=savedMean,
        savedInvVariance=savedInvVariance,
    )


@function
def miopenSetOpArgsBiasForward(
    args: miopenOperatorArgs_t, biasOp: miopenFusionOpDescriptor_t, alpha: float, beta: float, bias: Any
) -> None:
    """Give a bias its values. `alpha` and `beta` have no effect, as in MIOpen.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenSetOpArgsBiasForward(miopenOperatorArgs_t args, const miopenFusionOpDescriptor_t biasOp, const void *alpha, const void *beta, const void *bias)``
    """
    _SetOpArgsBiasForward(args, biasOp, alpha, beta, bias)


@function
def miopenExecuteFusionPlan(
    handle: Handle,
    fusePlanDesc: miopenFusionPlanDescriptor_t,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    outputDesc: miopenTensorDescriptor_t,
    output: Any,
    args: miopenOperatorArgs_t,
) -> None:
    """Run a compiled plan.

    Return nothing (since 1.5.0).

    C: ``miopenStatus_t miopenExecuteFusionPlan(const miopenHandle_t handle, const miopenFusionPlanDescriptor_t fusePlanDesc, const miopenTensorDescriptor_t inputDesc, const void *input, const miopenTensorDescriptor_t outputDesc, void *output, miopenOperatorArgs_t args)``

    The descriptors must say what those of the plan say. In a gradient's plan `input` is dy and `output` dx. Raises BadParam where
    the plan was not compiled for this handle, an operation was added since, or arguments are missing.
    """
    _ExecuteFusionPlan(
        handle,
        fusePlanDesc,
        inputDesc,
        tensor(handle, inputDesc, input, "input"),
        outputDesc,
        tensor(handle, outputDesc, output, "output"),
        args,
    )


@function
def miopenExecuteFusionPlan_v2(
    handle: Handle,
    fusePlanDesc: miopenFusionPlanDescriptor_t,
    inputDesc: miopenTensorDescriptor_t,
    input: Any,
    outputDesc: miopenTensorDescriptor_t,
    output: Any,
    args: miopenOperatorArgs_t,
    workspace: Any,
    workspaceSize: int,
) -> None:
    """Run a compiled plan with a workspace.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenExecuteFusionPlan_v2(const miopenHandle_t handle, const miopenFusionPlanDescriptor_t fusePlanDesc, const miopenTensorDescriptor_t inputDesc, const void *input, const miopenTensorDescriptor_t outputDesc, void *output, miopenOperatorArgs_t args, void *workspace, size_t workspaceSize)``

    The workspace of miopenFusionPlanGetWorkSpaceSize is empty: any will do.
    """
    _ExecuteFusionPlan_v2(
        handle,
        fusePlanDesc,
        inputDesc,
        tensor(handle, inputDesc, input, "input"),
        outputDesc,
        tensor(handle, outputDesc, output, "output"),
        args,
        workspace,
        workspaceSize,
    )
