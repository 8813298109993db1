"""What array handling of the backends has in common: orders of axes, and the bounds and types of views."""

from __future__ import annotations

from typing import Any

import numpy as np

from portadnn.bfloat16 import is_bfloat16
from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.errors import BadParam
from portadnn.host_arrays import host_flat, host_room, memory_at, span_bytes


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


def host_view(view: TensorView, argument: str, expected: str) -> np.ndarray[Any, Any]:
    """Return a view of host memory as a NumPy array.

    Raises
    ------
    BadParam
        No memory of the host's, of another type, or less of it than the view needs.
    """
    base = host_flat(view.base, argument, expected)
    check_view_dtype(view, argument, base.dtype)
    if min(base.strides, default=0) < 0:
        raise BadParam(argument=argument, expected="an array without negative strides", got=base.strides)
    available = min(span_bytes(base.shape, base.strides, base.dtype.itemsize), host_room(base))
    offset, strides = check_view(view, argument, available)
    place = int(base.__array_interface__["data"][0]) + offset
    return memory_at(base, place, view.spec.dims, strides, view.spec.dtype.storage, base.flags.writeable)


def hint(value: Any) -> str:
    """Return what to do with a host array where a device array is expected, for messages."""
    try:
        host = isinstance(value, (np.ndarray, np.generic, list, tuple)) or hasattr(value, "__array_interface__")
    except Exception:  # a user's __getattr__ may raise anything
        host = False
    return "; handle.asarray(array) copies host data to the device" if host else ""


def is_word(value: Any, word: str) -> bool:
    """Tell whether a value is this string, without its own comparison."""
    return isinstance(value, str) and str.__str__(value) == word
