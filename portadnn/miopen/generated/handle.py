"""Handle: the functions of MIOpen."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..handle import (
    miopenCreate as _Create,
    miopenCreateWithStream as _CreateWithStream,
    miopenDestroy as _Destroy,
    miopenEnableProfiling as _EnableProfiling,
    miopenGetErrorString as _GetErrorString,
    miopenGetKernelTime as _GetKernelTime,
    miopenGetStream as _GetStream,
    miopenGetTuningPolicy as _GetTuningPolicy,
    miopenGetVersion as _GetVersion,
    miopenSetAllocator as _SetAllocator,
    miopenSetStream as _SetStream,
    miopenSetTuningPolicy as _SetTuningPolicy,
)
from ..names import function
from .enums import miopenTuningPolicy_t


@function
def miopenGetVersion() -> tuple[int, int, int]:
    """Return (major, minor, patch) of the MIOpen whose interface this is.

    Return (major, minor, patch) (since 2.3.0).

    C: ``miopenStatus_t miopenGetVersion(size_t *major, size_t *minor, size_t *patch)``

    In cuDNN: ``cudnnGetVersion``; what a port changes: adds major, minor, patch.

    In portadnn: ``get_version``.
    """
    return _GetVersion()


@function
def miopenGetErrorString(error: int) -> str:
    """Return the name and the meaning of a status.

    Return a const char* (since 1.4.0).

    C: ``const char* miopenGetErrorString(miopenStatus_t error)``

    In cuDNN: ``cudnnGetErrorString``; what a port changes: renames status -> error.

    In portadnn: ``get_error_string``.
    """
    return _GetErrorString(error)


@function
def miopenCreate(*, backend: str = "auto", device: int | None = None) -> Handle:
    """Return a :class:`portadnn.Handle`, on the best device or on what the keywords or PORTADNN_BACKEND say.

    Return handle (since 1.0.0).

    C: ``miopenStatus_t miopenCreate(miopenHandle_t *handle)``

    In cuDNN: ``cudnnCreate``; what a port changes: same arguments.

    In portadnn: ``Handle``.
    """
    return _Create(backend=backend, device=device)


@function
def miopenDestroy(handle: Handle) -> None:
    """Wait for the device and free what the handle owns. NULL is nothing to destroy; destroying twice is an error.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenDestroy(miopenHandle_t handle)``

    In cuDNN: ``cudnnDestroy``; what a port changes: same arguments.

    In portadnn: ``Handle.close``.
    """
    _Destroy(handle)


@function
def miopenSetStream(handle: Handle, streamID: Any) -> None:
    """Enqueue on another stream or queue; None is the default one.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenSetStream(miopenHandle_t handle, miopenAcceleratorQueue_t streamID)``

    In cuDNN: ``cudnnSetStream``; what a port changes: streamId: cudaStream_t -> miopenAcceleratorQueue_t.

    In portadnn: ``Handle.set_stream``.
    """
    _SetStream(handle, streamID)


@function
def miopenGetStream(handle: Handle) -> Any:
    """Return the stream or queue in use.

    Return streamID (since 1.0.0).

    C: ``miopenStatus_t miopenGetStream(miopenHandle_t handle, miopenAcceleratorQueue_t *streamID)``

    In cuDNN: ``cudnnGetStream``; what a port changes: streamId: cudaStream_t * -> miopenAcceleratorQueue_t *.

    In portadnn: ``Handle.get_stream``.
    """
    return _GetStream(handle)


@function
def miopenCreateWithStream(stream: Any, *, backend: str = "auto", device: int | None = None) -> Handle:
    """Return a handle that enqueues on a CuPy stream or a PyOpenCL queue.

    Return handle (since 1.0.0).

    C: ``miopenStatus_t miopenCreateWithStream(miopenHandle_t *handle, miopenAcceleratorQueue_t stream)``

    In portadnn: ``Handle``.
    """
    return _CreateWithStream(stream, backend=backend, device=device)


@function
def miopenSetAllocator(handle: Handle, allocator: Any, deallocator: Any, allocatorContext: Any) -> None:
    """Go back to the backend's own memory, with None for both functions; others are refused.

    Return nothing (since 1.2.1).

    C: ``miopenStatus_t miopenSetAllocator(miopenHandle_t handle, miopenAllocatorFunction allocator, miopenDeallocatorFunction deallocator, void *allocatorContext)``
    """
    _SetAllocator(handle, allocator, deallocator)


@function
def miopenEnableProfiling(handle: Handle, enable: bool) -> None:
    """Begin or end to measure each computing call, which then waits for the device.

    Return nothing (since 1.0.0).

    C: ``miopenStatus_t miopenEnableProfiling(miopenHandle_t handle, bool enable)``
    """
    _EnableProfiling(handle, enable)


@function
def miopenGetKernelTime(handle: Handle) -> float:
    """Return the milliseconds of the last computing call.

    Return time (since 1.0.0).

    C: ``miopenStatus_t miopenGetKernelTime(miopenHandle_t handle, float *time)``

    Raises
    ------
    BadParam
        Profiling is off.
    """
    return _GetKernelTime(handle)


@function
def miopenSetTuningPolicy(handle: Handle, newValue: int) -> None:
    """Set the tuning policy, which has no effect: portadnn's kernels are not tuned at run time.

    Return nothing (MIOpen).

    C: ``miopenStatus_t miopenSetTuningPolicy(miopenHandle_t handle, miopenTuningPolicy_t newValue)``
    """
    _SetTuningPolicy(handle, newValue)


@function
def miopenGetTuningPolicy(handle: Handle) -> miopenTuningPolicy_t:
    """Return the tuning policy.

    Return value (MIOpen).

    C: ``miopenStatus_t miopenGetTuningPolicy(miopenHandle_t handle, miopenTuningPolicy_t *value)``
    """
    return _GetTuningPolicy(handle)
