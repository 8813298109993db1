"""A GPU through CuPy: compiling and launching. CUDA's and HIP's devices add their compilers."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portadnn import forking
from portadnn.errors import ExecutionFailed, NotSupported

from .. import build_pool, kernel_cache
from ..base import MOST_COUNTERS, BoundLaunches, CountersArg, DeviceInfo, Kernel, Launch
from ..programs import Finish, Programs
from ..scout import Scout
from .arrays import CupyArrays
from .launch import Step
from .library import cupy as _cupy


@functools.cache
def module_type() -> Any:
    """Return the class of loaded modules, which CuPy's import brings."""

    class Module(_cupy().cuda.function.Module):  # type: ignore[misc]
        """A loaded module that forked children never unload: kernels of calls that are gone may keep it longest."""

        def __init__(self) -> None:
            super().__init__()
            forking.register_fragile(self)

    return Module


class CupyDevice(CupyArrays):
    """One GPU; enqueues on a given stream, or on CuPy's current one.

    Attributes
    ----------
    dialect : str
        What its kernels are written in; see kernel_text.py.
    """

    binds = True
    dialect: str

    def __init__(self, index: int, info: DeviceInfo, stream: Any = None) -> None:
        super().__init__(index, info, stream)
        self._programs = Programs()
        self._counters: dict[int, Any] = {}  # by stream

    @abc.abstractmethod
    def options(self) -> tuple[str, ...]:
        """Return the compiler's options, for the key of the kernel cache."""

    @abc.abstractmethod
    def build(self, source: str) -> bytes:
        """Compile a source to machine code.

        Raises
        ------
        CompileError
            With source and log.
        """

    def step(self, launch: Launch) -> Step:
        """Return a launch ready for the driver."""
        return Step(launch)

    def recovers(self, error: Exception) -> bool:
        """Tell whether what made a launch fail has been put right, so that it can be made again."""
        return False

    def compile(self, file: str, name: str, defines: Mapping[str, int | float | str], text: str = "") -> Kernel:
        return Kernel(name, self._programs.get(file, self.dialect, defines, text, self._start))

    def scout(self) -> Scout:
        return Scout(self)

    def _start(self, source: str) -> tuple[Any, int] | Finish:
        """Load a program from the cache on disk, or have a thread compile it."""
        key = (self.dialect, source, *self.options(), self.info.name, self.info.driver, self.info.version)
        code = kernel_cache.load(key)
        if code is not None:
            try:
                return self._load(code)
            except _cupy().cuda.driver.CUDADriverError:
                pass  # the driver refuses it: build anew and replace it
        building = build_pool.submit(self.build, source)

        def finish() -> tuple[Any, int]:
            code = building.result()
            loaded = self._load(code)
            kernel_cache.store(key, code)
            return loaded

        return finish

    def _load(self, code: bytes) -> tuple[Any, int]:
        with self.current():
            module = module_type()()
            module.load(code)
            return module, len(code)

    def binding(self, launches: Sequence[Launch]) -> tuple[Callable[..., None], Callable[[], bool]]:
        with self.current():
            steps = [self.step(launch) for launch in launches]
        cupy = _cupy()
        current_stream, driver_error = cupy.cuda.get_current_stream, cupy.cuda.driver.CUDADriverError
        errors = (driver_error, self._runtime.CUDARuntimeError)
        get_device, index, address = self._runtime.getDevice, self._index, self.address
        several = self._runtime.getDeviceCount() > 1
        counts = any(isinstance(arg, CountersArg) for launch in launches for arg in launch.args)
        last_stream = -1
        bound: list[Callable[[], Any]] = []  # the launches on that stream

        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            nonlocal bound, last_stream
            if several and get_device() != index:
                with self.current():
                    return run(arrays, scalars, workspace)
            scratch = 0 if workspace is None else address(workspace)
            stream = (self._stream or current_stream(index)).ptr
            if stream != last_stream:
                bound, last_stream = [step.on(stream) for step in steps], stream
            try:
                zeros = self._counters_of(stream) if counts else None
                counters = 0 if zeros is None else zeros.ptr
                for step, launch in zip(steps, bound, strict=True):
                    step.pack(arrays, scalars, scratch, counters)
                    if status := launch():
                        raise driver_error(status)
            except errors as error:
                if self.recovers(error):
                    return run(arrays, scalars, workspace)
                raise ExecutionFailed(f"{self.info.name}: {error}") from error

        def repeat() -> bool:
            if several and get_device() != index:
                with self.current():
                    return repeat()
            if (self._stream or current_stream(index)).ptr != last_stream or self.capturing():
                return False
            try:
                for launch in bound:
                    if status := launch():
                        raise driver_error(status)
            except errors as error:
                if self.recovers(error):
                    return repeat()
                raise ExecutionFailed(f"{self.info.name}: {error}") from error
            return True

        return run, repeat

    def graph(self, calls: Sequence[BoundLaunches]) -> Callable[[], None]:
        cupy = _cupy()
        errors = (cupy.cuda.driver.CUDADriverError, self._runtime.CUDARuntimeError)
        with self.current():
            self.synchronize()  # the pool may hand out memory that is still in use
            try:
                graph, kept = self._captured(calls)
            except RuntimeError as error:  # a driver's, or CuPy cannot capture
                raise NotSupported(f"{self.info.name}: {error}") from error

        def launch() -> None:
            with self.current():
                try:
                    graph.launch(self._cupy_stream())
                except errors as error:
                    raise ExecutionFailed(f"{self.info.name}: {error}") from error
                _ = kept  # the modules and counters of its kernels

        return launch

    def _captured(self, calls: Sequence[BoundLaunches]) -> tuple[Any, Any]:
        """Return a graph of the launches, and what it needs for as long as it lives."""
        stream = _cupy().cuda.Stream(non_blocking=True)  # the default stream cannot be captured
        steps = {id(launch): self.step(launch) for launches, *_ in calls for launch in launches}
        enqueue = {key: step.on(stream.ptr) for key, step in steps.items()}
        counters = self._zeros(stream.ptr)  # of its own: it may run beside the handle's other work
        stream.synchronize()
        stream.begin_capture()
        try:
            for launches, arrays, scalars, workspace in calls:
                place = 0 if workspace is None else self.address(workspace)
                for launch in launches:
                    steps[id(launch)].pack(arrays, scalars, place, counters.ptr)  # the driver takes a copy
                    if status := enqueue[id(launch)]():
                        raise _cupy().cuda.driver.CUDADriverError(status)
        finally:
            graph = stream.end_capture()
        return graph, (steps, counters)

    def _counters_of(self, stream: int) -> Any:
        """Return a stream's counters, or in a graph that PyTorch captures, the call's own."""
        if self.capturing():
            return self._zeros(stream)
        memory = self._counters.get(stream)
        if memory is None:
            memory = self._counters[stream] = self._zeros(stream)
        return memory

    def _zeros(self, stream: int) -> Any:
        """Return counters, cleared on a stream."""
        memory = self.workspace(4 * MOST_COUNTERS)
        self._runtime.memsetAsync(memory.ptr, 0, 4 * MOST_COUNTERS, stream)
        return memory

    def synchronize(self) -> None:
        with self.current():
            try:
                self._cupy_stream().synchronize()
            except self._runtime.CUDARuntimeError as error:
                raise ExecutionFailed(f"{self.info.name}: {error}") from error

    def time(self, function: Callable[[], None]) -> float:
        cupy = _cupy()
        with self.current():
            stream = self._cupy_stream()
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            function()
            end.record(stream)
            end.synchronize()
            return float(cupy.cuda.get_elapsed_time(start, end)) / 1e3

    def close(self) -> None:
        self._counters.clear()
