"""Which algorithm is best for a convolution (guide sections 4.41 to 4.43, 4.47 to 4.49 and 4.52 to 4.54)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import portadnn as dnn

from ...enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdDataPreference,
    ConvolutionBwdFilterAlgo,
    ConvolutionBwdFilterPreference,
    ConvolutionFwdAlgo,
    ConvolutionFwdPreference,
    Status,
)
from ...ops.convolution.algorithms import DATA, FILTER, FORWARD, find_ex
from ..calls import Choice
from ..descriptors import ConvolutionDescriptor, FilterDescriptor, TensorDescriptor, value_of
from ..enumerations import enumeration
from ..memory import filter_, find_space, tensor
from ..storage import is_integer
from . import integers
from .descriptors import math_type

forward_algo = Choice("cudnnConvolutionFwdAlgo_t", ConvolutionFwdAlgo)
data_algo = Choice("cudnnConvolutionBwdDataAlgo_t", ConvolutionBwdDataAlgo)
filter_algo = Choice("cudnnConvolutionBwdFilterAlgo_t", ConvolutionBwdFilterAlgo)
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


def cudnnFindConvolutionForwardAlgorithm(handle, x, w, conv, y, convDesc, requestedAlgoCount):
    if is_integer(x, w, y):
        call = integers.checked(x, w, conv, y, int(convDesc.reorder))
        return _forward(integers.algorithms(call, requestedAlgoCount, integers.measured(handle, call)))
    return _forward(dnn.find_convolution_forward_algorithm(handle, x, w, conv, y, requested=requestedAlgoCount))


def cudnnFindConvolutionForwardAlgorithmEx(
    handle, xDesc, raw_x, wDesc, raw_w, convDesc, yDesc, raw_y, workSpace, workSpaceSizeInBytes, requestedAlgoCount
):
    x, w = value_of(xDesc, TensorDescriptor, "xDesc"), value_of(wDesc, FilterDescriptor, "wDesc")
    conv, y = value_of(convDesc, ConvolutionDescriptor, "convDesc"), value_of(yDesc, TensorDescriptor, "yDesc")
    if is_integer(x, w, y):
        call = integers.checked(x, w, conv, y, int(convDesc.reorder))
        seconds = integers.measured(handle, call, (raw_x, raw_w, raw_y))
        return _forward(integers.algorithms(call, requestedAlgoCount, seconds))
    tensors = tensor(handle, xDesc, raw_x, "x"), filter_(handle, wDesc, raw_w, "w"), tensor(handle, yDesc, raw_y, "y")
    space = find_space(handle, workSpace, workSpaceSizeInBytes)
    return _forward(find_ex(FORWARD, handle, tensors, conv, requestedAlgoCount, *space))


def cudnnGetConvolutionForwardAlgorithm(handle, x, w, conv, y, convDesc, preference, memoryLimitInBytes):
    if is_integer(x, w, y):
        return forward_algo.c(integers.checked(x, w, conv, y, int(convDesc.reorder)).algos[0])
    options = {"preference": forward_preference(preference, "preference"), "memory_limit": memoryLimitInBytes}
    return forward_algo.c(dnn.get_convolution_forward_algorithm(handle, x, w, conv, y, **options))


def cudnnGetConvolutionForwardAlgorithm_v7(handle, src, filter, conv, dest, convDesc, requestedAlgoCount):
    if is_integer(src, filter, dest):
        call = integers.checked(src, filter, conv, dest, int(convDesc.reorder))
        return _forward(integers.algorithms(call, requestedAlgoCount))
    found = dnn.get_convolution_forward_algorithm_v7(handle, src, filter, conv, dest, requested=requestedAlgoCount)
    return _forward(found)


def cudnnFindConvolutionBackwardFilterAlgorithm(handle, x, dy, conv, dw, requestedAlgoCount):
    return _filter(
        dnn.find_convolution_backward_filter_algorithm(handle, x, dy, conv, dw, requested=requestedAlgoCount)
    )


def cudnnFindConvolutionBackwardFilterAlgorithmEx(
    handle, conv, x, y, dw, workSpace, workSpaceSizeInBytes, requestedAlgoCount
):
    space = find_space(handle, workSpace, workSpaceSizeInBytes)
    return _filter(find_ex(FILTER, handle, (x, y, dw), conv, requestedAlgoCount, *space))


def cudnnGetConvolutionBackwardFilterAlgorithm(handle, x, dy, conv, dw, preference, memoryLimitInBytes):
    options = {"preference": filter_preference(preference, "preference"), "memory_limit": memoryLimitInBytes}
    return filter_algo.c(dnn.get_convolution_backward_filter_algorithm(handle, x, dy, conv, dw, **options))


def cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, src, diff, conv, grad, requestedAlgoCount):
    return _filter(
        dnn.get_convolution_backward_filter_algorithm_v7(handle, src, diff, conv, grad, requested=requestedAlgoCount)
    )


def cudnnFindConvolutionBackwardDataAlgorithm(handle, w, dy, conv, dx, requestedAlgoCount):
    return _data(dnn.find_convolution_backward_data_algorithm(handle, w, dy, conv, dx, requested=requestedAlgoCount))


def cudnnFindConvolutionBackwardDataAlgorithmEx(
    handle, conv, w, dy, dx, workSpace, workSpaceSizeInBytes, requestedAlgoCount
):
    space = find_space(handle, workSpace, workSpaceSizeInBytes)
    return _data(find_ex(DATA, handle, (w, dy, dx), conv, requestedAlgoCount, *space))


def cudnnGetConvolutionBackwardDataAlgorithm(handle, w, dy, conv, dx, preference, memoryLimitInBytes):
    options = {"preference": data_preference(preference, "preference"), "memory_limit": memoryLimitInBytes}
    return data_algo.c(dnn.get_convolution_backward_data_algorithm(handle, w, dy, conv, dx, **options))


def cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, filter, diff, conv, grad, requestedAlgoCount):
    return _data(
        dnn.get_convolution_backward_data_algorithm_v7(handle, filter, diff, conv, grad, requested=requestedAlgoCount)
    )
