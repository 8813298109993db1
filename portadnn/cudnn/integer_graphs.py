"""Calls on integers and vectors of channels as graphs: of the Graph API, whose engines compute in every type.

A graph is made once for each handle and key, and planned by the handle's engines. Its tensors are read with the layouts
of :mod:`.storage`; vectors split the channels, so that pointwise nodes read and write where the bytes lie.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import as_real
from ..descriptors import TensorView
from ..dispatch.arrays import dtype_of, wrap
from ..dispatch.problems import check_handle
from ..enums import DataType
from ..errors import BadParam
from ..handle import Handle
from ..problem import TensorSpec
from .storage import Stored

if TYPE_CHECKING:
    from ..graph.per_handle import PerHandle

_known: list[PerHandle[Hashable, Composed]] = []


class Composed:
    """A graph under construction, then its plan.

    Attributes
    ----------
    graph : portadnn.graph.pygraph
        Whose types between nodes are FLOAT where nothing else is said.
    """

    def __init__(self, handle: Handle, compute: str = "FLOAT") -> None:
        from .. import graph

        self._types, self._heur = graph.data_type, graph.heur_mode
        self.compute = self.type(compute)
        self.graph = graph.pygraph(
            handle=handle, intermediate_data_type=self.compute, compute_data_type=self.compute, name="cudnn"
        )
        self._handle = handle
        self._inputs: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """What :meth:`run` takes."""
        return tuple(self._inputs)

    def type(self, name: str) -> Any:
        """Return the Graph API's type of a name."""
        return self._types[name]

    def tensor(self, name: str, place: Stored) -> Any:
        """Return the tensor that a call's memory of a name is read as."""
        return self.laid_out(name, place.type, place.places, place.steps)

    def laid_out(self, name: str, type: str, dims: tuple[int, ...], steps: tuple[int, ...]) -> Any:
        """Return a tensor of stated dims and strides."""
        made = self.graph.tensor(name=name, dim=list(dims), stride=list(steps), data_type=self.type(type))
        self._inputs[name] = made
        return made

    def number(self, name: str, rank: int) -> Any:
        """Return a number that each call passes."""
        ones = [1] * rank
        made = self.graph.tensor(name=name, dim=ones, stride=ones, data_type=self.compute, is_pass_by_value=True)
        self._inputs[name] = made
        return made

    def scaled(self, value: Any, factor: str, rank: int) -> Any:
        """Return a tensor times a number of the call."""
        return self.graph.mul(value, self.number(factor, rank))

    def result(self, name: str, place: Stored, value: Any) -> None:
        """Store a tensor with a layout: rounded to its type, integers to the nearest, ties to even, and saturated."""
        self.stored(name, self.type(place.type), place.places, place.steps, value)

    def stored(self, name: str, type: Any, dims: tuple[int, ...], steps: tuple[int, ...], value: Any) -> None:
        """Store a tensor with stated dims and strides."""
        value.set_output(True).set_data_type(type).set_dim(list(dims)).set_stride(list(steps))
        self._inputs[name] = value

    def plan(self) -> Composed:
        """Choose how it is computed."""
        self.graph.build([self._heur.A])
        return self

    def run(self, arguments: Mapping[str, Any]) -> None:
        """Compute with a call's memory and numbers, by name."""
        pack = {tensor: arguments[name] for name, tensor in self._inputs.items()}
        self.graph.execute(pack, handle=self._handle)


def composed(handle: Handle, key: Hashable, make: Callable[[], Composed]) -> Composed:
    """Return the planned graph of a key, which `make` makes the first time."""
    if not _known:
        from ..graph.per_handle import PerHandle

        _known.append(PerHandle())
    with check_handle(handle).lock:
        return _known[0].get(handle, key, lambda: make().plan())


_DTYPES = {"FLOAT": "float32", "DOUBLE": "float64", "HALF": "float16", "BFLOAT16": "bfloat16", "INT32": "int32"}


def memory_of(handle: Handle, memory: Any, name: str, type: str = "") -> Any:
    """Return memory as graphs take it: arrays as bytes.

    Parameters
    ----------
    type
        Of the elements to be read or written. Integers of any size may be vectors of bytes.

    Raises
    ------
    BadParam
        It is NULL, or an array of other elements.
    """
    if isinstance(memory, ctypes.c_void_p):
        memory = memory.value
    if memory is None:
        raise BadParam(argument=name, expected="memory", got="NULL")
    dtype = dtype_of(memory)
    if not isinstance(dtype, np.dtype) or dtype == np.uint8:
        return memory
    wanted = _DTYPES.get(type, "")
    halves = dtype.itemsize == 2 and type in ("HALF", "BFLOAT16")
    if type and dtype.name != wanted and not halves and (wanted or dtype.kind not in "iu"):
        raise BadParam(argument=name, expected=f"an array of {wanted or type.lower()} or uint8", got=dtype.name)
    if isinstance(memory, np.ndarray):
        plain = memory.flags.forc and memory.__class__ is np.ndarray
        return memory.reshape(-1, order="A").view(np.uint8) if plain else memory
    device = check_handle(handle).device
    return device.as_bytes(memory) if device.owns(memory) else memory


def factor(value: Any, name: str) -> float:
    """Return a blending factor."""
    return as_real(value, name)


def part_of(handle: Handle, memory: Any, name: str, size: int, offset: int, type: str = "") -> Any:
    """Return memory of `size` bytes from a byte on, as graphs take it."""
    memory = memory_of(handle, memory, name, type)
    if offset == 0:
        return memory
    if isinstance(memory, (int, np.integer)):
        return int(memory) + offset
    device = check_handle(handle).device
    return wrap(device, TensorView(TensorSpec(DataType.UINT8, (size - offset,), (1,)), memory, offset), name)
