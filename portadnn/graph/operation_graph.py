"""A validated graph, frozen: what engines see. Operations in an order in which they can run, joined by tensors.

As a :class:`~portadnn.problem.Problem` it holds no data, compares and hashes by value.
"""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass
from typing import Any

from . import layout
from .data_types import data_type
from .enums import tensor_reordering


@dataclass(frozen=True)
class TensorInfo:
    """A tensor of a frozen graph.

    Attributes
    ----------
    uid : int
        Its place in variant packs.
    dims, strides : tuple of int
        In logical order and in elements.
    virtual : bool
        Whether it exists inside the graph only; its numbers are rounded to `data_type` all the same.
    by_value : bool
        Whether it is a number of the host's.
    value : float, int or None
        That number where the graph states it; `constant` says whether variant packs may have another.
    ragged_offset : int or None
        Uid of the tensor of offsets, each of which counts `ragged_multiplier` elements.
    """

    uid: int
    name: str
    dims: layout.Dims
    strides: layout.Dims
    data_type: data_type
    virtual: bool = False
    by_value: bool = False
    value: float | int | None = None
    constant: bool = False
    alignment: int = 16
    reordering: tensor_reordering = tensor_reordering.NONE
    ragged_offset: int | None = None
    ragged_multiplier: int = 1

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.dims)

    @property
    def steps(self) -> layout.Dims:
        """The strides of dims of more than one element: two tensors of equal dims and steps lie alike."""
        return tuple(step for size, step in zip(self.dims, self.strides, strict=True) if size > 1)

    @property
    def span(self) -> int:
        """Elements from the first to the last, gaps included."""
        return layout.span(self.dims, self.strides)

    @property
    def extent(self) -> int:
        """Bytes from the first to the last element, gaps included."""
        return self.span * self.data_type.itemsize

    def describe(self) -> str:
        """Return name, type and layout, for messages."""
        return (
            f"tensor '{self.name}' (uid {self.uid}) [{self.data_type} {list(self.dims)} strides {list(self.strides)}]"
        )


@dataclass(frozen=True)
class Operation:
    """A node of a frozen graph.

    Attributes
    ----------
    kind : str
        Name of a :class:`~portadnn.graph.node.Kind`.
    inputs, outputs : tuple of (str, int)
        Ports and the uids of the tensors there.
    attributes : tuple of (str, object)
        All of the kind's, complete and checked.
    compute_type : data_type
        NOT_SET where nothing is computed.
    """

    kind: str
    name: str
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    attributes: tuple[tuple[str, Any], ...]
    compute_type: data_type

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.kind} '{self.name}'"

    @functools.cached_property
    def uids(self) -> dict[str, int]:
        """Uids by port."""
        return dict(self.inputs + self.outputs)

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        """Attributes by name."""
        return dict(self.attributes)

    def __getitem__(self, attribute: str) -> Any:
        return self.values[attribute]


@dataclass(frozen=True)
class OperationGraph:
    """Operations in an order in which they can run, and their tensors by uid."""

    name: str
    operations: tuple[Operation, ...]
    tensors: tuple[TensorInfo, ...]

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.name, self.operations, self.tensors))

    def __hash__(self) -> int:  # asked at every look for what is known of a graph
        return self._hash

    @functools.cached_property
    def by_uid(self) -> dict[int, TensorInfo]:
        """The tensors by uid."""
        return {info.uid: info for info in self.tensors}

    def at(self, operation: Operation, port: str) -> TensorInfo:
        """Return the tensor at an operation's port."""
        return self.by_uid[operation.uids[port]]

    @functools.cached_property
    def written(self) -> frozenset[int]:
        """Uids of the tensors that operations write."""
        return frozenset(uid for operation in self.operations for _, uid in operation.outputs)

    @functools.cached_property
    def packed(self) -> tuple[TensorInfo, ...]:
        """The tensors that variant packs are asked for: not virtual, and not constants."""
        return tuple(info for info in self.tensors if not info.virtual and not info.constant)

    @functools.cached_property
    def digest(self) -> str:
        """A text that graphs of one structure share: names and uids do not count."""
        places = {info.uid: place for place, info in enumerate(self.tensors)}
        words: list[Any] = [
            (i.dims, i.strides, i.data_type, i.virtual, i.by_value, i.value if i.constant else None, i.alignment)
            for i in self.tensors
        ]
        for operation in self.operations:
            ports = [(port, places[uid]) for port, uid in operation.inputs + operation.outputs]
            words.append((operation.kind, ports, operation.attributes, operation.compute_type))
        return "graph " + hashlib.blake2b(repr(words).encode(), digest_size=16).hexdigest()

    def key(self) -> int:
        """Return :attr:`digest` as a number of 63 bits."""
        return int(self.digest.rpartition(" ")[2][:16], 16) >> 1
