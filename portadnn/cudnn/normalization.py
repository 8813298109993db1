"""Batch normalisation with an addition and an activation: cuDNN 8's cudnnNormalization calls."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..enums import BatchNormMode
from ..errors import NotSupported
from .batch_norm.parts import (
    ADD_ACTIVATION,
    PLAIN,
    backward,
    backward_size,
    check_finish,
    finish,
    relu,
    train,
    unblended,
)
from .calls import c_value
from .descriptors import TensorDescriptor, made
from .memory import tensor

MODES = (BatchNormMode.PER_ACTIVATION, BatchNormMode.SPATIAL)  # of cudnnNormMode_t


def _norm(mode: Any, ops: Any, algo: Any, group_count: Any) -> tuple[BatchNormMode, int]:
    """Return what cuDNN 8's arguments say: the mode, and what is fused."""
    how = MODES[c_value("cudnnNormMode_t", mode, "mode")]
    fused = int(c_value("cudnnNormOps_t", ops, "normOps"))
    c_value("cudnnNormAlgo_t", algo, "algo")
    if as_integer(group_count, "groupCnt", 1) != 1:
        raise NotSupported("channels are not normalised in groups", argument="groupCnt", expected="1", got=group_count)
    return how, fused


def cudnnDeriveNormTensorDescriptor(derivedNormScaleBiasDesc, derivedNormMeanVarDesc, x, mode, groupCnt):
    made(derivedNormScaleBiasDesc, TensorDescriptor, "derivedNormScaleBiasDesc")
    made(derivedNormMeanVarDesc, TensorDescriptor, "derivedNormMeanVarDesc")
    value = dnn.derive_bn_tensor_descriptor(x, _norm(mode, PLAIN, 0, groupCnt)[0])
    derivedNormScaleBiasDesc.set(value)
    derivedNormMeanVarDesc.set(value)


def cudnnNormalizationForwardInference(
    handle,
    mode,
    normOps,
    algo,
    alpha,
    beta,
    x,
    normScale,
    normBias,
    estimatedMean,
    estimatedVariance,
    zDesc,
    raw_z,
    activationDesc,
    y,
    epsilon,
    groupCnt,
):
    how, ops = _norm(mode, normOps, algo, groupCnt)
    activation = relu(activationDesc, ops)
    unblended(ops, alpha=(alpha, 1), beta=(beta, 0))
    added = tensor(handle, zDesc, raw_z, "z") if ops == ADD_ACTIVATION else None
    check_finish(handle, ops, added, y)
    given = (x, normScale, normBias, estimatedMean, estimatedVariance, y)
    dnn.batch_normalization_forward_inference(handle, *given, mode=how, epsilon=epsilon, alpha=alpha, beta=beta)
    finish(handle, ops, added, activation, y)


def cudnnNormalizationForwardTraining(
    handle,
    mode,
    normOps,
    algo,
    alpha,
    beta,
    xData,
    normScale,
    normBias,
    exponentialAverageFactor,
    resultRunningMean,
    resultRunningVariance,
    epsilon,
    resultSaveMean,
    resultSaveInvVariance,
    activationDesc,
    zDesc,
    raw_zData,
    yData,
    groupCnt,
):
    how, ops = _norm(mode, normOps, algo, groupCnt)
    z = tensor(handle, zDesc, raw_zData, "zData", "zDesc") if ops == ADD_ACTIVATION else None
    statistics = [resultRunningMean, resultRunningVariance, resultSaveMean, resultSaveInvVariance]
    given = (xData, z, yData, [normScale, normBias], statistics)
    train(handle, how, ops, alpha, beta, *given, exponentialAverageFactor, epsilon, activationDesc)


def cudnnNormalizationBackward(
    handle,
    mode,
    normOps,
    algo,
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
    normScaleData,
    dNormScaleData,
    dNormBiasData,
    epsilon,
    savedMean,
    savedInvVariance,
    activationDesc,
    workSpace,
    workSpaceSizeInBytes,
    groupCnt,
):
    how, ops = _norm(mode, normOps, algo, groupCnt)
    factors = (alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff)
    dz = tensor(handle, dzDesc, raw_dzData, "dzData", "dzDesc") if ops == ADD_ACTIVATION else None
    tensors = (xData, (yDesc, raw_yData), dyData, dz, dxData)
    parameters = ([normScaleData, dNormScaleData, dNormBiasData], [savedMean, savedInvVariance])
    scratch = (workSpace, workSpaceSizeInBytes)
    backward(handle, how, ops, factors, *tensors, *parameters, epsilon, activationDesc, *scratch)


def cudnnGetNormalizationForwardTrainingWorkspaceSize(handle, mode, normOps, algo, groupCnt, activationDesc):
    relu(activationDesc, _norm(mode, normOps, algo, groupCnt)[1])
    return backward_size(handle, PLAIN, None)


cudnnGetNormalizationTrainingReserveSpaceSize = cudnnGetNormalizationForwardTrainingWorkspaceSize


def cudnnGetNormalizationBackwardWorkspaceSize(handle, mode, normOps, algo, groupCnt, yDesc, activationDesc):
    ops = _norm(mode, normOps, algo, groupCnt)[1]
    relu(activationDesc, ops)
    return backward_size(handle, ops, yDesc)
