"""``cudnn.Handle``: the number of a handle, as an object that tells of its stream and device."""

from __future__ import annotations

import re
from typing import Any

from ...errors import shown
from ...handle import Handle as Opened
from ..rules import fail
from .handles import find, get_stream, handle_of, open_handle


class DeviceInfo:
    """What programs ask of a handle's device, by the names of cudnn-frontend 1.32.

    Attributes
    ----------
    ordinal : int
        The device's number.
    device_name : str
    sm_count : int
        Multiprocessors, or cores.
    """

    def __init__(self, opened: Opened) -> None:
        self._info = opened.info
        self.ordinal = int(getattr(opened.device, "index", 0) or 0)
        self.device_name = opened.info.name
        self.sm_count = opened.info.compute_units

    @property
    def compute_capability(self) -> tuple[int, int]:
        """The compute capability of an NVIDIA GPU, (0, 0) of other devices."""
        found = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", self._info.arch)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    @property
    def sm_version(self) -> int:
        """The compute capability as one number: 90 for 9.0."""
        major, minor = self.compute_capability
        return 10 * major + minor

    def __repr__(self) -> str:
        return f"DeviceInfo({self.device_name})"


class Handle(int):
    """What ``create_handle`` returns: a number, for programs of cudnn-frontend 1.23 and of 1.32 alike.

    Raises
    ------
    InvalidValue
        The number is no open handle's (PG-PLAN-003), such as that of a ``cudnnHandle_t`` made elsewhere: there is no
        library of NVIDIA's behind these handles.
    """

    def __new__(cls, backend_handle: int, ordinal: int | None = None, stream: Any = None) -> Handle:
        """Return the handle of a number."""
        if type(backend_handle) not in (int, Handle) or find(backend_handle) is None:
            fix = "create_handle(), and set_stream"
            got = shown(backend_handle)
            raise fail("PG-PLAN-003", argument="backend_handle", expected="an open handle's number", got=got, fix=fix)
        return super().__new__(cls, backend_handle)

    @property
    def backend_handle(self) -> int | None:
        """The number, None once the handle was closed."""
        return None if find(self) is None else int(self)

    @property
    def stream(self) -> Any:
        """The stream in use, None once the handle was closed."""
        return None if find(self) is None else get_stream(self)

    @property
    def device(self) -> DeviceInfo:
        """The handle's device."""
        return DeviceInfo(handle_of(self))

    def __repr__(self) -> str:
        opened = find(self)
        return f"cudnn.Handle({int(self)}, {'closed' if opened is None else opened.info.name})"


def create_handle(backend: str = "auto", device: int | None = None) -> Handle:
    """Open a device and return a handle; ``portadnn.Handle`` says what the arguments mean.

    Every place of the Graph API that takes such a handle takes a ``portadnn.Handle`` as well.
    """
    return Handle(open_handle(backend, device))
