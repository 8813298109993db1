"""Softmax and pooling (guide sections 4.57 to 4.76)."""

from __future__ import annotations

from typing import Any

import portadnn as dnn

from ..arguments import as_integer
from ..enums import NanPropagation, PoolingMode, SoftmaxAlgorithm, SoftmaxMode, plain_number
from ..errors import BadParam
from ..handle import Handle
from .calls import Choice, c_function
from .declarations import enumeration
from .descriptors import (
    PoolingDescriptor,
    TensorDescriptor,
    creator,
    destroy,
    integers,
    made,
    value_of,
)
from .memory import tensor
from .tensors import nan_option

softmax_algorithm = Choice("cudnnSoftmaxAlgorithm_t", SoftmaxAlgorithm)
softmax_mode = Choice("cudnnSoftmaxMode_t", SoftmaxMode)
pooling_mode = Choice("cudnnPoolingMode_t", PoolingMode, {3: PoolingMode.MAX})  # MAX_DETERMINISTIC: ours always is

cudnnCreatePoolingDescriptor = creator("cudnnCreatePoolingDescriptor", PoolingDescriptor)


@c_function
def cudnnSoftmaxForward(
    handle: Handle,
    algo: int,
    mode: int,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    dnn.softmax_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        tensor(handle, yDesc, y, "y"),
        algorithm=softmax_algorithm(algo, "algo"),
        mode=softmax_mode(mode, "mode"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnSoftmaxBackward(
    handle: Handle,
    algo: int,
    mode: int,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    dnn.softmax_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, dxDesc, dx, "dx"),
        algorithm=softmax_algorithm(algo, "algo"),
        mode=softmax_mode(mode, "mode"),
        alpha=alpha,
        beta=beta,
    )


# Pooling ------------------------------------------------------------------------------------------


def _set_pooling(descriptor: Any, mode: Any, nan: Any, window: Any, padding: Any, stride: Any) -> None:
    made(descriptor, PoolingDescriptor, "poolingDesc")
    how, option = pooling_mode(mode, "mode"), nan_option(nan, "maxpoolingNanOpt")
    descriptor.value = dnn.PoolingDescriptor.set_nd(how, option, window, padding, stride)
    number = int(how) if isinstance(mode, PoolingMode) else plain_number(mode, pooling_mode.c_name)
    assert number is not None  # pooling_mode took it
    descriptor.mode = enumeration(pooling_mode.c_name)(number)


def _arrays(count: Any, window: Any, padding: Any, stride: Any) -> tuple[Any, Any, Any]:
    arrays = (("windowDimA", window), ("paddingA", padding), ("strideA", stride))
    first, second, third = (integers(array, count, name) for name, array in arrays)
    return first, second, third


def _get_pooling_2d(descriptor: Any) -> tuple[Any, ...]:
    _, nan, *sizes = value_of(descriptor, PoolingDescriptor, "poolingDesc").get_2d()
    return (descriptor.mode, nan_option.c(nan), *sizes)


def _get_pooling_nd(descriptor: Any, requested: Any) -> tuple[Any, ...]:
    value = value_of(descriptor, PoolingDescriptor, "poolingDesc")
    _, nan, count, *arrays = value.get_nd(as_integer(requested, "nbDimsRequested", 0))
    return (descriptor.mode, nan_option.c(nan), count, *arrays)


@c_function
def cudnnSetPooling2dDescriptor(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    windowHeight: int,
    windowWidth: int,
    verticalPadding: int,
    horizontalPadding: int,
    verticalStride: int,
    horizontalStride: int,
) -> None:
    """CUDNN_POOLING_MAX_DETERMINISTIC is CUDNN_POOLING_MAX, which is deterministic here."""
    window, padding = (windowHeight, windowWidth), (verticalPadding, horizontalPadding)
    _set_pooling(poolingDesc, mode, maxpoolingNanOpt, window, padding, (verticalStride, horizontalStride))


@c_function
def cudnnGetPooling2dDescriptor(poolingDesc: PoolingDescriptor) -> tuple[Any, ...]:
    return _get_pooling_2d(poolingDesc)


@c_function
def cudnnSetPoolingNdDescriptor(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    nbDims: int,
    windowDimA: Any,
    paddingA: Any,
    strideA: Any,
) -> None:
    """The arrays are sequences of at least `nbDims` integers: as many as there are spatial dims."""
    _set_pooling(poolingDesc, mode, maxpoolingNanOpt, *_arrays(nbDims, windowDimA, paddingA, strideA))


@c_function
def cudnnGetPoolingNdDescriptor(poolingDesc: PoolingDescriptor, nbDimsRequested: int) -> tuple[Any, ...]:
    """The arrays are tuples of at most `nbDimsRequested` values."""
    return _get_pooling_nd(poolingDesc, nbDimsRequested)


@c_function
def cudnnSetPooling2dDescriptor_v3(
    poolingDesc: PoolingDescriptor,
    mode: int,
    windowHeight: int,
    windowWidth: int,
    verticalPadding: int,
    horizontalPadding: int,
    verticalStride: int,
    horizontalStride: int,
) -> None:
    """NaN does not propagate through maxima."""
    window, padding = (windowHeight, windowWidth), (verticalPadding, horizontalPadding)
    nan = NanPropagation.NOT_PROPAGATE_NAN
    _set_pooling(poolingDesc, mode, int(nan), window, padding, (verticalStride, horizontalStride))


@c_function
def cudnnGetPooling2dDescriptor_v3(poolingDesc: PoolingDescriptor) -> tuple[Any, ...]:
    mode, _, *sizes = _get_pooling_2d(poolingDesc)
    return (mode, *sizes)


@c_function
def cudnnSetPoolingNdDescriptor_v3(
    poolingDesc: PoolingDescriptor, mode: int, nbDims: int, windowDimA: Any, paddingA: Any, strideA: Any
) -> None:
    """NaN does not propagate through maxima."""
    nan = NanPropagation.NOT_PROPAGATE_NAN
    _set_pooling(poolingDesc, mode, int(nan), *_arrays(nbDims, windowDimA, paddingA, strideA))


@c_function
def cudnnGetPoolingNdDescriptor_v3(poolingDesc: PoolingDescriptor, nbDimsRequested: int) -> tuple[Any, ...]:
    mode, _, *rest = _get_pooling_nd(poolingDesc, nbDimsRequested)
    return (mode, *rest)


@c_function
def cudnnSetPooling2dDescriptor_v4(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    windowHeight: int,
    windowWidth: int,
    verticalPadding: int,
    horizontalPadding: int,
    verticalStride: int,
    horizontalStride: int,
) -> None:
    window, padding = (windowHeight, windowWidth), (verticalPadding, horizontalPadding)
    _set_pooling(poolingDesc, mode, maxpoolingNanOpt, window, padding, (verticalStride, horizontalStride))


@c_function
def cudnnGetPooling2dDescriptor_v4(poolingDesc: PoolingDescriptor) -> tuple[Any, ...]:
    return _get_pooling_2d(poolingDesc)


@c_function
def cudnnSetPoolingNdDescriptor_v4(
    poolingDesc: PoolingDescriptor,
    mode: int,
    maxpoolingNanOpt: int,
    nbDims: int,
    windowDimA: Any,
    paddingA: Any,
    strideA: Any,
) -> None:
    _set_pooling(poolingDesc, mode, maxpoolingNanOpt, *_arrays(nbDims, windowDimA, paddingA, strideA))


@c_function
def cudnnGetPoolingNdDescriptor_v4(poolingDesc: PoolingDescriptor, nbDimsRequested: int) -> tuple[Any, ...]:
    return _get_pooling_nd(poolingDesc, nbDimsRequested)


@c_function
def cudnnDestroyPoolingDescriptor(poolingDesc: PoolingDescriptor) -> None:
    destroy(poolingDesc, PoolingDescriptor, "poolingDesc")


@c_function
def cudnnGetPooling2dForwardOutputDim(
    poolingDesc: PoolingDescriptor, inputTensorDesc: TensorDescriptor
) -> tuple[int, int, int, int]:
    value = value_of(poolingDesc, PoolingDescriptor, "poolingDesc")
    x = value_of(inputTensorDesc, TensorDescriptor, "inputTensorDesc")
    return dnn.get_pooling_2d_forward_output_dim(value, x)  # type: ignore[return-value]


@c_function
def cudnnGetPoolingNdForwardOutputDim(
    poolingDesc: PoolingDescriptor, inputTensorDesc: TensorDescriptor, nbDims: int
) -> tuple[int, ...]:
    value = value_of(poolingDesc, PoolingDescriptor, "poolingDesc")
    x = value_of(inputTensorDesc, TensorDescriptor, "inputTensorDesc")
    dims = dnn.get_pooling_nd_forward_output_dim(value, x)
    if as_integer(nbDims, "nbDims", 1) != len(dims):
        raise BadParam(argument="nbDims", expected=str(len(dims)), got=nbDims)
    return dims


@c_function
def cudnnPoolingForward(
    handle: Handle,
    poolingDesc: PoolingDescriptor,
    alpha: float,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    yDesc: TensorDescriptor,
    y: Any,
) -> None:
    dnn.pooling_forward(
        handle,
        tensor(handle, xDesc, x, "x"),
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"),
        tensor(handle, yDesc, y, "y"),
        alpha=alpha,
        beta=beta,
    )


@c_function
def cudnnPoolingBackward(
    handle: Handle,
    poolingDesc: PoolingDescriptor,
    alpha: float,
    yDesc: TensorDescriptor,
    y: Any,
    dyDesc: TensorDescriptor,
    dy: Any,
    xDesc: TensorDescriptor,
    x: Any,
    beta: float,
    dxDesc: TensorDescriptor,
    dx: Any,
) -> None:
    dnn.pooling_backward(
        handle,
        tensor(handle, yDesc, y, "y"),
        tensor(handle, dyDesc, dy, "dy"),
        tensor(handle, xDesc, x, "x"),
        value_of(poolingDesc, PoolingDescriptor, "poolingDesc"),
        tensor(handle, dxDesc, dx, "dx"),
        alpha=alpha,
        beta=beta,
    )
