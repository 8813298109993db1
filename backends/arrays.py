"""What array handling of the backends has in common: layouts of host arrays, and the bounds of views."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from portadnn.bfloat16 import is_bfloat16
from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.errors import BadParam

_DLPACK_CPU = 1


def storage_order(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest in memory; that of a packed copy keeping the layout."""
    return tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Return the permutation that undoes `order`."""
    return tuple(order.index(axis) for axis in range(len(order)))


def check_view(view: TensorView, argument: str, available: int) -> tuple[int, tuple[int, ...]]:
    """Check that a view fits into `available` bytes.

    Returns
    -------
    offset : int
        Bytes to the first element.
    strides : tuple of int
        In bytes.

    Raises
    ------
    BadParam
        It does not fit.
    """
    size = view.spec.dtype.itemsize
    needed = (view.offset + view.spec.span) * size
    if needed > available:
        raise BadParam(argument=argument, expected=f"a buffer of at least {needed} bytes", got=f"{available} bytes")
    return view.offset * size, tuple(s * size for s in view.spec.strides)


def check_view_dtype(view: TensorView, argument: str, dtype: np.dtype[Any]) -> None:
    """Demand that the array under a view has the view's type, or is raw bytes; bfloat16 may also lie in uint16."""
    wanted = view.spec.dtype
    if wanted is DataType.BFLOAT16:
        if not is_bfloat16(dtype) and dtype not in (np.uint16, np.uint8):
            raise BadParam(argument=argument, expected="an array of bfloat16, uint16 or uint8", got=dtype)
    elif dtype not in (wanted.numpy, np.uint8):
        raise BadParam(argument=argument, expected=f"an array of {wanted.numpy} or uint8", got=dtype)


def span_bytes(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Return the bytes from the first to the last element, for non-negative byte strides."""
    if 0 in shape:
        return 0
    return itemsize + sum((d - 1) * s for d, s in zip(shape, strides, strict=True))


def is_torch(value: Any) -> bool:
    """Tell whether a value is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


@functools.cache
def _torch_types() -> dict[Any, np.dtype[Any] | None]:
    """Return NumPy's dtype for each of torch's; None for bfloat16."""
    import torch

    names = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
    return {getattr(torch, name): np.dtype(name) for name in names} | {torch.bfloat16: None}


def torch_layout(
    tensor: Any, place: str, argument: str
) -> tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any] | None, int]:
    """Return address, shape, byte strides, dtype (None for bfloat16) and bytes up to the end of a tensor's storage.

    Raises
    ------
    BadParam
        It requires grad, is not dense, is on another kind of device than `place`, or has a type that NumPy lacks.
    """
    if tensor.requires_grad:
        raise BadParam(
            argument=argument, expected="a tensor without grad: pass tensor.detach()", got="one that requires grad"
        )
    if tensor.device.type != place:
        raise BadParam(argument=argument, expected=f"a tensor on {place}", got=f"one on {tensor.device}")
    if str(tensor.layout) != "torch.strided" or tensor.is_conj() or tensor.is_neg():
        raise BadParam(
            argument=argument, expected="a dense tensor: pass tensor.to_dense() or a copy", got=str(tensor.layout)
        )
    if tensor.dtype not in _torch_types():
        raise BadParam(argument=argument, expected="a floating point or integer tensor", got=str(tensor.dtype))
    size = tensor.element_size()
    room = tensor.untyped_storage().nbytes() - tensor.storage_offset() * size
    strides = tuple(step * size for step in tensor.stride())
    return tensor.data_ptr(), tuple(tensor.shape), strides, _torch_types()[tensor.dtype], room


def host_array(value: Any, argument: str, expected: str) -> np.ndarray[Any, Any]:
    """Return another library's array in host memory as a NumPy array, without a copy.

    Raises
    ------
    BadParam
        It is none, or cannot be shared.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise BadParam(
            argument=argument, expected="an array without a mask: pass array.filled(value)", got="a masked array"
        )
    if isinstance(value, np.ndarray):
        return value
    try:
        if is_torch(value):
            address, shape, strides, dtype, _ = torch_layout(value, "cpu", argument)
            storage = DataType.BFLOAT16.storage if dtype is None else dtype
            return memory_at(value, address, shape, strides, storage)
        if hasattr(value, "__array_interface__"):
            return host_array(np.asarray(value), argument, expected)
        if hasattr(value, "__dlpack__") and int(value.__dlpack_device__()[0]) == _DLPACK_CPU:
            host = np.from_dlpack(value)
            if not host.flags.writeable and hasattr(value, "__array__"):  # some NumPys make all of them read-only
                again = np.asarray(value)
                host = again if again.ctypes.data == host.ctypes.data else host
            return host
    except BadParam:
        raise
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise BadParam(f"it cannot be shared: {error}", argument=argument) from None
    raise BadParam(argument=argument, expected=expected, got=type_name(value))


def memory_at(
    owner: Any,
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    writable: bool = True,
) -> np.ndarray[Any, Any]:
    """Return memory at an address, which `owner` keeps alive, as a NumPy array."""
    if 0 in shape:
        return np.empty(shape, dtype)
    interface = {
        "version": 3,
        "shape": shape,
        "strides": strides,
        "typestr": f"<u{dtype.itemsize}",  # bfloat16 has no string
        "data": (address, not writable),
    }
    return np.asarray(_Memory(owner, interface)).view(dtype)


class _Memory:
    """Shows memory that `owner` keeps alive to NumPy."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def host_room(array: np.ndarray[Any, Any]) -> int:
    """Return the bytes from an array's first element to the end of the memory that it is a view of."""
    first = array.__array_interface__["data"][0]
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.flags.owndata:  # another's memory, of which NumPy knows no more than the view
        return sys.maxsize
    return int(owner.__array_interface__["data"][0] + owner.nbytes - first)


def hint(value: Any) -> str:
    """Return what to do with a host array where a device array is expected, for messages."""
    host = isinstance(value, (np.ndarray, np.generic, list, tuple)) or hasattr(value, "__array_interface__")
    return "; handle.asarray(array) copies host data to the device" if host else ""


def type_name(value: Any) -> str:
    """Return a value's type with its module, for messages."""
    return f"{type(value).__module__}.{type(value).__name__}"
