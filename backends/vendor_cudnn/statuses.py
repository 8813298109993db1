"""What cuDNN's statuses become: portadnn's errors, by the numbers of cuDNN 8 and by those of cuDNN 9."""

from __future__ import annotations

from portadnn.errors import (
    AllocFailed,
    ArchMismatch,
    BadParam,
    DnnError,
    ExecutionFailed,
    InternalError,
    NotInitialized,
    NotSupported,
)

# The numbers of cuDNN 8 lie below 1000; those of cuDNN 9 begin with the kind's thousand, and go into detail from there.
_EXACT: dict[int, type[DnnError]] = {
    1: NotInitialized,
    2: AllocFailed,
    3: BadParam,
    4: InternalError,
    5: BadParam,
    6: ArchMismatch,
    7: ExecutionFailed,
    8: ExecutionFailed,
    9: NotSupported,
    10: NotInitialized,
    11: NotSupported,
    12: ExecutionFailed,
    13: ExecutionFailed,
    14: NotInitialized,
    3007: ArchMismatch,
    4003: AllocFailed,
    4004: AllocFailed,
}
_THOUSANDS: dict[int, type[DnnError]] = {
    1: NotInitialized,
    2: BadParam,
    3: NotSupported,
    4: InternalError,
    5: ExecutionFailed,
}


def error_of(status: int) -> type[DnnError]:
    """Return the class of the error that a status other than success is."""
    return _EXACT.get(status) or _THOUSANDS.get(status // 1000, InternalError)
