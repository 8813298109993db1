"""The CUDA backend: NVIDIA GPUs through CuPy, kernels compiled by NVRTC."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

from portadnn.errors import NotSupported

from ..base import DeviceInfo, Engine
from ..cupy_devices.backend import CupyBackend
from ..vendor_cudnn import library
from .device import CudaDevice
from .devices import devices, why_unavailable


def _offered() -> Sequence[Engine]:
    """Return cuDNN's engines where ``PORTADNN_VENDOR=1`` asks for them and the library is there."""
    if os.environ.get("PORTADNN_VENDOR") != "1":
        return ()
    from ..vendor_cudnn.engines import offered_engines

    try:
        library.load()
    except NotSupported as error:
        warnings.warn(f"PORTADNN_VENDOR=1: {error}", RuntimeWarning, stacklevel=2)
        return ()
    return offered_engines()


class CudaBackend(CupyBackend):
    """CUDA through CuPy."""

    name = "cuda"
    install = 'pip install "portadnn[cuda13]" (or [cuda12], as the driver is)'
    device_type = CudaDevice

    def why_unavailable(self) -> str | None:
        return why_unavailable()

    def devices(self) -> Sequence[DeviceInfo]:
        return devices()

    def engines(self) -> Sequence[Engine]:
        return (*super().engines(), *_offered())

    def engines_version(self) -> str:
        vendor = "; cuDNN " + library.load().version_text if _offered() else ""
        return super().engines_version() + vendor


BACKEND = CudaBackend()
