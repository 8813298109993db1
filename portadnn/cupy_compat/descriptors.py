"""Handles, descriptors and workspaces of the high-level functions (what ``cupyx.cudnn`` was)."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portadnn import cudnn

from ..handle import Handle
from .bindings import BINDINGS
from .errors import cudnn_errors
from .memory import gpu_library
from .objects import number_of, object_of
from .written import create, destroy

_HANDLES: dict[int, int] = {}  # by device
_LOCK = threading.Lock()
_DATA_TYPES = {"f": cudnn.CUDNN_DATA_FLOAT, "d": cudnn.CUDNN_DATA_DOUBLE, "e": cudnn.CUDNN_DATA_HALF}
_workspace_limit = 8 * 1024 * 1024


class Descriptor:
    """A descriptor's integer, `value`; the descriptor is destroyed with it.

    Parameters
    ----------
    descriptor
        The integer.
    destroyer
        The function that destroys it.
    """

    def __init__(self, descriptor: int, destroyer: Callable[[int], Any] | None) -> None:
        self.value = descriptor
        self._destroy = destroyer

    def __del__(self) -> None:
        value, self.value = getattr(self, "value", 0), 0
        if value and self._destroy is not None and not sys.is_finalizing():
            self._destroy(value)


def new_descriptor(kind: str) -> tuple[Descriptor, Any]:
    """Return a new descriptor of a kind, such as "Tensor", and the object that its integer stands for."""
    made = getattr(cudnn, f"cudnnCreate{kind}Descriptor")()
    return Descriptor(number_of(made), BINDINGS[f"destroy{kind}Descriptor"]), made


def get_handle() -> int:
    """Return the handle of CuPy's current device, opened by the first call."""
    cupy = gpu_library()
    device = 0 if cupy is None else cupy.cuda.runtime.getDevice()
    with _LOCK:
        if device not in _HANDLES:
            _HANDLES[device] = create()
        return _HANDLES[device]


def current_handle(number: int | None = None) -> Handle:
    """Return portadnn's handle of an integer, by default of the current device."""
    return object_of(get_handle() if number is None else number, "handle")  # type: ignore[no-any-return]


@atexit.register
def reset_handles() -> None:
    """Close all handles that :func:`get_handle` opened."""
    while _HANDLES:
        destroy(_HANDLES.popitem()[1])


def get_max_workspace_size() -> int:
    """Return the most bytes of workspace that a convolution's algorithm may need."""
    return _workspace_limit


def set_max_workspace_size(size: int) -> None:
    """Set the most bytes of workspace that a convolution's algorithm may need."""
    global _workspace_limit  # noqa: PLW0603
    _workspace_limit = size


def get_data_type(dtype: Any) -> int:
    """Return cuDNN's number of a NumPy type.

    Raises
    ------
    TypeError
        It is neither float16, float32 nor float64.
    """
    char = np.dtype(dtype).char
    if char not in _DATA_TYPES:
        raise TypeError(f"Dtype {dtype} is not supported in cuDNN")
    return int(_DATA_TYPES[char])


def channels_first(shape: Sequence[int], layout: int) -> tuple[int, ...]:
    """Return an array's shape with its channels in the second place.

    Raises
    ------
    ValueError
        An unknown layout.
    """
    if layout == cudnn.CUDNN_TENSOR_NHWC:
        return (shape[0], shape[-1], *shape[1:-1])
    if layout == cudnn.CUDNN_TENSOR_NCHW:
        return tuple(shape)
    raise ValueError(f"unknown cudnnTensorFormat: {layout}")


@cudnn_errors
def tensor_descriptor(dims: Sequence[int], dtype: Any, layout: int = cudnn.CUDNN_TENSOR_NCHW) -> tuple[Descriptor, Any]:
    """Return a descriptor of packed memory, and the object that its integer stands for."""
    made = new_descriptor("Tensor")
    if len(dims) == 4:
        cudnn.cudnnSetTensor4dDescriptor(made[1], layout, get_data_type(dtype), *channels_first(dims, layout))
    else:
        strides = [int(np.prod(dims[axis + 1 :], dtype=np.int64)) for axis in range(len(dims))]
        cudnn.cudnnSetTensorNdDescriptor(made[1], get_data_type(dtype), len(dims), list(dims), strides)
    return made


def _demand_contiguous(array: Any) -> None:
    if not array.flags.c_contiguous:
        raise ValueError("cupyx.cudnn supports c-contiguous arrays only")


def create_tensor_descriptor(arr: Any, format: int = cudnn.CUDNN_TENSOR_NCHW) -> Descriptor:
    """Return a descriptor of an array in C order; one of 4 dims may lie in either layout."""
    _demand_contiguous(arr)
    return tensor_descriptor(arr.shape, arr.dtype, format)[0]


def create_tensor_nd_descriptor(arr: Any) -> Descriptor:
    """Return a descriptor of an array in C order; NULL for an empty one."""
    if arr.size == 0:
        return Descriptor(0, None)
    _demand_contiguous(arr)
    return tensor_descriptor(arr.shape, arr.dtype)[0]


def create_uninitialized_tensor_descriptor() -> Descriptor:
    """Return a descriptor that was not set."""
    return new_descriptor("Tensor")[0]


@cudnn_errors
def create_filter_descriptor(arr: Any, format: int = cudnn.CUDNN_TENSOR_NCHW) -> Descriptor:
    """Return a descriptor of an array as filters."""
    made, desc = new_descriptor("Filter")
    dims = channels_first(arr.shape, format) if arr.ndim == 4 else arr.shape
    cudnn.cudnnSetFilterNdDescriptor_v4(desc, get_data_type(arr.dtype), format, len(dims), list(dims))
    return made


@cudnn_errors
def create_convolution_descriptor(
    pad: Sequence[int],
    stride: Sequence[int],
    dtype: Any,
    mode: int = cudnn.CUDNN_CROSS_CORRELATION,
    dilation: Sequence[int] | None = None,
    use_tensor_core: bool = False,
    groups: int = 1,
) -> Descriptor:
    """Return a descriptor of a convolution, which sums float16 in float32."""
    if len(pad) != len(stride):
        raise ValueError("pad and stride must be of same length")
    made, desc = new_descriptor("Convolution")
    dtype = np.float32 if get_data_type(dtype) == cudnn.CUDNN_DATA_HALF else dtype
    lists: Any = [list(pad), list(stride), [1] * len(pad) if dilation is None else list(dilation)]
    cudnn.cudnnSetConvolutionNdDescriptor(desc, len(pad), *lists, mode, get_data_type(dtype))
    if use_tensor_core:
        cudnn.cudnnSetConvolutionMathType(desc, cudnn.CUDNN_TENSOR_OP_MATH)
    if groups > 1:
        cudnn.cudnnSetConvolutionGroupCount(desc, groups)
    return made


@cudnn_errors
def create_pooling_descriptor(ksize: Sequence[int], stride: Sequence[int], pad: Sequence[int], mode: int) -> Descriptor:
    """Return a descriptor of a pooling."""
    if len(ksize) != len(stride) or len(ksize) != len(pad):
        raise ValueError("ksize, stride, and pad must be of same length")
    made, desc = new_descriptor("Pooling")
    lists = [list(ksize), list(pad), list(stride)]
    cudnn.cudnnSetPoolingNdDescriptor_v4(desc, mode, cudnn.CUDNN_NOT_PROPAGATE_NAN, len(ksize), *lists)
    return made


@cudnn_errors
def create_activation_descriptor(
    mode: int, relu_nan_opt: int = cudnn.CUDNN_PROPAGATE_NAN, coef: float = 0.0
) -> Descriptor:
    """Return a descriptor of an activation."""
    made, desc = new_descriptor("Activation")
    cudnn.cudnnSetActivationDescriptor(desc, mode, relu_nan_opt, coef)
    return made


@cudnn_errors
def create_op_tensor_descriptor(op_type: int, dtype: Any) -> Descriptor:
    """Return a descriptor of an operation with two tensors."""
    made, desc = new_descriptor("OpTensor")
    cudnn.cudnnSetOpTensorDescriptor(desc, op_type, get_data_type(dtype), cudnn.CUDNN_NOT_PROPAGATE_NAN)
    return made


@cudnn_errors
def create_reduce_tensor_descriptor(reduce_type: int, dtype: Any) -> Descriptor:
    """Return a descriptor of a reduction, with indices where it is a minimum or a maximum."""
    made, desc = new_descriptor("ReduceTensor")
    gives_indices = reduce_type in (cudnn.CUDNN_REDUCE_TENSOR_MIN, cudnn.CUDNN_REDUCE_TENSOR_MAX)
    indices = cudnn.CUDNN_REDUCE_TENSOR_FLATTENED_INDICES if gives_indices else cudnn.CUDNN_REDUCE_TENSOR_NO_INDICES
    options = (get_data_type(dtype), cudnn.CUDNN_NOT_PROPAGATE_NAN, indices, cudnn.CUDNN_32BIT_INDICES)
    cudnn.cudnnSetReduceTensorDescriptor(desc, reduce_type, *options)
    return made


def create_spatial_transformer_descriptor(sampler_type: int, dtype: Any, nb_dims: int, dim_A: int) -> Descriptor:
    """Return a descriptor of a spatial transformer; `dim_A` is the address of the dims."""
    made, _ = new_descriptor("SpatialTransformer")
    BINDINGS["setSpatialTransformerDescriptor"](made.value, sampler_type, get_data_type(dtype), nb_dims, dim_A)
    return made


def add_tensor(
    handle: int, alpha: int, biasDesc: int, biasData: int, beta: int, srcDestDesc: int, srcDestData: int
) -> None:
    """Add a tensor to another: ``addTensor_v3``."""
    BINDINGS["addTensor_v3"](handle, alpha, biasDesc, biasData, beta, srcDestDesc, srcDestData)


def is_tensor_core_available(dtype: Any) -> bool:
    """Whether the current device has tensor cores for a type: float16 from compute capability 7.0 on."""
    cupy = gpu_library()
    if cupy is None or cupy.cuda.runtime.is_hip or np.dtype(dtype).char != "e":
        return False
    return int(cupy.cuda.Device().compute_capability) >= 70
