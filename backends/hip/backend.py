"""The HIP backend: AMD's GPUs through CuPy for ROCm, kernels compiled by hiprtc."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import DeviceInfo
from ..cupy_devices.backend import CupyBackend
from .device import HipDevice
from .devices import devices, why_unavailable


class HipBackend(CupyBackend):
    """HIP through CuPy for ROCm."""

    name = "hip"
    install = 'pip install "portadnn[rocm7]", on a machine with ROCm 7'
    device_type = HipDevice

    def why_unavailable(self) -> str | None:
        return why_unavailable()

    def devices(self) -> Sequence[DeviceInfo]:
        return devices()


BACKEND = HipBackend()
