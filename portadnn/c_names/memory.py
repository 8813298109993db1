"""From a pointer of C to an array: memory read with a descriptor's layout.

Memory is an array of the backend, a raw buffer of it, or on CUDA the address as an integer. The descriptor alone says
how it is read; an array's own shape and strides do not count, as in C. Where both agree, as they mostly do, the array
is used as it is; otherwise a view is made. That of a device array is remembered with the descriptor, until either is
gone or set again; those of host memory and of raw buffers are made anew by each call.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import as_integer
from ..descriptors import TensorView
from ..dispatch.arrays import dtype_of, wrap
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam, shown
from ..handle import Handle
from ..problem import TensorSpec
from .objects import Layout, value_of

MOST_VIEWS = 64  # that a descriptor remembers


Reader = Callable[..., Any]


def reader(kind: type[Layout]) -> Reader:
    """Return the function that returns memory as an array with the layout of a descriptor of that kind."""

    def tensor(handle: Handle, descriptor: Any, memory: Any, name: str, desc: str = "") -> Any:
        """Return memory as an array with a descriptor's layout.

        Parameters
        ----------
        handle
            Whose memory it is.
        descriptor
            An opaque descriptor.
        memory
            The pointer of C.
        name, desc
            What the memory and the descriptor are called; the latter is ``xDesc`` for a memory called ``x``.

        Raises
        ------
        BadParam
            No descriptor that was set, no memory, or not enough of it.
        """
        try:
            if type(descriptor) is kind:
                if type(memory) is int:
                    device, _, known, _ = descriptor.views[memory, None]
                    if device is handle._device:
                        return known
                elif (
                    memory.shape == descriptor.dims
                    and memory.dtype is descriptor.storage
                    and memory.strides == descriptor.strides
                ):
                    return memory
                else:
                    device, alive, known, holds = descriptor.views[id(memory)]
                    if alive() is memory and device is handle._device and holds():
                        return known
        except Exception:  # seen for the first time; a raw buffer, an address, nothing; what raises when looked at
            pass
        value_of(descriptor, kind, desc or f"{name}Desc")
        if memory is None:
            raise BadParam(argument=name, expected=f"memory of {descriptor.spec.span} elements", got="NULL")
        return view(handle, descriptor.views, memory, descriptor.spec, name)

    return tensor


def view(handle: Handle, views: dict[Any, Any], memory: Any, spec: TensorSpec, name: str, key: Any = None) -> Any:
    """Return memory with a layout, from `views` if the same memory was asked for there before with the same `key`."""
    if isinstance(memory, ctypes.c_void_p):
        memory = memory.value or 0
    device = check_handle(handle).device
    address = _is_address(memory)
    number = as_integer(memory, name, 0) if address else 0
    place = (number, key) if address else id(memory) if key is None else (id(memory), key, device)
    known = views.get(place)
    if known is not None and known[0] is device and (address or (known[1]() is memory and known[3]())):
        return known[2]
    array = wrap(device, TensorView(spec, number if address else memory), name)
    if not address and (isinstance(memory, np.ndarray) or not device.owns(memory)):
        return array  # which keeps what it is a view of alive: it is made anew every time
    alive, holds = None, None
    if not address:
        alive = weakref.ref(memory, lambda _: views.pop(place, None))
        holds = device.guard([alive])  # such an array can be given other memory
        if holds is None:
            return array
    if len(views) >= MOST_VIEWS:
        views.clear()
    views[place] = (device, alive, array, holds)
    return array


def _is_address(memory: Any) -> bool:
    """Tell whether memory is given by a number: an integer, or an object that stands for one as PyCUDA's do."""
    if isinstance(memory, (int, np.integer)):
        return not isinstance(memory, bool)
    try:
        return hasattr(type(memory), "__index__") and not hasattr(memory, "shape")
    except Exception:  # a user's __getattr__ may raise anything
        return False


def _size(size: Any, name: str) -> int:
    if not isinstance(size, (int, np.integer)):
        raise BadParam(argument=name, expected="a number of bytes", got=shown(size))
    try:
        return as_integer(size, name, 0)
    except BadParam:
        raise BadParam(argument=name, expected="a number of bytes", got=shown(size)) from None


_BYTE = np.dtype(np.uint8)
_BYTES: dict[Any, Any] = {}


def raw(handle: Handle, memory: Any, size: Any, name: str, size_name: str = "") -> Any:
    """Return the first `size` bytes of memory as an array of bytes: a workspace, a reserve space or states.

    Raises
    ------
    BadParam
        No memory, less memory than `size`, or no number of bytes.
    """
    if type(size) is not int or not 0 <= size < 2**63:
        size = _size(size, size_name or f"{name}SizeInBytes")
    if memory is None:
        raise BadParam(argument=name, expected=f"memory of {size} bytes", got="NULL")
    try:
        if memory.dtype is _BYTE and memory.shape == (size,) and memory.strides == (1,):
            return memory
        _, alive, known, holds = _BYTES[id(memory), size, handle._device]
        if alive() is memory and holds():
            return known
    except Exception:  # unknown memory, whose attributes may raise anything
        pass
    dtype, count = DataType.UINT8, int(size)
    own = dtype_of(memory)
    if isinstance(own, np.dtype) and own.itemsize > 1:  # memory that was made as an array of numbers
        dtype = DataType.of_array(own, name)
        count //= dtype.itemsize
    return view(handle, _BYTES, memory, TensorSpec(dtype, (count,), (1,)), name, int(size))
