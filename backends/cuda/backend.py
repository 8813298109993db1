"""The CUDA backend: NVIDIA GPUs through CuPy, kernels compiled by NVRTC."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from portadnn.errors import BadParam, NotSupported

from ..base import Backend, Device, DeviceInfo, Engine
from ..cupy_devices.streams import usable_stream
from ..vendor_cudnn import library
from .device import CudaDevice
from .devices import devices, why_unavailable

if TYPE_CHECKING:
    from portadnn.graph.engine import GraphEngine


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


class CudaBackend(Backend):
    """CUDA through CuPy."""

    name = "cuda"
    install = 'pip install "portadnn[cuda13]" (or [cuda12], as the driver is)'

    def why_unavailable(self) -> str | None:
        return why_unavailable()

    def devices(self) -> Sequence[DeviceInfo]:
        return devices()

    def open(self, index: int, stream: Any = None) -> Device:
        found = devices()
        if not 0 <= index < len(found):
            raise BadParam(argument="device", expected=f"0 to {len(found) - 1}", got=index)
        return CudaDevice(index, found[index], usable_stream(stream, index))

    def engines(self) -> Sequence[Engine]:
        from ..engines import kernel_engines

        return (*kernel_engines(), *_offered())

    def graph_engines(self) -> Sequence[GraphEngine]:
        from ..graph_engines import kernel_graph_engines

        return kernel_graph_engines()

    def engines_version(self) -> str:
        from ..engines import kernel_engines_version

        vendor = "; cuDNN " + library.load().version_text if _offered() else ""
        return kernel_engines_version() + vendor


BACKEND = CudaBackend()
