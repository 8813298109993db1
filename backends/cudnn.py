"""The backend ``cudnn``: NVIDIA's cuDNN 8 or 9, where it is installed, on the memory and the streams of CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from portadnn.errors import DnnError

from .base import Backend, Device, DeviceInfo, Engine
from .cuda import BACKEND as CUDA
from .cuda.device import CudaDevice
from .cupy_devices.streams import usable_stream
from .vendor_cudnn import library


class CudnnDevice(CudaDevice):
    """A device of the CUDA backend, for cuDNN to compute on."""


class CudnnBackend(Backend):
    """cuDNN through ctypes. Never chosen by ``auto``: it is there to compare with, and to check programs against."""

    name = "cudnn"
    vendor = True
    install = 'pip install nvidia-cudnn-cu13 "portadnn[cuda13]" (or nvidia-cudnn-cu12 and [cuda12], as the driver is)'

    def why_unavailable(self) -> str | None:
        missing = [CUDA.why_unavailable()]
        try:
            library.load()
        except DnnError as error:
            missing.append(str(error))
        return "; ".join(filter(None, missing)) or None

    def devices(self) -> Sequence[DeviceInfo]:
        version = f"cuDNN {library.load().version_text}"
        return [replace(info, backend=self.name, version=version) for info in CUDA.devices()]

    def open(self, index: int, stream: Any = None) -> Device:
        opened = CUDA.open(index, stream)  # which checks both
        opened.close()
        return CudnnDevice(index, self.devices()[index], usable_stream(stream, index))

    def engines(self) -> Sequence[Engine]:
        from .vendor_cudnn.engines import cudnn_engines

        return cudnn_engines()

    def engines_version(self) -> str:
        return f"{super().engines_version()}; {library.load().version_text}"


BACKEND = CudnnBackend()
