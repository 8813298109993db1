"""Batch normalisation with an addition and an activation: cuDNN 8's cudnnNormalization calls."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..enums import BatchNormMode
from ..errors import NotSupported
from ..handle import Handle
from .batch_norm.calls import demanded, parameters
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
from .calls import c_function, c_value
from .descriptors import ActivationDescriptor, TensorDescriptor, made, value_of
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


@c_function
def cudnnDeriveNormTensorDescriptor(
    derivedNormScaleBiasDesc: TensorDescriptor,
    derivedNormMeanVarDesc: TensorDescriptor,
    xDesc: TensorDescriptor,
    mode: int,
    groupCnt: int,
) -> None:
    """Both descriptors were created before and are set here, alike."""
    made(derivedNormScaleBiasDesc, TensorDescriptor, "derivedNormScaleBiasDesc")
    made(derivedNormMeanVarDesc, TensorDescriptor, "derivedNormMeanVarDesc")
    how, _ = _norm(mode, PLAIN, 0, groupCnt)
    value = dnn.derive_bn_tensor_descriptor(value_of(xDesc, TensorDescriptor, "xDesc"), how)
    derivedNormScaleBiasDesc.set(value)
    derivedNormMeanVarDesc.set(value)


@c_function
def cudnnNormalizationForwardInference(
    handle: Handle,
    mode: int,
    normOps: int,
    algo: int,
    alpha: float,
    beta: float,
    xDesc: TensorDescriptor,
    x: Any,
    normScaleBiasDesc: TensorDescriptor,
    normScale: Any,
    normBias: Any,
    normMeanVarDesc: TensorDescriptor,
    estimatedMean: Any,
    estimatedVariance: Any,
    zDesc: TensorDescriptor,
    z: Any,
    activationDesc: ActivationDescriptor,
    yDesc: TensorDescriptor,
    y: Any,
    epsilon: float,
    groupCnt: int,
) -> None:
    """Batch normalisation; `groupCnt` is 1 and the activation RELU."""
    how, ops = _norm(mode, normOps, algo, groupCnt)
    activation = relu(activationDesc, ops)
    unblended(ops, alpha=(alpha, 1), beta=(beta, 0))
    out, added = tensor(handle, yDesc, y, "y"), tensor(handle, zDesc, z, "z") if ops == ADD_ACTIVATION else None
    scale, bias = demanded(handle, normScaleBiasDesc, "normScaleBiasDesc", normScale=normScale, normBias=normBias)
    mean, variance = demanded(
        handle,
        normMeanVarDesc,
        "normMeanVarDesc",
        estimatedMean=estimatedMean,
        estimatedVariance=estimatedVariance,
    )
    check_finish(handle, ops, added, out)
    dnn.batch_normalization_forward_inference(
        handle,
        tensor(handle, xDesc, x, "x"),
        scale,
        bias,
        mean,
        variance,
        out,
        mode=how,
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
    )
    finish(handle, ops, added, activation, out)


@c_function
def cudnnNormalizationForwardTraining(
    handle: Handle,
    mode: int,
    normOps: int,
    algo: int,
    alpha: float,
    beta: float,
    xDesc: TensorDescriptor,
    xData: Any,
    normScaleBiasDesc: TensorDescriptor,
    normScale: Any,
    normBias: Any,
    exponentialAverageFactor: float,
    normMeanVarDesc: TensorDescriptor,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
    activationDesc: ActivationDescriptor,
    zDesc: TensorDescriptor,
    zData: Any,
    yDesc: TensorDescriptor,
    yData: Any,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
    groupCnt: int,
) -> None:
    """Batch normalisation; `groupCnt` is 1 and the activation RELU."""
    how, ops = _norm(mode, normOps, algo, groupCnt)
    statistics = parameters(
        handle,
        normMeanVarDesc,
        "normMeanVarDesc",
        resultRunningMean=resultRunningMean,
        resultRunningVariance=resultRunningVariance,
        resultSaveMean=resultSaveMean,
        resultSaveInvVariance=resultSaveInvVariance,
    )
    train(
        handle,
        how,
        ops,
        alpha,
        beta,
        tensor(handle, xDesc, xData, "xData", desc="xDesc"),
        tensor(handle, zDesc, zData, "zData", desc="zDesc") if ops == ADD_ACTIVATION else None,
        tensor(handle, yDesc, yData, "yData", desc="yDesc"),
        demanded(handle, normScaleBiasDesc, "normScaleBiasDesc", normScale=normScale, normBias=normBias),
        statistics,
        exponentialAverageFactor,
        epsilon,
        activationDesc,
    )


@c_function
def cudnnNormalizationBackward(
    handle: Handle,
    mode: int,
    normOps: int,
    algo: int,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: TensorDescriptor,
    xData: Any,
    yDesc: TensorDescriptor,
    yData: Any,
    dyDesc: TensorDescriptor,
    dyData: Any,
    dzDesc: TensorDescriptor,
    dzData: Any,
    dxDesc: TensorDescriptor,
    dxData: Any,
    dNormScaleBiasDesc: TensorDescriptor,
    normScaleData: Any,
    normBiasData: Any,
    dNormScaleData: Any,
    dNormBiasData: Any,
    epsilon: float,
    normMeanVarDesc: TensorDescriptor,
    savedMean: Any,
    savedInvVariance: Any,
    activationDesc: ActivationDescriptor,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
    groupCnt: int,
) -> None:
    """`normBiasData` and the reserve space are not used: y tells where RELU passes the gradient."""
    how, ops = _norm(mode, normOps, algo, groupCnt)
    backward(
        handle,
        how,
        ops,
        (alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff),
        tensor(handle, xDesc, xData, "xData", desc="xDesc"),
        (yDesc, yData),
        tensor(handle, dyDesc, dyData, "dyData", desc="dyDesc"),
        tensor(handle, dzDesc, dzData, "dzData", desc="dzDesc") if ops == ADD_ACTIVATION else None,
        tensor(handle, dxDesc, dxData, "dxData", desc="dxDesc"),
        demanded(
            handle,
            dNormScaleBiasDesc,
            "dNormScaleBiasDesc",
            normScaleData=normScaleData,
            dNormScaleData=dNormScaleData,
            dNormBiasData=dNormBiasData,
        ),
        parameters(handle, normMeanVarDesc, "normMeanVarDesc", savedMean=savedMean, savedInvVariance=savedInvVariance),
        epsilon,
        activationDesc,
        workSpace,
        workSpaceSizeInBytes,
    )


@c_function
def cudnnGetNormalizationForwardTrainingWorkspaceSize(
    handle: Handle,
    mode: int,
    normOps: int,
    algo: int,
    xDesc: TensorDescriptor,
    zDesc: TensorDescriptor,
    yDesc: TensorDescriptor,
    normScaleBiasDesc: TensorDescriptor,
    activationDesc: ActivationDescriptor,
    normMeanVarDesc: TensorDescriptor,
    groupCnt: int,
) -> int:
    """Always 0."""
    relu(activationDesc, _norm(mode, normOps, algo, groupCnt)[1])
    return backward_size(handle, PLAIN, None)


@c_function
def cudnnGetNormalizationBackwardWorkspaceSize(
    handle: Handle,
    mode: int,
    normOps: int,
    algo: int,
    xDesc: TensorDescriptor,
    yDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    dzDesc: TensorDescriptor,
    dxDesc: TensorDescriptor,
    dNormScaleBiasDesc: TensorDescriptor,
    activationDesc: ActivationDescriptor,
    normMeanVarDesc: TensorDescriptor,
    groupCnt: int,
) -> int:
    """The bytes of y for CUDNN_NORM_OPS_NORM_ACTIVATION, else 0."""
    ops = _norm(mode, normOps, algo, groupCnt)[1]
    relu(activationDesc, ops)
    return backward_size(handle, ops, yDesc)


@c_function
def cudnnGetNormalizationTrainingReserveSpaceSize(
    handle: Handle,
    mode: int,
    normOps: int,
    algo: int,
    activationDesc: ActivationDescriptor,
    xDesc: TensorDescriptor,
    groupCnt: int,
) -> int:
    """Always 0."""
    relu(activationDesc, _norm(mode, normOps, algo, groupCnt)[1])
    return backward_size(handle, PLAIN, None)
