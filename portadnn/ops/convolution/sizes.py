"""Convolutions: sizes of outputs and workspaces (guide sections 4.36, 4.39, 4.44, 4.50 and 4.55)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...descriptors import FilterDescriptor, TensorDescriptor, logical_dims
from ...descriptors.layers import ConvolutionDescriptor
from ...dispatch.choice import workspace_size
from ...enums import ConvolutionBwdDataAlgo, ConvolutionBwdFilterAlgo, ConvolutionFwdAlgo, DnnEnum
from ...errors import BadParam, public
from ...handle import Handle
from ...shapes import convolution_output_dims
from .calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
    check_convolution,
    convolution_problem,
)

__all__ = [
    "get_convolution_2d_forward_output_dim",
    "get_convolution_backward_data_workspace_size",
    "get_convolution_backward_filter_workspace_size",
    "get_convolution_forward_workspace_size",
    "get_convolution_nd_forward_output_dim",
]


@public
def get_convolution_nd_forward_output_dim(
    conv: ConvolutionDescriptor,
    x: TensorDescriptor | Sequence[int],
    w: FilterDescriptor | Sequence[int],
) -> tuple[int, ...]:
    """Return the dims (n, k, [o,] p, q) of a convolution's output (guide section 4.39).

    Raises
    ------
    BadParam
        Numbers of dims or channels that do not match, or a filter larger than the padded input.
    """
    return _output_dims(conv, x, w)


def _output_dims(conv: Any, x: Any, w: Any) -> tuple[int, ...]:
    conv = check_convolution(conv)
    x_dims = logical_dims(x, "x", TensorDescriptor)
    w_dims = logical_dims(w, "w", FilterDescriptor)
    return convolution_output_dims(x_dims, w_dims, conv.padding, conv.stride or (), conv.dilation or (), conv.groups)


@public
def get_convolution_2d_forward_output_dim(
    conv: ConvolutionDescriptor,
    x: TensorDescriptor | Sequence[int],
    w: FilterDescriptor | Sequence[int],
) -> tuple[int, ...]:
    """Return the dims (n, k, p, q) of a 2-D convolution's output (guide section 4.36).

    Raises
    ------
    BadParam
        The input is not 4-D, or as :func:`get_convolution_nd_forward_output_dim`.
    """
    dims = _output_dims(conv, x, w)
    if len(dims) != 4:
        raise BadParam(argument="x.dims", expected="4 dims", got=len(dims))
    return dims


def _workspace_size(
    handle: Handle,
    kind: type[Convolution],
    tensors: tuple[Any, ...],
    conv: ConvolutionDescriptor,
    algo: DnnEnum | None,
) -> int:
    return workspace_size(handle, convolution_problem(handle, kind, tensors, conv), algo)


@public
def get_convolution_forward_workspace_size(
    handle: Handle,
    x: Any,
    w: Any,
    conv: ConvolutionDescriptor,
    y: Any = None,
    algo: ConvolutionFwdAlgo | int | str | None = None,
) -> int:
    """Return the exact workspace bytes of a forward convolution (guide section 4.44).

    Tensors are arrays or descriptors. Errors are those of :func:`convolution_forward`.
    """
    wanted = None if algo is None else ConvolutionFwdAlgo.parse(algo, "algo")
    return _workspace_size(handle, ConvolutionForward, (x, w, y), conv, wanted)


@public
def get_convolution_backward_data_workspace_size(
    handle: Handle,
    w: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dx: Any,
    algo: ConvolutionBwdDataAlgo | int | str | None = None,
) -> int:
    """Return the exact workspace bytes of a backward-data convolution (guide section 4.55).

    Tensors are arrays or descriptors. Errors are those of :func:`convolution_backward_data`.
    """
    wanted = None if algo is None else ConvolutionBwdDataAlgo.parse(algo, "algo")
    return _workspace_size(handle, ConvolutionBackwardData, (w, dy, dx), conv, wanted)


@public
def get_convolution_backward_filter_workspace_size(
    handle: Handle,
    x: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dw: Any,
    algo: ConvolutionBwdFilterAlgo | int | str | None = None,
) -> int:
    """Return the exact workspace bytes of a backward-filter convolution (guide section 4.50).

    Tensors are arrays or descriptors. Errors are those of :func:`convolution_backward_filter`.
    """
    wanted = None if algo is None else ConvolutionBwdFilterAlgo.parse(algo, "algo")
    return _workspace_size(handle, ConvolutionBackwardFilter, (x, dy, dw), conv, wanted)
