"""A backend whose devices CuPy reaches: CUDA, or HIP with CuPy for ROCm."""

from __future__ import annotations

from typing import Any

from portadnn.errors import BadParam

from ..base import Device
from ..kernel_backend import KernelBackend
from .device import CupyDevice
from .streams import usable_stream


class CupyBackend(KernelBackend):
    """A backend through CuPy; `device_type` is the class of its devices."""

    device_type: type[CupyDevice]

    def open(self, index: int, stream: Any = None) -> Device:
        found = self.devices()
        if not 0 <= index < len(found):
            raise BadParam(argument="device", expected=f"0 to {len(found) - 1}", got=index)
        return self.device_type(index, found[index], usable_stream(stream, index))
