"""Which algorithm is best for a convolution (guide sections 4.41 to 4.43, 4.47 to 4.49 and 4.52 to 4.54)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import portadnn as dnn

from ...enums import (
    ConvolutionBwdDataPreference,
    ConvolutionBwdFilterPreference,
    ConvolutionFwdPreference,
    Status,
)
from ...handle import Handle
from ...ops.convolution.algorithms import DATA, FILTER, FORWARD, find_ex
from ..calls import Choice, c_function
from ..declarations import enumeration
from ..descriptors import ConvolutionDescriptor, FilterDescriptor, TensorDescriptor
from ..memory import filter_, find_space, tensor
from .calls import (
    data_algo,
    data_values,
    filter_algo,
    filter_values,
    forward_algo,
    forward_values,
)
from .descriptors import math_type

forward_preference = Choice("cudnnConvolutionFwdPreference_t", ConvolutionFwdPreference)
data_preference = Choice("cudnnConvolutionBwdDataPreference_t", ConvolutionBwdDataPreference)
filter_preference = Choice("cudnnConvolutionBwdFilterPreference_t", ConvolutionBwdFilterPreference)
_status = Choice("cudnnStatus_t", Status)


# What Find and Get return (guide sections 3.16, 3.19, 3.22). Times are in milliseconds, -1 where an algorithm cannot.
cudnnConvolutionFwdAlgoPerf_t = namedtuple(
    "cudnnConvolutionFwdAlgoPerf_t", "algo status time memory determinism mathType"
)
cudnnConvolutionBwdFilterAlgoPerf_t = namedtuple(
    "cudnnConvolutionBwdFilterAlgoPerf_t", "algo status time memory determinism mathType"
)
cudnnConvolutionBwdDataAlgoPerf_t = namedtuple(
    "cudnnConvolutionBwdDataAlgoPerf_t", "algo status time memory determinism mathType"
)


def _results(found: Sequence[Any], algos: Choice[Any], kind: Callable[..., Any]) -> tuple[int, list[Any]]:
    deterministic = enumeration("cudnnDeterminism_t")
    results = [
        kind(
            algos.c(perf.algo),
            _status.c(perf.status),
            perf.time,
            perf.memory,
            deterministic(int(perf.deterministic)),
            math_type.c(perf.math_type),
        )
        for perf in found
    ]
    return len(results), results


def _forward(found: Sequence[Any]) -> tuple[int, list[Any]]:
    return _results(found, forward_algo, cudnnConvolutionFwdAlgoPerf_t)


def _filter(found: Sequence[Any]) -> tuple[int, list[Any]]:
    return _results(found, filter_algo, cudnnConvolutionBwdFilterAlgoPerf_t)


def _data(found: Sequence[Any]) -> tuple[int, list[Any]]:
    return _results(found, data_algo, cudnnConvolutionBwdDataAlgoPerf_t)


@c_function
def cudnnFindConvolutionForwardAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    yDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionFwdAlgoPerf_t, the fastest first."""
    x, w, conv, y = forward_values(xDesc, wDesc, convDesc, yDesc)
    return _forward(dnn.find_convolution_forward_algorithm(handle, x, w, conv, y, requested=requestedAlgoCount))


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
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionFwdAlgoPerf_t. An algorithm that needs more workspace has ALLOC_FAILED."""
    _, _, conv, _ = forward_values(xDesc, wDesc, convDesc, yDesc)
    tensors = (
        tensor(handle, xDesc, x, "x"),
        filter_(handle, wDesc, w, "w"),
        tensor(handle, yDesc, y, "y"),
    )
    space = find_space(handle, workSpace, workSpaceSizeInBytes)
    found = find_ex(FORWARD, handle, tensors, conv, requestedAlgoCount, *space)
    return _forward(found)


@c_function
def cudnnGetConvolutionForwardAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    wDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    yDesc: TensorDescriptor,
    preference: int,
    memoryLimitInBytes: int,
) -> Any:
    """`memoryLimitInBytes` counts for CUDNN_CONVOLUTION_FWD_SPECIFY_WORKSPACE_LIMIT only."""
    x, w, conv, y = forward_values(xDesc, wDesc, convDesc, yDesc)
    wanted = forward_preference(preference, "preference")
    limit = memoryLimitInBytes
    algo = dnn.get_convolution_forward_algorithm(handle, x, w, conv, y, preference=wanted, memory_limit=limit)
    return forward_algo.c(algo)


@c_function
def cudnnGetConvolutionForwardAlgorithm_v7(
    handle: Handle,
    srcDesc: TensorDescriptor,
    filterDesc: FilterDescriptor,
    convDesc: ConvolutionDescriptor,
    destDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionFwdAlgoPerf_t; times are estimates."""
    x, w, conv, y = forward_values(srcDesc, filterDesc, convDesc, destDesc, ("srcDesc", "filterDesc", "destDesc"))
    return _forward(dnn.get_convolution_forward_algorithm_v7(handle, x, w, conv, y, requested=requestedAlgoCount))


@c_function
def cudnnGetConvolutionForwardAlgorithmMaxCount(handle: Handle) -> int:
    return dnn.get_convolution_forward_algorithm_max_count(handle)


@c_function
def cudnnFindConvolutionBackwardFilterAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dwDesc: FilterDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionBwdFilterAlgoPerf_t, the fastest first."""
    x, dy, conv, dw = filter_values(xDesc, dyDesc, convDesc, dwDesc)
    return _filter(
        dnn.find_convolution_backward_filter_algorithm(handle, x, dy, conv, dw, requested=requestedAlgoCount)
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
) -> tuple[int, list[Any]]:
    """`y` is the gradient dy; C's header calls it so. `perfResults` are cudnnConvolutionBwdFilterAlgoPerf_t."""
    _, _, conv, _ = filter_values(xDesc, dyDesc, convDesc, dwDesc)
    tensors = (
        tensor(handle, xDesc, x, "x"),
        tensor(handle, dyDesc, y, "y", desc="dyDesc"),
        filter_(handle, dwDesc, dw, "dw"),
    )
    space = find_space(handle, workSpace, workSpaceSizeInBytes)
    found = find_ex(FILTER, handle, tensors, conv, requestedAlgoCount, *space)
    return _filter(found)


@c_function
def cudnnGetConvolutionBackwardFilterAlgorithm(
    handle: Handle,
    xDesc: TensorDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dwDesc: FilterDescriptor,
    preference: int,
    memoryLimitInBytes: int,
) -> Any:
    """`memoryLimitInBytes` counts for CUDNN_CONVOLUTION_BWD_FILTER_SPECIFY_WORKSPACE_LIMIT only."""
    x, dy, conv, dw = filter_values(xDesc, dyDesc, convDesc, dwDesc)
    wanted = filter_preference(preference, "preference")
    limit = memoryLimitInBytes
    algo = dnn.get_convolution_backward_filter_algorithm(handle, x, dy, conv, dw, preference=wanted, memory_limit=limit)
    return filter_algo.c(algo)


@c_function
def cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    handle: Handle,
    srcDesc: TensorDescriptor,
    diffDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    gradDesc: FilterDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionBwdFilterAlgoPerf_t; times are estimates."""
    x, dy, conv, dw = filter_values(srcDesc, diffDesc, convDesc, gradDesc, ("srcDesc", "diffDesc", "gradDesc"))
    return _filter(
        dnn.get_convolution_backward_filter_algorithm_v7(handle, x, dy, conv, dw, requested=requestedAlgoCount)
    )


@c_function
def cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(handle: Handle) -> int:
    return dnn.get_convolution_backward_filter_algorithm_max_count(handle)


@c_function
def cudnnFindConvolutionBackwardDataAlgorithm(
    handle: Handle,
    wDesc: FilterDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dxDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionBwdDataAlgoPerf_t, the fastest first."""
    w, dy, conv, dx = data_values(wDesc, dyDesc, convDesc, dxDesc)
    return _data(dnn.find_convolution_backward_data_algorithm(handle, w, dy, conv, dx, requested=requestedAlgoCount))


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
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionBwdDataAlgoPerf_t."""
    _, _, conv, _ = data_values(wDesc, dyDesc, convDesc, dxDesc)
    tensors = (
        filter_(handle, wDesc, w, "w"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dxDesc, dx, "dx"),
    )
    space = find_space(handle, workSpace, workSpaceSizeInBytes)
    found = find_ex(DATA, handle, tensors, conv, requestedAlgoCount, *space)
    return _data(found)


@c_function
def cudnnGetConvolutionBackwardDataAlgorithm(
    handle: Handle,
    wDesc: FilterDescriptor,
    dyDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    dxDesc: TensorDescriptor,
    preference: int,
    memoryLimitInBytes: int,
) -> Any:
    """`memoryLimitInBytes` counts for CUDNN_CONVOLUTION_BWD_DATA_SPECIFY_WORKSPACE_LIMIT only."""
    w, dy, conv, dx = data_values(wDesc, dyDesc, convDesc, dxDesc)
    wanted = data_preference(preference, "preference")
    limit = memoryLimitInBytes
    algo = dnn.get_convolution_backward_data_algorithm(handle, w, dy, conv, dx, preference=wanted, memory_limit=limit)
    return data_algo.c(algo)


@c_function
def cudnnGetConvolutionBackwardDataAlgorithm_v7(
    handle: Handle,
    filterDesc: FilterDescriptor,
    diffDesc: TensorDescriptor,
    convDesc: ConvolutionDescriptor,
    gradDesc: TensorDescriptor,
    requestedAlgoCount: int,
) -> tuple[int, list[Any]]:
    """`perfResults` are cudnnConvolutionBwdDataAlgoPerf_t; times are estimates."""
    w, dy, conv, dx = data_values(filterDesc, diffDesc, convDesc, gradDesc, ("filterDesc", "diffDesc", "gradDesc"))
    return _data(dnn.get_convolution_backward_data_algorithm_v7(handle, w, dy, conv, dx, requested=requestedAlgoCount))


@c_function
def cudnnGetConvolutionBackwardDataAlgorithmMaxCount(handle: Handle) -> int:
    return dnn.get_convolution_backward_data_algorithm_max_count(handle)
