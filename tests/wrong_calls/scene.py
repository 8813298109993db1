"""What calls are made with: a handle, and memory whose bytes are known, so that a write to it is seen."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn import miopen

# One geometry for everything, so that few kernels are compiled: images of 2 channels and 4 x 4 pixels, which every
# operation maps to images of the same dims; an LSTM of one layer with 2 inputs and 2 hidden units over 2 steps.
IMAGE = (1, 2, 4, 4)
FILTER = (2, 2, 3, 3)
CHANNELS = (1, 2, 1, 1)
STEPS = (2, 2, 2)
STATE = (1, 2, 2)
WEIGHTS = (48, 1, 1)
THETA = (1, 2, 3)
GRID = (1, 4, 4, 2)
WORKSPACE = 1 << 14
RESERVE = 1 << 12
GUARD = 256  # bytes before and after each buffer that is watched


@dataclass
class Call:
    """A public function with its arguments by the names of its parameters; None for `keyword` is a positional one."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    keywords: frozenset[str] = frozenset()
    extra: list[Any] = field(default_factory=list)

    def __call__(self) -> Any:
        positional = [value for name, value in self.arguments.items() if name not in self.keywords]
        return self.function(*positional, *self.extra, **{name: self.arguments[name] for name in self.keywords})


@dataclass
class Kept:
    """Memory that was given to a call."""

    what: str
    read: Callable[[], bytes]
    before: bytes


class Scene:
    """Memory and descriptors of one case, on a handle that cases share.

    Parameters
    ----------
    handles
        ``handle`` is shared; ``closed`` is closed; ``other`` is of the same backend, ``foreign`` of another one.
    """

    def __init__(self, handles: dict[str, dnn.Handle], number: int = 0) -> None:
        self.handles = handles
        self.handle = handles["handle"]
        self.backend = self.handle.backend
        self.rng = np.random.default_rng(number)
        self.kept: list[Kept] = []
        self.opened: list[dnn.Handle] = []

    def close(self) -> None:
        for handle in self.opened:
            with contextlib.suppress(dnn.DnnError):  # destroyed already
                miopen.miopenDestroy(handle)  # which ends its profiling as well

    def new_handle(self) -> dnn.Handle:
        """Return a handle that no other case sees."""
        handle = dnn.Handle(self.backend)
        self.opened.append(handle)
        return handle

    # memory

    def array(self, dims: Sequence[int], dtype: Any = np.float32) -> Any:
        """Return a packed array of the backend in memory of its own, guarded at both ends."""
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            host = self.rng.standard_normal(dims).astype(dtype)
        else:
            host = self.rng.integers(0, 2, dims).astype(dtype)
        return self.laid(dims, dtype, host)

    def laid(
        self,
        dims: Sequence[int],
        dtype: Any = np.float32,
        host: Any = None,
        *,
        strides: Sequence[int] | None = None,
        room: int | None = None,
        offset: int = 0,
    ) -> Any:
        """Return an array of the backend with any layout (strides in bytes) on watched memory of `room` bytes."""
        dtype = np.dtype(dtype)
        size = int(np.prod(dims, dtype=np.int64)) * dtype.itemsize
        room = size + offset if room is None else room
        memory = np.frombuffer(self.rng.bytes(room + 2 * GUARD), np.uint8).copy()
        if host is not None:
            memory[GUARD + offset : GUARD + offset + size] = np.frombuffer(
                np.ascontiguousarray(host).tobytes(), np.uint8
            )
        if self.backend == "opencl":
            return self._on_device(memory, dims, dtype, strides, offset)
        aligned = _aligned(memory)
        self.keep("array", aligned)
        if room < size + offset or strides is not None:
            return np.lib.stride_tricks.as_strided(
                aligned[GUARD + offset :][: dtype.itemsize or 1].view(dtype) if dtype.itemsize else aligned,
                tuple(dims),
                _packed(dims, dtype.itemsize) if strides is None else tuple(strides),
            )
        return aligned[GUARD + offset : GUARD + offset + size].view(dtype).reshape(dims)

    def _on_device(self, memory: Any, dims: Any, dtype: Any, strides: Any, offset: int) -> Any:
        import pyopencl as cl
        import pyopencl.array as cl_array

        queue = self.handles["handle"].get_stream()
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffer = cl.Buffer(queue.context, flags, hostbuf=memory)
        before = memory.tobytes()

        def read() -> bytes:
            found = np.empty(len(before), np.uint8)
            cl.enqueue_copy(queue, found, buffer)
            return found.tobytes()

        self.kept.append(Kept("array", read, before))
        part = buffer.get_sub_region(GUARD, len(memory) - 2 * GUARD) if len(memory) > 2 * GUARD else None
        strides = _packed(dims, dtype.itemsize) if strides is None else tuple(strides)
        return cl_array.Array(queue, tuple(dims), dtype, data=part, offset=offset, strides=strides)

    def keep(self, what: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Watch host memory."""
        self.kept.append(Kept(what, array.tobytes, array.tobytes()))
        return array

    def buffer(self, nbytes: int) -> Any:
        """Return a workspace or a reserve space: bytes of the backend."""
        return self.laid((nbytes,), np.uint8)

    def written(self) -> list[str]:
        """Return what does not hold any more what it held."""
        return [kept.what for kept in self.kept if kept.read() != kept.before]

    def forget(self) -> None:
        """Take what memory holds now for what it is to hold."""
        for kept in self.kept:
            kept.before = kept.read()


def _packed(dims: Sequence[int], size: int) -> tuple[int, ...]:
    strides = []
    for dim in reversed(dims):
        strides.append(size)
        size *= max(dim, 1)
    return tuple(reversed(strides))


def _aligned(memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy that begins at a multiple of 64 bytes."""
    room = np.empty(memory.size + 64, np.uint8)
    start = -room.ctypes.data % 64
    room[start : start + memory.size] = memory
    return room[start : start + memory.size]


def digest(*words: Any) -> int:
    """Return a number that depends on the words alone."""
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:8], "little")
