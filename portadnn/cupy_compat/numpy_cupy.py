"""A stand-in for CuPy on machines without it: NumPy's functions, and arrays with the attributes of CuPy's.

It has what programs need that compute with arrays and with cuDNN. Kernels of CUDA source raise when they are called.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from .memory import Allocation, HostPointer, alloc


class Device:
    """A GPU's place: there is number 0, the CPU."""

    def __init__(self, device: int = 0) -> None:
        self.id = int(device)

    compute_capability = "00"

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return self.id

    def __int__(self) -> int:
        return self.id

    def use(self) -> None:
        """Make it the current one, which it is."""

    def synchronize(self) -> None:
        """Wait for nothing: the CPU is done when a call returns."""


class Stream:
    """A queue in which everything is done at once."""

    null: Stream
    ptr = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        self.device_id = 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def use(self) -> Stream:
        """Make it the current one."""
        return self

    def synchronize(self) -> None:
        """Wait for nothing."""


Stream.null = Stream()


class Event(Stream):
    """A place in a stream, which is passed at once."""

    done = True

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self.at = time.perf_counter()


class MemoryPool:
    """Memory of the host's, none of which is kept."""

    def malloc(self, size: int) -> Any:
        """Return so many bytes."""
        return alloc(size)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Free nothing: nothing is kept."""

    def used_bytes(self) -> int:
        """Return 0, as `total_bytes` and `free_bytes` do."""
        return 0

    total_bytes = free_bytes = n_free_blocks = used_bytes


class ndarray(np.ndarray[Any, Any]):
    """NumPy's array with `data.ptr`, `device`, `get` and `set`."""

    @property
    def data(self) -> Any:
        """The array's place in memory."""
        memory = Allocation(0)
        memory.array, memory.ptr, memory.size = np.asarray(self), self.ctypes.data, self.nbytes
        return HostPointer(memory, 0)

    @property
    def device(self) -> Any:
        """The CPU."""
        return Device()

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """Return a copy as NumPy's own array."""
        return np.array(self, subok=False) if out is None else np.copyto(out, self)

    def set(self, arr: Any, stream: Any = None) -> None:
        """Copy NumPy's array into this one."""
        self[...] = arr

    def reduced_view(self, dtype: Any = None) -> Any:
        """Return the array: CuPy's has dims put together where that is possible."""
        return self


def _as_ours(value: Any) -> Any:
    """Return a result with CuPy's arrays in place of NumPy's; NumPy's numbers become arrays of no dims, as there."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        return value.view(ndarray)
    if type(value) in (tuple, list):
        return type(value)(map(_as_ours, value))
    return value


def _ours(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _as_ours(function(*args, **kwargs))

    return call


class _Wrapped(ModuleType):
    """NumPy, a part of it, or nothing: functions return CuPy's arrays."""

    def __init__(self, name: str, source: Any = None) -> None:
        super().__init__(name, f"Stand-in for {name} over NumPy.")
        self.__spec__ = ModuleSpec(name, None)
        self.__path__: list[str] = []
        self._source = source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._source, name, None)
        if value is None:
            raise AttributeError(f"the stand-in for {self.__name__} has no {name}")
        if callable(value) and not isinstance(value, type):
            value = _ours(value)
        setattr(self, name, value)
        return value


class ElementwiseKernel:
    """A kernel of CUDA source, which nothing here compiles."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.kwargs = kwargs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: there is no compiler of CUDA source.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("the stand-in for CuPy runs no kernels of CUDA source")


def _get_array_module(*arrays: Any) -> Any:
    return sys.modules["cupy"] if any(isinstance(array, ndarray) for array in arrays) else np


def _decorator(*given: Any, **_: Any) -> Any:
    """Return a function as it is, decorated with or without arguments, as ``cupy.fuse`` and ``cupy.memoize`` are."""
    return given[0] if given and callable(given[0]) else lambda function: function


@contextlib.contextmanager
def _nothing(*_: Any, **__: Any) -> Iterator[None]:
    yield


@contextlib.contextmanager
def time_range(*_: Any, **__: Any) -> Iterator[None]:
    """Name a range of a profile, which nobody records; a decorator as well."""
    yield


def _parts(name: str, **members: Any) -> ModuleType:
    """Return a module of these members alone."""
    made = _Wrapped(name)
    vars(made).update(members)
    return made


def _random() -> ModuleType:
    """Return NumPy's random numbers, of which CuPy's are of any type."""

    def typed(function: Any) -> Any:
        return lambda *shape, dtype=float: _as_ours(np.asarray(function(*shape)).astype(dtype))

    made = _Wrapped("cupy.random", np.random)
    vars(made).update(rand=typed(np.random.rand), randn=typed(np.random.randn))
    return made


def _cuda() -> ModuleType:
    cuda, runtime = _Wrapped("cupy.cuda"), _Wrapped("cupy.cuda.runtime")
    names = {"CUDARuntimeError": RuntimeError, "is_hip": False, "getDevice": lambda: 0, "getDeviceCount": lambda: 1}
    vars(runtime).update(names, runtimeGetVersion=lambda: 0, deviceSynchronize=lambda: None)
    memory = {"alloc": alloc, "MemoryPointer": HostPointer, "Memory": Allocation, "MemoryPool": MemoryPool}
    memory |= {"PinnedMemoryPool": MemoryPool, "set_allocator": _nothing, "set_pinned_memory_allocator": _nothing}
    streams = {"Stream": Stream, "ExternalStream": Stream, "Event": Event, "get_current_stream": lambda *_: Stream.null}
    streams["get_elapsed_time"] = lambda begin, end: 1e3 * (end.at - begin.at)
    vars(cuda).update(memory | streams, Device=Device, runtime=runtime, is_available=lambda: True, profile=_nothing)
    cuda.memory = _parts("cupy.cuda.memory", **memory)  # type: ignore[attr-defined]
    cuda.stream = _parts("cupy.cuda.stream", **streams)  # type: ignore[attr-defined]
    return cuda


def stand_in() -> dict[str, ModuleType]:
    """Return the modules by name: cupy, cupy.cuda, cupyx, and those that cuDNN's modules go into."""
    cupy, cuda = _Wrapped("cupy", np), _cuda()
    vars(cupy).update(
        is_stand_in=True,
        __version__="13.0.0",
        cuda=cuda,
        ndarray=ndarray,
        asnumpy=lambda a, *_, **__: np.array(a, subok=False),
        get_array_module=_get_array_module,
        ElementwiseKernel=ElementwiseKernel,
        ReductionKernel=ElementwiseKernel,
        RawKernel=ElementwiseKernel,
        fuse=_decorator,
        memoize=_decorator,
        random=_random(),
        linalg=_Wrapped("cupy.linalg", np.linalg),
        fft=_Wrapped("cupy.fft", np.fft),
        testing=_Wrapped("cupy.testing", np.testing),
        prof=_parts("cupy.prof", time_range=time_range, TimeRangeDecorator=time_range),
        get_default_memory_pool=MemoryPool,
        get_default_pinned_memory_pool=MemoryPool,
    )
    made: dict[str, Any] = {
        name: _Wrapped(name) for name in ("cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.libs")
    }
    made["cupy_backends"].cuda = made["cupy_backends.cuda"]
    made["cupy_backends.cuda"].libs = made["cupy_backends.cuda.libs"]
    parts = {f"cupy.{name}": getattr(cupy, name) for name in ("cuda", "random", "linalg", "fft", "testing", "prof")}
    parts |= {f"cupy.cuda.{name}": getattr(cuda, name) for name in ("runtime", "memory", "stream")}
    cupyx, profiler = _Wrapped("cupyx"), _parts("cupyx.profiler", time_range=time_range, profile=time_range)
    vars(cupyx).update(rsqrt=lambda x, **_: _as_ours(1 / np.sqrt(x)), scatter_add=np.add.at, profiler=profiler)
    return {"cupy": cupy, "cupyx": cupyx, "cupyx.profiler": profiler, **parts, **made}
