"""Convolution, backward data: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ...ops.convolution.calls import convolution_backward_data
from ...ops.convolution.find import get_convolution_backward_data_algorithm_max_count
from ...ops.convolution.sizes import get_convolution_backward_data_workspace_size
from ..calls import c_function
from ..convolution.algorithms import (
    cudnnConvolutionBwdDataAlgoPerf_t,
    cudnnFindConvolutionBackwardDataAlgorithm as _FindConvolutionBackwardDataAlgorithm,
    cudnnFindConvolutionBackwardDataAlgorithmEx as _FindConvolutionBackwardDataAlgorithmEx,
    cudnnGetConvolutionBackwardDataAlgorithm as _GetConvolutionBackwardDataAlgorithm,
    cudnnGetConvolutionBackwardDataAlgorithm_v7 as _GetConvolutionBackwardDataAlgorithm_v7,
    data_algo,
)
from ..descriptors import ConvolutionDescriptor, FilterDescriptor, TensorDescriptor, value_of
from ..memory import filter_, scratch, tensor
from .enums.convolution_backward_data import cudnnConvolutionBwdDataAlgo_t


@c_function
def cudnnFindConvolutionBackwardDataAlgorithm(
    handle: Handle,
    wDesc: FilterDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dxDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[cudnnConvolutionBwdDataAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (guide 4.52, since 3.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t dxDesc, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdDataAlgoPerf_t *perfResults)``

    In portadnn: ``find_convolution_backward_data_algorithm``.

    `perfResults` are cudnnConvolutionBwdDataAlgoPerf_t, the fastest first.
    """
    return _FindConvolutionBackwardDataAlgorithm(
        handle,
        value_of(wDesc, FilterDescriptor, "wDesc"),
        value_of(dyDesc, TensorDescriptor, "dyDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(dxDesc, TensorDescriptor, "dxDesc"),
        requestedAlgoCount,
    )


@c_function
def cudnnFindConvolutionBackwardDataAlgorithmEx(
    handle: Handle,
    wDesc: FilterDescriptor,
    w: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    convDesc: ConvolutionDescriptor,
    dxDesc: TensorDescriptor,
    dx: Any,
    requestedAlgoCount: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
) -> tuple[int, list[cudnnConvolutionBwdDataAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (guide 4.53, since 5.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t dxDesc, void *dx, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdDataAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSizeInBytes)``

    In portadnn: ``find_convolution_backward_data_algorithm_ex``.

    `perfResults` are cudnnConvolutionBwdDataAlgoPerf_t.
    """
    return _FindConvolutionBackwardDataAlgorithmEx(
        handle,
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        filter_(handle, wDesc, w, "w"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dxDesc, dx, "dx"),
        workSpace,
        workSpaceSizeInBytes,
        requestedAlgoCount,
    )


@c_function
def cudnnGetConvolutionBackwardDataAlgorithm(
    handle: Handle,
    wDesc: FilterDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dxDesc: TensorDescriptor,
    preference: int,
    memoryLimitInBytes: int,
) -> cudnnConvolutionBwdDataAlgo_t:
    """Return algo (guide 4.54, since 3.0, deprecated 7.6.5, removed 8.0.1).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t dxDesc, cudnnConvolutionBwdDataPreference_t preference, size_t memoryLimitInBytes, cudnnConvolutionBwdDataAlgo_t *algo)``

    In portadnn: ``get_convolution_backward_data_algorithm``.

    `memoryLimitInBytes` counts for CUDNN_CONVOLUTION_BWD_DATA_SPECIFY_WORKSPACE_LIMIT only.
    """
    return _GetConvolutionBackwardDataAlgorithm(
        handle,
        value_of(wDesc, FilterDescriptor, "wDesc"),
        value_of(dyDesc, TensorDescriptor, "dyDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(dxDesc, TensorDescriptor, "dxDesc"),
        preference,
        memoryLimitInBytes,
    )


@c_function
def cudnnGetConvolutionBackwardDataAlgorithm_v7(
    handle: Handle,
    filterDesc: FilterDescriptor,
    diffDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    gradDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[cudnnConvolutionBwdDataAlgoPerf_t]]:
    """Return (returnedAlgoCount, perfResults) (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, const cudnnFilterDescriptor_t filterDesc, const cudnnTensorDescriptor_t diffDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t gradDesc, const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdDataAlgoPerf_t *perfResults)``

    In portadnn: ``get_convolution_backward_data_algorithm_v7``.

    `perfResults` are cudnnConvolutionBwdDataAlgoPerf_t; times are estimates.
    """
    return _GetConvolutionBackwardDataAlgorithm_v7(
        handle,
        value_of(filterDesc, FilterDescriptor, "filterDesc"),
        value_of(diffDesc, TensorDescriptor, "diffDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(gradDesc, TensorDescriptor, "gradDesc"),
        requestedAlgoCount,
    )


@c_function
def cudnnGetConvolutionBackwardDataAlgorithmMaxCount(handle: Handle) -> int:
    """Return count (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, int *count)``

    In portadnn: ``get_convolution_backward_data_algorithm_max_count``.
    """
    return get_convolution_backward_data_algorithm_max_count(handle)


@c_function
def cudnnGetConvolutionBackwardDataWorkspaceSize(
    handle: Handle,
    wDesc: FilterDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dxDesc: TensorDescriptor,
    algo: int,
) -> int:
    """Return sizeInBytes (guide 4.55, since 3.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, const cudnnFilterDescriptor_t wDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t dxDesc, cudnnConvolutionBwdDataAlgo_t algo, size_t *sizeInBytes)``

    In portadnn: ``get_convolution_backward_data_workspace_size``, ``get_convolution_backward_data_find_workspace_size``.
    """
    return get_convolution_backward_data_workspace_size(
        handle,
        value_of(wDesc, FilterDescriptor, "wDesc"),
        value_of(dyDesc, TensorDescriptor, "dyDesc"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        value_of(dxDesc, TensorDescriptor, "dxDesc"),
        data_algo(algo, "algo"),
    )


@c_function
def cudnnConvolutionBackwardData(
    handle: Handle,
    alpha: float,
    wDesc: FilterDescriptor,
    w: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    convDesc: ConvolutionDescriptor,
    algo: int,
    workSpace: Any,
    workSpaceSizeInBytes: int,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    """Return nothing (guide 4.56, since 1.0, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdDataAlgo_t algo, void *workSpace, size_t workSpaceSizeInBytes, const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx)``

    In portadnn: ``convolution_backward_data``.

    With NULL for the workspace the handle provides it.
    """
    convolution_backward_data(
        handle,
        filter_(handle, wDesc, w, "w"),
        tensor(handle, dyDesc, dy, "dy"),
        value_of(convDesc, ConvolutionDescriptor, "convDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
        algo=data_algo(algo, "algo"),
        workspace=scratch(handle, workSpace, workSpaceSizeInBytes),
    )
