"""Batch normalisation, its fused forms by cuDNN 7's Ex calls as well (guide sections 4.95 to 4.98)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ...enums import BatchNormMode
from ..calls import Choice, c_value
from ..descriptors import TensorDescriptor, made
from ..memory import tensor
from .parts import ADD_ACTIVATION, PLAIN, backward, backward_size, relu, train

batch_norm_mode = Choice("cudnnBatchNormMode_t", BatchNormMode)


def cudnnDeriveBNTensorDescriptor(derivedBnDesc, x, mode):
    made(derivedBnDesc, TensorDescriptor, "derivedBnDesc")
    derivedBnDesc.set(dnn.derive_bn_tensor_descriptor(x, batch_norm_mode(mode, "mode")))


def _ops(value: Any) -> int:
    return int(c_value("cudnnBatchNormOps_t", value, "bnOps"))


def cudnnBatchNormalizationForwardTrainingEx(
    handle,
    mode,
    bnOps,
    alpha,
    beta,
    xData,
    zDesc,
    raw_zData,
    yData,
    bnScale,
    bnBias,
    exponentialAverageFactor,
    resultRunningMean,
    resultRunningVariance,
    epsilon,
    resultSaveMean,
    resultSaveInvVariance,
    activationDesc,
):
    ops, how = _ops(bnOps), batch_norm_mode(mode, "mode")
    z = tensor(handle, zDesc, raw_zData, "zData", "zDesc") if ops == ADD_ACTIVATION else None
    statistics = [resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance]
    given = (xData, z, yData, [bnScale, bnBias], statistics)
    train(handle, how, ops, alpha, beta, *given, exponentialAverageFactor, epsilon, activationDesc)


def cudnnBatchNormalizationBackwardEx(
    handle,
    mode,
    bnOps,
    alphaDataDiff,
    betaDataDiff,
    alphaParamDiff,
    betaParamDiff,
    xData,
    yDesc,
    raw_yData,
    dyData,
    dzDesc,
    raw_dzData,
    dxData,
    bnScaleData,
    dBnScaleData,
    dBnBiasData,
    epsilon,
    savedMean,
    savedInvVariance,
    activationDesc,
    workSpace,
    workSpaceSizeInBytes,
):
    ops, how = _ops(bnOps), batch_norm_mode(mode, "mode")
    factors = (alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff)
    dz = tensor(handle, dzDesc, raw_dzData, "dzData", "dzDesc") if ops == ADD_ACTIVATION else None
    tensors = (xData, (yDesc, raw_yData), dyData, dz, dxData)
    parameters = ([bnScaleData, dBnScaleData, dBnBiasData], [savedMean, savedInvVariance])
    scratch = (workSpace, workSpaceSizeInBytes)
    backward(handle, how, ops, factors, *tensors, *parameters, epsilon, activationDesc, *scratch)


def cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(handle, mode, bnOps, activationDesc):
    batch_norm_mode(mode, "mode")
    relu(activationDesc, _ops(bnOps))
    return backward_size(handle, PLAIN, None)


def cudnnGetBatchNormalizationBackwardExWorkspaceSize(handle, mode, bnOps, yDesc, activationDesc):
    batch_norm_mode(mode, "mode")
    ops = _ops(bnOps)
    relu(activationDesc, ops)
    return backward_size(handle, ops, yDesc)


cudnnGetBatchNormalizationTrainingExReserveSpaceSize = cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize
