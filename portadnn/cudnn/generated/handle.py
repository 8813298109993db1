"""Handle: the functions of cuDNN."""

# Written by python -m portadnn.c_names.generate; changes belong in portadnn/porting_guide/.

from __future__ import annotations

from typing import Any

from ...handle import Handle
from ..callback import (
    cudnnGetCallback as _GetCallback,
    cudnnGetLastErrorString as _GetLastErrorString,
    cudnnGetMaxDeviceVersion as _GetMaxDeviceVersion,
    cudnnQueryRuntimeError as _QueryRuntimeError,
    cudnnSetCallback as _SetCallback,
)
from ..calls import c_function
from ..handles import (
    cudnnAdvInferVersionCheck as _AdvInferVersionCheck,
    cudnnAdvTrainVersionCheck as _AdvTrainVersionCheck,
    cudnnAdvVersionCheck as _AdvVersionCheck,
    cudnnCnnInferVersionCheck as _CnnInferVersionCheck,
    cudnnCnnTrainVersionCheck as _CnnTrainVersionCheck,
    cudnnCnnVersionCheck as _CnnVersionCheck,
    cudnnCreate as _Create,
    cudnnDestroy as _Destroy,
    cudnnGetCudartVersion as _GetCudartVersion,
    cudnnGetErrorString as _GetErrorString,
    cudnnGetProperty as _GetProperty,
    cudnnGetStream as _GetStream,
    cudnnGetVersion as _GetVersion,
    cudnnGraphVersionCheck as _GraphVersionCheck,
    cudnnOpsInferVersionCheck as _OpsInferVersionCheck,
    cudnnOpsTrainVersionCheck as _OpsTrainVersionCheck,
    cudnnOpsVersionCheck as _OpsVersionCheck,
    cudnnSetStream as _SetStream,
)
from .enums.handle import cudnnStatus_t


@c_function
def cudnnGetVersion() -> int:
    """Return a size_t (guide 4.1, since 2.0).

    C: ``size_t cudnnGetVersion(void)``

    In portadnn: ``get_version``.

    It is 5005, the version of the guide whose arguments these functions have; portadnn.get_version is our own.
    """
    return _GetVersion()


@c_function
def cudnnGetErrorString(status: int) -> str:
    """Return a string (guide 4.2, since 2.0).

    C: ``const char * cudnnGetErrorString(cudnnStatus_t status)``

    In portadnn: ``get_error_string``.

    The status is the attribute `status` of the errors that calls raise; unknown numbers have a name too, as in C.
    """
    return _GetErrorString(status)


@c_function
def cudnnCreate(
    *,
    backend: str = "auto",
    device: int | None = None,
    stream: Any = None,
    profile: str | None = None,
    mode: str | None = None,
) -> Handle:
    """Return handle (guide 4.3, since 1.0).

    C: ``cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)``

    In portadnn: ``Handle``.

    It is a :class:`portadnn.Handle`, on the best device or on what ``PORTADNN_BACKEND`` or the keywords say.

    C's call has no arguments; the keywords are those of :class:`portadnn.Handle`.
    """
    return _Create(backend=backend, device=device, stream=stream, profile=profile, mode=mode)


@c_function
def cudnnDestroy(handle: Handle) -> None:
    """Return nothing (guide 4.4, since 1.0).

    C: ``cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)``

    In portadnn: ``Handle.close``.

    Waits for the device, as in C. NULL is nothing to destroy. Destroying a handle twice is an error.
    """
    _Destroy(handle)


@c_function
def cudnnSetStream(handle: Handle, streamId: Any) -> None:
    """Return nothing (guide 4.5, since 1.0).

    C: ``cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t streamId)``

    In portadnn: ``Handle.set_stream``.

    `streamId` is a CuPy stream or an in-order PyOpenCL queue; None, or 0, is the default.
    """
    _SetStream(handle, streamId)


@c_function
def cudnnGetStream(handle: Handle) -> Any:
    """Return streamId (guide 4.6, since 1.0).

    C: ``cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *streamId)``

    In portadnn: ``Handle.get_stream``.

    None on the reference backend.
    """
    return _GetStream(handle)


@c_function
def cudnnGetCudartVersion() -> int:
    """Return a size_t (since 6.0).

    C: ``size_t cudnnGetCudartVersion(void)``

    The version of the CUDA runtime that CuPy uses, as 13000; 0 where there is none.
    """
    return _GetCudartVersion()


@c_function
def cudnnGetMaxDeviceVersion() -> int:
    """Return a size_t (since 8.6.0).

    C: ``size_t cudnnGetMaxDeviceVersion(void)``

    900: Hopper's compute capability, the last for which kernels are compiled and measured. Later devices are taken.
    """
    return _GetMaxDeviceVersion()


@c_function
def cudnnGetProperty(type: Any) -> int:
    """Return value (since 6.0).

    C: ``cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value)``

    In portadnn: ``get_version``.

    0, 1 and 2 (MAJOR_VERSION, MINOR_VERSION and PATCH_LEVEL) give the parts of cudnnGetVersion.
    """
    return _GetProperty(type)


@c_function
def cudnnGetLastErrorString(max_size: int) -> Any:
    """Return message (since 9.0.0).

    C: ``void cudnnGetLastErrorString(char *message, size_t max_size)``

    The message of the last error that was raised by a function of cuDNN's in this thread; it is forgotten then.
    """
    return _GetLastErrorString(max_size)


@c_function
def cudnnQueryRuntimeError(handle: Handle, mode: int) -> tuple[cudnnStatus_t, Any]:
    """Return (rstatus, tag) (since 7.0.5, deprecated 9.0.0).

    C: ``cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *rstatus, cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag)``

    BLOCKING waits for the handle's work. The tag is None.
    """
    return _QueryRuntimeError(handle, mode)


@c_function
def cudnnSetCallback(mask: int, udata: Any, fptr: Any) -> None:
    """Return nothing (since 7.1.3).

    C: ``cudnnStatus_t cudnnSetCallback(unsigned mask, void *udata, cudnnCallback_t fptr)``

    Call ``fptr(sev, udata, dbg, msg)`` after each call of cuDNN's names. `mask` has a bit for each severity; lines of `msg` end in a newline.
    """
    _SetCallback(mask, udata, fptr)


@c_function
def cudnnGetCallback() -> tuple[int, Any, Any]:
    """Return (mask, udata, fptr) (since 7.1.3).

    C: ``cudnnStatus_t cudnnGetCallback(unsigned *mask, void **udata, cudnnCallback_t *fptr)``
    """
    return _GetCallback()


@c_function
def cudnnOpsInferVersionCheck() -> None:
    """Return nothing (since 8.0.1).

    C: ``cudnnStatus_t cudnnOpsInferVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _OpsInferVersionCheck()


@c_function
def cudnnOpsTrainVersionCheck() -> None:
    """Return nothing (since 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnOpsTrainVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _OpsTrainVersionCheck()


@c_function
def cudnnAdvInferVersionCheck() -> None:
    """Return nothing (since 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnAdvInferVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _AdvInferVersionCheck()


@c_function
def cudnnAdvTrainVersionCheck() -> None:
    """Return nothing (since 8.0.1, removed 9.0.0).

    C: ``cudnnStatus_t cudnnAdvTrainVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _AdvTrainVersionCheck()


@c_function
def cudnnCnnInferVersionCheck() -> None:
    """Return nothing (since 8.0.2).

    C: ``cudnnStatus_t cudnnCnnInferVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _CnnInferVersionCheck()


@c_function
def cudnnCnnTrainVersionCheck() -> None:
    """Return nothing (since 8.0.2).

    C: ``cudnnStatus_t cudnnCnnTrainVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _CnnTrainVersionCheck()


@c_function
def cudnnOpsVersionCheck() -> None:
    """Return nothing (since 9.0.0).

    C: ``cudnnStatus_t cudnnOpsVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _OpsVersionCheck()


@c_function
def cudnnAdvVersionCheck() -> None:
    """Return nothing (since 9.0.0).

    C: ``cudnnStatus_t cudnnAdvVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _AdvVersionCheck()


@c_function
def cudnnCnnVersionCheck() -> None:
    """Return nothing (cuDNN).

    C: ``cudnnStatus_t cudnnCnnVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _CnnVersionCheck()


@c_function
def cudnnGraphVersionCheck() -> None:
    """Return nothing (since 9.0.0).

    C: ``cudnnStatus_t cudnnGraphVersionCheck(void)``

    There are no libraries below this one whose versions could differ.
    """
    _GraphVersionCheck()
