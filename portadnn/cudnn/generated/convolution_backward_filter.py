"""Convolution, backward filter and bias: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.convolution.calls import convolution_backward_bias, convolution_backward_filter
from ...ops.convolution.find import get_convolution_backward_filter_algorithm_max_count
from ...ops.convolution.sizes import get_convolution_backward_filter_workspace_size
from ..calls import c_function
from ..convolution.algorithms import (
    cudnnConvolutionBwdFilterAlgoPerf_t,
    cudnnFindConvolutionBackwardFilterAlgorithm as _FindConvolutionBackwardFilterAlgorithm,
    cudnnFindConvolutionBackwardFilterAlgorithmEx as _FindConvolutionBackwardFilterAlgorithmEx,
    cudnnGetConvolutionBackwardFilterAlgorithm as _GetConvolutionBackwardFilterAlgorithm,
    cudnnGetConvolutionBackwardFilterAlgorithm_v7 as _GetConvolutionBackwardFilterAlgorithm_v7,
    filter_algo,
)
from ..descriptors import ConvolutionDescriptor, FilterDescriptor, TensorDescriptor, value_of
from ..memory import filter_, scratch, tensor
from .enums.convolution_backward_filter import cudnnConvolutionBwdFilterAlgo_t


@c_function
def cudnnConvolutionBackwardBias(
    handle: Handle, alpha: float, dyDesc: TensorDescriptor, dy: Any, beta: float, dbDesc: TensorDescriptor, db: Any
) -> None:
    """Return nothing (guide 4.46, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t dyDesc, const void *dy, const void *beta, const cudnnTensorDescriptor_t dbDesc, void *db)``

    In portadnn: ``convolution_backward_bias``.
    """
    convolution_backward_bias(
        handle, tensor(handle, dyDesc, dy, "dy"), tensor(handle, dbDesc, db, "db"), alpha=alpha, beta=beta
    )


@c_function
def cudnnFindConvolutionBackwardFilterAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dwDesc: FilterDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[cudnnConvolutionBwdFilterAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (guide 4.47, since 3.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t dwDesc, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdFilterAlgoPerf_t *perfResults)``

    In portadnn: ``find_convolution_backward_filter_algorithm``.

    `perfResults` are cudnnConvolutionBwdFilterAlgoPerf_t, the fastest first.
    """
    return _FindConvolutionBackwardFilterAlgorithm(
        handle,
        value_of(xDesc, TensorDescriptor, "xDesc"),
        value_of(dyDesc, TensorDescriptor, "dyDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(dwDesc, FilterDescriptor, "dwDesc"),
        requestedAlgoCount,
    )


@c_function
def cudnnFindConvolutionBackwardFilterAlgorithmEx(
    handle: Handle,
    xDesc: TensorDescriptor,
    x: Any,
    dyDesc: TensorDescriptor,
    y: Any,
    convDesc: ConvolutionDescriptor,
    dwDesc: FilterDescriptor,
    dw: Any,
    requestedAlgoCount: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
) -> tuple[int, list[cudnnConvolutionBwdFilterAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (guide 4.48, since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t dyDesc, const void *y, const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t dwDesc, void *dw, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdFilterAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSizeInBytes)``

    In portadnn: ``find_convolution_backward_filter_algorithm_ex``.

    `y` is the gradient dy; C's header calls it so. `perfResults` are cudnnConvolutionBwdFilterAlgoPerf_t.
    """
    return _FindConvolutionBackwardFilterAlgorithmEx(
        handle,
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, y, "y", "dyDesc"),
        filter_(handle, dwDesc, dw, "dw"),
        workSpace,
        workSpaceSizeInBytes,
        requestedAlgoCount,
    )


@c_function
def cudnnGetConvolutionBackwardFilterAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dwDesc: FilterDescriptor,
    preference: int,
    memoryLimitInBytes: int,
) -> cudnnConvolutionBwdFilterAlgo_t:
    """Return algo (guide 4.49, since 3.0, deprecated 7.6.5, removed 8.0.1).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t dwDesc, cudnnConvolutionBwdFilterPreference_t preference, size_t memoryLimitInBytes, cudnnConvolutionBwdFilterAlgo_t *algo)``

    In portadnn: ``get_convolution_backward_filter_algorithm``.

    `memoryLimitInBytes` counts for CUDNN_CONVOLUTION_BWD_FILTER_SPECIFY_WORKSPACE_LIMIT only.
    """
    return _GetConvolutionBackwardFilterAlgorithm(
        handle,
        value_of(xDesc, TensorDescriptor, "xDesc"),
        value_of(dyDesc, TensorDescriptor, "dyDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(dwDesc, FilterDescriptor, "dwDesc"),
        preference,
        memoryLimitInBytes,
    )


@c_function
def cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    handle: Handle,
    srcDesc: TensorDescriptor,
    diffDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    gradDesc: FilterDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[cudnnConvolutionBwdFilterAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t srcDesc, const cudnnTensorDescriptor_t diffDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t gradDesc, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdFilterAlgoPerf_t *perfResults)``

    In portadnn: ``get_convolution_backward_filter_algorithm_v7``.

    `perfResults` are cudnnConvolutionBwdFilterAlgoPerf_t; times are estimates.
    """
    return _GetConvolutionBackwardFilterAlgorithm_v7(
        handle,
        value_of(srcDesc, TensorDescriptor, "srcDesc"),
        value_of(diffDesc, TensorDescriptor, "diffDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(gradDesc, FilterDescriptor, "gradDesc"),
        requestedAlgoCount,
    )


@c_function
def cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(handle: Handle) -> int:
    """Return count (since 7.0.5).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t handle, int *count)``

    In portadnn: ``get_convolution_backward_filter_algorithm_max_count``.
    """
    return get_convolution_backward_filter_algorithm_max_count(handle)


@c_function
def cudnnGetConvolutionBackwardFilterWorkspaceSize(
    handle: Handle,
    xDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    gradDesc: FilterDescriptor,
    algo: int,
) -> int:
    """Return sizeInBytes (guide 4.50, since 3.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t gradDesc, cudnnConvolutionBwdFilterAlgo_t algo, size_t *sizeInBytes)``

    In portadnn: ``get_convolution_backward_filter_workspace_size``, ``get_convolution_backward_filter_find_workspace_size``.
    """
    return get_convolution_backward_filter_workspace_size(
        handle,
        value_of(xDesc, TensorDescriptor, "xDesc"),
        value_of(dyDesc, TensorDescriptor, "dyDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(gradDesc, FilterDescriptor, "gradDesc"),
        filter_algo(algo, "algo"),
    )


@c_function
def cudnnConvolutionBackwardFilter(
    handle: Handle,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    beta: float,
    dwDesc: FilterDescriptor,
    dw: Any,
) -> None:
    """Return nothing (guide 4.51, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdFilterAlgo_t algo, void *workSpace, size_t workSpaceSizeInBytes, const void *beta, const cudnnFilterDescriptor_t dwDesc, void *dw)``

    In portadnn: ``convolution_backward_filter``.

    With NULL for the workspace the handle provides it.
    """
    convolution_backward_filter(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, dy, "dy"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        filter_(handle, dwDesc, dw, "dw"),
        alpha=alpha,
        beta=beta,
        algo=filter_algo(algo, "algo"),
        workspace=scratch(handle, workSpace, workSpaceSizeInBytes),
    )
