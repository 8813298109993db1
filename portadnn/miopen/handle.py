"""Handles, versions and statuses."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

from ..dispatch.problems import check_handle
from ..errors import BadParam, NotInitialized, NotSupported, shown
from ..handle import Handle
from ..watching import WATCHERS, Call
from .enums import miopenStatus_t, miopenTuningPolicy_t
from .names import boolean, function, parse

INTERFACE = (3, 3, 0)  # the newest of the headers that the mapping table was read from
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


@function
def miopenGetVersion() -> tuple[int, int, int]:
    """Return (major, minor, patch) of the MIOpen whose interface this is."""
    return INTERFACE


@function
def miopenGetErrorString(error: Any) -> str:
    """Return the name and the meaning of a status."""
    status = parse(miopenStatus_t, error, "error")
    return f"{status.name}: {_STRINGS[status]}"


@function
def miopenCreate(*, backend: str = "auto", device: int | None = None) -> Handle:
    """Return a :class:`portadnn.Handle`, on the best device or on what the keywords or PORTADNN_BACKEND say."""
    return _open(backend, device, None)


@function
def miopenCreateWithStream(stream: Any, *, backend: str = "auto", device: int | None = None) -> Handle:
    """Return a handle that enqueues on a CuPy stream or a PyOpenCL queue."""
    return _open(backend, device, stream)


def _open(backend: str, device: int | None, stream: Any) -> Handle:
    try:
        return Handle(backend, device, stream=stream)
    except NotSupported as error:
        raise NotInitialized(str(error)) from error


@function
def miopenDestroy(handle: Handle | None) -> None:
    """Wait for the device and free what the handle owns. NULL is nothing to destroy; destroying twice is an error."""
    if handle is None:
        return
    _ = check_handle(handle).device
    _stop_profiling(handle)
    handle.close()


@function
def miopenSetStream(handle: Handle, streamID: Any) -> None:
    """Enqueue on another stream or queue; None is the default one."""
    check_handle(handle).set_stream(streamID)


@function
def miopenGetStream(handle: Handle) -> Any:
    """Return the stream or queue in use."""
    return check_handle(handle).get_stream()


@function
def miopenSetAllocator(handle: Handle, allocator: Any, deallocator: Any, allocatorContext: Any) -> None:
    """Go back to the backend's own memory, with None for both functions; others are refused."""
    _ = check_handle(handle).device
    if allocator is not None or deallocator is not None:
        raise NotSupported(
            "memory comes from the backend (CuPy's pools and allocators can be set there)",
            argument="allocator" if allocator is not None else "deallocator",
            expected="None",
            got=shown(allocator if allocator is not None else deallocator),
        )


@function
def miopenEnableProfiling(handle: Handle, enable: bool) -> None:
    """Begin or end to measure each computing call, which then waits for the device."""
    _ = check_handle(handle).device
    if not boolean(enable, "enable"):
        _stop_profiling(handle)
    elif id(handle) not in _PROFILERS:
        WATCHERS.append(_PROFILERS.setdefault(id(handle), _Profiler(handle)))


def _stop_profiling(handle: Handle) -> None:
    profiler = _PROFILERS.pop(id(handle), None)
    if profiler is not None:
        WATCHERS.remove(profiler)


@function
def miopenGetKernelTime(handle: Handle) -> float:
    """Return the milliseconds of the last computing call.

    Raises
    ------
    BadParam
        Profiling is off.
    """
    _ = check_handle(handle).device
    profiler = _PROFILERS.get(id(handle))
    if profiler is None:
        raise BadParam(argument="handle", expected="one with miopenEnableProfiling(handle, True)", got="one without")
    return profiler.milliseconds


@function
def miopenSetTuningPolicy(handle: Handle, newValue: Any) -> None:
    """Set the tuning policy, which has no effect: portadnn's kernels are not tuned at run time."""
    _ = check_handle(handle).device
    _POLICIES[handle] = parse(miopenTuningPolicy_t, newValue, "newValue")


@function
def miopenGetTuningPolicy(handle: Handle) -> miopenTuningPolicy_t:
    """Return the tuning policy."""
    _ = check_handle(handle).device
    return _POLICIES.get(handle, miopenTuningPolicy_t.miopenTuningPolicyNone)
