"""The Problem of a graph: operations in an order in which they can run, joined by tensors.

Its problem line has each operation with its tensors by port; tensors of several ports are numbered::

    matmul A=f16:8x64x32 B=f16:8x32x64 C=#1:~f32:8x64x64 ; pointwise IN_0=#1 OUT_0=f16:8x64x64 mode=RELU_FWD

``~`` marks a virtual tensor, ``=1.5`` a constant, ``?`` a number of the variant pack (``?1.5`` with its default),
``%NAME`` a reordering, ``+#2*64`` ragged offsets and what each of them counts. Names and uids are not part of it.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..enums import DataType
from ..problem import ALIGNMENT, Problem, TensorSpec
from . import layout
from .data_types import data_type
from .enums import tensor_reordering
from .memory import blocks
from .node import KINDS


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
        if self.reordering is tensor_reordering.F8_128x4:
            return blocks.nbytes(self.dims, self.strides)
        return -(-self.span * self.data_type.bits // 8)

    @property
    def coded(self) -> bool:
        """Whether elements do not lie at strides of whole bytes: its memory is looked at as bytes."""
        return self.reordering is tensor_reordering.F8_128x4 or self.data_type.bits < 8

    @property
    def spec(self) -> TensorSpec:
        """The tensor as other Problems see it; packed bytes where these do not know its type."""
        known = self.data_type.problem_type
        if known is None:
            return TensorSpec(DataType.UINT8, (self.extent,), (1,))
        return TensorSpec(known, self.dims, self.strides)

    def __str__(self) -> str:
        """Return the text form, without ragged offsets."""
        known = self.data_type.problem_type or DataType.UINT8
        words = ["~"] if self.virtual else []
        words += [self.data_type.code, ":", str(TensorSpec(known, self.dims, self.strides)).partition(":")[2]]
        if self.alignment != ALIGNMENT:
            words.append(f"@{self.alignment}")
        if self.reordering is not tensor_reordering.NONE:
            words.append(f"%{self.reordering.name}")
        if self.by_value:
            words += ["=" if self.constant else "?", "" if self.value is None else repr(self.value)]
        return "".join(words)

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
class OperationGraph(Problem):
    """Operations in an order in which they can run, and the tensors at their ports."""

    op: ClassVar[str] = ""  # lines begin with the kind of the first operation
    scalars: ClassVar[dict[str, float]] = {}

    name: str
    operations: tuple[Operation, ...]
    infos: tuple[TensorInfo, ...]

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.name, self.operations, self.infos))

    def __hash__(self) -> int:  # asked at every look for what is known of a graph
        return self._hash

    @functools.cached_property
    def by_uid(self) -> dict[int, TensorInfo]:
        """The tensors by uid."""
        return {info.uid: info for info in self.infos}

    def at(self, operation: Operation, port: str) -> TensorInfo:
        """Return the tensor at an operation's port."""
        return self.by_uid[operation.uids[port]]

    @functools.cached_property
    def results(self) -> frozenset[int]:
        """Uids of the tensors that operations write."""
        return frozenset(uid for operation in self.operations for _, uid in operation.outputs)

    @functools.cached_property
    def peers(self) -> frozenset[int]:
        """Uids of buffers in which ranks meet, and which may lie on other devices."""
        return frozenset(
            uid for operation in self.operations for port, uid in operation.inputs if port.startswith("PEER_STATS_")
        )

    @functools.cached_property
    def packed(self) -> tuple[TensorInfo, ...]:
        """The tensors that variant packs are asked for: not virtual, and not constants."""
        return tuple(info for info in self.infos if not info.virtual and not info.constant)

    @functools.cached_property
    def memory(self) -> tuple[TensorInfo, ...]:
        """The tensors in memory, in the order in which plans take them."""
        return tuple(info for info in self.packed if not info.by_value)

    @functools.cached_property
    def numbers(self) -> tuple[TensorInfo, ...]:
        """The run-time numbers, in the order in which plans take them."""
        return tuple(info for info in self.packed if info.by_value)

    @functools.cached_property
    def places(self) -> dict[int, int]:
        """Where the arrays and the numbers of a plan are in their order, by uid."""
        return {info.uid: place for infos in (self.memory, self.numbers) for place, info in enumerate(infos)}

    def arguments(self, values: Mapping[int, Any]) -> tuple[list[Any], list[float]]:
        """Return the arrays and the numbers of a mapping by uid, in the order in which plans take them."""
        return [values[info.uid] for info in self.memory], [values[info.uid] for info in self.numbers]

    def keyed(self, arrays: Sequence[Any], numbers: Sequence[float]) -> dict[int, Any]:
        """Return the arrays and numbers that a plan takes by uid."""
        infos = (*self.memory, *self.numbers)
        return {info.uid: value for info, value in zip(infos, (*arrays, *numbers), strict=True)}

    # as a Problem

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Uids of the tensors in memory, as text."""
        return tuple(str(info.uid) for info in self.memory)

    @functools.cached_property
    def tensors(self) -> tuple[TensorSpec, ...]:
        """The tensors in memory."""
        return tuple(info.spec for info in self.memory)

    @functools.cached_property
    def written(self) -> tuple[str, ...]:
        """Names of the results in memory."""
        return tuple(str(info.uid) for info in self.memory if info.uid in self.results)

    @property
    def dtype(self) -> DataType:
        """What is computed in: DOUBLE if an operation says so, else FLOAT."""
        double = any(operation.compute_type is data_type.DOUBLE for operation in self.operations)
        return DataType.DOUBLE if double else DataType.FLOAT

    def validate(self) -> None:
        """Do nothing: only validated graphs are frozen."""

    def flops(self) -> int:
        """Return the floating-point operations of all nodes."""
        return int(sum(self.flops_of(operation) for operation in self.operations))

    def bytes(self) -> int:
        """Return the bytes of all tensors in memory, constants included."""
        return sum(info.size * info.data_type.itemsize for info in self.infos if not info.virtual and not info.by_value)

    def reduction_length(self, output: str) -> int:
        """Return how many terms the node that writes a result adds up for one number of it, about."""
        uid = int(output)
        node = next(node for node in self.operations if any(one == uid for _, one in node.outputs))
        return math.ceil(self.length_of(node))

    def flops_of(self, operation: Operation) -> float:
        """Return a node's floating-point operations: two for each product that is summed, else one for each element."""
        if operation.kind == "matmul":
            return 2.0 * self.at(operation, "C").size * self.at(operation, "A").dims[-1]
        if operation.kind.startswith("sdpa"):
            return self._flops_of_attention(operation)
        if operation.kind.startswith("moe"):
            result = self.by_uid[operation.outputs[0][1]]
            return 2.0 * self.at(operation, "TOKEN").size * result.dims[2]
        ports = {"conv_fprop": ("Y", "W"), "conv_dgrad": ("DY", "W"), "conv_wgrad": ("DY", "DW")}.get(operation.kind)
        if ports is not None:  # the side of the result, and the filters
            result, filters = (self.at(operation, port) for port in ports)
            return 2.0 * result.size * math.prod(filters.dims[1:])
        return float(max(self.by_uid[uid].size for uid in operation.uids.values()))

    def _flops_of_attention(self, operation: Operation) -> float:
        """Return the operations of attention's products: two forward, five backward; half of them in a triangle."""
        q, k, v = (self.at(operation, port).dims for port in "QKV")
        products = 2 * q[3] + v[3] * 2 if "O" in dict(operation.outputs) else 6 * q[3] + 4 * v[3]
        share = 1.0 if operation["right_bound"] is None else 0.5
        return share * float(products * q[0] * q[1] * q[2] * k[2])

    def length_of(self, operation: Operation) -> float:
        """Return how many terms a node adds up for one number of its results, about."""
        if operation.kind == "matmul":
            return self.at(operation, "A").dims[-1]
        if operation.kind.startswith("moe"):
            return self.at(operation, "TOKEN").dims[1 if operation.kind.endswith("_bwd") else 2]
        inputs = max(self.by_uid[uid].size for _, uid in operation.inputs) if operation.inputs else 1
        if operation.kind in ("conv_fprop", "conv_dgrad"):
            return math.prod(self.at(operation, "W").dims[1:])
        if operation.kind == "conv_wgrad":
            return self.at(operation, "DY").size / self.at(operation, "DY").dims[1]
        if operation.kind.startswith("sdpa"):
            return math.prod(self.at(operation, "K").dims[2:])
        least = min(self.by_uid[uid].size for _, uid in operation.outputs)
        return max(inputs / max(least, 1), 1.0)

    # as text

    def _used(self) -> Iterator[int]:
        """Yield the uids of ports and of ragged offsets, in the order of operations."""
        for operation in self.operations:
            for uid in operation.uids.values():
                offset = self.by_uid[uid].ragged_offset
                yield from (uid,) if offset is None else (offset, uid)

    def canonical(self) -> OperationGraph:
        """Return the graph that its problem line stands for: tensors in order of use, numbered from 1, no names."""
        uids = {uid: place for place, uid in enumerate(dict.fromkeys(self._used()), start=1)}

        def renamed(info: TensorInfo) -> TensorInfo:
            new, offset = uids[info.uid], info.ragged_offset
            return replace(info, uid=new, name=f"t{new}", ragged_offset=None if offset is None else uids[offset])

        infos = (renamed(self.by_uid[uid]) for uid in uids)
        operations = (
            replace(
                operation,
                name=str(place),
                inputs=tuple((port, uids[uid]) for port, uid in operation.inputs),
                outputs=tuple((port, uids[uid]) for port, uid in operation.outputs),
            )
            for place, operation in enumerate(self.operations)
        )
        return OperationGraph("", tuple(operations), tuple(infos))

    def __str__(self) -> str:
        several = [uid for uid, count in Counter(self._used()).items() if count > 1]
        marks = {uid: f"#{place}" for place, uid in enumerate(several, start=1)}
        known: set[int] = set()

        def tensor(uid: int) -> str:
            if uid in known:
                return marks[uid]
            info = self.by_uid[uid]
            text = f"{info}" if uid not in marks else f"{marks[uid]}:{info}"
            if info.ragged_offset is not None:
                offset = tensor(info.ragged_offset)
                text += f"+{offset}*{info.ragged_multiplier}"
            known.add(uid)
            return text

        lines = []
        for operation in self.operations:
            words = [operation.kind, *(f"{port}={tensor(uid)}" for port, uid in operation.uids.items())]
            defaults = {attribute.name: attribute.default for attribute in KINDS[operation.kind].attributes}
            words += [
                f"{name}={_text(value)}"
                for name, value in operation.attributes
                if value is not None and (type(value), value) != (type(defaults[name]), defaults[name])
            ]
            if operation.compute_type not in (data_type.NOT_SET, data_type.FLOAT):
                words.append(f"compute={operation.compute_type.code}")
            lines.append(" ".join(words))
        return " ; ".join(lines)

    @functools.cached_property
    def digest(self) -> str:
        """A text that graphs of one structure share: names and uids do not count."""
        places = {info.uid: place for place, info in enumerate(self.infos)}
        words: list[Any] = [
            (i.dims, i.strides, i.data_type, i.virtual, i.by_value, i.value if i.constant else None, i.alignment)
            for i in self.infos
        ]
        for operation in self.operations:
            ports = [(port, places[uid]) for port, uid in operation.inputs + operation.outputs]
            words.append((operation.kind, ports, operation.attributes, operation.compute_type))
        return "graph " + hashlib.blake2b(repr(words).encode(), digest_size=16).hexdigest()

    def key(self) -> int:
        """Return :attr:`digest` as a number of 63 bits."""
        return int(self.digest.rpartition(" ")[2][:16], 16) >> 1


def _text(value: Any) -> str:
    """Return an attribute's text: commas join a tuple's parts, also behind a single one, and colons a slice's."""
    if not isinstance(value, tuple):
        return str(value)
    parts = [":".join("" if one is None else str(one) for one in v) if isinstance(v, tuple) else str(v) for v in value]
    return ",".join(parts) + ("," if len(parts) == 1 else "")
