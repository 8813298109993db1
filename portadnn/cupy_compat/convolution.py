"""Convolutions of arrays, with the fastest algorithm that the workspace permits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import cudnn

from .descriptors import (
    channels_first,
    current_handle,
    get_data_type,
    get_handle,
    get_max_workspace_size,
    is_tensor_core_available,
)
from .errors import CuDNNError, cudnn_errors
from .memory import contiguous, native

_ALGORITHMS: dict[Any, Any] = {}
_MOST_ALGORITHMS = 4096


def _uses_tensor_core(tensor_core: str, dtype: Any) -> bool:
    if tensor_core == "auto":
        return is_tensor_core_available(dtype)
    if tensor_core not in ("always", "never"):
        raise ValueError(f"tensor_core must be either always, auto, or never; {tensor_core!r} is not")
    return tensor_core == "always"


def _tensor(array: Any, layout: int) -> Any:
    """Return an array with its channels in the second place, whatever the layout."""
    if not array.flags.c_contiguous:
        raise ValueError("cupyx.cudnn supports c-contiguous arrays only")
    channels_first(array.shape, layout)
    if layout == cudnn.CUDNN_TENSOR_NCHW:
        return array
    return array.transpose(0, array.ndim - 1, *range(1, array.ndim - 1))


def _descriptor(
    pad: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int] | None,
    groups: int,
    dtype: Any,
    tensor_core: bool,
) -> dnn.ConvolutionDescriptor:
    if len(pad) != len(stride):
        raise ValueError("pad and stride must be of same length")
    get_data_type(dtype)
    sizes: Any = [tuple(map(int, values)) for values in (pad, stride, dilation or (1,) * len(pad))]
    math = dnn.MathType.TENSOR_OP if tensor_core and np.dtype(dtype).char == "e" else dnn.MathType.DEFAULT
    return dnn.ConvolutionDescriptor(*sizes, groups=int(groups), math=math)


def _chosen(
    direction: str, auto_tune: bool, deterministic: bool, conv: dnn.ConvolutionDescriptor, arrays: Sequence[Any]
) -> Any:
    """Return the fastest algorithm that needs no more workspace than is permitted, or else the one that needs least.

    Raises
    ------
    RuntimeError
        There is none.
    """
    limit = get_max_workspace_size()
    key = (get_handle(), direction, auto_tune, deterministic, conv, limit, arrays[0].dtype.char)
    key += tuple((array.shape, array.strides) for array in arrays)
    if key not in _ALGORITHMS:
        query = f"{'find' if auto_tune else 'get'}_convolution_{direction}_algorithm{'' if auto_tune else '_v7'}"
        results = getattr(dnn, query)(current_handle(), *arrays[:2], conv, arrays[2])
        perfs = [p for p in results if p.status is dnn.Status.SUCCESS and (p.deterministic or not deterministic)]
        if not perfs:
            raise RuntimeError(f"No conv {direction} algo available.")
        best = next((perf for perf in perfs if perf.memory <= limit), None)
        if best is None:
            best = min(perfs, key=lambda perf: perf.memory)
            message = f"no conv {direction} algo needs at most {limit} bytes of workspace; {best.memory} are taken"
            warnings.warn(message, RuntimeWarning, stacklevel=4)
        if len(_ALGORITHMS) >= _MOST_ALGORITHMS:
            _ALGORITHMS.clear()
        _ALGORITHMS[key] = best.algo
    return _ALGORITHMS[key]


def _add_bias(y: Any, b: Any, layout: int) -> None:
    if b is not None:
        bias = contiguous(b).reshape(1, -1, *(1,) * (y.ndim - 2))
        dnn.add_tensor(current_handle(), bias, _tensor(native(y), layout), beta=1.0)


def _info(array: Any) -> str:
    return "None" if array is None else f"shape={array.shape!r}, dtype={array.dtype.name}, strides={array.strides!r}"


@cudnn_errors
def convolution_forward(
    x: Any,
    W: Any,
    b: Any,
    y: Any,
    pad: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int] | None,
    groups: int,
    *,
    auto_tune: bool,
    tensor_core: str,
    d_layout: int = cudnn.CUDNN_TENSOR_NCHW,
    w_layout: int = cudnn.CUDNN_TENSOR_NCHW,
) -> None:
    """Write the convolution of x (n, c, ...) with W (k, c/groups, ...), plus b where there is one, to y.

    `auto_tune` measures the algorithms once for each problem. `tensor_core` is "always", "auto" or "never".
    """
    conv = _descriptor(pad, stride, dilation, groups, x.dtype, _uses_tensor_core(tensor_core, x.dtype))
    given = (_tensor(contiguous(x), d_layout), _tensor(contiguous(W), w_layout), _tensor(native(y), d_layout))
    algo = _chosen("forward", auto_tune, False, conv, given)
    try:
        dnn.convolution_forward(current_handle(), *given[:2], conv, given[2], algo=algo)
    except dnn.DnnError as error:
        told = CuDNNError(error.status)
        told.add_infos([str(error), *(f"{name}: {_info(a)}" for name, a in (("x", x), ("W", W), ("b", b), ("y", y)))])
        raise told from error
    _add_bias(y, b, d_layout)


@cudnn_errors
def convolution_backward_filter(
    x: Any,
    gy: Any,
    gW: Any,
    pad: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int] | None,
    groups: int,
    *,
    deterministic: bool,
    auto_tune: bool,
    tensor_core: str,
    d_layout: int = cudnn.CUDNN_TENSOR_NCHW,
    w_layout: int = cudnn.CUDNN_TENSOR_NCHW,
) -> None:
    """Write the gradient of a convolution with respect to its filters to gW."""
    conv = _descriptor(pad, stride, dilation, groups, x.dtype, _uses_tensor_core(tensor_core, x.dtype))
    given = (_tensor(contiguous(x), d_layout), _tensor(contiguous(gy), d_layout), _tensor(native(gW), w_layout))
    algo = _chosen("backward_filter", auto_tune and not deterministic, deterministic, conv, given)
    dnn.convolution_backward_filter(current_handle(), *given[:2], conv, given[2], algo=algo)


@cudnn_errors
def convolution_backward_data(
    W: Any,
    x: Any,
    b: Any,
    y: Any,
    pad: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int] | None,
    groups: int,
    *,
    deterministic: bool,
    auto_tune: bool,
    tensor_core: str,
    d_layout: int = cudnn.CUDNN_TENSOR_NCHW,
    w_layout: int = cudnn.CUDNN_TENSOR_NCHW,
) -> None:
    """Write the gradient of a convolution with respect to its input, plus b where there is one, to y."""
    conv = _descriptor(pad, stride, dilation, groups, x.dtype, _uses_tensor_core(tensor_core, x.dtype))
    given = (_tensor(contiguous(W), w_layout), _tensor(contiguous(x), d_layout), _tensor(native(y), d_layout))
    algo = _chosen("backward_data", auto_tune and not deterministic, deterministic, conv, given)
    dnn.convolution_backward_data(current_handle(), *given[:2], conv, given[2], algo=algo)
    _add_bias(y, b, d_layout)
