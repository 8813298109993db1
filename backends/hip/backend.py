"""The HIP backend: AMD's GPUs through CuPy for ROCm, kernels compiled by hiprtc."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from portadnn.errors import BadParam

from ..base import Backend, Device, DeviceInfo, Engine
from ..cupy_devices.streams import usable_stream
from .device import HipDevice
from .devices import devices, why_unavailable

if TYPE_CHECKING:
    from portadnn.graph.engine import GraphEngine


class HipBackend(Backend):
    """HIP through CuPy for ROCm."""

    name = "hip"
    install = 'pip install "portadnn[rocm7]", on a machine with ROCm 7'

    def why_unavailable(self) -> str | None:
        return why_unavailable()

    def devices(self) -> Sequence[DeviceInfo]:
        return devices()

    def open(self, index: int, stream: Any = None) -> Device:
        found = devices()
        if not 0 <= index < len(found):
            raise BadParam(argument="device", expected=f"0 to {len(found) - 1}", got=index)
        return HipDevice(index, found[index], usable_stream(stream, index))

    def engines(self) -> Sequence[Engine]:
        from ..engines import kernel_engines

        return kernel_engines()

    def graph_engines(self) -> Sequence[GraphEngine]:
        from ..graph_engines import kernel_graph_engines

        return kernel_graph_engines()

    def engines_version(self) -> str:
        from ..engines import kernel_engines_version

        return kernel_engines_version()


BACKEND = HipBackend()
