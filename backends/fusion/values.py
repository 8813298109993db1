"""What generated kernels compute: primitive nodes, pointwise and reducing, joined by values.

Graphs become programs of these in :mod:`.expand`. Dims all have the program's rank, with ones in front.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from portadnn.graph.data_types import data_type
from portadnn.graph.enums import pointwise_mode, reduction_mode
from portadnn.graph.layout import Dims
from portadnn.graph.operation_graph import TensorInfo

STORAGE = {  # names of fusion/fused.h
    data_type.FLOAT: "f32",
    data_type.DOUBLE: "f64",
    data_type.HALF: "f16",
    data_type.BFLOAT16: "bf16",
    data_type.INT8: "i8",
    data_type.UINT8: "u8",
    data_type.BOOLEAN: "b8",
    data_type.INT32: "i32",
    data_type.INT64: "i64",
    data_type.FP8_E4M3: "e4m3",
    data_type.FP8_E5M2: "e5m2",
}
_WIDE = {data_type.DOUBLE: "D", data_type.INT32: "I", data_type.INT64: "L"}


def register_of(kind: data_type) -> str:
    """Return the register of fusion/fused.h that holds numbers of a type."""
    return _WIDE.get(kind, "F")


class Sample(Enum):
    """Reductions that are none of the graph's: they take the first of the numbers."""

    FIRST = 1

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class Value:
    """Numbers, one at each place of `dims`.

    Attributes
    ----------
    kind : data_type or None
        The type to which they are rounded; None keeps them as they were computed.
    info : TensorInfo or None
        The tensor of the graph that they are; None for what is within an operation.
    strides : tuple of int
        Of the tensor's memory, or of the workspace's.
    offset : int
        Elements of the tensor's memory before the first of these.
    node : Node or None
        What computes them; None for inputs.
    """

    name: str
    dims: Dims
    kind: data_type | None = None
    info: TensorInfo | None = None
    strides: Dims = ()
    node: Node | None = None
    offset: int = 0

    @property
    def register(self) -> str:
        """The register of fusion/fused.h that holds them."""
        if self.kind is not None:
            return register_of(self.kind)
        assert self.node is not None
        return self.node.arithmetic

    @property
    def memory_type(self) -> data_type:
        """The type in which they lie in memory."""
        if self.kind is not None:
            return self.kind
        return {"F": data_type.FLOAT, "D": data_type.DOUBLE, "L": data_type.INT64}[self.register]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.dims)

    def within(self, dims: Sequence[int]) -> bool:
        """Tell whether they broadcast to `dims`."""
        return all(mine in (1, wide) for mine, wide in zip(self.dims, dims, strict=True))


@dataclass(eq=False)
class Node:
    """A primitive operation: pointwise, or a reduction over the axes along which the output has one element.

    Attributes
    ----------
    arithmetic : {"F", "D", "L"}
        The register in which it computes.
    whole : bool
        Whether quotients are integers.
    label : str
        The graph's operation, for comments.
    """

    mode: pointwise_mode | reduction_mode | Sample
    inputs: tuple[Value, ...]
    out: Value
    arithmetic: str
    whole: bool = False
    label: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def reduces(self) -> bool:
        """Whether it is a reduction."""
        return not isinstance(self.mode, pointwise_mode)

    @property
    def samples(self) -> bool:
        """Whether it is a reduction that looks at one place alone."""
        return isinstance(self.mode, Sample)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that a reduction takes together."""
        pairs = zip(self.inputs[0].dims, self.out.dims, strict=True)
        return tuple(axis for axis, (size, kept) in enumerate(pairs) if size != kept)


@dataclass
class Program:
    """Primitive nodes in an order in which they can run.

    Attributes
    ----------
    outputs : list of Value
        Those that have to be in memory at the end.
    """

    rank: int
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)

    def values(self) -> Iterator[Value]:
        """Yield all values, each once."""
        seen: set[int] = set()
        for node in self.nodes:
            for value in (*node.inputs, node.out):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield value

    @property
    def needs_doubles(self) -> bool:
        """Whether any register is wider than 32 bits."""
        registers = {value.register for value in self.values()} | {node.arithmetic for node in self.nodes}
        return bool(registers & {"D", "L"})
