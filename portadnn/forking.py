"""Forked processes: what was opened before ``os.fork()`` does not work in the child, and says so.

Drivers' threads do not survive a fork: a child that uses a device of its parent's waits for ever. So a fork waits until
handles' devices are idle, because objects that are released in the child may need a lock, and in the child every
handle of the parent's is marked as lost, once, when it is forked: repeated calls have nothing to check. A runtime that
was started in the parent (:func:`started`) cannot be started again in the child, and :func:`check` raises there.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import NotInitialized

if TYPE_CHECKING:
    from .handle import Handle

ADVICE = "use the start method spawn (multiprocessing.get_context('spawn')), or open the first handle in the child"
_HANDLES: weakref.WeakSet[Handle] = weakref.WeakSet()
_LOST: weakref.WeakSet[Handle] = weakref.WeakSet()
_STARTED: set[str] = set()  # runtimes that this process started
_INHERITED: set[str] = set()  # those that an ancestor started before it forked
_FRAGILE: weakref.WeakSet[Any] = weakref.WeakSet()  # objects that a driver would be asked to release
_DRIVERS = ("libpocl", "libnvidia-opencl", "libamdocl", "libigdrcl", "libMesaOpenCL", "libRusticlOpenCL")


def register(handle: Handle) -> None:
    """Have a handle marked as lost in children that are forked from now on."""
    _HANDLES.add(handle)


def register_fragile(one: Any) -> None:
    """Have an object live for ever in children that are forked from now on: no driver can release it there."""
    _FRAGILE.add(one)


def reason(handle: Handle) -> str:
    """Return why a handle has no device."""
    if handle in _LOST:
        return f"the handle was opened before this process was forked, and does not work in it: {ADVICE}"
    return "the handle is closed"


def started(runtime: str) -> None:
    """Note that a runtime, such as ``"opencl"``, was started in this process."""
    _STARTED.add(runtime)


def check(runtime: str) -> None:
    """Demand that a runtime was not started before this process was forked.

    Raises
    ------
    NotInitialized
        It was.
    """
    if runtime in _INHERITED:
        raise NotInitialized(f"{runtime} was started before this process was forked, and does not work in it: {ADVICE}")


def _before() -> None:
    """Wait for what is under way: a driver's thread may hold a lock that nobody would release in the child."""
    for handle in list(_HANDLES):
        device = handle._device
        if device is not None:
            with contextlib.suppress(Exception):  # whoever waits next is told
                device.synchronize()


def _after_in_child() -> None:
    _INHERITED.update(_STARTED)
    _STARTED.clear()
    if "pyopencl" in sys.modules and _opencl_was_started():  # by the program itself
        _INHERITED.add("opencl")
    for one in list(_FRAGILE):
        _keep_for_ever(one)
    for handle in list(_HANDLES):
        _lose(handle)
    _HANDLES.clear()


def _lose(handle: Handle) -> None:
    """Take a handle's device away, and all calls that it remembers."""
    if handle._device is None:
        return
    handle.lock._at_fork_reinit()  # type: ignore[attr-defined]  # another thread of the parent's may have held it
    _keep_for_ever(handle._lose())
    _LOST.add(handle)


def _keep_for_ever(one: Any) -> None:
    """Keep an object even when the interpreter ends: releasing it could wait for threads of the parent's, or fail."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def _opencl_was_started() -> bool:
    """Tell whether a driver of OpenCL is loaded, which happens when platforms are listed."""
    try:
        mapped = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return False
    return any(driver in mapped for driver in _DRIVERS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_after_in_child)
