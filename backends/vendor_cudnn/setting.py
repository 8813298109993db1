"""What the cuDNN calls of one problem share: descriptors that are set once, and the places of memory and numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from portadnn.enums import DataType, TensorFormat
from portadnn.errors import NotSupported
from portadnn.problem import Problem, TensorSpec, packed_strides

from .library import Descriptor, Library, ints

LEAST_DIMS = 4  # of a cuDNN tensor
MOST = 2**31 - 1  # elements of one
ALIGNMENT = 256  # bytes, of each part of a workspace

Call = Callable[[], None]
Calls = dict[str, Call]


class Connection(Protocol):
    """A library and a handle of it on one device."""

    library: Library
    handle: Any
    stream: int


class Memory(Protocol):
    """What of a device's memory the steps around a call of the library need."""

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Enqueue a copy from one address of the device to another."""

    def read(self, source: int, nbytes: int) -> bytes:
        """Return bytes of the device, once everything enqueued has written them."""

    def write(self, target: int, data: bytes) -> None:
        """Enqueue a copy of some bytes to the device."""

    def store(self, data: bytes) -> Any:
        """Return a device array of these bytes, whose address is its `.data.ptr`."""


class Setting:
    """Makes what the calls of one problem take; everything made lives as long as the calls.

    Memory and run-time numbers are ctypes objects whose values :meth:`point` sets before the calls are made.

    Parameters
    ----------
    exact
        Calls give the same bits again and know no limits of values, as portadnn promises; otherwise cuDNN's
        ways that are faster and do not are offered as well.

    Attributes
    ----------
    slots : dict of str to c_void_p
        Addresses of the problem's tensors.
    workspace : int
        Bytes of scratch memory that the calls take.
    least : dict of str to int
        Bytes that byte buffers of the problem need.
    before, after : list of callables
        What has to be done around the calls; each takes the :class:`Memory`.
    """

    def __init__(self, connection: Connection, problem: Problem, *, exact: bool = True) -> None:
        self.connection = connection
        self.library = connection.library
        self.handle = connection.handle
        self.problem: Any = problem
        self.exact = exact
        self.slots = {name: ctypes.c_void_p() for name in problem.names}
        self.workspace = 0
        self.least: dict[str, int] = {}
        self.before: list[Callable[[Memory], None]] = []
        self.after: list[Callable[[Memory], None]] = []
        self._real: Any = ctypes.c_double if problem.dtype is DataType.DOUBLE else ctypes.c_float
        self._scratch: list[tuple[ctypes.c_void_p, int]] = []
        self._numbers: dict[str, list[Any]] = {name: [] for name in problem.scalars}
        self._things: list[Any] = []
        self._descriptors: dict[TensorSpec, Any] = {}

    # what changes from call to call

    def point(self, addresses: Sequence[int], numbers: Sequence[float], workspace: int) -> None:
        """Set the addresses of the tensors, the run-time numbers and the workspace, in the problem's order."""
        for slot, address in zip(self.slots.values(), addresses, strict=True):
            slot.value = address
        for places, number in zip(self._numbers.values(), numbers, strict=True):
            for place in places:
                place.value = number
        for slot, offset in self._scratch:
            slot.value = workspace + offset

    def data(self, name: str) -> Any:
        """Return the place of a tensor's address; None for a tensor that the problem does without."""
        return self.slots.get(name)

    def scratch(self, nbytes: int) -> Any:
        """Return the place of the address of a part of the workspace; None for no bytes."""
        if not nbytes:
            return None
        slot = ctypes.c_void_p()
        self._scratch.append((slot, self.workspace))
        self.workspace += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return slot

    def number(self, value: float | str) -> Any:
        """Return the address of a number, or of the run-time number of that name, in the arithmetic type."""
        place = self.kept(self._real(0.0 if isinstance(value, str) else value))
        if isinstance(value, str):
            self._numbers[value].append(place)
        return ctypes.cast(ctypes.pointer(place), ctypes.c_void_p)

    def value(self, name: str) -> Any:
        """Return the place of a run-time number that is passed as a double."""
        place = ctypes.c_double()
        self._numbers[name].append(place)
        return place

    # what is set once

    def kept(self, thing: Any) -> Any:
        """Return a thing that is to live as long as the calls."""
        self._things.append(thing)
        return thing

    def spec(self, name: str) -> Any:
        """Return a tensor's spec; None for one that the problem does without."""
        return getattr(self.problem, name)

    def tensor(self, name: str) -> Any:
        """Return the descriptor of one of the problem's tensors."""
        return self.tensor_of(self.spec(name))

    def tensor_of(self, spec: TensorSpec) -> Any:
        """Return a tensor descriptor."""
        found = self._descriptors.get(spec)
        if found is None:
            if max(spec.span, spec.size) > MOST:
                raise NotSupported(f"cuDNN's tensors have at most {MOST} elements")
            dims, strides = arrangement(spec)
            words = (int(spec.dtype), len(dims), ints(dims), ints(strides))
            found = self._descriptors[spec] = self.descriptor("Tensor", "Nd", *words)
        return found

    def descriptor(self, kind: str, form: str = "", *args: Any) -> Any:
        """Return a descriptor of that kind; its set call takes `args`, if there are any."""
        made = self.kept(Descriptor(self.library, kind))
        if args:
            middle, _, last = form.partition("_")
            name = f"cudnnSet{kind}{middle}Descriptor{'_' + last if last else ''}"
            self.library.call(name, made.pointer, *args)
        return made.pointer

    def packed(self, *names: str) -> None:
        """Demand tensors that are packed: cuDNN has no descriptor for them, or one for several."""
        for name in names:
            spec = self.spec(name)
            if spec is not None and not spec.is_packed():
                raise NotSupported(f"{name} has to be packed")

    def alike(self, *names: str) -> None:
        """Demand tensors of one layout: cuDNN has one descriptor for them."""
        first, *others = (spec for spec in map(self.spec, names) if spec is not None)
        if not all(first.same_strides(other) for other in others):
            raise NotSupported(f"{', '.join(names)} have to lie alike")

    # the calls

    def call(self, name: str, *args: Any) -> Call:
        """Return a call of a C function, whose first argument is the handle."""
        run = self.library.bound(name, self.handle, *args)
        kept = self._things

        def call(_kept: Any = kept) -> None:
            run()

        return call

    def one(self, name: str, *args: Any) -> Calls:
        """Return the only way."""
        return {name: self.call(name, *args)}

    def pairs(self, *names: str) -> tuple[Any, ...]:
        """Return descriptor and memory of each tensor, in turn."""
        return tuple(thing for name in names for thing in (self.tensor(name), self.data(name)))

    def blended(self, inputs: Sequence[str], output: str) -> tuple[Any, ...]:
        """Return alpha, the inputs, beta, the output: the order of most calls."""
        return (self.number("alpha"), *self.pairs(*inputs), self.number("beta"), *self.pairs(output))


Maker = Callable[[Setting], Calls]
Makers = Mapping[str, Maker]


def arrangement(spec: TensorSpec) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the dims and strides of a tensor as cuDNN wants them: at least four, and no stride of 0 where none counts.

    The strides of dims of 1, which say nothing, are those of the packed format, so that cuDNN sees that it is one.
    """
    dims = (*spec.dims, *(1,) * (LEAST_DIMS - len(spec.dims)))
    strides = (*spec.strides, *(1,) * (LEAST_DIMS - len(spec.strides)))
    for format in TensorFormat:
        packed = packed_strides(dims, format)
        if all(d == 1 or a == b for d, a, b in zip(dims, strides, packed, strict=True)):
            return dims, packed
    return dims, tuple(max(s, 1) if d == 1 else s for d, s in zip(dims, strides, strict=True))
