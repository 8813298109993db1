"""An NVIDIA GPU through CuPy: kernels compiled by NVRTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portadnn.errors import NotSupported
from portadnn.problem import TensorSpec

from ..base import BoundLaunches, Launch
from ..cupy_devices.device import CupyDevice
from ..cupy_devices.launch import Step
from ..cupy_devices.library import cupy
from . import graphs, peers
from .compiler import compile_cubin, nvrtc_options
from .launch import EarlyStep

_INVALID_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT


class CudaDevice(CupyDevice):
    """One NVIDIA GPU."""

    title = "CUDA"
    dialect = "cuda"
    dlpack_kinds = (2, 13)  # CUDA, managed
    graph_mode = "cuda graph"
    populates = True

    def options(self) -> tuple[str, ...]:
        return nvrtc_options(self.info.arch)

    def build(self, source: str) -> bytes:
        return compile_cubin(source, self.info.arch)

    def step(self, launch: Launch) -> Step:
        return EarlyStep(launch) if "early_launches" in self.info.features else Step(launch)

    def peer_buffer(self, value: Any, spec: TensorSpec, argument: str) -> Any:
        if "peer_memory" not in self.info.features:
            return super().peer_buffer(value, spec, argument)
        return peers.peer_array(self, value, spec, argument)

    def is_home(self, peer: Any) -> bool:
        return peers.device_of(peer) == self._index if self.owns(peer) else super().is_home(peer)

    def reach(self, peer: Any) -> None:
        other = peers.device_of(peer)
        if other is not None and other != self._index:
            peers.enable(self._index, other)

    def recovers(self, error: Exception) -> bool:
        """Make the device's context that of a thread which never used CUDA, if a launch failed because it has none."""
        driver = cupy().cuda.driver
        if getattr(error, "status", None) != _INVALID_CONTEXT or driver.ctxGetCurrent():
            return False
        self._runtime.free(0)
        return bool(driver.ctxGetCurrent())

    def populate(self, graph: int, calls: Sequence[BoundLaunches], *, update: bool) -> Any:
        with self.current():
            self.synchronize()  # the pool may hand out memory that is still in use
            try:
                captured, kept = self._captured(calls)
            except RuntimeError as error:
                raise NotSupported(f"{self.info.name}: {error}") from error
            graphs.fill(graph, captured.graph, update=update)
        return kept
