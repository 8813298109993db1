"""What array handling of the backends has in common: layouts of host arrays, and the bounds of views."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from portadnn.bfloat16 import is_bfloat16
from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.errors import BadParam


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


def torch_bits(value: Any) -> Any:
    """Return a torch tensor of bfloat16 as one of int16 on the same memory; None for everything else.

    Neither DLPack nor the array interfaces carry bfloat16 between all versions of torch, NumPy and CuPy.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor) or value.dtype is not torch.bfloat16:
        return None
    return value.detach().view(torch.int16)


def type_name(value: Any) -> str:
    """Return a value's type with its module, for messages."""
    return f"{type(value).__module__}.{type(value).__name__}"
