"""Batch normalisation: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.batch_norm import (
    batch_normalization_backward,
    batch_normalization_forward_inference,
    batch_normalization_forward_training,
)
from ..batch_norm.calls import (
    batch_norm_mode,
    cudnnBatchNormalizationBackwardEx as _BatchNormalizationBackwardEx,
    cudnnBatchNormalizationForwardTrainingEx as _BatchNormalizationForwardTrainingEx,
    cudnnDeriveBNTensorDescriptor as _DeriveBNTensorDescriptor,
    cudnnGetBatchNormalizationBackwardExWorkspaceSize as _GetBatchNormalizationBackwardExWorkspaceSize,
    cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize as _GetBatchNormalizationForwardTrainingExWorkspaceSize,
    cudnnGetBatchNormalizationTrainingExReserveSpaceSize as _GetBatchNormalizationTrainingExReserveSpaceSize,
)
from ..calls import c_function
from ..descriptors import ActivationDescriptor, TensorDescriptor, value_of
from ..memory import optional, tensor


@c_function
def cudnnDeriveBNTensorDescriptor(derivedBnDesc: TensorDescriptor, xDesc: TensorDescriptor, mode: int) -> None:
    """Return nothing (guide 4.98, since 4.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derivedBnDesc, const cudnnTensorDescriptor_t xDesc, cudnnBatchNormMode_t mode)``

    In portadnn: ``derive_bn_tensor_descriptor``.

    `derivedBnDesc` was created before and is set here.
    """
    _DeriveBNTensorDescriptor(derivedBnDesc, value_of(xDesc, TensorDescriptor, "xDesc"), mode)


@c_function
def cudnnBatchNormalizationForwardTraining(
    handle: Handle,
    mode: int,
    alpha: float,
    beta: float,
    xDesc: TensorDescriptor,
    x: Any,
    yDesc: TensorDescriptor,
    y: Any,
    bnScaleBiasMeanVarDesc: TensorDescriptor,
    bnScale: Any,
    bnBias: Any,
    exponentialAverageFactor: float,
    resultRunningMean: Any,
    resultRunningVariance: Any,
    epsilon: float,
    resultSaveMean: Any,
    resultSaveInvVariance: Any,
) -> None:
    """Return nothing (guide 4.96, since 4.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc, void *y, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias, double exponentialAverageFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance)``

    In portadnn: ``batch_normalization_forward_training``.

    The running pair and the saved pair may each be NULL, both of it.
    """
    batch_normalization_forward_training(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, bnScaleBiasMeanVarDesc, bnScale, "bnScale", "bnScaleBiasMeanVarDesc"),
        tensor(handle, bnScaleBiasMeanVarDesc, bnBias, "bnBias", "bnScaleBiasMeanVarDesc"),
        tensor(handle, yDesc, y, "y"),
        optional(handle, bnScaleBiasMeanVarDesc, resultRunningMean, "resultRunningMean", "bnScaleBiasMeanVarDesc"),
        optional(handle, bnScaleBiasMeanVarDesc, resultRunningVariance, "resultRunningVariance", "bnScaleBiasMeanVarDesc"),
        optional(handle, bnScaleBiasMeanVarDesc, resultSaveMean, "resultSaveMean", "bnScaleBiasMeanVarDesc"),
        optional(handle, bnScaleBiasMeanVarDesc, resultSaveInvVariance, "resultSaveInvVariance", "bnScaleBiasMeanVarDesc"),
        mode=batch_norm_mode(mode, "mode"),
        exponential_average_factor=exponentialAverageFactor,
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnBatchNormalizationForwardInference(
    handle: Handle,
    mode: int,
    alpha: float,
    beta: float,
    xDesc: TensorDescriptor,
    x: Any,
    yDesc: TensorDescriptor,
    y: Any,
    bnScaleBiasMeanVarDesc: TensorDescriptor,
    bnScale: Any,
    bnBias: Any,
    estimatedMean: Any,
    estimatedVariance: Any,
    epsilon: float,
) -> None:
    """Return nothing (guide 4.95, since 4.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc, void *y, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias, const void *estimatedMean, const void *estimatedVariance, double epsilon)``

    In portadnn: ``batch_normalization_forward_inference``.
    """
    batch_normalization_forward_inference(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, bnScaleBiasMeanVarDesc, bnScale, "bnScale", "bnScaleBiasMeanVarDesc"),
        tensor(handle, bnScaleBiasMeanVarDesc, bnBias, "bnBias", "bnScaleBiasMeanVarDesc"),
        tensor(handle, bnScaleBiasMeanVarDesc, estimatedMean, "estimatedMean", "bnScaleBiasMeanVarDesc"),
        tensor(handle, bnScaleBiasMeanVarDesc, estimatedVariance, "estimatedVariance", "bnScaleBiasMeanVarDesc"),
        tensor(handle, yDesc, y, "y"),
        mode=batch_norm_mode(mode, "mode"),
        epsilon=epsilon,
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnBatchNormalizationBackward(
    handle: Handle,
    mode: int,
    alphaDataDiff: float,
    betaDataDiff: float,
    alphaParamDiff: float,
    betaParamDiff: float,
    xDesc: TensorDescriptor,
    x: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    dxDesc: TensorDescriptor,
    dx: Any,
    dBnScaleBiasDesc: TensorDescriptor,
    bnScale: Any,
    dBnScaleResult: Any,
    dBnBiasResult: Any,
    epsilon: float,
    savedMean: Any,
    savedInvVariance: Any,
) -> None:
    """Return nothing (guide 4.97, since 4.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t dxDesc, void *dx, const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void *bnScale, void *dBnScaleResult, void *dBnBiasResult, double epsilon, const void *savedMean, const void *savedInvVariance)``

    In portadnn: ``batch_normalization_backward``.

    `savedMean` and `savedInvVariance` may both be NULL: they are then computed again from x.
    """
    batch_normalization_backward(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dBnScaleBiasDesc, bnScale, "bnScale", "dBnScaleBiasDesc"),
        optional(handle, dBnScaleBiasDesc, savedMean, "savedMean", "dBnScaleBiasDesc"),
        optional(handle, dBnScaleBiasDesc, savedInvVariance, "savedInvVariance", "dBnScaleBiasDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        tensor(handle, dBnScaleBiasDesc, dBnScaleResult, "dBnScaleResult", "dBnScaleBiasDesc"),
        tensor(handle, dBnScaleBiasDesc, dBnBiasResult, "dBnBiasResult", "dBnScaleBiasDesc"),
        mode=batch_norm_mode(mode, "mode"),
        epsilon=epsilon,
        alpha_data_diff=alphaDataDiff,
        beta_data_diff=betaDataDiff,
        alpha_param_diff=alphaParamDiff,
        beta_param_diff=betaParamDiff,
    )


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
    """Return nothing (since 7.4.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t zDesc, const void *zData, const cudnnTensorDescriptor_t yDesc, void *yData, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias, double exponentialAverageFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance, cudnnActivationDescriptor_t activationDesc, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    Any layout and type; the activation is RELU. Workspace and reserve space are not used.
    """
    _BatchNormalizationForwardTrainingEx(
        handle,
        mode,
        bnOps,
        alpha,
        beta,
        tensor(handle, xDesc, xData, "xData", "xDesc"),
        zDesc,
        zData,
        tensor(handle, yDesc, yData, "yData", "yDesc"),
        tensor(handle, bnScaleBiasMeanVarDesc, bnScale, "bnScale", "bnScaleBiasMeanVarDesc"),
        tensor(handle, bnScaleBiasMeanVarDesc, bnBias, "bnBias", "bnScaleBiasMeanVarDesc"),
        exponentialAverageFactor,
        optional(handle, bnScaleBiasMeanVarDesc, resultRunningMean, "resultRunningMean", "bnScaleBiasMeanVarDesc"),
        optional(handle, bnScaleBiasMeanVarDesc, resultRunningVariance, "resultRunningVariance", "bnScaleBiasMeanVarDesc"),
        epsilon,
        optional(handle, bnScaleBiasMeanVarDesc, resultSaveMean, "resultSaveMean", "bnScaleBiasMeanVarDesc"),
        optional(handle, bnScaleBiasMeanVarDesc, resultSaveInvVariance, "resultSaveInvVariance", "bnScaleBiasMeanVarDesc"),
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
    """Return nothing (since 7.4.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnBatchNormalizationBackwardEx(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t yDesc, const void *yData, const cudnnTensorDescriptor_t dyDesc, const void *dyData, const cudnnTensorDescriptor_t dzDesc, void *dzData, const cudnnTensorDescriptor_t dxDesc, void *dxData, const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void *bnScaleData, const void *bnBiasData, void *dBnScaleData, void *dBnBiasData, double epsilon, const void *savedMean, const void *savedInvVariance, cudnnActivationDescriptor_t activationDesc, void *workSpace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)``

    `bnBiasData` and the reserve space are not used: y tells where RELU passes the gradient.
    """
    _BatchNormalizationBackwardEx(
        handle,
        mode,
        bnOps,
        alphaDataDiff,
        betaDataDiff,
        alphaParamDiff,
        betaParamDiff,
        tensor(handle, xDesc, xData, "xData", "xDesc"),
        yDesc,
        yData,
        tensor(handle, dyDesc, dyData, "dyData", "dyDesc"),
        dzDesc,
        dzData,
        tensor(handle, dxDesc, dxData, "dxData", "dxDesc"),
        tensor(handle, dBnScaleBiasDesc, bnScaleData, "bnScaleData", "dBnScaleBiasDesc"),
        tensor(handle, dBnScaleBiasDesc, dBnScaleData, "dBnScaleData", "dBnScaleBiasDesc"),
        tensor(handle, dBnScaleBiasDesc, dBnBiasData, "dBnBiasData", "dBnScaleBiasDesc"),
        epsilon,
        optional(handle, dBnScaleBiasDesc, savedMean, "savedMean", "dBnScaleBiasDesc"),
        optional(handle, dBnScaleBiasDesc, savedInvVariance, "savedInvVariance", "dBnScaleBiasDesc"),
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
    """Return sizeInBytes (since 7.4.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t zDesc, const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const cudnnActivationDescriptor_t activationDesc, size_t *sizeInBytes)``

    Always 0.
    """
    return _GetBatchNormalizationForwardTrainingExWorkspaceSize(handle, mode, bnOps, activationDesc)


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
    """Return sizeInBytes (since 7.4.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnTensorDescriptor_t dzDesc, const cudnnTensorDescriptor_t dxDesc, const cudnnTensorDescriptor_t dBnScaleBiasDesc, const cudnnActivationDescriptor_t activationDesc, size_t *sizeInBytes)``

    The bytes of y for CUDNN_BATCHNORM_OPS_BN_ACTIVATION, else 0.
    """
    return _GetBatchNormalizationBackwardExWorkspaceSize(handle, mode, bnOps, yDesc, activationDesc)


@c_function
def cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    handle: Handle, mode: int, bnOps: int, activationDesc: ActivationDescriptor, xDesc: TensorDescriptor
) -> int:
    """Return sizeInBytes (since 7.4.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes)``

    Always 0.
    """
    return _GetBatchNormalizationTrainingExReserveSpaceSize(handle, mode, bnOps, activationDesc)
