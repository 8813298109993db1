"""Normalisation: cuDNN 8's, layers and groups: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..calls import c_function
from ..descriptors import ActivationDescriptor, TensorDescriptor, value_of
from ..memory import optional, tensor
from ..normalization import (
    cudnnDeriveNormTensorDescriptor as _DeriveNormTensorDescriptor,
    cudnnGetNormalizationBackwardWorkspaceSize as _GetNormalizationBackwardWorkspaceSize,
    cudnnGetNormalizationForwardTrainingWorkspaceSize as _GetNormalizationForwardTrainingWorkspaceSize,
    cudnnGetNormalizationTrainingReserveSpaceSize as _GetNormalizationTrainingReserveSpaceSize,
    cudnnNormalizationBackward as _NormalizationBackward,
    cudnnNormalizationForwardInference as _NormalizationForwardInference,
    cudnnNormalizationForwardTraining as _NormalizationForwardTraining,
)


@c_function
def cudnnDeriveNormTensorDescriptor(
    derivedNormScaleBiasDesc: TensorDescriptor,
    derivedNormMeanVarDesc: TensorDescriptor,
    xDesc: TensorDescriptor,
    mode: int,
    groupCnt: int,
) -> None:
    """Return nothing (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t derivedNormScaleBiasDesc, cudnnTensorDescriptor_t derivedNormMeanVarDesc, const cudnnTensorDescriptor_t xDesc, cudnnNormMode_t mode, int groupCnt)``

    Both descriptors were created before and are set here, alike.
    """
    _DeriveNormTensorDescriptor(
        derivedNormScaleBiasDesc, derivedNormMeanVarDesc, value_of(xDesc, TensorDescriptor, "xDesc"), mode, groupCnt
    )


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
    """Return nothing (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnNormalizationForwardInference(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t normScaleBiasDesc, const void *normScale, const void *normBias, const cudnnTensorDescriptor_t normMeanVarDesc, const void *estimatedMean, const void *estimatedVariance, const cudnnTensorDescriptor_t zDesc, const void *z, cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t yDesc, void *y, double epsilon, int groupCnt)``

    Batch normalisation; `groupCnt` is 1 and the activation RELU.
    """
    _NormalizationForwardInference(
        handle,
        mode,
        normOps,
        algo,
        alpha,
        beta,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, normScaleBiasDesc, normScale, "normScale", "normScaleBiasDesc"),
        tensor(handle, normScaleBiasDesc, normBias, "normBias", "normScaleBiasDesc"),
        tensor(handle, normMeanVarDesc, estimatedMean, "estimatedMean", "normMeanVarDesc"),
        tensor(handle, normMeanVarDesc, estimatedVariance, "estimatedVariance", "normMeanVarDesc"),
        zDesc,
        z,
        activationDesc,
        tensor(handle, yDesc, y, "y"),
        epsilon,
        groupCnt,
    )


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
    """Return nothing (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnNormalizationForwardTraining(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t normScaleBiasDesc, const void *normScale, const void *normBias, double exponentialAverageFactor, const cudnnTensorDescriptor_t normMeanVarDesc, void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance, cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t zDesc, const void *zData, const cudnnTensorDescriptor_t yDesc, void *yData, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes, int groupCnt)``

    Batch normalisation; `groupCnt` is 1 and the activation RELU.
    """
    _NormalizationForwardTraining(
        handle,
        mode,
        normOps,
        algo,
        alpha,
        beta,
        tensor(handle, xDesc, xData, "xData", "xDesc"),
        tensor(handle, normScaleBiasDesc, normScale, "normScale", "normScaleBiasDesc"),
        tensor(handle, normScaleBiasDesc, normBias, "normBias", "normScaleBiasDesc"),
        exponentialAverageFactor,
        optional(handle, normMeanVarDesc, resultRunningMean, "resultRunningMean", "normMeanVarDesc"),
        optional(handle, normMeanVarDesc, resultRunningVariance, "resultRunningVariance", "normMeanVarDesc"),
        epsilon,
        optional(handle, normMeanVarDesc, resultSaveMean, "resultSaveMean", "normMeanVarDesc"),
        optional(handle, normMeanVarDesc, resultSaveInvVariance, "resultSaveInvVariance", "normMeanVarDesc"),
        activationDesc,
        zDesc,
        zData,
        tensor(handle, yDesc, yData, "yData", "yDesc"),
        groupCnt,
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
    """Return nothing (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnNormalizationBackward(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t yDesc, const void *yData, const cudnnTensorDescriptor_t dyDesc, const void *dyData, const cudnnTensorDescriptor_t dzDesc, void *dzData, const cudnnTensorDescriptor_t dxDesc, void *dxData, const cudnnTensorDescriptor_t dNormScaleBiasDesc, const void *normScaleData, const void *normBiasData, void *dNormScaleData, void *dNormBiasData, double epsilon, const cudnnTensorDescriptor_t normMeanVarDesc, const void *savedMean, const void *savedInvVariance, cudnnActivationDescriptor_t activationDesc, void *workSpace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes, int groupCnt)``

    `normBiasData` and the reserve space are not used: y tells where RELU passes the gradient.
    """
    _NormalizationBackward(
        handle,
        mode,
        normOps,
        algo,
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
        tensor(handle, dNormScaleBiasDesc, normScaleData, "normScaleData", "dNormScaleBiasDesc"),
        tensor(handle, dNormScaleBiasDesc, dNormScaleData, "dNormScaleData", "dNormScaleBiasDesc"),
        tensor(handle, dNormScaleBiasDesc, dNormBiasData, "dNormBiasData", "dNormScaleBiasDesc"),
        epsilon,
        optional(handle, normMeanVarDesc, savedMean, "savedMean", "normMeanVarDesc"),
        optional(handle, normMeanVarDesc, savedInvVariance, "savedInvVariance", "normMeanVarDesc"),
        activationDesc,
        workSpace,
        workSpaceSizeInBytes,
        groupCnt,
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
    """Return sizeInBytes (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetNormalizationForwardTrainingWorkspaceSize(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t zDesc, const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t normScaleBiasDesc, const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t normMeanVarDesc, size_t *sizeInBytes, int groupCnt)``

    Always 0.
    """
    return _GetNormalizationForwardTrainingWorkspaceSize(handle, mode, normOps, algo, groupCnt, activationDesc)


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
    """Return sizeInBytes (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetNormalizationBackwardWorkspaceSize(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnTensorDescriptor_t dzDesc, const cudnnTensorDescriptor_t dxDesc, const cudnnTensorDescriptor_t dNormScaleBiasDesc, const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t normMeanVarDesc, size_t *sizeInBytes, int groupCnt)``

    The bytes of y for CUDNN_NORM_OPS_NORM_ACTIVATION, else 0.
    """
    return _GetNormalizationBackwardWorkspaceSize(handle, mode, normOps, algo, groupCnt, yDesc, activationDesc)


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
    """Return sizeInBytes (since 8.0.1, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetNormalizationTrainingReserveSpaceSize(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes, int groupCnt)``

    Always 0.
    """
    return _GetNormalizationTrainingReserveSpaceSize(handle, mode, normOps, algo, groupCnt, activationDesc)
