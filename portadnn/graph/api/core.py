"""The graph: nodes in any order, joined by the tensors they share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...errors import shown
from .. import ops
from ..checks.validation import check_graph
from ..data_types import data_type
from ..enums import scalar_type
from ..errors import GraphError
from ..node import KINDS, Kind, Node
from ..operation_graph import Operation, OperationGraph, TensorInfo
from ..order import in_order
from ..rules import fail
from ..tensor import tensor
from .arguments import is_array, plain, text

_ = ops  # makes all kinds known
_TAGS = {  # cudnn-frontend's, of kinds that it names otherwise
    "sdpa_backward": "SDPA_BWD",
    "sdpa_fp8": "SDPA_FP8_FWD",
    "sdpa_fp8_backward": "SDPA_FP8_BWD",
    "batchnorm_backward": "DBN",
    **{f"{norm}norm": f"{norm.upper()}_NORM" for norm in ("layer", "instance", "rms")},
    **{f"{norm}norm_backward": f"{norm.upper()}_NORM_BPROP" for norm in ("layer", "instance", "rms")},
    "adalayernorm": "ADA_LAYER_NORM",
    "adalayernorm_backward": "ADA_LAYER_NORM_BPROP",
}
_SHOWN = 6  # nodes that a graph's representation names


class Graph:
    """Nodes and tensors, with the types that they have unless they say otherwise.

    Parameters
    ----------
    name
        For messages and pictures.
    io_data_type, intermediate_data_type, compute_data_type
        Of tensors in variant packs, of virtual tensors, and of computations.

    Notes
    -----
    ``pygraph`` builds it by methods; other interfaces use :meth:`add`, with the outputs given, in any order.
    """

    def __init__(
        self,
        name: str = "",
        io_data_type: Any = data_type.NOT_SET,
        intermediate_data_type: Any = data_type.NOT_SET,
        compute_data_type: Any = data_type.NOT_SET,
    ) -> None:
        self.name = text("" if name is None else name, "name")
        self.io_data_type = data_type.parse(io_data_type, "io_data_type")
        self.intermediate_data_type = data_type.parse(intermediate_data_type, "intermediate_data_type")
        self.compute_data_type = data_type.parse(compute_data_type, "compute_data_type")
        self.left_out: set[str] = set()  # of the types, and taken from the io type
        self.assumed: dict[str, str] = {}  # of these, which are used, and where first
        self.adopt: Callable[[Any, str], tensor] | None = None  # makes tensors of arrays, as cudnn-frontend 1.32 does
        self.nodes: list[Node] = []
        self.declared: list[tensor] = []  # by the program, apart from nodes

    def assume_types(self) -> None:
        """Take types that were left out from the io type, as cudnn-frontend 1.32 does; FLOAT stands for 16 bits."""
        io = self.io_data_type
        if self.intermediate_data_type is data_type.NOT_SET:
            self.intermediate_data_type = data_type.FLOAT if io is data_type.NOT_SET else io
            self.left_out.add("intermediate_data_type")
        if self.compute_data_type is data_type.NOT_SET:
            self.compute_data_type = data_type.DOUBLE if io is data_type.DOUBLE else data_type.FLOAT
            self.left_out.add("compute_data_type")

    def declare(self, made: tensor) -> tensor:
        """Take note of a tensor that the program made, which is then expected to be used."""
        self.declared.append(made)
        return made

    def add(
        self,
        kind: str,
        inputs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        *,
        outputs: Mapping[str, tensor] | None = None,
        results: Mapping[str, tensor | None] | None = None,
        compute_type: Any = data_type.NOT_SET,
        name: str = "",
    ) -> Node:
        """Add a node.

        Parameters
        ----------
        kind
            Name of a kind of operation.
        inputs
            Tensors by port, or arrays where the graph adopts these; numbers at ports of scalars; None is left out.
        attributes
            Those that are not to have their defaults.
        outputs
            Tensors by port; without them all outputs are made, virtual and named ``"<node>::<PORT>"``.
        results
            Tensors for some outputs, by port; None is left out. The other outputs are made.
        compute_type
            NOT_SET takes the graph's.
        name
            By default the number of nodes so far.

        Raises
        ------
        GraphValidationError
            Unknown kinds, ports or attributes, what is missing, or an output that has a producer already.
        """
        if kind not in KINDS:
            raise fail("PG-NODE-001", argument="kind", expected=", ".join(sorted(KINDS)), got=shown(kind))
        what = KINDS[kind]
        name = text("" if name is None else name, "name") or str(len(self.nodes))
        if self.adopt is not None:
            inputs = {p: self.adopt(one, f"{name}::{p}") if _is_operand(one) else one for p, one in inputs.items()}
        given = {port: _as_tensor(what, name, port, value) for port, value in inputs.items() if value is not None}
        for port, one in given.items():
            at = what.port(port, output=False)
            if one.by_value_assumed and at is not None and not at.scalar:  # what the operation reads is memory
                one.set_is_pass_by_value(False)
        if kind == "pointwise" and given and not any(isinstance(value, tensor) for value in inputs.values()):
            raise _no_tensor(what, name, next(iter(given)), "a tensor of the graph", next(iter(inputs.values())))
        node = Node(what, name, given, attributes or {}, data_type.parse(compute_type, "compute_data_type"))
        _check_ports(node)
        made = _new_outputs(node) if outputs is None else dict(outputs)
        made.update({port: out for port, out in (results or {}).items() if out is not None})
        for port, out in made.items():
            _check_output(node, port, out)
        for port, out in made.items():
            out.producer, out.port = node, port
        node.outputs = made
        self.nodes.append(node)
        return node

    def tensors(self) -> Iterator[tensor]:
        """Yield all tensors of the nodes and those that were declared, each once."""
        seen: set[int] = set()
        for node in self.nodes:
            for used in (*node.inputs.values(), *node.outputs.values()):
                for one in (used, used.get_ragged_offset()):
                    if one is not None and id(one) not in seen:
                        seen.add(id(one))
                        yield one
        for one in self.declared:
            if id(one) not in seen:
                seen.add(id(one))
                yield one

    def validate(self) -> list[Node]:
        """Check everything that can be known without data, and settle what is unset; returns the nodes in order.

        Raises
        ------
        GraphValidationError
            With the id of the rule, see :data:`~portadnn.graph.rules.RULES`.
        """
        return check_graph(self)

    def give_uids(self) -> None:
        """Give a uid to each tensor that has none: from 1 on, without those that are taken."""
        taken = {one.get_uid() for one in self.tensors() if one.has_uid()}
        free = 1
        for one in self.tensors():
            if not one.has_uid():
                while free in taken:
                    free += 1
                taken.add(free)
                one.set_uid(free)

    def freeze(self) -> OperationGraph:
        """Return the validated graph as engines see it; all tensors have uids then."""
        self.give_uids()
        nodes = in_order(self.nodes)
        used: dict[int, TensorInfo] = {}
        for node in nodes:
            for one in (*node.inputs.values(), *node.outputs.values()):
                for each in (one.get_ragged_offset(), one):
                    if each is not None:
                        used.setdefault(each.get_uid(), info_of(each))
        return OperationGraph(self.name, tuple(_operation(node) for node in nodes), tuple(used.values()))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data, for JSON."""
        types = {"io_data_type": self.io_data_type, "intermediate_data_type": self.intermediate_data_type}
        names = self._names()
        return {
            "context": {
                "name": self.name,
                **{k: v.name for k, v in types.items()},
                "compute_data_type": self.compute_data_type.name,
            },
            "nodes": [
                {
                    "tag": _TAGS.get(node.kind.name, node.kind.name.upper()),
                    "name": node.name,
                    "compute_data_type": node.compute_type.name,
                    "inputs": {port: names[id(one)] for port, one in node.inputs.items()},
                    "outputs": {port: names[id(one)] for port, one in node.outputs.items()},
                    **{name: _plain(value) for name, value in node.attributes.items()},
                }
                for node in self.nodes
            ],
            "tensors": {names[id(one)]: one.as_dict() for one in self.tensors()},
        }

    def _names(self) -> dict[int, str]:
        """Return the tensors' names by identity; those that are not the first of a name have a number behind it."""
        counts: Counter[str] = Counter()
        names = {}
        for one in self.tensors():
            name = one.get_name()
            counts[name] += 1
            names[id(one)] = name if counts[name] == 1 else f"{name}#{counts[name]}"
        return names

    def __str__(self) -> str:
        return json.dumps(self.as_dict())

    def __repr__(self) -> str:
        nodes = [f"{node.kind.name} {node.name!r}" for node in self.nodes[:_SHOWN]]
        more = [f"{len(self.nodes) - _SHOWN} more"] if len(self.nodes) > _SHOWN else []
        return f"<graph {shown(self.name)} of {', '.join(nodes + more) or 'no nodes'}>"


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value.name if hasattr(value, "name") else int(value) if isinstance(value, int) else str(value)


def _is_operand(value: Any) -> bool:
    """Tell whether a value is an array of any library, and no number."""
    return not isinstance(value, tensor) and is_array(value, least=1)


def _as_tensor(kind: Kind, name: str, port: str, value: Any) -> tensor:
    """Return a tensor, or the scalar that a number stands for."""
    if isinstance(value, tensor):
        return value
    place, value = kind.port(port, output=False), plain(value)
    if place is not None and place.scalar and isinstance(value, (int, float)) and not isinstance(value, bool):
        made = tensor(f"{name}::{port}").set_dim([1]).set_stride([1]).set_value(value, scalar_type.COMPILE_TIME_CONST)
        assert made.value is not None
        whole = data_type.INT32 if -(2**31) <= made.value < 2**31 else data_type.INT64
        return made.set_data_type(whole if isinstance(made.value, int) else data_type.FLOAT)
    wanted = "a tensor of the graph" + (" or a number" if place is not None and place.scalar else "")
    raise _no_tensor(kind, name, port, wanted, value)


def _no_tensor(kind: Kind, name: str, port: str, wanted: str, value: Any) -> GraphError:
    return fail(
        "PG-TENSOR-017",
        node=f"{kind.name} '{name}'",
        argument=port,
        expected=wanted,
        got=type(value).__name__,
        fix="x = graph.tensor_like(array)",
    )


def _check_ports(node: Node) -> None:
    for port in node.inputs:
        if node.kind.port(port, output=False) is None:
            names = ", ".join(p.name for p in node.kind.inputs)
            raise node.fail("PG-NODE-005", argument=port, expected=f"a port of {names}", got=port)
    for place in node.kind.inputs:
        present = node.many(place.name) if place.many else place.name in node.inputs
        if not place.optional and not present:
            raise node.fail("PG-NODE-002", argument=place.name, fix=f"pass a tensor for {place.name}")


def _new_outputs(node: Node) -> dict[str, tensor]:
    return {
        port.name: tensor(node.name + (port.suffix or f"::{port.name}")).set_is_virtual(True)
        for port in node.kind.outputs
        if not port.given
    }


def _check_output(node: Node, port: str, out: Any) -> None:
    if not isinstance(out, tensor):
        raise node.fail("PG-TENSOR-017", argument=port, expected="a tensor of the graph", got=type(out).__name__)
    if node.kind.port(port, output=True) is None:
        names = ", ".join(p.name for p in node.kind.outputs)
        raise node.fail("PG-NODE-005", argument=port, expected=f"a port of {names}", got=port)
    if out.producer is not None:
        raise node.fail(
            "PG-GRAPH-003",
            argument=port,
            tensor=out.describe(),
            expected="a tensor that no other node writes",
            got=f"the {out.port} of {out.producer.label}",
            fix="give this node an output of its own",
        )


def info_of(one: tensor) -> TensorInfo:
    """Return a tensor that has a uid as engines see it."""
    ragged = one.get_ragged_offset()
    return TensorInfo(
        one.get_uid(),
        one.get_name(),
        one.dims,
        one.strides,
        one.get_data_type(),
        one.get_is_virtual(),
        one.get_is_pass_by_value(),
        one.value,
        one.get_has_compile_time_constant(),
        one.get_alignment(),
        one.get_reordering_type(),
        None if ragged is None else ragged.get_uid(),
        1 if ragged is None else one.get_ragged_offset_multiplier(),
    )


def _operation(node: Node) -> Operation:
    return Operation(
        node.kind.name,
        node.name,
        tuple((port, one.get_uid()) for port, one in node.inputs.items()),
        tuple((port, one.get_uid()) for port, one in node.outputs.items()),
        tuple(node.attributes.items()),
        node.compute_type if node.kind.computes else data_type.NOT_SET,
    )
