"""An AMD GPU through CuPy for ROCm: kernels compiled by hiprtc."""

from __future__ import annotations

import math

from portadnn.errors import NotSupported

from ..base import Launch
from ..cupy_devices.device import CupyDevice
from ..cupy_devices.launch import Step
from .compiler import compile_code, hiprtc_options

_MOST_ITEMS = 2**32  # of a launch along an axis: a dispatch packet counts work-items in 32 bits


class HipDevice(CupyDevice):
    """One AMD GPU."""

    title = "HIP"
    dialect = "hip"
    dlpack_kinds = (10,)  # ROCm
    graph_mode = "hip graph"

    def options(self) -> tuple[str, ...]:
        return hiprtc_options(self.info.arch)

    def build(self, source: str) -> bytes:
        return compile_code(source, self.info.arch)

    def step(self, launch: Launch) -> Step:
        items = max(map(math.prod, zip(launch.grid, launch.block, strict=True)))
        if items >= _MOST_ITEMS:
            raise NotSupported(
                f"HIP launches fewer than 2^32 work-items along an axis, {launch.kernel.name} takes {items}"
            )
        return Step(launch)
