"""Calls by cuDNN's names, to be timed beside the unified calls that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import portadnn as dnn
from portadnn import cudnn
from portadnn.dispatch.choice import prepare
from portadnn.handle import Handle
from portadnn.problem import Problem, TensorSpec

from .call import device_values


def _tensor(spec: TensorSpec) -> Any:
    desc = cudnn.cudnnCreateTensorDescriptor()
    dims, strides = spec.dims, spec.strides
    cudnn.cudnnSetTensorNdDescriptor(desc, int(spec.dtype), len(dims), dims, strides)
    return desc


def _filter(spec: TensorSpec) -> Any:
    desc = cudnn.cudnnCreateFilterDescriptor()
    cudnn.cudnnSetFilterNdDescriptor(desc, int(spec.dtype), cudnn.CUDNN_TENSOR_NCHW, len(spec.dims), spec.dims)
    return desc


def _activation(problem: Any, m: dict[str, Any]) -> tuple[Any, ...]:
    desc = cudnn.cudnnCreateActivationDescriptor()
    cudnn.cudnnSetActivationDescriptor(desc, int(problem.mode), int(problem.nan_propagation), problem.ceiling)
    return (desc, 1.0, _tensor(problem.x), m["x"], 0.0, _tensor(problem.y), m["y"])


def _softmax(problem: Any, m: dict[str, Any]) -> tuple[Any, ...]:
    how = (int(problem.algorithm), int(problem.mode))
    return (*how, 1.0, _tensor(problem.x), m["x"], 0.0, _tensor(problem.y), m["y"])


def _pooling(problem: Any, m: dict[str, Any]) -> tuple[Any, ...]:
    desc = cudnn.cudnnCreatePoolingDescriptor()
    arrays = (problem.window, problem.padding, problem.stride)
    count = len(problem.window)
    cudnn.cudnnSetPoolingNdDescriptor(desc, int(problem.mode), int(problem.nan_propagation), count, *arrays)
    return (desc, 1.0, _tensor(problem.x), m["x"], 0.0, _tensor(problem.y), m["y"])


def _convolution(problem: Any, m: dict[str, Any]) -> tuple[Any, ...]:
    desc = cudnn.cudnnCreateConvolutionDescriptor()
    arrays = (problem.padding, problem.stride, problem.dilation)
    cudnn.cudnnSetConvolutionNdDescriptor(
        desc, len(problem.padding), *arrays, int(problem.mode), cudnn.CUDNN_DATA_FLOAT
    )
    x, w, y = _tensor(problem.x), _filter(problem.w), _tensor(problem.y)
    return (1.0, x, m["x"], w, m["w"], desc, m["algo"], None, 0, 0.0, y, m["y"])


_CALLS: dict[str, tuple[str, Callable[[Any, dict[str, Any]], tuple[Any, ...]]]] = {
    "activation_forward": ("cudnnActivationForward", _activation),
    "softmax_forward": ("cudnnSoftmaxForward", _softmax),
    "pooling_forward": ("cudnnPoolingForward", _pooling),
    "convolution_forward": ("cudnnConvolutionForward", _convolution),
}


def cudnn_call(handle: Handle, problem: Problem, *, flat: bool = False) -> tuple[str, Callable[[], Any]] | None:
    """Return a problem's function in cuDNN and a call of it; None where none is written down here.

    Parameters
    ----------
    flat
        Whether memory is given as arrays of one dim, which are viewed with the descriptors' layouts.
    """
    if problem.op not in _CALLS:
        return None
    name, arguments = _CALLS[problem.op]
    memory: dict[str, Any] = {"algo": prepare(handle, problem).engine.algo(problem)}
    for which, spec in zip(problem.names, problem.tensors, strict=True):
        base = device_values(handle, spec, problem.index(which))
        memory[which] = base if flat else handle.device.wrap(dnn.TensorView(spec, base), which)
    function, words = getattr(cudnn, name), arguments(problem, memory)
    return name, lambda: function(handle, *words)
