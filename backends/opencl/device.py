"""An OpenCL device through PyOpenCL: compiling and launching."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from portadnn.errors import BadParam, ExecutionFailed, NotSupported
from portadnn.host_arrays import type_name

from .. import build_pool
from ..base import MOST_COUNTERS, BoundLaunches, DeviceInfo, Kernel, Launch
from ..programs import Finish, Programs
from ..scout import Scout, TextScout
from . import command_buffer as opencl_command_buffer
from . import pocl_cache
from .arrays import OpenCLArrays
from .compiler import Compiler
from .devices import opencl
from .launch import Calls, Step, direct_enqueue, enqueue, pack_doubles

# Platforms that build one program at a time, as PoCL does: with NVIDIA's driver 580 sixteen threads took 1.2 times as
# long as one, and Oclgrind crashes.
_ONE_BUILD = ("NVIDIA", "Oclgrind")


class OpenCLDevice(OpenCLArrays):
    """One OpenCL device with an in-order queue."""

    binds = True
    graph_mode = "command buffer"

    def __init__(self, device: Any, info: DeviceInfo, queue: Any = None) -> None:
        super().__init__(device, info, queue)
        self._programs = Programs()
        self._counters: Any = None
        self.compiler = Compiler(self._context, device, info)
        direct = (
            direct_enqueue(device, self._queue) if info.kind == "gpu" else None
        )  # on CPUs ctypes costs more than it saves
        self._enqueue = direct or enqueue

    def compile(self, file: str, name: str, defines: Mapping[str, int | float | str], text: str = "") -> Kernel:
        return Kernel(name, self._programs.get(file, "opencl", defines, text, self._start))

    def _start(self, source: str) -> tuple[Any, int] | Finish:
        """Build a program, or have a thread do it where several builds at once gain something."""
        nbytes = (8 if self.info.kind == "cpu" else 2) * len(source)  # PoCL keeps so much
        if self.compiles_late:
            with pocl_cache.building(self.info, self.compiler.options, source):
                return self.compiler.build(source), nbytes
        if any(word in self.info.platform for word in _ONE_BUILD):
            return self.compiler.build(source), nbytes
        building = build_pool.submit(self.compiler.build, source)
        return lambda: (building.result(), nbytes)

    @property
    def compiles_late(self) -> bool:
        return pocl_cache.is_pocl(self.info)

    def texts(self, prepare: Callable[[Any], object]) -> frozenset[bytes]:
        if not self.compiles_late or not pocl_cache.keeps():
            return frozenset()
        options = self.compiler.options
        scout = TextScout(self.info, "opencl", lambda source: not pocl_cache.has(self.info, options, source))
        prepare(scout)
        return frozenset(scout.texts)

    def scout(self) -> Scout | None:
        return None if self.compiles_late else Scout(self)

    def binding(self, launches: Sequence[Launch]) -> tuple[Callable[..., None], Callable[[], bool]]:
        cl = opencl()
        steps = [Step(launch, self._zeros) for launch in launches]
        bound = Calls(self._enqueue, steps)
        examine = self._examine
        held: list[Any] = []  # buffers on the host's memory: nobody else keeps these

        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            nonlocal held
            calls = bound.on(self._queue)
            try:
                seen = [array._portadnn_seen for array in arrays]
            except AttributeError:
                seen = [getattr(array, "_portadnn_seen", None) or examine(array) for array in arrays]
            buffer, start = workspace, 0
            if type(workspace) is self._array:
                buffer, start = workspace.base_data, int(workspace.offset)
            state: list[Any] = [one.serial for one in seen]
            state.append(pack_doubles(scalars))
            state.append(0 if buffer is None else getattr(buffer, "serial", None))
            held = [one.buffer for one in seen if one.host is not None]
            if getattr(buffer, "portadnn_host", None) is not None:
                held.append(buffer)
            try:
                for step, call in zip(steps, calls, strict=True):
                    step.set(seen, scalars, buffer, start, state)
                    if status := call():
                        raise cl.RuntimeError(f"clEnqueueNDRangeKernel: status {status}")
                if held:
                    self._host.wait(self._queue, held)  # type: ignore[union-attr]  # there is host memory
            except BaseException as error:
                self._abandoned(error, held)
                raise

        def relaunch() -> bool:
            try:
                if held:
                    self._host.written(self._queue, held)  # type: ignore[union-attr]
                for call in bound.calls if bound.queue is self._queue else bound.on(self._queue):
                    if status := call():
                        raise cl.RuntimeError(f"clEnqueueNDRangeKernel: status {status}")
                if held:
                    self._host.wait(self._queue, held)  # type: ignore[union-attr]
            except BaseException as error:
                self._abandoned(error, held)
                raise
            return True

        return run, relaunch

    def _abandoned(self, error: BaseException, held: Sequence[Any]) -> None:
        """Wait for launches on the host's memory after a failure or a KeyboardInterrupt: its owner may free it now.

        Raises
        ------
        ExecutionFailed
            The failure was OpenCL's.
        """
        cl = opencl()
        errors = (cl.Error, cl.MemoryError, cl.LogicError, cl.RuntimeError)
        if held:
            with contextlib.suppress(*errors):
                self._queue.finish()
        if isinstance(error, errors):
            raise ExecutionFailed(f"{self.info.name}: {error}") from error

    def graph(self, calls: Sequence[BoundLaunches]) -> Callable[[], None]:
        reason = opencl_command_buffer.why_not(self._device)
        if reason is not None:
            raise NotSupported(f"{self.info.name}: {reason}")
        steps = [step for call in calls for step in self._steps(*call)]
        buffer = opencl_command_buffer.CommandBuffer(self._device, self._queue, steps)

        def enqueue() -> None:
            if status := buffer(self._queue):
                raise ExecutionFailed(f"{self.info.name}: clEnqueueCommandBufferKHR: status {status}")

        return enqueue

    def _steps(
        self, launches: Sequence[Launch], arrays: Sequence[Any], scalars: Sequence[float], workspace: Any
    ) -> list[Step]:
        """Return launches with kernel objects of their own, and all arguments set."""
        seen = [getattr(array, "_portadnn_seen", None) or self._examine(array) for array in arrays]
        buffer, start = workspace, 0
        if type(workspace) is self._array:
            buffer, start = workspace.base_data, int(workspace.offset)
        if any(one.host is not None for one in seen) or getattr(buffer, "portadnn_host", None) is not None:
            raise NotSupported(f"{self.info.name}: calls with arrays in the host's memory wait for their end")
        steps = [Step(launch, self._zeros) for launch in launches]
        for step in steps:
            step.set(seen, scalars, buffer, start, [*(one.serial for one in seen), pack_doubles(scalars), None])
        return steps

    def _zeros(self) -> Any:
        """Return the counters, which calls share in the order of the queue."""
        if self._counters is None:
            self._counters = self._allocate(self._scratch, 4 * MOST_COUNTERS)
            opencl().enqueue_copy(self._queue, self._counters, np.zeros(MOST_COUNTERS, np.int32))
        return self._counters

    def synchronize(self) -> None:
        try:
            self._queue.finish()
        except opencl().Error as error:
            raise ExecutionFailed(f"{self.info.name}: {error}") from error

    def time(self, function: Callable[[], None]) -> float:
        self.synchronize()
        start = time.perf_counter()
        function()
        self.synchronize()
        return time.perf_counter() - start

    @property
    def stream(self) -> Any:
        return self._queue

    def set_stream(self, stream: Any) -> None:
        if stream is None:
            if self._own_queue is None:
                self._own_queue = opencl().CommandQueue(self._context, self._device)
            stream = self._own_queue
        check_queue(stream)
        if stream.context != self._context or stream.device != self._device:
            raise BadParam(
                argument="stream", expected="a queue of the handle's context and device", got="another one's"
            )
        if self._counters is not None:
            self.synchronize()  # what is enqueued may still use them
        self._queue = stream

    def close(self) -> None:
        self._models.clear()
        self._own_queue = self._queue = self._counters = None


def check_queue(queue: Any) -> None:
    """Demand an in-order PyOpenCL queue."""
    cl = opencl()
    if not isinstance(queue, cl.CommandQueue):
        raise BadParam(argument="stream", expected="a pyopencl.CommandQueue", got=type_name(queue))
    if queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
        raise NotSupported(argument="stream", expected="an in-order queue", got="an out-of-order one")
