"""Nodes: an operation of the graph with its tensors at named ports, and the kinds that operations are of.

A :class:`Kind` is data: ports, attributes with their defaults, and one function that checks the inputs and settles the
outputs. Everything that works on graphs reads it: construction, validation, engines, other interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from . import layout
from .data_types import data_type
from .enums import NodeType
from .errors import GraphError
from .rules import fail
from .tensor import tensor

T = TypeVar("T")
REQUIRED: Any = object()


@dataclass(frozen=True)
class Port:
    """Where a tensor enters or leaves a node.

    Attributes
    ----------
    many : bool
        Any number of tensors, at ports with the name and ``_0``, ``_1`` ...
    scalar : bool
        A number, which programs may state as such.
    given : bool
        An output that there is only where the program passes a tensor for it.
    suffix : str
        Of the names of tensors that are made for it, after the node's; by default ``"::"`` and the port's name.
    """

    name: str
    optional: bool = False
    many: bool = False
    scalar: bool = False
    given: bool = False
    suffix: str = ""


@dataclass(frozen=True)
class Attribute:
    """A parameter of a kind; `parse(value, name)` turns what was given into what is kept."""

    name: str
    parse: Callable[[Any, str], Any]
    default: Any = REQUIRED


@dataclass(frozen=True)
class Kind:
    """A kind of operation.

    Attributes
    ----------
    name : str
        As the method of :class:`~portadnn.graph.api.pygraph`.
    settle : callable
        Checks a node's inputs and attributes and settles its outputs' dims and strides.
    computes : bool
        Whether it needs a compute type; what only moves elements does not.
    same_type : bool
        Whether its outputs must have the type of its first input.
    ragged : bool
        Whether its tensors may have ragged offsets.
    blocks : frozenset of str
        Ports of tensors that may have types of block scaling, and lie in tiles.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    settle: Callable[[Node], None]
    attributes: tuple[Attribute, ...] = ()
    computes: bool = True
    same_type: bool = False
    ragged: bool = False
    blocks: frozenset[str] = frozenset()

    def port(self, name: str, *, output: bool) -> Port | None:
        """Return the port that a tensor's place belongs to."""
        for port in self.outputs if output else self.inputs:
            stem, _, number = name.rpartition("_")
            if (name == port.name and not port.many) or (port.many and stem == port.name and number.isdecimal()):
                return port
        return None


KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Make a kind known by its name."""
    KINDS[kind.name] = kind
    return kind


class Node:
    """An operation of a graph.

    Attributes
    ----------
    inputs, outputs : dict of str to tensor
        By port; a tensor that was left out is not there.
    attributes : dict
        All of the kind's, parsed.
    compute_type : data_type
    """

    def __init__(
        self,
        kind: Kind,
        name: str,
        inputs: Mapping[str, tensor | None],
        attributes: Mapping[str, Any],
        compute_type: data_type,
    ) -> None:
        self.kind = kind
        self.name = name
        self.compute_type = compute_type
        self.inputs = {port: given for port, given in inputs.items() if given is not None}
        self.outputs: dict[str, tensor] = {}
        self.attributes = self._parsed(attributes)

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.kind.name} '{self.name}'"

    # as cudnn-frontend's nodes show themselves

    @property
    def node_type(self) -> NodeType:
        """The kind, as a member of an enumeration."""
        return NodeType[self.kind.name.upper().replace("BACKWARD", "BWD")]

    @property
    def params(self) -> dict[str, Any]:
        """The attributes."""
        return dict(self.attributes)

    @property
    def compute_data_type(self) -> data_type:
        """The type of computations."""
        return self.compute_type

    def _parsed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        known = {attribute.name: attribute for attribute in self.kind.attributes}
        for name in given:
            if name not in known:
                raise self.fail("PG-NODE-005", argument=name, expected=", ".join(known) or "no attributes", got=name)
        values = {}
        for attribute in known.values():
            value = given.get(attribute.name, attribute.default)
            if value is None and attribute.default is not REQUIRED and not isinstance(attribute.default, bool):
                value = attribute.default  # as cudnn-frontend 1.32 takes it
            if value is REQUIRED:
                raise self.fail("PG-NODE-003", argument=attribute.name, fix=f"pass {attribute.name}=...")
            try:
                values[attribute.name] = attribute.parse(value, attribute.name)
            except GraphError as error:
                error.node = self.label
                raise
        return values

    def fail(self, id: str, port: str | None = None, **facts: Any) -> GraphError:
        """Return the error of a rule at this node, and at the tensor of a port."""
        at = None if port is None else self.inputs.get(port) or self.outputs.get(port)
        if at is not None:
            facts.setdefault("tensor", f"{port} = {at.describe()}")
        elif port is not None:
            facts.setdefault("argument", port)
        return fail(id, node=self.label, **facts)

    # what the kinds' functions ask

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    def has(self, port: str) -> bool:
        """Tell whether there is a tensor at the port."""
        return port in self.inputs or port in self.outputs

    def dims(self, port: str) -> layout.Dims:
        """Return the dims of the tensor at a port."""
        return (self.inputs.get(port) or self.outputs[port]).dims

    def strides(self, port: str) -> layout.Dims:
        """Return the strides of the tensor at a port."""
        return (self.inputs.get(port) or self.outputs[port]).strides

    def many(self, port: str) -> list[str]:
        """Return the ports in use of one that takes any number."""
        names = [name for name in self.inputs if name.rpartition("_")[0] == port]
        return sorted(names, key=lambda name: int(name.rpartition("_")[2]))

    def demand_rank(self, port: str, least: int, most: int = 8) -> None:
        """Demand a number of dims."""
        rank = len(self.dims(port))
        if not least <= rank <= most:
            wanted = f"{least} dims" if least == most else f"{least} to {most} dims"
            raise self.fail("PG-NODE-006", port, expected=wanted, got=f"{rank}", fix="set dims of that number")

    def demand_dims(self, port: str, wanted: Sequence[int], why: str) -> None:
        """Demand the dims of an input."""
        if self.has(port) and self.dims(port) != tuple(wanted):
            raise self.fail(
                "PG-NODE-007",
                port,
                expected=f"{list(wanted)} ({why})",
                got=list(self.dims(port)),
                fix=f"give {port} the dims {list(wanted)}",
            )

    def settle(self, port: str, dims: Sequence[int], strides: Sequence[int], why: str, id: str = "PG-NODE-008") -> None:
        """Give an output dims and strides where it has none; dims that were set must be these."""
        out = self.outputs.get(port)
        if out is None:
            return
        if not out.dims:
            out.set_dim(dims).inferred.add("dims")
        elif out.dims != tuple(dims):
            raise self.fail(
                id,
                port,
                expected=f"{list(dims)} ({why})",
                got=list(out.dims),
                fix=f"leave the dims out or set_dim({list(dims)})",
            )
        if not out.strides:
            out.set_stride(strides).inferred.add("strides")

    def settle_like(self, port: str, source: str, why: str = "") -> None:
        """Give an output the dims and strides of an input."""
        self.settle(port, self.dims(source), self.strides(source), why or f"as {source}")
