"""Handles as the Graph API's programs have them: integers, each standing for a :class:`portadnn.Handle`."""

from __future__ import annotations

import itertools
from typing import Any

from ...errors import shown
from ...handle import Handle
from ..rules import fail

_HANDLES: dict[int, Handle] = {}
_NUMBERS = itertools.count(1)
_DEFAULT: list[Handle] = []


def open_handle(backend: str, device: int | None) -> int:
    """Open a device and return a handle's number."""
    number = next(_NUMBERS)
    _HANDLES[number] = Handle(backend, device)
    return number


def destroy_handle(handle: Any) -> None:
    """Close a handle.

    Raises
    ------
    InvalidValue
        It is none (PG-PLAN-003).
    """
    if handle is None:
        raise fail("PG-PLAN-003", argument="handle", expected="what create_handle() returned", got=None)
    found = handle_of(handle)
    for number in [number for number, known in _HANDLES.items() if known is found]:
        del _HANDLES[number]
    found.close()


def handle_of(handle: Any) -> Handle:
    """Return the handle that a number stands for; None stands for one on the best device, which stays open.

    Raises
    ------
    InvalidValue
        It is none (PG-PLAN-003).
    """
    if isinstance(handle, Handle):
        return handle
    if handle is None:
        if not _DEFAULT:
            _DEFAULT.append(Handle())
        return _DEFAULT[0]
    found = find(handle)
    if found is None:
        raise fail("PG-PLAN-003", argument="handle", expected="what create_handle() returned", got=shown(handle))
    return found


def find(handle: Any) -> Handle | None:
    """Return the open handle that a number stands for, None where there is none."""
    return _HANDLES.get(handle) if isinstance(handle, int) and not isinstance(handle, bool) else None


def set_stream(handle: Any, stream: Any) -> None:
    """Enqueue on another stream from now on: a CuPy stream, its address, or a PyOpenCL queue.

    The address 0 is CUDA's default stream, and changes nothing on other backends.
    """
    found = handle_of(handle)
    if isinstance(stream, int):
        address = int.__int__(stream)
        if address == 0 and found.backend != "cuda":
            return
        if found.backend != "cuda":
            raise fail("PG-PLAN-003", argument="stream", expected=f"a queue of {found.backend}", got=address)
        import cupy

        stream = cupy.cuda.ExternalStream(address) if address else cupy.cuda.Stream.null
    found.set_stream(stream)


def get_stream(handle: Any) -> Any:
    """Return the stream in use: its address on CUDA, else the backend's object, or 0 where there are none."""
    stream = handle_of(handle).device.stream
    return getattr(stream, "ptr", stream) or 0
