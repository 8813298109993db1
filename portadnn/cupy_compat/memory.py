"""Where arrays lie: on a GPU, CuPy's, or in host memory, NumPy's; and addresses of both as integers."""

from __future__ import annotations

import ctypes
import functools
import operator
import sys
from typing import Any

import numpy as np

_BOUNDLESS = 1 << 46  # bytes behind an address: C does not say how many there are


@functools.cache
def gpu_library() -> Any:
    """Return CuPy where it is installed and sees a GPU, or None."""
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount() > 0:
            return cupy
    except Exception:  # not installed, without its libraries, or without a driver: as CuPy's version words it
        pass
    return None


def library() -> Any:
    """Return the module whose arrays are computed with: CuPy, its stand-in (``numpy_cupy.py``), or NumPy."""
    stand_in = sys.modules.get("cupy")
    return gpu_library() or (stand_in if getattr(stand_in, "is_stand_in", False) else np)


class Allocation:
    """Host memory with the attributes of ``cupy.cuda.Memory``."""

    def __init__(self, size: int) -> None:
        self.array = np.empty(max(size, 1), np.uint8)
        self.ptr = self.array.ctypes.data
        self.size = size
        self.device_id = 0


class HostPointer:
    """A place in host memory with the attributes of ``cupy.cuda.MemoryPointer``."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem = mem
        self.ptr = mem.ptr + offset
        self.device_id = 0

    def __int__(self) -> int:
        return int(self.ptr)

    def __add__(self, offset: int) -> HostPointer:
        return HostPointer(self.mem, self.ptr - self.mem.ptr + offset)


def alloc(size: int) -> Any:
    """Return memory of `size` bytes: a ``cupy.cuda.MemoryPointer``, or a :class:`HostPointer`."""
    cupy = gpu_library()
    return HostPointer(Allocation(size), 0) if cupy is None else cupy.cuda.alloc(size)


def as_bytes(memory: Any) -> Any:
    """Return what :func:`alloc` returned, or an array of bytes, as an array of uint8; None stays None."""
    if memory is None:
        return None
    if hasattr(memory, "mem"):
        if isinstance(memory.mem, Allocation):
            return memory.mem.array[: memory.mem.size]
        return library().ndarray((memory.mem.size,), np.uint8, memory)
    return native(memory).view(np.uint8)


def native(array: Any) -> Any:
    """Return an array as portadnn takes it: a subclass of NumPy's arrays without what it adds."""
    return np.asarray(array) if isinstance(array, np.ndarray) else array


def contiguous(array: Any) -> Any:
    """Return an array in C order, the array itself if it is, as portadnn takes it."""
    return native(library().ascontiguousarray(array))


def address(array: Any) -> int:
    """Return where an array begins."""
    return int(array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr)


def as_number(value: Any) -> int:
    """Return an integer, or the address of a pointer, as CuPy's functions take both.

    Raises
    ------
    TypeError
        It is neither.
    """
    return int(value.ptr) if hasattr(value, "ptr") else operator.index(value)


def at(place: int) -> Any:
    """Return the memory at an address as portadnn takes it: None for NULL, an array without an end in host memory."""
    if place == 0:
        return None
    if gpu_library() is not None:
        return place
    memory: Any = (ctypes.c_ubyte * _BOUNDLESS).from_address(place)
    return np.frombuffer(memory, np.uint8)


def host_integers(place: int, count: int, kind: Any = ctypes.c_int) -> list[int]:
    """Return `count` integers of C from an address in host memory; none from NULL."""
    return list((kind * count).from_address(place)) if place else []
