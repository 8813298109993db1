"""A stand-in for CuPy for ROCm: clang in hiprtc's place, the executor of AMD's machine code in the GPU's.

It has of CuPy what ``portadnn_backends.cupy_devices`` asks for. A kernel that leaves the memory of its arguments is an
error. Launches are finished when they return.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.machinery
import itertools
import operator
import sys
import tempfile
import types
import weakref
from pathlib import Path

import numpy as np

from amd_isa import clang, hip_texts
from amd_isa.executor.memory import allocate
from amd_isa.executor.run import Code, ExecutorError
from portadnn.host_arrays import span_bytes
from portadnn_backends.cupy_devices import device as cupy_device
from portadnn_backends.cupy_devices import library
from portadnn_backends.hip import compiler, devices

WAVES = {"gfx1100": 32, "gfx942": 64}


class RuntimeFailure(RuntimeError):
    """CuPy's CUDARuntimeError."""


class DriverFailure(RuntimeError):
    """CuPy's CUDADriverError."""

    def __init__(self, status):
        super().__init__(f"status {status}" if isinstance(status, int) else status)
        self.status = status


class CompilerFailure(RuntimeError):
    """CuPy's NVRTCError."""


class Block:
    """Memory that was allocated, or that somebody else owns."""

    def __init__(self, ptr, size, owner, device_id=0):
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    """A place in a block."""

    def __init__(self, mem, offset):
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def __add__(self, offset):
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


class Array:
    """CuPy's ndarray: `host` is its memory as NumPy sees it."""

    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        self.data, self.dtype, self.shape = memptr, np.dtype(dtype), tuple(shape)
        sizes = itertools.accumulate(self.shape[:0:-1], operator.mul, initial=self.dtype.itemsize)
        self.strides = tuple(sizes)[: len(self.shape)][::-1] if strides is None else tuple(strides)

    @property
    def host(self):
        raw = (ctypes.c_byte * span_bytes(self.shape, self.strides, self.dtype.itemsize)).from_address(self.data.ptr)
        return np.ndarray(self.shape, self.dtype, raw, strides=self.strides)

    nbytes = property(lambda self: int(np.prod(self.shape)) * self.dtype.itemsize)
    flags = property(lambda self: self.host.flags)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))

    def _at(self, view):
        place = view.ctypes.data - self.data.ptr if view.size else 0
        return Array(view.shape, view.dtype, self.data + place, view.strides)

    def __getitem__(self, index):
        return self._at(self.host[index])

    def transpose(self, order):
        return self._at(self.host.transpose(order))

    def reshape(self, *shape):
        return self._at(self.host.reshape(*shape))

    def view(self, dtype):
        return self._at(self.host.view(dtype))


class Module:
    """A loaded code object."""

    def __init__(self):
        self.code = None

    def load(self, code):
        folder = Path(tempfile.gettempdir()) / "portadnn-code-objects"
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / hashlib.sha256(code).hexdigest()
        if not path.is_file() or path.read_bytes() != code:
            path.write_bytes(code)
        self.code = Code(path, Module.gpu.target, "hip")

    def get_function(self, name):
        return types.SimpleNamespace(ptr=Module.gpu.function(self, name), module=self)


class Stream:
    """A stream, which has nothing to wait for."""

    def __init__(self, ptr=0, non_blocking=False):
        self.ptr, self.device_id = ptr, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        pass

    def begin_capture(self):
        raise RuntimeError("the stand-in does not capture")


class Event:
    """An event."""

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass


class Gpu:
    """A GPU of a target, and the module that stands for CuPy."""

    def __init__(self, target):
        self.target, self.blocks = target, weakref.WeakValueDictionary()  # by their first address
        self.functions, self.numbers = {}, itertools.count(1)
        self.programs, self.launches = {}, 0
        self.cupy = types.ModuleType("cupy")
        self.cupy.__dict__.update(
            __version__="14.2.0",
            __spec__=importlib.machinery.ModuleSpec("cupy", None),
            ndarray=Array,
            uint8=np.uint8,
            asarray=self.asarray,
        )
        self.cupy.asnumpy = lambda array: array.host.copy()
        self.cupy.cuda = types.SimpleNamespace(
            runtime=self._runtime(),
            driver=types.SimpleNamespace(CUDADriverError=DriverFailure, launchKernel=self.launch),
            nvrtc=self._compiler(),
            function=types.SimpleNamespace(Module=type("Module", (Module,), {})),
            memory=types.SimpleNamespace(OutOfMemoryError=MemoryError),
            alloc=self.alloc,
            MemoryPointer=MemoryPointer,
            UnownedMemory=Block,
            Stream=Stream,
            ExternalStream=Stream,
            Event=Event,
            Device=lambda index: contextlib.nullcontext(),
            get_elapsed_time=lambda start, end: 1.0,
            get_current_stream=lambda *_: DEFAULT,
        )
        Module.gpu = self

    def alloc(self, nbytes):
        memory = allocate(nbytes)
        block = self.blocks[memory.ctypes.data] = Block(memory.ctypes.data, nbytes, memory)
        return MemoryPointer(block, 0)

    def memory_from(self, address):
        """Return the memory from an address to the end of its allocation."""
        for start, block in list(self.blocks.items()):
            if start <= address < start + block.size or address == start:
                return block.owner[address - start :]
        return np.uint64(address)  # nobody's: an empty tensor's, or one that the executor will find no memory at

    def asarray(self, host):
        made = Array(host.shape, host.dtype, self.alloc(host.nbytes))
        made.host[...] = host
        return made

    def function(self, module, name):
        number = next(self.numbers)
        self.functions[number] = (module.code, name)
        return number

    def launch(self, function, *words):
        """Stand for hipModuleLaunchKernel: read the arguments behind the pointers, as long as the code object says."""
        *sizes, local_bytes, _stream, table, _extra = words
        code, name = self.functions[function]
        wanted = [a for a in code.kernels[name].arguments if not a.kind.startswith("hidden_")]
        addresses = (ctypes.c_void_p * len(wanted)).from_address(table) if wanted else ()
        values = []
        for at, argument in zip(addresses, wanted, strict=True):
            raw = ctypes.string_at(at, argument.size)
            pointer = argument.kind == "global_buffer"
            values.append(self.memory_from(int.from_bytes(raw, "little")) if pointer else np.void(raw))
        self.launches += 1
        try:
            code.launch(name, tuple(sizes[:3]), tuple(sizes[3:]), values, local_bytes)
        except ExecutorError as error:
            raise DriverFailure(str(error)) from None

    def _runtime(self):
        properties = {
            "name": b"stand-in",
            "gcnArchName": f"{self.target}:xnack-".encode(),
            "multiProcessorCount": 4,
            "warpSize": WAVES[self.target],
            "maxThreadsPerBlock": 1024,
            "sharedMemPerBlock": 64 << 10,
            "totalGlobalMem": 16 << 30,
            "clockRate": 2_000_000,
            "memoryClockRate": 1_000_000,
            "memoryBusWidth": 256,
        }
        return types.SimpleNamespace(
            is_hip=True,
            CUDARuntimeError=RuntimeFailure,
            getDevice=lambda: 0,
            getDeviceCount=lambda: 1,
            getDeviceProperties=lambda index: properties,
            driverGetVersion=lambda: 70000000,
            runtimeGetVersion=lambda: 70000000,
            memcpyDeviceToHost=2,
            memcpyHostToDevice=1,
            memcpyAsync=lambda to, of, nbytes, kind, stream: ctypes.memmove(to, of, nbytes),
            memsetAsync=lambda to, value, nbytes, stream: ctypes.memset(to, value, nbytes),
            streamSynchronize=lambda stream: None,
        )

    def _compiler(self):
        return types.SimpleNamespace(
            NVRTCError=CompilerFailure,
            getVersion=lambda: (7, 0, clang.find().version.split()[-1]),
            createProgram=self._create,
            compileProgram=self._compile,
            getProgramLog=lambda program: self.programs[program][1],
            getPTX=lambda program: self.programs[program][1][:-1],
            destroyProgram=lambda program: self.programs.pop(program),
        )

    def _create(self, source, name, headers, include_names):
        number = next(self.numbers)
        self.programs[number] = (source, "")
        return number

    def _compile(self, program, options):
        source, _ = self.programs[program]
        arch = next(o for o in options if o.startswith("--offload-arch="))
        assert arch == f"--offload-arch={self.target}:xnack-"
        try:
            self.programs[program] = (source, hip_texts.compile(source, self.target).read_bytes())
        except clang.Refused as refusal:
            self.programs[program] = (source, str(refusal))
            raise CompilerFailure("HIPRTC_ERROR_COMPILATION (6)") from None


DEFAULT = Stream()


def install(target):
    """Have the backend hip use a stand-in for a GPU of that target from now on, and return it."""
    gpu = Gpu(target)
    _use(gpu.cupy)
    return gpu


@contextlib.contextmanager
def installed(target):
    """Have the backend hip use a stand-in for a while; skip the test without a compiler for AMD GPUs."""
    clang.require()
    before = sys.modules.get("cupy")
    try:
        yield install(target)
    finally:
        _use(before)


def _use(cupy):
    """Make a module, or what is installed where it is None, what ``import cupy`` finds."""
    sys.modules.pop("cupy", None)
    if cupy is not None:
        sys.modules["cupy"] = cupy
    for known in (library.cupy, cupy_device.module_type, compiler.hiprtc_version, devices.devices):
        known.cache_clear()
