"""Handles, versions and statuses."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

from ..dispatch.problems import check_handle
from ..errors import BadParam, NotInitialized, NotSupported, shown
from ..handle import Handle
from ..hooks import CALL_HOOKS, Call
from .generated.enums import miopenStatus_t, miopenTuningPolicy_t
from .names import boolean, parse

INTERFACE = (3, 6, 1)  # the newest of the headers that the mapping table was read from
_STRINGS = {
    0: "success",
    1: "the library was not initialised",
    2: "invalid value",
    3: "an incorrect parameter was passed",
    4: "resource allocation failed",
    5: "an internal operation failed",
    6: "not implemented",
    7: "an unknown error",
    8: "the operation is not supported for these arguments",
    9: "operations on the GPU were skipped",
    10: "versions do not match",
}
_POLICIES: WeakKeyDictionary[Handle, miopenTuningPolicy_t] = WeakKeyDictionary()


class _Profiler:
    """Measures each call on one handle that computes, waiting for the device before and after."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.milliseconds = 0.0
        self._start = 0.0

    def _on_handle(self, call: Call) -> bool:
        return any(argument is self.handle for argument in call.args)

    def before(self, call: Call) -> None:
        """Note the time, once the device is idle."""
        if call.parent is None and self._on_handle(call):
            self.handle.synchronize()
            self._start = time.perf_counter()

    def after(self, call: Call) -> None:
        """Note how long it took."""
        if call.parent is None and call.problem is not None and self._on_handle(call):
            self.handle.synchronize()
            self.milliseconds = 1e3 * (time.perf_counter() - self._start)


_PROFILERS: dict[int, _Profiler] = {}


def miopenGetVersion():
    return INTERFACE


def miopenGetErrorString(error):
    status = parse(miopenStatus_t, error, "error")
    return f"{status.name}: {_STRINGS[status]}"


def miopenCreate(*, backend: str = "auto", device: int | None = None):
    return _open(backend, device, None)


def miopenCreateWithStream(stream, *, backend: str = "auto", device: int | None = None):
    return _open(backend, device, stream)


def _open(backend: str, device: int | None, stream: Any) -> Handle:
    try:
        return Handle(backend, device, stream=stream)
    except NotSupported as error:
        raise NotInitialized(str(error)) from error


def miopenDestroy(handle):
    if handle is None:
        return
    _ = check_handle(handle).device
    _stop_profiling(handle)
    handle.close()


def miopenSetStream(handle, streamID):
    check_handle(handle).set_stream(streamID)


def miopenGetStream(handle):
    return check_handle(handle).get_stream()


def miopenSetAllocator(handle, allocator, deallocator):
    _ = check_handle(handle).device
    if allocator is not None or deallocator is not None:
        raise NotSupported(
            "memory comes from the backend (CuPy's pools and allocators can be set there)",
            argument="allocator" if allocator is not None else "deallocator",
            expected="None",
            got=shown(allocator if allocator is not None else deallocator),
        )


def miopenEnableProfiling(handle, enable):
    _ = check_handle(handle).device
    if not boolean(enable, "enable"):
        _stop_profiling(handle)
    elif id(handle) not in _PROFILERS:
        CALL_HOOKS.append(_PROFILERS.setdefault(id(handle), _Profiler(handle)))


def _stop_profiling(handle: Handle) -> None:
    profiler = _PROFILERS.pop(id(handle), None)
    if profiler is not None:
        CALL_HOOKS.remove(profiler)


def miopenGetKernelTime(handle):
    _ = check_handle(handle).device
    profiler = _PROFILERS.get(id(handle))
    if profiler is None:
        raise BadParam(argument="handle", expected="one with miopenEnableProfiling(handle, True)", got="one without")
    return profiler.milliseconds


def miopenSetTuningPolicy(handle, newValue):
    _ = check_handle(handle).device
    _POLICIES[handle] = parse(miopenTuningPolicy_t, newValue, "newValue")


def miopenGetTuningPolicy(handle):
    _ = check_handle(handle).device
    return _POLICIES.get(handle, miopenTuningPolicy_t.miopenTuningPolicyNone)
