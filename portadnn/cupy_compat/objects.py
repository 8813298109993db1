"""Handles and descriptors by the integers that CuPy's functions give them."""

from __future__ import annotations

import itertools
from enum import IntEnum
from typing import Any

from portadnn import cudnn

from ..c_names.objects import Descriptor as Opaque
from ..errors import BadParam
from ..handle import Handle
from .memory import gpu_library

_OBJECTS: dict[int, Any] = {}
_NUMBERS = itertools.count(0x1000, 16)


def number_of(made: Any) -> int:
    """Keep a new object and return its integer."""
    number = next(_NUMBERS)
    _OBJECTS[number] = made
    return number


def object_of(number: int, name: str) -> Any:
    """Return the object of an integer, None for 0.

    Raises
    ------
    BadParam
        There is none, or it was destroyed.
    """
    if number == 0:
        return None
    try:
        return _OBJECTS[number]
    except KeyError:
        raise BadParam(argument=name, expected="one that was created and not destroyed", got=number) from None


def forget(number: int) -> None:
    """Give up a destroyed object."""
    _OBJECTS.pop(number, None)


def plain(value: Any) -> Any:
    """Return a result as CuPy's functions do: integers for enumerations and new objects."""
    if isinstance(value, IntEnum):
        return int(value)
    if isinstance(value, (Opaque, Handle)):
        return number_of(value)
    if type(value) is tuple:
        return tuple(map(plain, value))
    return value


def open_handle() -> Handle:
    """Open a handle on CuPy's current device, or on the CPU where CuPy has none."""
    cupy = gpu_library()
    if cupy is not None:
        backend = "hip" if cupy.cuda.runtime.is_hip else "cuda"
        return cudnn.cudnnCreate(backend=backend, device=cupy.cuda.runtime.getDevice())
    handle = cudnn.cudnnCreate()
    if handle.info.kind == "cpu":
        return handle
    handle.close()  # a GPU, which does not reach NumPy's arrays
    return cudnn.cudnnCreate(backend="reference")
