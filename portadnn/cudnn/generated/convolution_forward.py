"""Convolution, forward: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.convolution.find import get_convolution_forward_algorithm_max_count
from ..calls import c_function
from ..convolution.algorithms import (
    cudnnConvolutionFwdAlgoPerf_t,
    cudnnFindConvolutionForwardAlgorithm as _FindConvolutionForwardAlgorithm,
    cudnnFindConvolutionForwardAlgorithmEx as _FindConvolutionForwardAlgorithmEx,
    cudnnGetConvolutionForwardAlgorithm as _GetConvolutionForwardAlgorithm,
    cudnnGetConvolutionForwardAlgorithm_v7 as _GetConvolutionForwardAlgorithm_v7,
)
from ..convolution.forward import (
    cudnnConvolutionBiasActivationForward as _ConvolutionBiasActivationForward,
    cudnnConvolutionForward as _ConvolutionForward,
    cudnnGetConvolutionForwardWorkspaceSize as _GetConvolutionForwardWorkspaceSize,
)
from ..descriptors import ActivationDescriptor, ConvolutionDescriptor, FilterDescriptor, TensorDescriptor, value_of
from ..memory import scratch
from .enums.convolution_forward import cudnnConvolutionFwdAlgo_t


@c_function
def cudnnFindConvolutionForwardAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    yDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[cudnnConvolutionFwdAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (guide 4.41, since 3.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t yDesc, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t *perfResults)``

    In portadnn: ``find_convolution_forward_algorithm``.

    `perfResults` are cudnnConvolutionFwdAlgoPerf_t, the fastest first.
    """
    return _FindConvolutionForwardAlgorithm(
        handle,
        value_of(xDesc, TensorDescriptor, "xDesc"),
        value_of(wDesc, FilterDescriptor, "wDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(yDesc, TensorDescriptor, "yDesc"),
        convDesc,
        requestedAlgoCount,
    )


@c_function
def cudnnFindConvolutionForwardAlgorithmEx(
    handle: Handle,
    xDesc: TensorDescriptor,
    x: Any,
    wDesc: FilterDescriptor,
    w: Any,
    convDesc: ConvolutionDescriptor,
    yDesc: TensorDescriptor,
    y: Any,
    requestedAlgoCount: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
) -> tuple[int, list[cudnnConvolutionFwdAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (guide 4.42, since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t yDesc, void *y, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSizeInBytes)``

    In portadnn: ``find_convolution_forward_algorithm_ex``.

    `perfResults` are cudnnConvolutionFwdAlgoPerf_t. An algorithm that needs more workspace has ALLOC_FAILED.
    """
    return _FindConvolutionForwardAlgorithmEx(
        handle, xDesc, x, wDesc, w, convDesc, yDesc, y, workSpace, workSpaceSizeInBytes, requestedAlgoCount
    )


@c_function
def cudnnGetConvolutionForwardAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    yDesc: TensorDescriptor,
    preference: int,
    memoryLimitInBytes: int,
) -> cudnnConvolutionFwdAlgo_t:
    """Return algo (guide 4.43, since 2.0, deprecated 7.6.5, removed 8.0.1).

    C: ``cudnnStatus_t cudnnGetConvolutionForwardAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t yDesc, cudnnConvolutionFwdPreference_t preference, size_t memoryLimitInBytes, cudnnConvolutionFwdAlgo_t *algo)``

    In portadnn: ``get_convolution_forward_algorithm``.

    `memoryLimitInBytes` counts for CUDNN_CONVOLUTION_FWD_SPECIFY_WORKSPACE_LIMIT only.
    """
    return _GetConvolutionForwardAlgorithm(
        handle,
        value_of(xDesc, TensorDescriptor, "xDesc"),
        value_of(wDesc, FilterDescriptor, "wDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(yDesc, TensorDescriptor, "yDesc"),
        convDesc,
        preference,
        memoryLimitInBytes,
    )


@c_function
def cudnnGetConvolutionForwardAlgorithm_v7(
    handle: Handle,
    srcDesc: TensorDescriptor,
    filterDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    destDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[cudnnConvolutionFwdAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t srcDesc, const cudnnFilterDescriptor_t filterDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t destDesc, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t *perfResults)``

    In portadnn: ``get_convolution_forward_algorithm_v7``.

    `perfResults` are cudnnConvolutionFwdAlgoPerf_t; times are estimates.
    """
    return _GetConvolutionForwardAlgorithm_v7(
        handle,
        value_of(srcDesc, TensorDescriptor, "srcDesc"),
        value_of(filterDesc, FilterDescriptor, "filterDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(destDesc, TensorDescriptor, "destDesc"),
        convDesc,
        requestedAlgoCount,
    )


@c_function
def cudnnGetConvolutionForwardAlgorithmMaxCount(handle: Handle) -> int:
    """Return count (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int *count)``

    In portadnn: ``get_convolution_forward_algorithm_max_count``.
    """
    return get_convolution_forward_algorithm_max_count(handle)


@c_function
def cudnnGetConvolutionForwardWorkspaceSize(
    handle: Handle,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    yDesc: TensorDescriptor,
    algo: int,
) -> int:
    """Return sizeInBytes (guide 4.44, since 2.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t yDesc, cudnnConvolutionFwdAlgo_t algo, size_t *sizeInBytes)``

    In portadnn: ``get_convolution_forward_workspace_size``, ``get_convolution_forward_find_workspace_size``.
    """
    return _GetConvolutionForwardWorkspaceSize(handle, xDesc, wDesc, convDesc, yDesc, algo)


@c_function
def cudnnConvolutionForward(
    handle: Handle,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    wDesc: FilterDescriptor,
    w: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (guide 4.45, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo, void *workSpace, size_t workSpaceSizeInBytes, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``convolution_forward``.

    With NULL for the workspace the handle provides it, where C refuses algorithms that need one.

        Bytes with INT32 for the compute type: INT8 or UINT8 by INT8 in NHWC, channels in fours, and INT8x4, UINT8x4 and
        INT8x32 in NCHW_VECT_C, to bytes or FLOAT.
    """
    _ConvolutionForward(
        handle,
        xDesc,
        x,
        wDesc,
        w,
        convDesc,
        algo,
        scratch(handle, workSpace, workSpaceSizeInBytes),
        yDesc,
        y,
        alpha,
        beta,
    )


@c_function
def cudnnConvolutionBiasActivationForward(
    handle: Handle,
    alpha1: float,
    xDesc: TensorDescriptor,
    x: Any,
    wDesc: FilterDescriptor,
    w: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    alpha2: float,
    zDesc: TensorDescriptor,
    z: Any,
    biasDesc: TensorDescriptor,
    bias: Any,
    activationDesc: ActivationDescriptor,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    """Return nothing (since 6.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnConvolutionBiasActivationForward(cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo, void *workSpace, size_t workSpaceSizeInBytes, const void *alpha2, const cudnnTensorDescriptor_t zDesc, const void *z, const cudnnTensorDescriptor_t biasDesc, const void *bias, const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t yDesc, void *y)``

    In portadnn: ``convolution_bias_activation_forward``.

    `z` may be NULL where `alpha2` is 0. Every activation is taken, where cuDNN takes RELU and IDENTITY.
    """
    _ConvolutionBiasActivationForward(
        handle,
        xDesc,
        x,
        wDesc,
        w,
        convDesc,
        algo,
        scratch(handle, workSpace, workSpaceSizeInBytes),
        zDesc,
        z,
        biasDesc,
        bias,
        activationDesc,
        yDesc,
        y,
        alpha1,
        alpha2,
    )
