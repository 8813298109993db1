"""Batch normalisation: one descriptor for all small tensors, or one for each (_V2, _V3)."""

from __future__ import annotations

from typing import Any

from ...errors import BadParam
from ...handle import Handle
from ...ops.batch_norm import parameter_dims
from ...problem import TensorSpec
from ..descriptors import made, miopenTensorDescriptor_t, wide_of
from ..names import function
from .passes import averages, gradient, inference, inference_inverse, mode_of, training

Desc = miopenTensorDescriptor_t


@function
def miopenDeriveBNTensorDescriptor(derivedBnDesc: Desc, xDesc: Desc, bn_mode: Any) -> None:
    """Fill the descriptor of scale, bias, means and variances; its type is miopenFloat (miopenDouble for double x)."""
    out = made(derivedBnDesc, miopenTensorDescriptor_t, "derivedBnDesc")
    spec = wide_of(xDesc, "xDesc")
    mode = mode_of(bn_mode)
    if len(spec.dims) not in (4, 5):
        raise BadParam(argument="xDesc", expected="4 or 5 dims", got=spec.dims)
    out.set(TensorSpec.packed(spec.dtype.accumulator, parameter_dims(spec.dims, mode)))


@function
def miopenBatchNormalizationForwardTraining(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    bnScaleBiasMeanVarDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
) -> None:
    """Normalise by the batch's statistics, with alpha = 1 and beta = 0; each pair of outputs may be None."""
    numbers = alpha, beta, expAvgFactor, epsilon
    descs = xDesc, yDesc, *[bnScaleBiasMeanVarDesc] * 4
    data = x, y, bnScale, bnBias, resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance
    training(handle, bn_mode, numbers, descs, data)  # type: ignore[arg-type]


@function
def miopenBatchNormalizationForwardTraining_V2(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasVarDesc: Desc,
    savedMeanDesc: Desc,
    savedVarDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    expAvgFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
) -> None:
    """Normalise by the batch's statistics, with a descriptor for each of the small tensors."""
    numbers = alpha, beta, expAvgFactor, epsilon
    descs = xDesc, yDesc, scaleDesc, biasVarDesc, savedMeanDesc, savedVarDesc
    data = x, y, bnScale, bnBias, resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance
    training(handle, bn_mode, numbers, descs, data)


@function
def miopenBatchNormalizationForwardTraining_V3(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasVarDesc: Desc,
    savedMeanDesc: Desc,
    savedVarDesc: Desc,
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
    """Normalise by the batch's statistics; the running ones are read from one place and written to another."""
    numbers = alpha, beta, expAvgFactor, epsilon
    descs = xDesc, yDesc, scaleDesc, biasVarDesc, savedMeanDesc, savedVarDesc
    before = prevResultRunningMean, prevResultRunningVariance
    running = nextResultRunningMean, nextResultRunningVariance
    copies = averages(handle, (savedMeanDesc, savedVarDesc), before, running)
    data = x, y, bnScale, bnBias, *running, resultSaveMean, resultSaveInvVariance
    training(handle, bn_mode, numbers, descs, data, copies)


@function
def miopenBatchNormalizationForwardInference(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    bnScaleBiasMeanVarDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
) -> None:
    """Normalise by given statistics, with alpha = 1 and beta = 0."""
    descs = xDesc, yDesc, *[bnScaleBiasMeanVarDesc] * 4
    data = x, y, bnScale, bnBias, estimatedMean, estimatedVariance
    inference(handle, bn_mode, (alpha, beta, epsilon), descs, data)  # type: ignore[arg-type]


@function
def miopenBatchNormalizationForwardInference_V2(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasDesc: Desc,
    estMeanDesc: Desc,
    estVarianceDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
) -> None:
    """Normalise by given statistics, with a descriptor for each of the small tensors."""
    descs = xDesc, yDesc, scaleDesc, biasDesc, estMeanDesc, estVarianceDesc
    data = x, y, bnScale, bnBias, estimatedMean, estimatedVariance
    inference(handle, bn_mode, (alpha, beta, epsilon), descs, data)


@function
def miopenBatchNormalizationForwardInferenceInvVariance(
    handle: Handle,
    bn_mode: Any,
    alpha: float,
    beta: float,
    xDesc: Desc,
    x: Any,
    yDesc: Desc,
    y: Any,
    scaleDesc: Desc,
    biasDesc: Desc,
    estMeanDesc: Desc,
    estInvVarianceDesc: Desc,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedInvVariance: Any,
) -> None:
    """Normalise by a given mean and inverse deviation, ``1 / sqrt(variance + epsilon)``."""
    descs = xDesc, yDesc, scaleDesc, biasDesc, estMeanDesc, estInvVarianceDesc
    data = x, y, bnScale, bnBias, estimatedMean, estimatedInvVariance
    inference_inverse(handle, bn_mode, (alpha, beta), descs, data)


@function
def miopenBatchNormalizationBackward(
    handle: Handle,
    bn_mode: Any,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: Desc,
    x: Any,
    dyDesc: Desc,
    dy: Any,
    dxDesc: Desc,
    dx: Any,
    bnScaleBiasDiffDesc: Desc,
    bnScale: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """Compute the gradients, with all alpha = 1 and beta = 0; both saved tensors or none."""
    numbers = alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff, epsilon
    descs = xDesc, dyDesc, dxDesc, *[bnScaleBiasDiffDesc] * 4
    data = x, dy, dx, bnScale, resultBnScaleDiff, resultBnBiasDiff, savedMean, savedInvVariance
    gradient(handle, bn_mode, numbers, descs, data)  # type: ignore[arg-type]


@function
def miopenBatchNormalizationBackward_V2(
    handle: Handle,
    bn_mode: Any,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: Desc,
    x: Any,
    dyDesc: Desc,
    dy: Any,
    dxDesc: Desc,
    dx: Any,
    scaleDesc: Desc,
    biasDesc: Desc,
    savedMeanDesc: Desc,
    savedVarDesc: Desc,
    bnScale: Any,
    resultBnScaleDiff: Any,
    resultBnBiasDiff: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """Compute the gradients, with a descriptor for each of the small tensors."""
    numbers = alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff, epsilon
    descs = xDesc, dyDesc, dxDesc, scaleDesc, biasDesc, savedMeanDesc, savedVarDesc
    data = x, dy, dx, bnScale, resultBnScaleDiff, resultBnBiasDiff, savedMean, savedInvVariance
    gradient(handle, bn_mode, numbers, descs, data)
