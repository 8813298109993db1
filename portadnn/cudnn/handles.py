"""Library, handles and streams (guide sections 4.1 to 4.6)."""

from __future__ import annotations

from typing import Any

from ..dispatch.problems import check_handle
from ..enums import Status, named, plain_number
from ..errors import BadParam, NotInitialized, NotSupported
from ..handle import Handle
from .calls import c_function
from .declarations import declarations

VERSION = 5005  # the guide's: a program that compares it then calls with the guide's arguments


@c_function
def cudnnGetVersion() -> int:
    """It is 5005, the version of the guide whose arguments these functions have; portadnn.get_version is our own."""
    return VERSION


@c_function
def cudnnGetErrorString(status: int) -> str:
    """The status is the attribute `status` of the errors that calls raise; unknown numbers have a name too, as in C."""
    names: dict[str, int] = declarations()["enumerations"]["cudnnStatus_t"]
    wanted = status if isinstance(status, Status) else plain_number(status, "cudnnStatus_t")
    if wanted is None:
        raise BadParam(argument="status", expected="a cudnnStatus_t", got=named(status))
    return next((name for name, number in names.items() if number == wanted), "CUDNN_UNKNOWN_STATUS")


@c_function
def cudnnCreate(
    *,
    backend: str = "auto",
    device: int | None = None,
    stream: Any = None,
    profile: str | None = None,
    mode: str | None = None,
) -> Handle:
    """It is a :class:`portadnn.Handle`, on the best device or on what ``PORTADNN_BACKEND`` or the keywords say.

    C's call has no arguments; the keywords are those of :class:`portadnn.Handle`.
    """
    try:
        return Handle(backend, device, stream=stream, profile=profile, mode=mode)
    except NotSupported as error:
        raise NotInitialized(str(error)) from error


@c_function
def cudnnDestroy(handle: Handle | None) -> None:
    """Waits for the device, as in C. NULL is nothing to destroy. Destroying a handle twice is an error."""
    if handle is None:
        return
    _ = check_handle(handle).device
    handle.close()


@c_function
def cudnnSetStream(handle: Handle, streamId: Any) -> None:
    """`streamId` is a CuPy stream or an in-order PyOpenCL queue; None, or 0, is the default."""
    check_handle(handle).set_stream(None if type(streamId) is int and streamId == 0 else streamId)


@c_function
def cudnnGetStream(handle: Handle) -> Any:
    """None on the reference backend."""
    return check_handle(handle).get_stream()


@c_function
def cudnnGetProperty(type: int) -> int:
    """0, 1 and 2 (MAJOR_VERSION, MINOR_VERSION and PATCH_LEVEL) give the parts of cudnnGetVersion."""
    parts = (VERSION // 1000, VERSION // 100 % 10, VERSION % 100)
    number = plain_number(type, "libraryPropertyType_t")
    if number is None or number not in range(3):
        raise BadParam(
            argument="type", expected="0, 1 or 2 (MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL)", got=named(type)
        )
    return parts[number]


@c_function
def cudnnGetCudartVersion() -> int:
    """The version of the CUDA runtime that CuPy uses, as 13000; 0 where there is none."""
    try:
        from cupy.cuda import runtime

        return int(runtime.runtimeGetVersion())
    except Exception:  # not installed, or its libraries are missing: as CuPy's version words it
        return 0


@c_function
def cudnnGetLastErrorString(max_size: int) -> str:
    """Always empty: errors are raised, with their message."""
    return ""


def _version_check() -> None:
    """There are no libraries below this one whose versions could differ."""


def _check(name: str) -> Any:
    def check() -> None:
        return None

    check.__name__ = check.__qualname__ = name
    check.__doc__ = _version_check.__doc__
    return c_function(check)


cudnnOpsInferVersionCheck = _check("cudnnOpsInferVersionCheck")
cudnnOpsTrainVersionCheck = _check("cudnnOpsTrainVersionCheck")
cudnnAdvInferVersionCheck = _check("cudnnAdvInferVersionCheck")
cudnnAdvTrainVersionCheck = _check("cudnnAdvTrainVersionCheck")
cudnnCnnInferVersionCheck = _check("cudnnCnnInferVersionCheck")
cudnnCnnTrainVersionCheck = _check("cudnnCnnTrainVersionCheck")
cudnnGraphVersionCheck = _check("cudnnGraphVersionCheck")
cudnnOpsVersionCheck = _check("cudnnOpsVersionCheck")
cudnnAdvVersionCheck = _check("cudnnAdvVersionCheck")
cudnnCnnVersionCheck = _check("cudnnCnnVersionCheck")
