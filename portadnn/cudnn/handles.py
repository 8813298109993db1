"""Library, handles and streams (guide sections 4.1 to 4.6)."""

from __future__ import annotations

from typing import Any

from ..dispatch.problems import check_handle
from ..enums import Status, named, plain_number
from ..errors import BadParam, NotInitialized, NotSupported
from ..handle import Handle
from .enumerations import enumeration

VERSION = 5005  # the guide's: a program that compares it then calls with the guide's arguments

# Statuses that cuDNN 9 gave other numbers: programs written for it may have these.
_NUMBERS_OF_9 = {
    1001: "NOT_INITIALIZED",
    1005: "LICENSE_ERROR",
    1006: "RUNTIME_IN_PROGRESS",
    1007: "RUNTIME_FP_OVERFLOW",
    2000: "BAD_PARAM",
    2001: "INVALID_VALUE",
    3000: "NOT_SUPPORTED",
    4000: "INTERNAL_ERROR",
    5000: "EXECUTION_FAILED",
}


def cudnnGetVersion():
    return VERSION


def cudnnGetErrorString(status):
    wanted = status if isinstance(status, Status) else plain_number(status, "cudnnStatus_t")
    if wanted is None:
        raise BadParam(argument="status", expected="a cudnnStatus_t", got=named(status))
    member = enumeration("cudnnStatus_t")._value2member_map_.get(wanted)
    if member is not None:
        return member.name
    name = _NUMBERS_OF_9.get(wanted)
    return f"CUDNN_STATUS_{name}" if name else "CUDNN_UNKNOWN_STATUS"


def cudnnCreate(
    *,
    backend: str = "auto",
    device: int | None = None,
    stream: Any = None,
    profile: str | None = None,
    mode: str | None = None,
):
    try:
        return Handle(backend, device, stream=stream, profile=profile, mode=mode)
    except NotSupported as error:
        raise NotInitialized(str(error)) from error


def cudnnDestroy(handle):
    if handle is None:
        return
    _ = check_handle(handle).device
    handle.close()


def cudnnSetStream(handle, streamId):
    check_handle(handle).set_stream(None if type(streamId) is int and streamId == 0 else streamId)


def cudnnGetStream(handle):
    return check_handle(handle).get_stream()


def cudnnGetProperty(type):
    parts = (VERSION // 1000, VERSION // 100 % 10, VERSION % 100)
    number = plain_number(type, "libraryPropertyType_t")
    if number is None or number not in range(3):
        raise BadParam(
            argument="type", expected="0, 1 or 2 (MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL)", got=named(type)
        )
    return parts[number]


def cudnnGetCudartVersion():
    try:
        from cupy.cuda import runtime

        return int(runtime.runtimeGetVersion())
    except Exception:  # not installed, or its libraries are missing: as CuPy's version words it
        return 0


def cudnnOpsInferVersionCheck():
    return None


cudnnOpsTrainVersionCheck = cudnnAdvInferVersionCheck = cudnnAdvTrainVersionCheck = cudnnOpsInferVersionCheck
cudnnCnnInferVersionCheck = cudnnCnnTrainVersionCheck = cudnnGraphVersionCheck = cudnnOpsInferVersionCheck
cudnnOpsVersionCheck = cudnnAdvVersionCheck = cudnnCnnVersionCheck = cudnnOpsInferVersionCheck
