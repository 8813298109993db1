"""Batch normalisation: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..activation import miopenActivationDescriptor_t
from ..batch_norm.activation import (
    miopenBatchNormBackwardActivation as _BatchNormBackwardActivation,
    miopenBatchNormForwardInferenceActivation as _BatchNormForwardInferenceActivation,
    miopenBatchNormForwardInferenceActivationInvVariance as _BatchNormForwardInferenceActivationInvVariance,
    miopenBatchNormForwardTrainingActivation as _BatchNormForwardTrainingActivation,
    miopenBatchNormForwardTrainingActivation_V2 as _BatchNormForwardTrainingActivation_V2,
)
from ..batch_norm.calls import (
    miopenBatchNormalizationBackward as _BatchNormalizationBackward,
    miopenBatchNormalizationBackward_V2 as _BatchNormalizationBackward_V2,
    miopenBatchNormalizationForwardInference as _BatchNormalizationForwardInference,
    miopenBatchNormalizationForwardInferenceInvVariance as _BatchNormalizationForwardInferenceInvVariance,
    miopenBatchNormalizationForwardInference_V2 as _BatchNormalizationForwardInference_V2,
    miopenBatchNormalizationForwardTraining as _BatchNormalizationForwardTraining,
    miopenBatchNormalizationForwardTraining_V2 as _BatchNormalizationForwardTraining_V2,
    miopenBatchNormalizationForwardTraining_V3 as _BatchNormalizationForwardTraining_V3,
    miopenDeriveBNTensorDescriptor as _DeriveBNTensorDescriptor,
)
from ..descriptors import miopenTensorDescriptor_t, tensor, value_of
from ..names import function


@function
def miopenDeriveBNTensorDescriptor(
    derivedBnDesc: miopenTensorDescriptor_t, xDesc: miopenTensorDescriptor_t, bn_mode: int
) -> None:
    """Fill the descriptor of scale, bias, means and variances; its type is miopenFloat (miopenDouble for double x).

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenDeriveBNTensorDescriptor(miopenTensorDescriptor_t derivedBnDesc, const miopenTensorDescriptor_t xDesc, miopenBatchNormMode_t bn_mode)``

    In cuDNN: ``cudnnDeriveBNTensorDescriptor``; what a port changes: renames mode -> bn_mode.

    In portadnn: ``derive_bn_tensor_descriptor``.
    """
    _DeriveBNTensorDescriptor(derivedBnDesc, xDesc, bn_mode)


@function
def miopenBatchNormalizationForwardTraining(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    bnScaleBiasMeanVarDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
) -> None:
    """Normalise by the batch's statistics, with alpha = 1 and beta = 0; each pair of outputs may be None.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenBatchNormalizationForwardTraining(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void *bnScale, void *bnBias, double expAvgFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance)``

    In cuDNN: ``cudnnBatchNormalizationForwardTraining``; what a port changes: renames mode -> bn_mode, exponentialAverageFactor -> expAvgFactor.

    In portadnn: ``batch_normalization_forward_training``.
    """
    _BatchNormalizationForwardTraining(
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        bnScaleBiasMeanVarDesc=bnScaleBiasMeanVarDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        expAvgFactor=expAvgFactor,
        resultRunningMean=resultRunningMean,
        resultRunningVariance=resultRunningVariance,
        epsilon=epsilon,
        resultSaveMean=resultSaveMean,
        resultSaveInvVariance=resultSaveInvVariance,
    )


@function
def miopenBatchNormalizationForwardTraining_V2(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasVarDesc: miopenTensorDescriptor_t,
    savedMeanDesc: miopenTensorDescriptor_t,
    savedVarDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
) -> None:
    """Normalise by the batch's statistics, with a descriptor for each of the small tensors.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenBatchNormalizationForwardTraining_V2(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t scaleDesc, const miopenTensorDescriptor_t biasVarDesc, const miopenTensorDescriptor_t savedMeanDesc, const miopenTensorDescriptor_t savedVarDesc, void *bnScale, void *bnBias, double expAvgFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance)``

    In cuDNN: ``cudnnBatchNormalizationForwardTraining``; what a port changes: drops bnScaleBiasMeanVarDesc; adds scaleDesc, biasVarDesc, savedMeanDesc, savedVarDesc; renames mode -> bn_mode, exponentialAverageFactor -> expAvgFactor.

    In portadnn: ``batch_normalization_forward_training``.
    """
    _BatchNormalizationForwardTraining_V2(
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasVarDesc=biasVarDesc,
        savedMeanDesc=savedMeanDesc,
        savedVarDesc=savedVarDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        expAvgFactor=expAvgFactor,
        resultRunningMean=resultRunningMean,
        resultRunningVariance=resultRunningVariance,
        epsilon=epsilon,
        resultSaveMean=resultSaveMean,
        resultSaveInvVariance=resultSaveInvVariance,
    )


@function
def miopenBatchNormalizationForwardTraining_V3(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasVarDesc: miopenTensorDescriptor_t,
    savedMeanDesc: miopenTensorDescriptor_t,
    savedVarDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    prevResultRunningMean: Any,
    prevResultRunningVariance: Any,
    nextResultRunningMean: Any,
    nextResultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
) -> None:
    """Normalise by the batch's statistics; the running ones are read from one place and written to another.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenBatchNormalizationForwardTraining_V3(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, miopenTensorDescriptor_t xDesc, void *x, miopenTensorDescriptor_t yDesc, void *y, miopenTensorDescriptor_t scaleDesc, miopenTensorDescriptor_t biasVarDesc, miopenTensorDescriptor_t savedMeanDesc, miopenTensorDescriptor_t savedVarDesc, void *bnScale, void *bnBias, double expAvgFactor, void *prevResultRunningMean, void *prevResultRunningVariance, void *nextResultRunningMean, void *nextResultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance)``

    In cuDNN: ``cudnnBatchNormalizationForwardTraining``; what a port changes: drops bnScaleBiasMeanVarDesc, resultRunningMean, resultRunningVariance; adds scaleDesc, biasVarDesc, savedMeanDesc, savedVarDesc, prevResultRunningMean, prevResultRunningVariance, nextResultRunningMean, nextResultRunningVariance; renames mode -> bn_mode, exponentialAverageFactor -> expAvgFactor.

    In portadnn: ``batch_normalization_forward_training``.
    """
    _BatchNormalizationForwardTraining_V3(
        prevResultRunningMean,
        prevResultRunningVariance,
        nextResultRunningMean,
        nextResultRunningVariance,
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasVarDesc=biasVarDesc,
        savedMeanDesc=savedMeanDesc,
        savedVarDesc=savedVarDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        expAvgFactor=expAvgFactor,
        epsilon=epsilon,
        resultSaveMean=resultSaveMean,
        resultSaveInvVariance=resultSaveInvVariance,
    )


@function
def miopenBatchNormalizationForwardInference(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    bnScaleBiasMeanVarDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
) -> None:
    """Normalise by given statistics, with alpha = 1 and beta = 0.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenBatchNormalizationForwardInference(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t bnScaleBiasMeanVarDesc, void *bnScale, void *bnBias, void *estimatedMean, void *estimatedVariance, double epsilon)``

    In cuDNN: ``cudnnBatchNormalizationForwardInference``; what a port changes: renames mode -> bn_mode.

    In portadnn: ``batch_normalization_forward_inference``.
    """
    _BatchNormalizationForwardInference(
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        bnScaleBiasMeanVarDesc=bnScaleBiasMeanVarDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        estimatedMean=estimatedMean,
        estimatedVariance=estimatedVariance,
        epsilon=epsilon,
    )


@function
def miopenBatchNormalizationForwardInference_V2(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasDesc: miopenTensorDescriptor_t,
    estMeanDesc: miopenTensorDescriptor_t,
    estVarianceDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
) -> None:
    """Normalise by given statistics, with a descriptor for each of the small tensors.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenBatchNormalizationForwardInference_V2(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t yDesc, void *y, const miopenTensorDescriptor_t scaleDesc, const miopenTensorDescriptor_t biasDesc, const miopenTensorDescriptor_t estMeanDesc, const miopenTensorDescriptor_t estVarianceDesc, void *bnScale, void *bnBias, void *estimatedMean, void *estimatedVariance, double epsilon)``

    In cuDNN: ``cudnnBatchNormalizationForwardInference``; what a port changes: drops bnScaleBiasMeanVarDesc; adds scaleDesc, biasDesc, estMeanDesc, estVarianceDesc; renames mode -> bn_mode.

    In portadnn: ``batch_normalization_forward_inference``.
    """
    _BatchNormalizationForwardInference_V2(
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasDesc=biasDesc,
        estMeanDesc=estMeanDesc,
        estVarianceDesc=estVarianceDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        estimatedMean=estimatedMean,
        estimatedVariance=estimatedVariance,
        epsilon=epsilon,
    )


@function
def miopenBatchNormalizationBackward(
    handle: Handle,
    bn_mode: int,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    bnScaleBiasDiffDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """Compute the gradients, with all alpha = 1 and beta = 0; both saved tensors or none.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenBatchNormalizationBackward(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t dxDesc, void *dx, const miopenTensorDescriptor_t bnScaleBiasDiffDesc, const void *bnScale, void *resultBnScaleDiff, void *resultBnBiasDiff, double epsilon, const void *savedMean, const void *savedInvVariance)``

    In cuDNN: ``cudnnBatchNormalizationBackward``; what a port changes: renames mode -> bn_mode, dBnScaleBiasDesc -> bnScaleBiasDiffDesc, dBnScaleResult -> resultBnScaleDiff, dBnBiasResult -> resultBnBiasDiff.

    In portadnn: ``batch_normalization_backward``.
    """
    _BatchNormalizationBackward(
        handle=handle,
        bn_mode=bn_mode,
        alphaDataDiff=alphaDataDiff,
        betaDataDiff=betaDataDiff,
        alphaParamDiff=alphaParamDiff,
        betaParamDiff=betaParamDiff,
        xDesc=xDesc,
        x=x,
        dyDesc=dyDesc,
        dy=dy,
        dxDesc=dxDesc,
        dx=dx,
        bnScaleBiasDiffDesc=bnScaleBiasDiffDesc,
        bnScale=bnScale,
        resultBnScaleDiff=resultBnScaleDiff,
        resultBnBiasDiff=resultBnBiasDiff,
        epsilon=epsilon,
        savedMean=savedMean,
        savedInvVariance=savedInvVariance,
    )


@function
def miopenBatchNormalizationBackward_V2(
    handle: Handle,
    bn_mode: int,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasDesc: miopenTensorDescriptor_t,
    savedMeanDesc: miopenTensorDescriptor_t,
    savedVarDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """Compute the gradients, with a descriptor for each of the small tensors.

    Return nothing (since 3.3.0).

    C: ``miopenStatus_t miopenBatchNormalizationBackward_V2(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff, const miopenTensorDescriptor_t xDesc, const void *x, const miopenTensorDescriptor_t dyDesc, const void *dy, const miopenTensorDescriptor_t dxDesc, void *dx, const miopenTensorDescriptor_t scaleDesc, const miopenTensorDescriptor_t biasDesc, const miopenTensorDescriptor_t savedMeanDesc, const miopenTensorDescriptor_t savedVarDesc, const void *bnScale, void *resultBnScaleDiff, void *resultBnBiasDiff, double epsilon, const void *savedMean, const void *savedInvVariance)``

    In cuDNN: ``cudnnBatchNormalizationBackward``; what a port changes: drops dBnScaleBiasDesc; adds scaleDesc, biasDesc, savedMeanDesc, savedVarDesc; renames mode -> bn_mode, dBnScaleResult -> resultBnScaleDiff, dBnBiasResult -> resultBnBiasDiff.

    In portadnn: ``batch_normalization_backward``.
    """
    _BatchNormalizationBackward_V2(
        handle=handle,
        bn_mode=bn_mode,
        alphaDataDiff=alphaDataDiff,
        betaDataDiff=betaDataDiff,
        alphaParamDiff=alphaParamDiff,
        betaParamDiff=betaParamDiff,
        xDesc=xDesc,
        x=x,
        dyDesc=dyDesc,
        dy=dy,
        dxDesc=dxDesc,
        dx=dx,
        scaleDesc=scaleDesc,
        biasDesc=biasDesc,
        savedMeanDesc=savedMeanDesc,
        savedVarDesc=savedVarDesc,
        bnScale=bnScale,
        resultBnScaleDiff=resultBnScaleDiff,
        resultBnBiasDiff=resultBnBiasDiff,
        epsilon=epsilon,
        savedMean=savedMean,
        savedInvVariance=savedInvVariance,
    )


@function
def miopenBatchNormalizationForwardInferenceInvVariance(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasDesc: miopenTensorDescriptor_t,
    estMeanDesc: miopenTensorDescriptor_t,
    estInvVarianceDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedInvVariance: Any,
) -> None:
    """Normalise by a given mean and inverse deviation, ``1 / sqrt(variance + epsilon)``.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenBatchNormalizationForwardInferenceInvVariance(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, miopenTensorDescriptor_t xDesc, void *x, miopenTensorDescriptor_t yDesc, void *y, miopenTensorDescriptor_t scaleDesc, miopenTensorDescriptor_t biasDesc, miopenTensorDescriptor_t estMeanDesc, miopenTensorDescriptor_t estInvVarianceDesc, void *bnScale, void *bnBias, void *estimatedMean, void *estimatedInvVariance)``
    """
    _BatchNormalizationForwardInferenceInvVariance(
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasDesc=biasDesc,
        estMeanDesc=estMeanDesc,
        estInvVarianceDesc=estInvVarianceDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        estimatedMean=estimatedMean,
        estimatedInvVariance=estimatedInvVariance,
    )


@function
def miopenBatchNormForwardTrainingActivation(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasVarDesc: miopenTensorDescriptor_t,
    savedMeanDesc: miopenTensorDescriptor_t,
    savedVarDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise by the batch's statistics and apply an activation.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenBatchNormForwardTrainingActivation(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, miopenTensorDescriptor_t xDesc, void *x, miopenTensorDescriptor_t yDesc, void *y, miopenTensorDescriptor_t scaleDesc, miopenTensorDescriptor_t biasVarDesc, miopenTensorDescriptor_t savedMeanDesc, miopenTensorDescriptor_t savedVarDesc, void *bnScale, void *bnBias, double expAvgFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance, miopenActivationDescriptor_t activDesc)``
    """
    _BatchNormForwardTrainingActivation(
        activDesc,
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasVarDesc=biasVarDesc,
        savedMeanDesc=savedMeanDesc,
        savedVarDesc=savedVarDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        expAvgFactor=expAvgFactor,
        resultRunningMean=resultRunningMean,
        resultRunningVariance=resultRunningVariance,
        epsilon=epsilon,
        resultSaveMean=resultSaveMean,
        resultSaveInvVariance=resultSaveInvVariance,
    )


@function
def miopenBatchNormForwardTrainingActivation_V2(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasVarDesc: miopenTensorDescriptor_t,
    savedMeanDesc: miopenTensorDescriptor_t,
    savedVarDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    prevResultRunningMean: Any,
    prevResultRunningVariance: Any,
    nextResultRunningMean: Any,
    nextResultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise and apply an activation; running statistics are read from one place and written to another.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenBatchNormForwardTrainingActivation_V2(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, miopenTensorDescriptor_t xDesc, void *x, miopenTensorDescriptor_t yDesc, void *y, miopenTensorDescriptor_t scaleDesc, miopenTensorDescriptor_t biasVarDesc, miopenTensorDescriptor_t savedMeanDesc, miopenTensorDescriptor_t savedVarDesc, void *bnScale, void *bnBias, double expAvgFactor, void *prevResultRunningMean, void *prevResultRunningVariance, void *nextResultRunningMean, void *nextResultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance, miopenActivationDescriptor_t activDesc)``
    """
    _BatchNormForwardTrainingActivation_V2(
        activDesc,
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasVarDesc=biasVarDesc,
        savedMeanDesc=savedMeanDesc,
        savedVarDesc=savedVarDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        expAvgFactor=expAvgFactor,
        prevResultRunningMean=prevResultRunningMean,
        prevResultRunningVariance=prevResultRunningVariance,
        nextResultRunningMean=nextResultRunningMean,
        nextResultRunningVariance=nextResultRunningVariance,
        epsilon=epsilon,
        resultSaveMean=resultSaveMean,
        resultSaveInvVariance=resultSaveInvVariance,
    )


@function
def miopenBatchNormForwardInferenceActivation(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasDesc: miopenTensorDescriptor_t,
    estMeanDesc: miopenTensorDescriptor_t,
    estVarianceDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise by given statistics and apply an activation.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenBatchNormForwardInferenceActivation(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, miopenTensorDescriptor_t xDesc, void *x, miopenTensorDescriptor_t yDesc, void *y, miopenTensorDescriptor_t scaleDesc, miopenTensorDescriptor_t biasDesc, miopenTensorDescriptor_t estMeanDesc, miopenTensorDescriptor_t estVarianceDesc, void *bnScale, void *bnBias, void *estimatedMean, void *estimatedVariance, double epsilon, miopenActivationDescriptor_t activDesc)``
    """
    _BatchNormForwardInferenceActivation(
        activDesc,
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasDesc=biasDesc,
        estMeanDesc=estMeanDesc,
        estVarianceDesc=estVarianceDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        estimatedMean=estimatedMean,
        estimatedVariance=estimatedVariance,
        epsilon=epsilon,
    )


@function
def miopenBatchNormForwardInferenceActivationInvVariance(
    handle: Handle,
    bn_mode: int,
    alpha: float,
    beta: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    yDesc: miopenTensorDescriptor_t,
    y: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasDesc: miopenTensorDescriptor_t,
    estMeanDesc: miopenTensorDescriptor_t,
    estInvVarianceDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Normalise by a given mean and inverse deviation and apply an activation.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenBatchNormForwardInferenceActivationInvVariance(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alpha, void *beta, miopenTensorDescriptor_t xDesc, void *x, miopenTensorDescriptor_t yDesc, void *y, miopenTensorDescriptor_t scaleDesc, miopenTensorDescriptor_t biasDesc, miopenTensorDescriptor_t estMeanDesc, miopenTensorDescriptor_t estInvVarianceDesc, void *bnScale, void *bnBias, void *estimatedMean, void *estimatedInvVariance, miopenActivationDescriptor_t activDesc)``
    """
    _BatchNormForwardInferenceActivationInvVariance(
        activDesc,
        handle=handle,
        bn_mode=bn_mode,
        alpha=alpha,
        beta=beta,
        xDesc=xDesc,
        x=x,
        yDesc=yDesc,
        y=y,
        scaleDesc=scaleDesc,
        biasDesc=biasDesc,
        estMeanDesc=estMeanDesc,
        estInvVarianceDesc=estInvVarianceDesc,
        bnScale=bnScale,
        bnBias=bnBias,
        estimatedMean=estimatedMean,
        estimatedInvVariance=estimatedInvVariance,
    )


@function
def miopenBatchNormBackwardActivation(
    handle: Handle,
    bn_mode: int,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: miopenTensorDescriptor_t,
    x: Any,
    dyDesc: miopenTensorDescriptor_t,
    dy: Any,
    dxDesc: miopenTensorDescriptor_t,
    dx: Any,
    scaleDesc: miopenTensorDescriptor_t,
    biasDesc: miopenTensorDescriptor_t,
    savedMeanDesc: miopenTensorDescriptor_t,
    savedVarianceDesc: miopenTensorDescriptor_t,
    bnScale: Any,
    bnBias: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
    activDesc: miopenActivationDescriptor_t,
) -> None:
    """Compute the gradients of a normalisation and the activation after it, whose input is computed anew.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenBatchNormBackwardActivation(miopenHandle_t handle, miopenBatchNormMode_t bn_mode, void *alphaDataDiff, void *betaDataDiff, void *alphaParamDiff, void *betaParamDiff, miopenTensorDescriptor_t xDesc, void *x, miopenTensorDescriptor_t dyDesc, void *dy, miopenTensorDescriptor_t dxDesc, void *dx, miopenTensorDescriptor_t scaleDesc, miopenTensorDescriptor_t biasDesc, miopenTensorDescriptor_t savedMeanDesc, miopenTensorDescriptor_t savedVarianceDesc, void *bnScale, void *bnBias, void *resultBnScaleDiff, void *resultBnBiasDiff, double epsilon, void *savedMean, void *savedInvVariance, miopenActivationDescriptor_t activDesc)``
    """
    _BatchNormBackwardActivation(
        value_of(activDesc, miopenActivationDescriptor_t, "activDesc"),
        tensor(handle, dyDesc, dy, "dy"),
        handle,
        bn_mode,
        xDesc,
        x,
        bnBias,
        epsilon,
        savedVarianceDesc,
        alphaDataDiff=alphaDataDiff,
        betaDataDiff=betaDataDiff,
        alphaParamDiff=alphaParamDiff,
        betaParamDiff=betaParamDiff,
        dxDesc=dxDesc,
        dx=dx,
        scaleDesc=scaleDesc,
        biasDesc=biasDesc,
        savedMeanDesc=savedMeanDesc,
        bnScale=bnScale,
        resultBnScaleDiff=resultBnScaleDiff,
        resultBnBiasDiff=resultBnBiasDiff,
        savedMean=savedMean,
        savedInvVariance=savedInvVariance,
    )
