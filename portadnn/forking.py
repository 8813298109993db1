"""Forked processes: what was opened before ``os.fork()`` does not work in the child, and says so.

Drivers' threads do not survive a fork: a child that uses a device of its parent's waits for ever. So a fork waits until
handles' devices are idle, because objects that are released in the child may need a lock, and in the child every
handle of the parent's is marked as lost, once, when it is forked: repeated calls have nothing to check. A runtime that
was started in the parent (:func:`started`) cannot be started again in the child, and :func:`check` raises there.

A process that ends waits for handles' devices as well.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import sys
import threading
import weakref
from pathlib import Path
from typing import Any, Protocol

from .errors import NotInitialized


class Owner(Protocol):
    """A handle: it has a device of this process.

    Attributes
    ----------
    lock : RLock
        Held while the device is used.
    """

    lock: Any

    def settle(self) -> None:
        """Wait for what the device has under way."""

    def lose(self) -> Any:
        """Give up device and caches without touching them; return what may not be released in the child."""


ADVICE = "use the start method spawn (multiprocessing.get_context('spawn')), or open the first handle in the child"
_HANDLES: weakref.WeakSet[Owner] = weakref.WeakSet()
_LOST: weakref.WeakSet[Owner] = weakref.WeakSet()
_STARTED: set[str] = set()  # runtimes that this process started
_INHERITED: set[str] = set()  # those that an ancestor started before it forked
_FRAGILE: weakref.WeakSet[Any] = weakref.WeakSet()  # objects that a driver would be asked to release
_DRIVERS = ("libpocl", "libnvidia-opencl", "libamdocl", "libigdrcl", "libMesaOpenCL", "libRusticlOpenCL")


def register(handle: Owner) -> None:
    """Have a handle waited for at exit, and marked as lost in children that are forked from now on."""
    _HANDLES.add(handle)
    atexit.unregister(_settle)
    atexit.register(_settle)  # last registered, first called: drivers' folders are still there


def register_fragile(one: Any) -> None:
    """Have an object live for ever in children that are forked from now on: no driver can release it there."""
    _FRAGILE.add(one)


def reason(handle: Owner) -> str:
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


def _settle() -> None:
    """Wait for what is under way.

    Before a fork a driver's thread may hold a lock that nobody would release in the child; a process that ends while a
    driver compiles may crash.
    """
    for handle in list(_HANDLES):
        with contextlib.suppress(Exception):  # whoever waits next is told
            handle.settle()


def _keep_daemons_out() -> None:
    """Hold the handles' locks while the interpreter ends: daemon threads in a driver's C++ would abort the process."""
    if threading.active_count() > 1:
        for handle in list(_HANDLES):
            handle.lock.acquire(timeout=5)


def _after_in_child() -> None:
    _INHERITED.update(_STARTED)
    _STARTED.clear()
    if "pyopencl" in sys.modules and _opencl_was_started():  # by the program itself
        _INHERITED.add("opencl")
    for one in [*_FRAGILE, *_opencl_arrays()]:
        _keep_for_ever(one)
    for handle in list(_HANDLES):
        lost = handle.lose()
        if lost is not None:
            _keep_for_ever(lost)
            _LOST.add(handle)
    _HANDLES.clear()


def _keep_for_ever(one: Any) -> None:
    """Keep an object even when the interpreter ends: releasing it could wait for threads of the parent's, or fail."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def _opencl_arrays() -> list[Any]:
    """Return arrays of the parent's: released in the child, they end the parent's queue with NVIDIA's driver."""
    array = getattr(sys.modules.get("pyopencl.array"), "Array", ())
    return [one for one in gc.get_objects() if issubclass(type(one), array)]  # of any handle, or the program's own


def _opencl_was_started() -> bool:
    """Tell whether a driver of OpenCL is loaded, which happens when platforms are listed."""
    try:
        mapped = Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return False
    return any(driver in mapped for driver in _DRIVERS)


atexit.register(_keep_daemons_out)  # before others, so that it is called behind them
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_settle, after_in_child=_after_in_child)
