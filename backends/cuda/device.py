"""An NVIDIA GPU through CuPy: arrays, memory, compiling and launching."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from portadnn import forking
from portadnn.bfloat16 import is_bfloat16
from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.errors import AllocFailed, BadParam, ExecutionFailed, NotSupported, written
from portadnn.host_arrays import is_torch, span_bytes, torch_layout, type_name
from portadnn.problem import TensorSpec

from .. import kernel_cache
from ..arrays import check_view, check_view_dtype, hint, inverse, storage_order
from ..base import (
    MOST_COUNTERS,
    BoundLaunches,
    CountersArg,
    Device,
    DeviceInfo,
    Kernel,
    Launch,
)
from ..guards import guard, holds_shape
from ..programs import Programs
from .compiler import compile_cubin, nvrtc_options
from .devices import cupy as _cupy
from .devices import devices as _devices
from .launch import Step
from .streams import TorchStream, usable_stream

_INVALID_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT


@functools.cache
def _module_type() -> Any:
    class Module(_cupy().cuda.function.Module):  # type: ignore[misc]
        """A loaded module that forked children never unload: kernels of calls that are gone may keep it longest."""

        def __init__(self) -> None:
            super().__init__()
            forking.register_fragile(self)

    return Module


def _storage(dtype: DataType) -> np.dtype[Any]:
    """Return the dtype of CuPy arrays of that type."""
    if dtype is DataType.BFLOAT16 and int(_cupy().__version__.split(".")[0]) < 14:
        raise NotSupported(argument="dtype", expected="CuPy 14 or newer for bfloat16", got=_cupy().__version__)
    return dtype.storage


def _retyped(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return the same memory as elements of another type of that size, whatever the strides."""
    return _cupy().ndarray(array.shape, dtype, array.data, strides=array.strides)


class CudaDevice(Device):
    """One NVIDIA GPU; enqueues on a given stream, or on CuPy's current one."""

    binds = True

    def __init__(self, index: int, info: DeviceInfo, stream: Any = None) -> None:
        cupy = _cupy()
        self.info = info
        self._index = index
        self._stream = stream
        self._programs = Programs()
        self._counters: dict[int, Any] = {}  # by stream
        self._array = cupy.ndarray
        self._runtime = cupy.cuda.runtime

    def current(self) -> AbstractContextManager[Any]:
        """Return what makes the device CuPy's current one."""
        cupy = _cupy()
        if self._runtime.getDevice() != self._index:
            return cupy.cuda.Device(self._index)  # type: ignore[no-any-return]
        return nullcontext()

    def _on_stream(self) -> AbstractContextManager[Any]:
        return nullcontext() if self._stream is None else self._cupy_stream()

    def stream_address(self) -> int:
        """Return the address of the CUDA stream that work goes to."""
        return (self._stream or _cupy().cuda.get_current_stream(self._index)).ptr  # type: ignore[no-any-return]

    def _cupy_stream(self) -> Any:
        """Return the stream that work goes to as CuPy's."""
        if isinstance(self._stream, TorchStream):
            return self._stream.as_cupy()
        return self._stream or _cupy().cuda.get_current_stream()

    # arrays

    def owns(self, array: Any) -> bool:
        return isinstance(array, self._array)

    def wrap(self, value: Any, argument: str) -> Any:
        cupy = _cupy()
        if isinstance(value, self._array):
            return value
        if isinstance(value, TensorView):
            base = self.wrap(value.base, argument) if is_torch(value.base) else value.base
            if hasattr(base, "__cuda_array_interface__") and not isinstance(base, self._array):
                base = cupy.asarray(base)
            if isinstance(base, self._array):
                check_view_dtype(value, argument, base.dtype)
                available = span_bytes(base.shape, base.strides, base.dtype.itemsize)
                memory = base.data
            elif isinstance(base, cupy.cuda.MemoryPointer):
                available, memory = base.mem.size - (base.ptr - base.mem.ptr), base
            elif type(base) is int and base > 0:  # an address: who gives it knows how much memory is there
                available = (value.offset + value.spec.span) * value.spec.dtype.itemsize
                memory = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(base, available, None, self._index), 0)
            else:
                raise BadParam(
                    argument=argument,
                    expected="a view of a CuPy array, a MemoryPointer or a device address",
                    got=base if type(base) is int else type_name(base),
                )
            offset, strides = check_view(value, argument, available)
            return cupy.ndarray(value.spec.dims, _storage(value.spec.dtype), memory + offset, strides=strides)
        if is_torch(value):
            return self._of_torch(value, argument)
        try:
            if hasattr(value, "__cuda_array_interface__"):
                return cupy.asarray(value)
            if hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in (2, 13):  # CUDA, managed
                return cupy.from_dlpack(value)
        except Exception as error:  # a user's attributes may raise anything
            raise BadParam(f"it cannot be shared: {written(str, error)}", argument=argument) from None
        raise BadParam(
            argument=argument,
            expected=f"a CuPy array, a CUDA tensor or descriptor.view(buffer){hint(value)}",
            got=type_name(value),
        )

    def _of_torch(self, tensor: Any, argument: str) -> Any:
        """Return a CuPy array on a torch tensor's memory, without the detour through the array interface."""
        cupy = _cupy()
        address, shape, strides, dtype, room = torch_layout(tensor, "cuda", argument)
        if tensor.device.index != self._index:
            raise BadParam(argument=argument, expected=f"a tensor on cuda:{self._index}", got=f"one on {tensor.device}")
        storage = _storage(DataType.BFLOAT16) if dtype is None else dtype
        memory = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(address, room, tensor, self._index), 0)
        return cupy.ndarray(shape, storage, memory, strides=strides)

    def as_bytes(self, array: Any) -> Any:
        cupy = _cupy()
        count = span_bytes(array.shape, array.strides, array.dtype.itemsize)
        return cupy.ndarray((count,), cupy.uint8, array.data)

    def look(self, arrays: Iterable[Any]) -> list[Any]:
        index = self._index
        signatures: list[Any] = []
        for array in arrays:
            if array is None:
                signatures.append(None)
                continue
            data = array.data
            if data.device_id != index:
                raise BadParam(expected=f"an array of CUDA device {index}", got=f"one of device {data.device_id}")
            memory = data.mem
            if data.ptr + array.nbytes > memory.ptr + memory.size or not array.flags.c_contiguous:
                self._check_bounds(array)
            signatures.append((array.shape, array.strides, array.dtype, data.ptr & 15))
        return signatures

    def _check_bounds(self, array: Any) -> None:
        """Refuse an array that leaves its memory."""
        extent, room = span_bytes(array.shape, array.strides, array.dtype.itemsize), self.room(array)
        if extent > room:
            raise BadParam(
                expected=f"an array within its memory, of {room} bytes from its first element", got=f"{extent} bytes"
            )

    def guard(self, arrays: Sequence[weakref.ref[Any]]) -> Callable[[], bool] | None:
        return guard(arrays, self._array, holds_shape)

    def stream_key(self) -> int:
        return self.stream_address()

    def address(self, memory: Any) -> int:
        return getattr(memory, "data", memory).ptr  # type: ignore[no-any-return]  # an array or a MemoryPointer

    def room(self, memory: Any) -> int:
        pointer = getattr(memory, "data", memory)
        return pointer.mem.size - (pointer.ptr - pointer.mem.ptr)  # type: ignore[no-any-return]

    def empty(self, spec: TensorSpec) -> Any:
        size = spec.dtype.itemsize
        memory = self.workspace(spec.span * size)
        return self._array(spec.dims, _storage(spec.dtype), memory, strides=tuple(s * size for s in spec.strides))

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        cupy = _cupy()
        order = storage_order(array)
        self.host_access("copies an array from the host")
        with self.current(), self._on_stream():
            try:
                host = np.asarray(array.transpose(order), order="C")
                if is_bfloat16(array.dtype):  # as plain bytes: CuPy need not know the type
                    return _retyped(cupy.asarray(host.view(np.uint16)), _storage(DataType.BFLOAT16)).transpose(
                        inverse(order)
                    )
                return cupy.asarray(host).transpose(inverse(order))
            except cupy.cuda.memory.OutOfMemoryError as error:
                raise AllocFailed(f"{self.info.name}: {error}") from None

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        self.host_access("copies an array to the host")
        with self.current(), self._on_stream():
            if is_bfloat16(array.dtype):
                return _cupy().asnumpy(_retyped(array, np.dtype(np.uint16))).view(array.dtype)  # type: ignore[no-any-return]
            return _cupy().asnumpy(array)  # type: ignore[no-any-return]

    def read_bytes(self, array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        raw = np.empty(span_bytes(array.shape, array.strides, array.dtype.itemsize), np.uint8)
        self._copy(raw.ctypes.data, array.data.ptr, raw.size, self._runtime.memcpyDeviceToHost)
        return raw

    def write_bytes(self, array: Any, content: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
        content = np.ascontiguousarray(content)
        self._copy(array.data.ptr, content.ctypes.data, content.size, self._runtime.memcpyHostToDevice)

    def _copy(self, target: int, source: int, nbytes: int, kind: int) -> None:
        self.host_access("copies bytes from or to the host")
        stream = self.stream_address()
        with self.current():
            self._runtime.memcpyAsync(target, source, nbytes, kind, stream)
            self._runtime.streamSynchronize(stream)

    def workspace(self, nbytes: int) -> Any:
        cupy = _cupy()
        with self.current(), self._on_stream():
            try:
                return self.allocated(cupy.cuda.alloc(nbytes))
            except cupy.cuda.memory.OutOfMemoryError as error:
                raise AllocFailed(f"{self.info.name}: {error}") from None

    def native_workspace(self, workspace: Any) -> Any:
        return self.wrap(workspace, "workspace") if is_torch(workspace) else workspace

    def workspace_size(self, workspace: Any) -> int:
        cupy = _cupy()
        if isinstance(workspace, self._array):
            self.signature(workspace)
            if not workspace.flags.forc:
                raise BadParam(argument="workspace", expected="a contiguous array", got=f"strides {workspace.strides}")
            return min(int(workspace.nbytes), self.room(workspace))
        if isinstance(workspace, cupy.cuda.MemoryPointer):
            return int(workspace.mem.size - (workspace.ptr - workspace.mem.ptr))
        raise BadParam(argument="workspace", expected="a CuPy array or MemoryPointer", got=type_name(workspace))

    # execution

    def compile(self, file: str, name: str, defines: Mapping[str, int | float | str], text: str = "") -> Kernel:
        program = self._programs.get(file, "cuda", defines, text, self._load)
        return Kernel(name, program)

    def _load(self, source: str) -> tuple[Any, int]:
        cupy = _cupy()
        arch = self.info.arch
        key = ("cuda", source, *nvrtc_options(arch), self.info.name, self.info.driver, self.info.version)
        with self.current():
            cubin = kernel_cache.load(key)
            module = _module_type()()
            if cubin is not None:
                try:
                    module.load(cubin)
                    return module, len(cubin)
                except cupy.cuda.driver.CUDADriverError:
                    module = _module_type()()  # the driver refuses it: build anew and replace it
            cubin = compile_cubin(source, arch)
            module.load(cubin)
            kernel_cache.store(key, cubin)
            return module, len(cubin)

    def binding(self, launches: Sequence[Launch]) -> tuple[Callable[..., None], Callable[[], bool]]:
        with self.current():
            steps = [Step(launch) for launch in launches]
        cupy = _cupy()
        current_stream, driver_error = cupy.cuda.get_current_stream, cupy.cuda.driver.CUDADriverError
        errors = (driver_error, self._runtime.CUDARuntimeError)
        get_device, index, address = self._runtime.getDevice, self._index, self.address
        several = len(_devices()) > 1
        counts = any(isinstance(arg, CountersArg) for launch in launches for arg in launch.args)
        early = "early_launches" in self.info.features
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
                bound, last_stream = [step.on(stream, early) for step in steps], stream
            try:
                counters = self._counters_of(stream) if counts else 0
                for step, launch in zip(steps, bound, strict=True):
                    step.pack(arrays, scalars, scratch, counters)
                    if status := launch():
                        raise driver_error(status)
            except errors as error:
                if self._made_current(error):
                    return run(arrays, scalars, workspace)
                raise ExecutionFailed(f"{self.info.name}: {error}") from error

        def repeat() -> bool:
            if several and get_device() != index:
                with self.current():
                    return repeat()
            if (self._stream or current_stream(index)).ptr != last_stream:
                return False
            try:
                for launch in bound:
                    if status := launch():
                        raise driver_error(status)
            except errors as error:
                if self._made_current(error):
                    return repeat()
                raise ExecutionFailed(f"{self.info.name}: {error}") from error
            return True

        return run, repeat

    def _made_current(self, error: Exception) -> bool:
        """Make the device's context that of a thread which never used CUDA, if a launch failed because it has none."""
        driver = _cupy().cuda.driver
        if getattr(error, "status", None) != _INVALID_CONTEXT or driver.ctxGetCurrent():
            return False
        self._runtime.free(0)
        return bool(driver.ctxGetCurrent())

    graph_mode = "cuda graph"

    def graph(self, calls: Sequence[BoundLaunches]) -> Callable[[], None]:
        cupy = _cupy()
        errors = (cupy.cuda.driver.CUDADriverError, self._runtime.CUDARuntimeError)
        with self.current():
            self.synchronize()  # the pool may hand out memory that is still in use
            try:
                graph, kept = self._captured(calls)
            except errors as error:
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
        """Return a CUDA graph of the launches, and what it needs for as long as it lives."""
        stream = _cupy().cuda.Stream(non_blocking=True)  # the default stream cannot be captured
        early = "early_launches" in self.info.features
        steps = {id(launch): Step(launch) for launches, *_ in calls for launch in launches}
        enqueue = {key: step.on(stream.ptr, early) for key, step in steps.items()}
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

    def _counters_of(self, stream: int) -> int:
        """Return the address of a stream's counters."""
        memory = self._counters.get(stream)
        if memory is None:
            memory = self._counters[stream] = self._zeros(stream)
        return memory.ptr  # type: ignore[no-any-return]

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

    @property
    def stream(self) -> Any:
        return self._cupy_stream()

    def set_stream(self, stream: Any) -> None:
        self._stream = usable_stream(stream, self._index)

    def close(self) -> None:
        self._counters.clear()
