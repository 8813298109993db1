"""Which algorithm is best for a convolution: measured by Find, estimated by Get (guide sections 4.41 to 4.54)."""

from __future__ import annotations

from typing import Any

from ...descriptors.layers import ConvolutionDescriptor
from ...dispatch.problems import check_handle
from ...enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdDataPreference,
    ConvolutionBwdFilterAlgo,
    ConvolutionBwdFilterPreference,
    ConvolutionFwdAlgo,
    ConvolutionFwdPreference,
)
from ...errors import public
from ...handle import Handle
from .algorithms import (
    DATA,
    FILTER,
    FORWARD,
    ConvolutionBwdDataAlgoPerf,
    ConvolutionBwdFilterAlgoPerf,
    ConvolutionFwdAlgoPerf,
    find,
    find_ex,
    find_workspace_size,
    get,
    get_v7,
)
from .calls import ConvolutionBackwardData, ConvolutionBackwardFilter, ConvolutionForward

__all__ = [
    "find_convolution_backward_data_algorithm",
    "find_convolution_backward_data_algorithm_ex",
    "find_convolution_backward_filter_algorithm",
    "find_convolution_backward_filter_algorithm_ex",
    "find_convolution_forward_algorithm",
    "find_convolution_forward_algorithm_ex",
    "get_convolution_backward_data_algorithm",
    "get_convolution_backward_data_algorithm_max_count",
    "get_convolution_backward_data_algorithm_v7",
    "get_convolution_backward_data_find_workspace_size",
    "get_convolution_backward_filter_algorithm",
    "get_convolution_backward_filter_algorithm_max_count",
    "get_convolution_backward_filter_algorithm_v7",
    "get_convolution_backward_filter_find_workspace_size",
    "get_convolution_forward_algorithm",
    "get_convolution_forward_algorithm_max_count",
    "get_convolution_forward_algorithm_v7",
    "get_convolution_forward_find_workspace_size",
]


@public
def find_convolution_forward_algorithm(
    handle: Handle, x: Any, w: Any, conv: ConvolutionDescriptor, y: Any = None, *, requested: int | None = None
) -> list[ConvolutionFwdAlgoPerf]:
    """Time every algorithm for a convolution on memory of its own (guide section 4.41).

    Waits for the device. With a find database, times that it holds are not measured again.

    Parameters
    ----------
    handle
        Where to compute.
    x, w, y
        The tensors: descriptors, or arrays, of which nothing but the layout counts. `y` may be left out where it is
        packed like `x`.
    conv
        Padding, stride, dilation, groups, mode.
    requested
        How many results to return, at most; None for all algorithms.

    Returns
    -------
    list of ConvolutionFwdAlgoPerf
        One for each algorithm, its fastest engine's: those that succeeded by time, then those that did not.

    Raises
    ------
    BadParam, NotSupported
        As :func:`convolution_forward`; `requested` less than 1.
    AllocFailed
        No memory for the tensors.

    Notes
    -----
    The handle remembers the result. :func:`convolution_forward` then runs, for an algorithm, the engine that was
    fastest; and where no algorithm is given, the fastest of those that are deterministic and sum exact products.
    """
    return find(FORWARD, handle, (x, w, y), conv, requested)


@public
def find_convolution_forward_algorithm_ex(
    handle: Handle,
    x: Any,
    w: Any,
    conv: ConvolutionDescriptor,
    y: Any,
    *,
    requested: int | None = None,
    workspace: Any = None,
) -> list[ConvolutionFwdAlgoPerf]:
    """Time every algorithm for a convolution on the caller's memory (guide section 4.42).

    Parameters
    ----------
    handle, conv, requested
        As for :func:`find_convolution_forward_algorithm`.
    x, w
        Tensors to compute with.
    y
        A tensor that is overwritten, with arbitrary numbers.
    workspace
        Scratch memory. Algorithms that need more get the status ALLOC_FAILED. With None each has what it needs, as
        in :func:`convolution_forward`.

    Returns
    -------
    list of ConvolutionFwdAlgoPerf
        As :func:`find_convolution_forward_algorithm`.

    Raises
    ------
    BadParam, NotSupported
        As :func:`find_convolution_forward_algorithm`; tensors and workspace that share memory.
    """
    return find_ex(FORWARD, handle, (x, w, y), conv, requested, workspace)


@public
def get_convolution_forward_algorithm(
    handle: Handle,
    x: Any,
    w: Any,
    conv: ConvolutionDescriptor,
    y: Any = None,
    *,
    preference: ConvolutionFwdPreference | int | str | None = None,
    memory_limit: int | None = None,
) -> ConvolutionFwdAlgo:
    """Return the algorithm that is thought best for a convolution, without measuring (guide section 4.43).

    Parameters
    ----------
    handle, x, w, conv, y
        As for :func:`find_convolution_forward_algorithm`.
    preference
        NO_WORKSPACE, PREFER_FASTEST or SPECIFY_WORKSPACE_LIMIT. By default the last where `memory_limit` is given,
        otherwise PREFER_FASTEST.
    memory_limit
        Bytes of workspace that the caller will give; counts for SPECIFY_WORKSPACE_LIMIT only.

    Returns
    -------
    ConvolutionFwdAlgo
        It may be one that is not deterministic, or that rounds more (Winograd, FFT), where that is faster:
        :func:`convolution_forward` without `algo` takes none of those.

    Raises
    ------
    BadParam
        As :func:`convolution_forward`, or a limit that is no number of bytes.
    NotSupported
        No algorithm does with that much workspace; the message names the one that needs the least.
    """
    return get(FORWARD, handle, (x, w, y), conv, preference, memory_limit)


@public
def get_convolution_forward_algorithm_v7(
    handle: Handle, x: Any, w: Any, conv: ConvolutionDescriptor, y: Any = None, *, requested: int | None = None
) -> list[ConvolutionFwdAlgoPerf]:
    """Return all algorithms for a convolution, the one thought fastest first (cuDNN 7's form of section 4.43).

    Parameters and errors are those of :func:`find_convolution_forward_algorithm`. Nothing is run: times are estimates,
    which rank algorithms and promise nothing.
    """
    return get_v7(FORWARD, handle, (x, w, y), conv, requested)


@public
def get_convolution_forward_algorithm_max_count(handle: Handle) -> int:
    """Return how many results Find and Get have at most (cuDNN 7)."""
    _ = check_handle(handle).device
    return len(ConvolutionFwdAlgo)


@public
def get_convolution_forward_find_workspace_size(
    handle: Handle, x: Any, w: Any, conv: ConvolutionDescriptor, y: Any = None
) -> int:
    """Return the workspace bytes with which Find can try every algorithm, as MIOpen's order of calls asks.

    First this, then :func:`find_convolution_forward_algorithm_ex` with so much workspace, then
    :func:`convolution_forward` with what it found: the workspace does for that as well. Tensors are arrays or
    descriptors; errors are those of :func:`convolution_forward`.
    """
    return find_workspace_size(handle, ConvolutionForward, (x, w, y), conv)


@public
def find_convolution_backward_data_algorithm(
    handle: Handle, w: Any, dy: Any, conv: ConvolutionDescriptor, dx: Any, *, requested: int | None = None
) -> list[ConvolutionBwdDataAlgoPerf]:
    """Time every algorithm for the gradient by the input on memory of its own (guide section 4.52).

    Tensors are descriptors, or arrays, of which nothing but the layout counts. All else is as for
    :func:`find_convolution_forward_algorithm`.
    """
    return find(DATA, handle, (w, dy, dx), conv, requested)


@public
def find_convolution_backward_data_algorithm_ex(
    handle: Handle,
    w: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dx: Any,
    *,
    requested: int | None = None,
    workspace: Any = None,
) -> list[ConvolutionBwdDataAlgoPerf]:
    """Time every algorithm for the gradient by the input on the caller's memory (guide section 4.53).

    `dx` is overwritten with arbitrary numbers. All else is as for :func:`find_convolution_forward_algorithm_ex`.
    """
    return find_ex(DATA, handle, (w, dy, dx), conv, requested, workspace)


@public
def get_convolution_backward_data_algorithm(
    handle: Handle,
    w: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dx: Any,
    *,
    preference: ConvolutionBwdDataPreference | int | str | None = None,
    memory_limit: int | None = None,
) -> ConvolutionBwdDataAlgo:
    """Return the algorithm that is thought best for the gradient by the input (guide section 4.54).

    As :func:`get_convolution_forward_algorithm`.
    """
    return get(DATA, handle, (w, dy, dx), conv, preference, memory_limit)


@public
def get_convolution_backward_data_algorithm_v7(
    handle: Handle, w: Any, dy: Any, conv: ConvolutionDescriptor, dx: Any, *, requested: int | None = None
) -> list[ConvolutionBwdDataAlgoPerf]:
    """Return all algorithms for the gradient by the input, best first (cuDNN 7's form of section 4.54).

    As :func:`get_convolution_forward_algorithm_v7`.
    """
    return get_v7(DATA, handle, (w, dy, dx), conv, requested)


@public
def get_convolution_backward_data_algorithm_max_count(handle: Handle) -> int:
    """Return how many results Find and Get have at most (cuDNN 7)."""
    _ = check_handle(handle).device
    return len(ConvolutionBwdDataAlgo)


@public
def get_convolution_backward_data_find_workspace_size(
    handle: Handle, w: Any, dy: Any, conv: ConvolutionDescriptor, dx: Any
) -> int:
    """Return the workspace bytes with which Find can try every algorithm.

    As :func:`get_convolution_forward_find_workspace_size`.
    """
    return find_workspace_size(handle, ConvolutionBackwardData, (w, dy, dx), conv)


@public
def find_convolution_backward_filter_algorithm(
    handle: Handle, x: Any, dy: Any, conv: ConvolutionDescriptor, dw: Any, *, requested: int | None = None
) -> list[ConvolutionBwdFilterAlgoPerf]:
    """Time every algorithm for the gradient by the filter on memory of its own (guide section 4.47).

    Tensors are descriptors, or arrays, of which nothing but the layout counts. All else is as for
    :func:`find_convolution_forward_algorithm`.
    """
    return find(FILTER, handle, (x, dy, dw), conv, requested)


@public
def find_convolution_backward_filter_algorithm_ex(
    handle: Handle,
    x: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dw: Any,
    *,
    requested: int | None = None,
    workspace: Any = None,
) -> list[ConvolutionBwdFilterAlgoPerf]:
    """Time every algorithm for the gradient by the filter on the caller's memory (guide section 4.48).

    `dw` is overwritten with arbitrary numbers. All else is as for :func:`find_convolution_forward_algorithm_ex`.
    """
    return find_ex(FILTER, handle, (x, dy, dw), conv, requested, workspace)


@public
def get_convolution_backward_filter_algorithm(
    handle: Handle,
    x: Any,
    dy: Any,
    conv: ConvolutionDescriptor,
    dw: Any,
    *,
    preference: ConvolutionBwdFilterPreference | int | str | None = None,
    memory_limit: int | None = None,
) -> ConvolutionBwdFilterAlgo:
    """Return the algorithm that is thought best for the gradient by the filter (guide section 4.49).

    As :func:`get_convolution_forward_algorithm`.
    """
    return get(FILTER, handle, (x, dy, dw), conv, preference, memory_limit)


@public
def get_convolution_backward_filter_algorithm_v7(
    handle: Handle, x: Any, dy: Any, conv: ConvolutionDescriptor, dw: Any, *, requested: int | None = None
) -> list[ConvolutionBwdFilterAlgoPerf]:
    """Return all algorithms for the gradient by the filter, best first (cuDNN 7's form of section 4.49).

    As :func:`get_convolution_forward_algorithm_v7`.
    """
    return get_v7(FILTER, handle, (x, dy, dw), conv, requested)


@public
def get_convolution_backward_filter_algorithm_max_count(handle: Handle) -> int:
    """Return how many results Find and Get have at most (cuDNN 7)."""
    _ = check_handle(handle).device
    return len(ConvolutionBwdFilterAlgo)


@public
def get_convolution_backward_filter_find_workspace_size(
    handle: Handle, x: Any, dy: Any, conv: ConvolutionDescriptor, dw: Any
) -> int:
    """Return the workspace bytes with which Find can try every algorithm.

    As :func:`get_convolution_forward_find_workspace_size`.
    """
    return find_workspace_size(handle, ConvolutionBackwardFilter, (x, dy, dw), conv)
