"""What the cuDNN calls of one problem share: descriptors, memory and numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from portadnn.enums import DataType
from portadnn.problem import Problem, TensorSpec

from .call import PERIOD, random_values, special_values
from .cudnn_library import Descriptor, Library, ints
from .peer import NoEquivalent

LEAST_DIMS = 4  # of a cuDNN tensor
MOST = 2**31 - 1  # elements of one

Calls = dict[str, Callable[[], None]]


class Connection(Protocol):
    """A loaded library with its handle, and CuPy."""

    library: Library
    handle: Any
    cupy: Any


class Setting:
    """Makes what the calls of one problem take; everything made lives as long as the calls."""

    def __init__(self, connection: Connection, problem: Problem, numbers: Mapping[str, float]) -> None:
        self.cupy = connection.cupy
        self.library = connection.library
        self.handle = connection.handle
        self.problem: Any = problem
        self.real: Any = ctypes.c_double if problem.dtype is DataType.DOUBLE else ctypes.c_float
        self._numbers = {**problem.scalars, **numbers}
        self._things: list[Any] = []  # descriptors, memory and numbers live as long as the calls
        self._memory: dict[str, Any] = {}

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
        if spec.span > MOST:
            raise NoEquivalent(f"cuDNN's tensors have at most {MOST} elements")
        more = (1,) * (LEAST_DIMS - len(spec.dims))
        dims, strides = (*spec.dims, *more), (*spec.strides, *more)
        return self.descriptor("Tensor", "Nd", int(spec.dtype), len(dims), ints(dims), ints(strides))

    def descriptor(self, kind: str, form: str = "", *args: Any) -> Any:
        """Return a descriptor of that kind; its set call takes `args`, if there are any."""
        made = self.kept(Descriptor(self.library, kind))
        if args:
            middle, _, last = form.partition("_")
            name = f"cudnnSet{kind}{middle}Descriptor{'_' + last if last else ''}"
            self.library.call(name, made.pointer, *args)
        return made.pointer

    def data(self, name: str) -> Any:
        """Return the address of a tensor's memory, which holds random values at first; None without the tensor."""
        if self.spec(name) is None:
            return None
        if name not in self._memory:
            self._memory[name] = self._values(name)
        return self._memory[name].data.ptr

    def _values(self, name: str) -> Any:
        spec, values = self.spec(name), special_values(self.problem, name)
        if values is not None:
            return self.cupy.asarray(values.view("u1"))
        row = TensorSpec.packed(spec.dtype, (1, 1, min(spec.span, PERIOD)))
        values = random_values(row, self.problem.index(name))
        return self.cupy.tile(self.cupy.asarray(values.view("u1")), -(-spec.span // PERIOD))

    def value(self, name: str) -> float:
        """Return one of the problem's run-time numbers."""
        return self._numbers[name]

    def bytes(self, count: int) -> Any:
        """Return the address of scratch memory; None for none."""
        return self.kept(self.cupy.zeros(count, "u1")).data.ptr if count else None

    def number(self, value: float | str) -> Any:
        """Return the address of a number, or of the problem's run-time number of that name, in the arithmetic type."""
        number = self.kept(self.real(self._numbers[value] if isinstance(value, str) else value))
        return ctypes.cast(ctypes.pointer(number), ctypes.c_void_p)

    def call(self, name: str, *args: Any) -> Callable[[], None]:
        """Return a call of a C function, whose first argument is the handle."""
        run = self.library.bound(name, self.handle, *args)
        kept = self._things, self._memory

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
