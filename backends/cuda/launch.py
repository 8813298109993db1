"""Launches on CUDA that begin while the one before them ends.

From compute capability 9.0 on a launch may begin while the one before it in its stream ends; every kernel waits in its
first statement (GRID_WAIT) until that has ended and what it wrote is there. That hides most of the way from launch to
launch, and the driver takes less time for such launches.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from ..base import Launch
from ..cupy_devices.launch import Step


class EarlyStep(Step):
    """A launch that may begin while the launch before it ends, or whose work-groups run at the same time."""

    def __init__(self, launch: Launch) -> None:
        super().__init__(launch)
        self._attribute = _COOPERATIVE if launch.cooperative else _EARLY

    def on(self, stream: int) -> Callable[[], Any]:
        function = _launch_early()
        if function is None:
            if self._attribute is _COOPERATIVE:
                raise RuntimeError("the CUDA driver has no cuLaunchKernelEx, by which work-groups run at the same time")
            return super().on(stream)
        code, *shape = self.shape
        config = _Config(*shape, stream, ctypes.addressof(self._attribute), 1)
        # as ctypes passes them on: it takes less time than for its numbers
        words = (ctypes.byref(config), *map(ctypes.c_void_p.from_param, (code, self.pointers)), None)
        return self.kept(functools.partial(function, *words))


class _Attribute(ctypes.Structure):
    """The driver's CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_uint), ("value", ctypes.c_int * 17))  # the value is 64 bytes, on a multiple of 8


class _Config(ctypes.Structure):
    """The driver's CUlaunchConfig."""

    _fields_ = (
        *((f"{of}_{axis}", ctypes.c_uint) for of in ("grid", "block") for axis in "xyz"),
        ("local_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("count", ctypes.c_uint),
    )


_EARLY = _Attribute(6, (0, 1))  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
_COOPERATIVE = _Attribute(2, (0, 1))  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE


@functools.cache
def _launch_early() -> Any:
    """Return the driver's cuLaunchKernelEx; None where it cannot be found."""
    try:
        address = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx, ctypes.c_void_p).value
    except (OSError, AttributeError):  # another system, an older driver
        return None
    return ctypes.CFUNCTYPE(ctypes.c_int)(address or 0)
