"""The OpenCL backend: any OpenCL 1.2 device through PyOpenCL; PoCL makes the CPU one."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import struct
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from portadnn.descriptors import TensorView
from portadnn.enums import DataType
from portadnn.errors import AllocFailed, BadParam, CompileError, ExecutionFailed, NotSupported
from portadnn.problem import TensorSpec

from . import kernel_cache, sources
from .arrays import check_view, check_view_dtype, inverse, span_bytes, storage_order, type_name
from .base import (
    Backend,
    ConstantArg,
    Device,
    DeviceInfo,
    Engine,
    Kernel,
    Launch,
    Run,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)

OPTIONS = "-cl-std=CL1.2"
# LLVM names of processors on which PoCL generates 512-bit vectors; on all others 256 bits are the most
_AVX512: tuple[str, ...] = (
    "skylake-avx512",
    "cascadelake",
    "cooperlake",
    "cannonlake",
    "icelake",
    "tigerlake",
)
_AVX512 += ("rocketlake", "sapphirerapids", "emeraldrapids", "graniterapids", "znver4", "znver5")


def _pin_threads() -> None:
    """Ask PoCL to pin its threads, one to a core, before it starts them.

    Left alone, Linux often wakes all of them on one core: 1.0 of two cores measured. Not where the process may not
    use some core, because there PoCL aborts. ``POCL_AFFINITY=0`` turns it off.
    """
    if hasattr(os, "sched_getaffinity") and os.sched_getaffinity(0) == set(range(os.cpu_count() or 0)):
        os.environ.setdefault("POCL_AFFINITY", "1")


@functools.cache
def _cl() -> Any:
    _pin_threads()
    import pyopencl
    import pyopencl.array

    return pyopencl


def _simd_width(device: Any) -> int:
    """Return the float32 lanes that the compiler will use.

    PoCL overstates them for processors newer than its LLVM.
    """
    if "PoCL" in device.platform.name or "Portable Computing" in device.platform.name:
        return 16 if any(name in device.version for name in _AVX512) else 8
    return max(int(device.native_vector_width_float), 4)


def _describe(device: Any) -> DeviceInfo:
    cl = _cl()
    extensions = device.extensions.split()
    gpu = bool(device.type & cl.device_type.GPU) and not device.type & cl.device_type.CPU  # simulators are both
    nvidia = "cl_nv_device_attribute_query" in extensions
    arch = f"sm_{device.compute_capability_major_nv}{device.compute_capability_minor_nv}" if nvidia else ""
    simd = _simd_width(device)
    if gpu:
        simd = int(device.warp_size_nv) if nvidia else 32
    lanes = (128 if nvidia else 64) if gpu else 2 * simd  # of a compute unit; CPU cores have two multiply-add units
    flops = 2e6 * max(device.max_clock_frequency, 1000) * lanes * device.max_compute_units
    return DeviceInfo(
        backend="opencl",
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        kind="gpu" if gpu else "cpu",
        driver=device.driver_version,
        version=device.version,
        platform=device.platform.name.strip(),
        schedule="gpu" if gpu else "cpu",
        compute_units=device.max_compute_units,
        simd_width=simd,
        max_work_group=device.max_work_group_size,
        local_memory=device.local_mem_size,
        global_memory=device.global_mem_size,
        max_allocation=device.max_mem_alloc_size,
        fp64=bool(device.double_fp_config),
        arch=arch,
        flops=flops,
        bandwidth=flops / (15 if gpu else 10),  # OpenCL does not tell; usual for their kind
        features=frozenset(
            (["inline_ptx", "grid_fence"] if nvidia else [])
            + (["atomic64"] if nvidia or "cl_khr_int64_base_atomics" in extensions else [])
        ),
    )


def _lacks_linker(platform: Any) -> bool:
    """Tell whether PoCL would abort the process at the first kernel, because it calls a linker that is not there."""
    return "Portable Computing" in platform.name and shutil.which("ld") is None


@functools.cache
def _devices() -> tuple[tuple[Any, DeviceInfo], ...]:
    """All devices: GPUs before others, then in platform order."""
    cl = _cl()
    found = []
    for platform in cl.get_platforms():
        if _lacks_linker(platform):
            continue
        try:
            found += [(device, _describe(device)) for device in platform.get_devices()]
        except cl.Error:  # a platform without devices raises
            continue
    return tuple(sorted(found, key=lambda pair: pair[1].kind != "gpu"))


class _Signature(tuple[Any, ...]):
    """An array's signature, one object for all equal ones: plan lookups hash and compare it by identity."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__


_SERIAL = itertools.count(1)


class _Seen(NamedTuple):
    """What an array looked like at its last call; `first` counts elements, `offset` bytes.

    `serial` is never used twice, and the array keeps the buffer alive: a kernel whose argument was set from the same
    serial still holds it.
    """

    serial: int
    buffer: Any
    first: int
    offset: int
    address: int
    shape: Any
    strides: Any
    context: Any
    signature: tuple[Any, ...]


class OpenCLDevice(Device):
    """One OpenCL device with an in-order queue."""

    def __init__(self, device: Any, info: DeviceInfo, queue: Any = None) -> None:
        cl = _cl()
        self.info = info
        self._device = device
        self._own_queue: Any = None
        self._programs: dict[str, Any] = {}
        self._signatures: dict[tuple[Any, ...], _Signature] = {}
        self._scratch = _scratch_type()
        self._array = cl.array.Array
        self._cl = cl
        if queue is None:
            self._context = cl.Context([device])
            self._own_queue = queue = cl.CommandQueue(self._context, device)
        else:
            self._context = queue.context
        self._queue = queue

    # arrays

    def owns(self, array: Any) -> bool:
        return isinstance(array, self._array)

    def wrap(self, value: Any, argument: str) -> Any:
        if isinstance(value, self._array):
            return value
        if not isinstance(value, TensorView):
            raise BadParam(
                argument=argument,
                expected="a pyopencl.array.Array or descriptor.view(buffer)",
                got=type_name(value),
            )
        base = value.base
        if isinstance(base, self._array):
            check_view_dtype(value, argument, base.dtype)
            available = span_bytes(base.shape, base.strides, base.dtype.itemsize)
            buffer, start = base.base_data, base.offset
        elif _is_buffer(base):
            available, buffer, start = base.size, base, 0
        else:
            raise BadParam(argument=argument, expected="a view of a pyopencl Array or Buffer", got=type_name(base))
        if buffer is not None and buffer.context != self._context:
            raise BadParam(
                argument=argument,
                expected=f"a buffer of {self.info.name}'s context",
                got="one of another context",
            )
        offset, strides = check_view(value, argument, available)
        return self._make(value.spec.dims, value.spec.dtype.storage, strides, buffer, start + offset)

    def _make(self, shape: Any, dtype: Any, strides: Any, buffer: Any, offset: int) -> Any:
        return self._array(self._queue, shape, dtype, data=buffer, offset=offset, strides=strides)

    def signature(self, array: Any) -> tuple[Any, ...]:
        try:
            seen: _Seen = array._portadnn_seen
            if (
                seen.buffer is array.base_data
                and seen.offset == array.offset
                and seen.shape is array.shape
                and seen.strides is array.strides
                and seen.context is self._context
            ):
                return seen.signature
        except AttributeError:
            pass
        return self._look(array).signature

    def address(self, array: Any) -> int:
        try:
            return array._portadnn_seen.address  # type: ignore[no-any-return]
        except AttributeError:
            return self._look(array).address if self.owns(array) else self._address(array, 0)  # a raw buffer

    def _look(self, array: Any) -> _Seen:
        """Ask everything that calls need to know of an array, and leave it with the array for the next call."""
        if not isinstance(array, self._array):
            raise TypeError(f"{type_name(array)} is no pyopencl.array.Array")
        if array.context != self._context:
            raise BadParam(expected=f"an array of {self.info.name}'s context", got="an array of another context")
        buffer, offset = array.base_data, int(array.offset)
        signature = (array.shape, array.strides, array.dtype, offset & 15)
        array._portadnn_seen = seen = _Seen(
            serial=next(_SERIAL),
            buffer=buffer,
            first=offset // array.dtype.itemsize,
            offset=offset,
            address=self._address(buffer, offset),
            shape=array.shape,
            strides=array.strides,
            context=self._context,
            signature=self._signatures.setdefault(signature, _Signature(signature)),
        )
        return seen

    def _address(self, buffer: Any, offset: int) -> int:
        cl = self._cl
        if buffer is None:
            return 0
        try:
            parent = buffer.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)
            if parent is not None:  # a sub-buffer shares its parent's memory
                offset += buffer.get_info(cl.mem_info.OFFSET)
                buffer = parent
            return (buffer.int_ptr << 40) + offset  # type: ignore[no-any-return]
        except (AttributeError, cl.Error) as error:
            raise BadParam(expected="memory in an OpenCL buffer", got=f"{type_name(buffer)} ({error})") from None

    def empty(self, spec: TensorSpec) -> Any:
        size = spec.dtype.itemsize
        buffer = self.workspace(spec.span * size) if spec.span else None
        return self._make(spec.dims, spec.dtype.storage, tuple(s * size for s in spec.strides), buffer, 0)

    def asarray(self, array: np.ndarray[Any, Any]) -> Any:
        cl = _cl()
        order = storage_order(array)
        host = np.ascontiguousarray(array.transpose(order))
        try:
            return cl.array.to_device(self._queue, host).transpose(inverse(order))
        except cl.MemoryError as error:
            raise AllocFailed(f"{self.info.name}: {error}") from None

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        nbytes = span_bytes(array.shape, array.strides, array.dtype.itemsize)
        raw = np.empty(nbytes, np.uint8)
        if nbytes:
            _cl().enqueue_copy(self._queue, raw, array.base_data, src_offset=array.offset)
        strided = np.ndarray(array.shape, array.dtype, raw.data if nbytes else None, strides=array.strides)
        copy: np.ndarray[Any, Any] = strided.copy()
        return copy

    def workspace(self, nbytes: int) -> Any:
        cl = _cl()
        try:
            return self._scratch(self._context, cl.mem_flags.READ_WRITE, max(nbytes, 1))
        except (cl.MemoryError, cl.LogicError, cl.RuntimeError) as error:
            raise AllocFailed(f"{self.info.name}: {nbytes} bytes: {error}") from None

    def workspace_size(self, workspace: Any) -> int:
        buffer = workspace
        if isinstance(workspace, self._array):
            if workspace.offset or not workspace.flags.forc:
                raise BadParam(
                    argument="workspace",
                    expected="a contiguous array at the start of its buffer",
                    got="another",
                )
            buffer = workspace.base_data
        if buffer is None:
            return 0
        if not _is_buffer(buffer):
            raise BadParam(argument="workspace", expected="a pyopencl Buffer or Array", got=type_name(workspace))
        if buffer.context != self._context:
            raise BadParam(
                argument="workspace",
                expected=f"memory of {self.info.name}'s context",
                got="another context's",
            )
        return int(buffer.size)

    # execution

    def compile(self, file: str, name: str, defines: Mapping[str, int | float | str]) -> Kernel:
        source = sources.assemble(file, "opencl", defines)
        program = self._programs.get(source)
        if program is None:
            program = self._programs[source] = self._build(source)
        return Kernel(name, program, source)

    def _build(self, source: str) -> Any:
        cl = _cl()
        info = self.info
        key = ("opencl", source, OPTIONS, info.platform, info.name, info.driver, info.version)
        # PoCL has a cache of its own, and compiles every kernel for all work-group sizes when asked for its binary
        keep = "Portable Computing" not in info.platform and "PoCL" not in info.version
        binary = kernel_cache.load(key) if keep else None
        if binary is not None:
            try:
                program = cl.Program(self._context, [self._device], [binary])
                return self._compile(program)
            except cl.Error:
                pass  # the driver refuses the binary: build anew and replace it
        program = cl.Program(self._context, source)
        try:
            program = self._compile(program)
        except cl.Error as error:
            raise CompileError(f"OpenCL on {info.name} refused a kernel", source=source, log=str(error)) from None
        if keep:
            position = program.get_info(cl.program_info.DEVICES).index(self._device)
            kernel_cache.store(key, program.get_info(cl.program_info.BINARIES)[position])
        return program

    def _compile(self, program: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyOpenCL warns about any compiler output
            return program.build(OPTIONS, devices=[self._device], cache_dir=False)

    def bind(self, launches: Sequence[Launch]) -> Run:
        cl = _cl()
        steps = [_Step(launch) for launch in launches]
        enqueue = cl.enqueue_nd_range_kernel
        errors = (cl.Error, cl.MemoryError, cl.LogicError, cl.RuntimeError)
        look = self._look

        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            queue = self._queue
            if workspace is not None and type(workspace) is self._array:
                workspace = workspace.base_data
            try:
                seen = [array._portadnn_seen for array in arrays]
            except AttributeError:
                seen = [look(array) for array in arrays]
            state = [one.serial for one in seen]
            state.append(_PACK_DOUBLES[len(scalars)](*scalars))  # bytes, because -0.0 == 0.0
            state.append(0 if workspace is None else getattr(workspace, "serial", None))
            try:
                for step in steps:
                    if step.state != state or state[-1] is None:
                        step.set(seen, scalars, workspace, state)
                    enqueue(queue, step.kernel, step.size, step.block)
            except errors as error:
                raise ExecutionFailed(f"{self.info.name}: {error}") from error

        return run

    def synchronize(self) -> None:
        try:
            self._queue.finish()
        except _cl().Error as error:
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
                self._own_queue = _cl().CommandQueue(self._context, self._device)
            stream = self._own_queue
        check_queue(stream)
        if stream.context != self._context or stream.device != self._device:
            raise BadParam(
                argument="stream", expected="a queue of the handle's context and device", got="another one's"
            )
        self._queue = stream

    def close(self) -> None:
        self._programs.clear()
        self._own_queue = self._queue = None


def check_queue(queue: Any) -> None:
    """Demand an in-order PyOpenCL queue."""
    cl = _cl()
    if not isinstance(queue, cl.CommandQueue):
        raise BadParam(argument="stream", expected="a pyopencl.CommandQueue", got=type_name(queue))
    if queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
        raise NotSupported(argument="stream", expected="an in-order queue", got="an out-of-order one")


def _is_buffer(value: Any) -> bool:
    """Tell whether `value` is a plain buffer, pooled or not; images are memory objects too."""
    cl = _cl()
    try:
        return isinstance(value, cl.MemoryObjectHolder) and value.type == cl.mem_object_type.BUFFER
    except cl.Error:  # released
        return False


@functools.cache
def _scratch_type() -> Any:
    class Scratch(_cl().Buffer):  # type: ignore[misc]
        """A buffer of the library's own, with a number by which kernels know it again."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.serial = next(_SERIAL)

    return Scratch


class _Step:
    """A launch with a kernel object of its own, whose arguments are set again only when they differ.

    Attributes
    ----------
    state : list
        What the arguments were set from: serials of the tensors, the numbers' bytes, serial of the workspace. Plain
        memory objects have none: their arguments are set at every call.
    """

    def __init__(self, launch: Launch) -> None:
        self.kernel = _cl().Kernel(launch.kernel.native, launch.kernel.name)
        self.size = tuple(g * b for g, b in zip(launch.grid, launch.block, strict=True))
        self.block = launch.block
        self.state: list[Any] = []
        self._args: list[tuple[int, TensorArg | ScalarArg | WorkspaceArg]] = []
        position = 0
        for arg in launch.args:
            if isinstance(arg, ConstantArg):
                self.kernel.set_arg(position, arg.value)
            else:
                self._args.append((position, arg))
            position += 2 if isinstance(arg, (TensorArg, WorkspaceArg)) else 1

    def set(self, seen: Sequence[_Seen], scalars: Sequence[float], workspace: Any, state: list[Any]) -> None:
        """Set the arguments that differ from the last call's."""
        old, self.state = self.state or [None] * len(state), []  # nothing is known if this fails half way
        set_arg, set_bytes = self.kernel.set_arg, self.kernel._set_arg_buf
        for position, arg in self._args:
            if isinstance(arg, TensorArg):
                if old[arg.index] != state[arg.index]:
                    set_arg(position, seen[arg.index].buffer)
                    set_bytes(position + 1, _pack_long(seen[arg.index].first))
            elif isinstance(arg, ScalarArg):
                pack = _pack_double if arg.dtype is DataType.DOUBLE else _pack_float
                set_bytes(position, pack(scalars[arg.index]))
            elif old[-1] != state[-1] or state[-1] is None:
                set_arg(position, workspace)
                set_bytes(position + 1, _pack_long(arg.offset // arg.dtype.itemsize))
        self.state = state


_pack_long, _pack_float, _pack_double = (struct.Struct(code).pack for code in "qfd")
_PACK_DOUBLES = [struct.Struct(f"{count}d").pack for count in range(9)]


class OpenCLBackend(Backend):
    """OpenCL through PyOpenCL."""

    name = "opencl"
    install = 'pip install "portadnn[cpu]" (PoCL for the CPU), or the OpenCL driver of your GPU'

    def why_unavailable(self) -> str | None:
        try:
            cl = _cl()
        except ImportError as error:
            return f"PyOpenCL cannot be imported ({error})"
        try:
            if _devices():
                return None
            if any(_lacks_linker(platform) for platform in cl.get_platforms()):
                return "PoCL needs the linker `ld` (Debian and Ubuntu: apt install gcc libc6-dev)"
            return "no OpenCL platform has a device"
        except cl.Error as error:
            return f"no OpenCL platform was found ({error})"

    def devices(self) -> Sequence[DeviceInfo]:
        return [info for _, info in _devices()]

    def open(self, index: int, stream: Any = None) -> Device:
        found = _devices()
        if stream is not None:
            check_queue(stream)
            for device, info in found:
                if device == stream.device:
                    return OpenCLDevice(device, info, stream)
            raise BadParam(argument="stream", expected="a queue of a listed device", got=stream.device.name)
        if not 0 <= index < len(found):
            raise BadParam(argument="device", expected=f"0 to {len(found) - 1}", got=index)
        return OpenCLDevice(*found[index])

    def engines(self) -> Sequence[Engine]:
        from .engines import kernel_engines

        return kernel_engines()

    def engines_version(self) -> str:
        from .engines import kernel_engines_version

        return kernel_engines_version()


BACKEND = OpenCLBackend()
