"""The reference backend: NumPy on the host, in float64, from the definitions. It is the oracle of the tests.

Arrays are ``numpy.ndarray``. Results are computed in full precision and rounded once, when they are stored.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from portadnn.descriptors import TensorView
from portadnn.enums import DnnEnum
from portadnn.errors import AllocFailed, BadParam
from portadnn.host_arrays import check_host, host_array, host_room, host_workspace, is_masked, span_bytes, type_name
from portadnn.problem import Problem, TensorSpec

from .. import algorithms
from ..arrays import host_view, is_word
from ..base import Backend, Device, DeviceInfo, Engine, Oracle, Plan, Run
from . import outcomes as reference_outcomes
from .outcomes import DEFINITIONS, foreign_definitions, outcomes, store

if TYPE_CHECKING:
    from portadnn.graph.engine import GraphEngine


EXPECTED = "a numpy.ndarray, an array in host memory or descriptor.view(buffer)"


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _misalignment(array: Any) -> int:
    """Return the address mod 16; NumPy takes elements at any address, which then count as aligned to themselves."""
    misalignment = _address(array) & 15
    return array.itemsize if misalignment % array.itemsize else misalignment


class ReferenceDevice(Device):
    """The host's memory and NumPy. Calls are finished when they return; there are no streams."""

    host_memory = True

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info

    # arrays

    def owns(self, array: Any) -> bool:
        return isinstance(array, np.ndarray) and not is_masked(array)

    def wrap(self, value: Any, argument: str) -> Any:
        if isinstance(value, TensorView):
            return host_view(value, argument, EXPECTED)
        return host_array(value, argument, EXPECTED)

    def look(self, arrays: Iterable[Any]) -> list[Any]:
        known = list(arrays)
        if any(is_masked(array) for array in known):
            raise TypeError("a masked array")  # wrap() says more
        for array in known:
            if array is not None:
                check_host(array, "")
        return [
            None if array is None else (array.shape, array.strides, array.dtype, _misalignment(array))
            for array in known
        ]

    def address(self, memory: Any) -> int:
        return _address(memory)

    def writable(self, array: Any) -> bool:
        return bool(array.flags.writeable)

    def native_workspace(self, workspace: Any) -> Any:
        return host_workspace(workspace)

    def room(self, memory: Any) -> int:
        return host_room(memory) if isinstance(memory, np.ndarray) else memoryview(memory).nbytes

    def empty(self, spec: TensorSpec) -> Any:
        size = spec.dtype.itemsize
        try:
            memory = np.empty(spec.span, spec.dtype.storage)
        except MemoryError as error:
            raise AllocFailed(f"{self.info.name}: {error}") from None
        return np.ndarray(spec.dims, memory.dtype, memory, strides=tuple(s * size for s in spec.strides))

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        self.host_access("copies an array from the host")
        try:
            return np.array(array, order="K")  # keeps the order of the axes and packs
        except MemoryError as error:
            raise AllocFailed(f"{self.info.name}: {error}") from None

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        self.host_access("copies an array to the host")
        return array.copy()  # type: ignore[no-any-return]

    def as_bytes(self, array: Any) -> Any:
        return _bytes(array)

    def read_bytes(self, array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        self.host_access("copies bytes to the host")
        return np.array(_bytes(array))

    def write_bytes(self, array: Any, content: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        self.host_access("copies bytes from the host")
        _bytes(array)[...] = content

    def workspace(self, nbytes: int) -> Any:
        try:
            return np.empty(nbytes, np.uint8)
        except MemoryError as error:
            raise AllocFailed(f"{self.info.name}: {error}") from None

    def workspace_size(self, workspace: Any) -> int:
        return int(self.native_workspace(workspace).nbytes)

    # execution

    def synchronize(self) -> None:
        """Return at once: nothing is ever pending."""

    def time(self, function: Callable[[], None]) -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    @property
    def stream(self) -> Any:
        return None

    def set_stream(self, stream: Any) -> None:
        if stream is not None and not is_word(stream, "torch"):  # which has none on the CPU
            raise BadParam(argument="stream", expected="None: reference has no streams", got=type_name(stream))

    def close(self) -> None:
        """Do nothing: arrays free themselves."""


def _bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the memory of an array from its first element to its last."""
    nbytes = span_bytes(array.shape, array.strides, array.dtype.itemsize)
    first = array[(slice(0, 1),) * array.ndim].reshape(-1).view(np.uint8)
    return np.lib.stride_tricks.as_strided(first, (nbytes,), (1,), writeable=array.flags.writeable)


class DefinitionEngine(Engine):
    """Every problem, computed from its definition."""

    name = "definition"
    wide = True

    def __init__(self) -> None:
        self.problems = (*DEFINITIONS, *foreign_definitions())

    def algo(self, problem: Problem) -> DnnEnum | None:
        """Name the direct algorithms, those that need no workspace and are deterministic."""
        return algorithms.direct(problem)

    def implements(self, problem: Problem, algo: DnnEnum) -> bool:
        """Take every algorithm's name: the definition is what each of them computes."""
        return True

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Take everything."""
        return None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Return a plan that evaluates the definition and rounds the result into the output."""

        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            outputs = dict(zip(problem.names, arrays, strict=True))
            for name, values in outcomes(problem, arrays, scalars).items():
                store(outputs[name], values)

        return Plan(problem, self, 0, Run(run))


class ReferenceBackend(Backend):
    """NumPy; works everywhere."""

    name = "reference"

    def why_unavailable(self) -> str | None:
        return None

    def devices(self) -> Sequence[DeviceInfo]:
        return [
            DeviceInfo(
                backend="reference",
                name=f"NumPy {np.__version__}",
                vendor=platform.machine(),
                kind="cpu",
                driver="float64",
                version=np.__version__,
                platform=platform.system(),
                compute_units=os.cpu_count() or 1,
            )
        ]

    def open(self, index: int, stream: Any = None) -> Device:
        if index != 0:
            raise BadParam(argument="device", expected="0", got=index, call="Handle")
        device = ReferenceDevice(self.devices()[0])
        device.set_stream(stream)
        return device

    def engines(self) -> Sequence[Engine]:
        return (DefinitionEngine(),)

    def graph_engines(self) -> Sequence[GraphEngine]:
        from .graph_definitions.nodes import DefinitionGraphEngine  # with the Graph API, which few programs need

        return (DefinitionGraphEngine(),)

    def oracle(self) -> Oracle:
        return reference_outcomes


BACKEND = ReferenceBackend()
