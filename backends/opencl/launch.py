"""Kernel launches on OpenCL: arguments that are set only when they change, and enqueueing as cheaply as can be."""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from portadnn.enums import DataType

from ..base import ConstantArg, CountersArg, Launch, ScalarArg, TensorArg, WorkspaceArg
from .devices import opencl


class Seen(NamedTuple):
    """What an array looked like at its last call; `offset` counts bytes.

    `serial` is never used twice, and the array keeps the buffer alive: a kernel whose argument was set from the same
    serial still holds it.
    """

    serial: int
    signature: tuple[Any, ...]
    buffer: Any
    offset: int
    shape: Any
    strides: Any
    context: Any
    address: int
    item_size: int
    host: Any  # what stands for the host's memory that it lies in, if it does


class Step:
    """A launch with a kernel object of its own, whose arguments are set again only when they differ.

    Attributes
    ----------
    words : tuple
        What clEnqueueNDRangeKernel takes after the queue, as ctypes passes it on: half the time of turning numbers into
        that. None is a pointer, and numbers are those of 32 bits.
    state : list
        What the arguments were set from: serials of the tensors, the numbers' bytes, serial of the workspace. Plain
        memory objects have none: their arguments are set at every call.
    """

    def __init__(self, launch: Launch, counters: Callable[[], Any]) -> None:
        self.kernel = opencl().Kernel(launch.kernel.native, launch.kernel.name)
        self.size = tuple(g * b for g, b in zip(launch.grid, launch.block, strict=True))
        self.block = launch.block
        dims = len(self.size)
        self._sizes = (ctypes.c_size_t * (2 * dims))(*self.size, *self.block)
        first = ctypes.addressof(self._sizes)
        block = first + dims * ctypes.sizeof(ctypes.c_size_t)
        kernel, size, local = map(ctypes.c_void_p.from_param, (self.kernel.int_ptr, first, block))
        self.words = (kernel, dims, None, size, local, 0, None, None)
        self.state: list[Any] = []
        self._places: dict[int, int] = {}  # where tensors begin in their buffers, by the argument's position
        self._args: list[tuple[int, TensorArg | ScalarArg | WorkspaceArg]] = []
        position = 0
        for arg in launch.args:
            if isinstance(arg, ConstantArg):
                self.kernel.set_arg(position, arg.value)
            elif isinstance(arg, CountersArg):
                self.kernel.set_arg(position, counters())
                self.kernel._set_arg_buf(position + 1, _pack_long(0))
            else:
                self._args.append((position, arg))
            position += 2 if isinstance(arg, (TensorArg, WorkspaceArg, CountersArg)) else 1

    def set(self, seen: Sequence[Seen], scalars: Sequence[float], workspace: Any, start: int, state: list[Any]) -> None:
        """Set the arguments that differ from the last call's; the workspace begins at byte `start` of its buffer."""
        old, self.state = self.state or [None] * len(state), []  # nothing is known if this fails half way
        set_arg, set_bytes = self.kernel.set_arg, self.kernel._set_arg_buf
        for position, arg in self._args:
            if isinstance(arg, TensorArg):
                if old[arg.index] != state[arg.index]:
                    one = seen[arg.index]
                    set_arg(position, one.buffer)
                    size = one.item_size if arg.dtype is None else arg.dtype.itemsize
                    place = (one.offset + arg.offset) // size
                    if self._places.get(position) != place:  # as a rule all begin where their buffers do
                        self._places.pop(position, None)
                        set_bytes(position + 1, _pack_long(place))
                        self._places[position] = place
            elif isinstance(arg, ScalarArg):
                if old[-2] != state[-2]:
                    pack = _pack_double if arg.dtype is DataType.DOUBLE else _pack_float
                    set_bytes(position, pack(scalars[arg.index]))
            elif old[-1] != state[-1] or state[-1] is None:
                set_arg(position, workspace)
                set_bytes(position + 1, _pack_long((start + arg.offset) // arg.dtype.itemsize))
        self.state = state


_pack_long, _pack_float, _pack_double = (struct.Struct(code).pack for code in "qfd")
_DOUBLES = [struct.Struct(f"{count}d").pack for count in range(33)]


def pack_doubles(numbers: Sequence[float]) -> bytes:
    """Return the numbers' bytes: -0.0 and 0.0 are equal, but not the same argument."""
    return _DOUBLES[len(numbers)](*numbers)


# enqueueing

Enqueue = Callable[
    [Any, Step], Callable[[], Any]
]  # enqueue(queue, step)() launches, and returns a status that is not 0, if any

_ENQUEUE_KERNEL = 59  # clEnqueueNDRangeKernel's place in the table of an ICD's functions (cl_icd.h)
_POINTER = ctypes.c_void_p


def enqueue(queue: Any, step: Step) -> Callable[[], Any]:
    """Launch through PyOpenCL, which raises."""
    launch, kernel, size, block = opencl().enqueue_nd_range_kernel, step.kernel, step.size, step.block

    def call() -> None:
        launch(queue, kernel, size, block)

    return call


def direct_enqueue(device: Any, queue: Any) -> Enqueue | None:
    """Return a function that makes launches through the driver's own, without an event; None where that cannot be.

    PyOpenCL asks for an event at every launch: 0.7 us more on an NVIDIA GPU. Objects of drivers with ``cl_khr_icd``
    begin with a pointer to a table of the driver's functions. Everything is bound beforehand, in the types of C.
    """
    if "cl_khr_icd" not in device.platform.extensions.split():
        return None
    table = _POINTER.from_address(queue.int_ptr).value or 0
    address = _POINTER.from_address(table + _ENQUEUE_KERNEL * ctypes.sizeof(_POINTER)).value or 0
    function = ctypes.CFUNCTYPE(ctypes.c_int32)(address)

    def enqueue(queue: Any, step: Step) -> Callable[[], Any]:
        return functools.partial(function, _POINTER.from_param(queue.int_ptr), *step.words)

    return enqueue


class Calls:
    """The launches of some steps on the queue that was asked for last.

    Attributes
    ----------
    queue : object
        That queue.
    calls : list of callable
        One for each step, which returns a status that is not 0, if any.
    """

    def __init__(self, enqueue: Enqueue, steps: Sequence[Step]) -> None:
        self._enqueue = enqueue
        self._steps = steps
        self.queue: Any = None
        self.calls: list[Callable[[], Any]] = []

    def on(self, queue: Any) -> list[Callable[[], Any]]:
        """Return the calls for a queue."""
        if queue is not self.queue:
            self.calls = [self._enqueue(queue, step) for step in self._steps]
            self.queue = queue
        return self.calls
