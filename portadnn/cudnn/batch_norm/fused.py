"""Batch normalisation with an addition and an activation: cuDNN 7's Ex calls."""

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function, c_value
from ..descriptors import ActivationDescriptor, TensorDescriptor
from ..memory import tensor
from .calls import batch_norm_mode, demanded, parameters
from .parts import ADD_ACTIVATION, PLAIN, backward, backward_size, relu, train


def _ops(value: Any) -> int:
    return int(c_value("cudnnBatchNormOps_t", value, "bnOps"))


@c_function
def cudnnBatchNormalizationForwardTrainingEx(
    handle: Handle,
    mode: int,
    bnOps: int,
    alpha: float,
    beta: float,
    xDesc: TensorDescriptor,
    xData: Any,
    zDesc: TensorDescriptor,
    zData: Any,
    yDesc: TensorDescriptor,
    yData: Any,
    bnScaleBiasMeanVarDesc: TensorDescriptor,
    bnScale: Any,
    bnBias: Any,
    exponentialAverageFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
    activationDesc: ActivationDescriptor,
    workspace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """Any layout and type; the activation is RELU. Workspace and reserve space are not used."""
    ops, desc = _ops(bnOps), "bnScaleBiasMeanVarDesc"
    statistics = parameters(
        handle,
        bnScaleBiasMeanVarDesc,
        desc,
        resultRunningMean=resultRunningMean,
        resultRunningVariance=resultRunningVariance,
        resultSaveMean=resultSaveMean,
        resultSaveInvVariance=resultSaveInvVariance,
    )
    train(
        handle,
        batch_norm_mode(mode, "mode"),
        ops,
        alpha,
        beta,
        tensor(handle, xDesc, xData, "xData", desc="xDesc"),
        tensor(handle, zDesc, zData, "zData", desc="zDesc") if ops == ADD_ACTIVATION else None,
        tensor(handle, yDesc, yData, "yData", desc="yDesc"),
        demanded(handle, bnScaleBiasMeanVarDesc, desc, bnScale=bnScale, bnBias=bnBias),
        statistics,
        exponentialAverageFactor,
        epsilon,
        activationDesc,
    )


@c_function
def cudnnBatchNormalizationBackwardEx(
    handle: Handle,
    mode: int,
    bnOps: int,
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
    dBnScaleBiasDesc: TensorDescriptor,
    bnScaleData: Any,
    bnBiasData: Any,
    dBnScaleData: Any,
    dBnBiasData: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
    activationDesc: ActivationDescriptor,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    reserveSpace: Any,
    reserveSpaceSizeInBytes: int,
) -> None:
    """`bnBiasData` and the reserve space are not used: y tells where RELU passes the gradient."""
    ops, desc = _ops(bnOps), "dBnScaleBiasDesc"
    backward(
        handle,
        batch_norm_mode(mode, "mode"),
        ops,
        (alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff),
        tensor(handle, xDesc, xData, "xData", desc="xDesc"),
        (yDesc, yData),
        tensor(handle, dyDesc, dyData, "dyData", desc="dyDesc"),
        tensor(handle, dzDesc, dzData, "dzData", desc="dzDesc") if ops == ADD_ACTIVATION else None,
        tensor(handle, dxDesc, dxData, "dxData", desc="dxDesc"),
        demanded(
            handle,
            dBnScaleBiasDesc,
            desc,
            bnScaleData=bnScaleData,
            dBnScaleData=dBnScaleData,
            dBnBiasData=dBnBiasData,
        ),
        parameters(handle, dBnScaleBiasDesc, desc, savedMean=savedMean, savedInvVariance=savedInvVariance),
        epsilon,
        activationDesc,
        workSpace,
        workSpaceSizeInBytes,
    )


@c_function
def cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    handle: Handle,
    mode: int,
    bnOps: int,
    xDesc: TensorDescriptor,
    zDesc: TensorDescriptor,
    yDesc: TensorDescriptor,
    bnScaleBiasMeanVarDesc: TensorDescriptor,
    activationDesc: ActivationDescriptor,
) -> int:
    """Always 0."""
    batch_norm_mode(mode, "mode")
    relu(activationDesc, _ops(bnOps))
    return backward_size(handle, PLAIN, None)


@c_function
def cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    handle: Handle,
    mode: int,
    bnOps: int,
    xDesc: TensorDescriptor,
    yDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    dzDesc: TensorDescriptor,
    dxDesc: TensorDescriptor,
    dBnScaleBiasDesc: TensorDescriptor,
    activationDesc: ActivationDescriptor,
) -> int:
    """The bytes of y for CUDNN_BATCHNORM_OPS_BN_ACTIVATION, else 0."""
    batch_norm_mode(mode, "mode")
    ops = _ops(bnOps)
    relu(activationDesc, ops)
    return backward_size(handle, ops, yDesc)


@c_function
def cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    handle: Handle, mode: int, bnOps: int, activationDesc: ActivationDescriptor, xDesc: TensorDescriptor
) -> int:
    """Always 0."""
    batch_norm_mode(mode, "mode")
    relu(activationDesc, _ops(bnOps))
    return backward_size(handle, PLAIN, None)
