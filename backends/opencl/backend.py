"""The OpenCL backend: any OpenCL 1.2 device through PyOpenCL; PoCL makes the CPU one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portadnn.errors import BadParam

from ..arrays import is_word
from ..base import Device, DeviceInfo
from ..kernel_backend import KernelBackend
from .device import OpenCLDevice, check_queue
from .devices import found_devices, opencl, remarks, why_no_devices


class OpenCLBackend(KernelBackend):
    """OpenCL through PyOpenCL."""

    name = "opencl"
    install = 'pip install "portadnn[cpu]" (PoCL for the CPU), or the OpenCL driver of your GPU'

    def why_unavailable(self) -> str | None:
        try:
            cl = opencl()
        except ImportError as error:
            return f"PyOpenCL cannot be imported ({error})"
        try:
            return None if found_devices() else why_no_devices()
        except cl.Error as error:
            return f"no OpenCL platform was found ({error})"

    def devices(self) -> Sequence[DeviceInfo]:
        return [info for _, info in found_devices()]

    def remarks(self) -> Sequence[str]:
        return remarks()

    def open(self, index: int, stream: Any = None) -> Device:
        found = found_devices()
        if is_word(stream, "torch") and 0 <= index < len(found) and found[index][1].kind == "cpu":
            stream = None  # torch has no streams on the CPU
        if stream is not None:
            check_queue(stream)
            for device, info in found:
                if device == stream.device:
                    return OpenCLDevice(device, info, stream)
            raise BadParam(argument="stream", expected="a queue of a listed device", got=stream.device.name)
        if not 0 <= index < len(found):
            raise BadParam(argument="device", expected=f"0 to {len(found) - 1}", got=index)
        return OpenCLDevice(*found[index])


BACKEND = OpenCLBackend()
