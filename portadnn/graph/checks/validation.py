"""What holds for every graph: structure first, then node by node in the order in which they run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

from ...problem import MAX_DIMS, TensorSpec
from .. import layout
from ..data_types import data_type
from ..enums import tensor_reordering
from ..errors import GraphError
from ..node import Node
from ..order import identity, in_order
from ..rules import fail
from ..tensor import tensor

NORMS = frozenset(  # whose compute type cuDNN does not ask for
    f"{name}{suffix}"
    for name in ("batchnorm", "layernorm", "adalayernorm", "instancenorm", "rmsnorm")
    for suffix in ("", "_inference", "_backward")
)


class Graph(Protocol):
    """A graph as its checks see it: :class:`~portadnn.graph.api.core.Graph`."""

    name: str
    nodes: list[Node]
    declared: list[tensor]
    io_data_type: data_type
    intermediate_data_type: data_type
    compute_data_type: data_type
    left_out: set[str]
    assumed: dict[str, str]

    def tensors(self) -> Iterator[tensor]:
        """Yield all tensors, each once."""


def check_graph(graph: Graph) -> list[Node]:
    """Validate a graph, see :meth:`~portadnn.graph.api.core.Graph.validate`."""
    if not graph.nodes:
        raise fail("PG-GRAPH-001", argument=f"graph '{graph.name}'", fix="add an operation, such as graph.relu(x)")
    _check_names(graph)
    _check_in_place(graph)
    nodes = in_order(graph.nodes)
    produced = {identity(out) for node in nodes for out in node.outputs.values()}
    for node in nodes:
        _settle_node(graph, node, produced)
    _check_uids(graph)  # in place needs what has been settled
    _check_use(graph)
    return nodes


def _check_names(graph: Graph) -> None:
    nodes: dict[str, Node] = {}
    for node in graph.nodes:
        other = nodes.setdefault(node.name, node)
        if other is not node:
            raise node.fail("PG-GRAPH-002", got=f"'{node.name}' for {other.label} as well", fix=f"name='{node.name}_2'")


def _check_in_place(graph: Graph) -> None:
    """Refuse outputs that are inputs of the graph, but for the one node of a graph."""
    if len(graph.nodes) == 1:
        return
    for node in graph.nodes:
        read = {identity(one): port for port, one in node.inputs.items()}
        for port, out in node.outputs.items():
            if identity(out) in read:
                raise node.fail(
                    "PG-GRAPH-005",
                    port,
                    expected=f"a tensor other than {read[identity(out)]}: in place is for graphs of one node",
                    got="the same",
                    fix="let the node write a tensor of its own",
                )


def _check_uids(graph: Graph) -> None:
    owners: dict[int, tensor] = {}
    single = graph.nodes[0] if len(graph.nodes) == 1 else None
    for one in graph.tensors():
        if not one.has_uid():
            continue
        other = owners.setdefault(one.get_uid(), one)
        if other is one:
            continue
        pair = None
        if single is not None:
            pair = [t for t in (one, other) if t in single.outputs.values()]
        if pair is None or len(pair) != 1 or one.same_memory != other.same_memory:
            raise fail(
                "PG-TENSOR-021",
                tensor=one.describe(),
                expected="a uid of its own, or in a graph of one node an output that lies just as an input",
                got=f"uid {one.get_uid()}, which {other.describe()} has",
                fix=f"set_uid({max(t.get_uid() for t in graph.tensors()) + 1})",
            )


def _check_use(graph: Graph) -> None:
    used = _read(graph)
    produced = {id(one) for node in graph.nodes for one in node.outputs.values()}
    for node in graph.nodes:
        if all(out.get_is_virtual() and id(out) not in used for out in node.outputs.values()):
            port = next(iter(node.outputs))
            raise node.fail(
                "PG-GRAPH-007",
                port,
                expected="an output of the graph, or an operation that reads it",
                fix="y.set_output(True)",
            )
    for one in graph.tensors():
        if one.get_is_virtual() and id(one) not in produced:
            raise fail("PG-TENSOR-007", tensor=one.describe(), fix="set_is_virtual(False)")


def _read(graph: Graph) -> set[int]:
    """Return the identities of the tensors that nodes read, and of their ragged offsets."""
    used = {id(one) for node in graph.nodes for one in node.inputs.values()}
    return used | {id(one.get_ragged_offset()) for one in graph.tensors() if one.get_ragged_offset() is not None}


def notes(graph: Graph) -> Iterator[GraphError]:
    """Yield what is unusual about a graph, and taken all the same."""
    for name, where in graph.assumed.items():
        rule = "PG-TYPE-002" if name == "compute_data_type" else "PG-TYPE-001"
        kind = getattr(graph, name)
        yield fail(rule, argument=where, got=f"no {name}; {kind} is taken", fix=f"pass {name}=data_type.{kind}")
    in_use = _read(graph) | {id(one) for node in graph.nodes for one in node.outputs.values()}
    names: dict[str, tensor] = {}
    for one in graph.tensors():
        if id(one) not in in_use:
            yield fail("PG-GRAPH-006", tensor=one.describe(), fix="use it or leave it out")
        elif one.get_name() and not one.get_is_virtual() and names.setdefault(one.get_name(), one) is not one:
            got = f"'{one.get_name()}' for {names[one.get_name()].describe()} as well"
            yield fail("PG-TENSOR-020", tensor=one.describe(), got=got, fix=f"set_name('{one.get_name()}_2')")


def _settle_node(graph: Graph, node: Node, produced: set[object]) -> None:
    if node.compute_type is data_type.NOT_SET:
        node.compute_type = graph.compute_data_type
        if node.kind.computes and "compute_data_type" in graph.left_out:
            graph.assumed.setdefault("compute_data_type", node.label)
    if node.kind.name in NORMS and node.compute_type is data_type.NOT_SET:
        node.compute_type = data_type.FLOAT
    if node.kind.computes and node.compute_type is data_type.NOT_SET:
        raise node.fail(
            "PG-TYPE-002",
            argument="compute_data_type",
            fix="pass compute_data_type=data_type.FLOAT to the graph or the node",
        )
    for port, one in node.inputs.items():
        _settle_type(graph, node, port, one)
        if identity(one) not in produced or one.producer is None:
            _check_input(node, port, one)
    node.kind.settle(node)
    for place in node.kind.outputs:
        if not place.optional and place.name not in node.outputs:
            raise node.fail("PG-NODE-002", argument=place.name, fix=f"pass a tensor for {place.name}")
    for port, out in node.outputs.items():
        if node.kind.same_type and out.get_data_type() is data_type.NOT_SET:
            out.set_data_type(next(iter(node.inputs.values())).get_data_type())
        _settle_type(graph, node, port, out)
        _check_output(node, port, out)
    if node.kind.same_type:
        _check_same_type(node)


def _check_same_type(node: Node) -> None:
    wanted = next(iter(node.inputs.values())).get_data_type()
    for port, one in (*node.inputs.items(), *node.outputs.items()):
        if one.get_data_type() is not wanted:
            raise node.fail(
                "PG-TYPE-005",
                port,
                expected=f"{wanted}: elements are only moved",
                got=one.get_data_type(),
                fix="cast with identity",
            )


def _settle_type(graph: Graph, node: Node, port: str, one: tensor) -> None:
    if one.get_data_type() is data_type.NOT_SET:
        virtual = one.get_is_virtual()
        default = graph.intermediate_data_type if virtual else graph.io_data_type
        name = "intermediate_data_type" if virtual else "io_data_type"
        if default is data_type.NOT_SET:
            fix = f"pass {name}=data_type.HALF to the graph, or set_data_type(data_type.HALF) on the tensor"
            raise node.fail(
                "PG-TYPE-001", port, expected=f"a type of its own or the graph's {name}", got="NOT_SET", fix=fix
            )
        one.set_data_type(default)
        if name in graph.left_out:
            graph.assumed.setdefault(name, f"{node.label}: {port}")
    _check_stored(node, port, one)


def _check_stored(node: Place, port: str, one: tensor) -> None:
    if one.get_data_type().is_of_blocks and _of_blocks(node, port):
        return
    if not one.get_data_type().is_stored:
        names = ", ".join(member.name for member in data_type if member.is_stored)
        raise node.fail("PG-TYPE-003", port, expected=names, got=one.get_data_type())


def _of_blocks(node: Place, port: str) -> bool:
    """Tell whether types and orders of elements of block scaling may be here."""
    return isinstance(node, Node) and port in node.kind.blocks


class _Alone:
    """Where a tensor is that is looked at by itself."""

    def __init__(self, one: tensor) -> None:
        self.one = one

    def fail(self, id: str, port: str | None = None, **facts: Any) -> GraphError:
        """Return the error of a rule at the tensor."""
        return fail(id, **{"tensor": self.one.describe(), **facts})


Place: TypeAlias = Node | _Alone


def check_alone(one: tensor) -> None:
    """Check a tensor by itself, complete as one has to be that comes from outside.

    Raises
    ------
    GraphValidationError
        Dims, strides or an alignment that cannot be.
    cudnnGraphNotSupportedError
        A type or an order of elements that is not supported.
    """
    at = _Alone(one)
    _check_stored(at, "", one)
    _check_input(at, "", one)


def _check_input(node: Place, port: str, one: tensor) -> None:
    """Check a tensor that comes from outside."""
    if not one.dims:
        raise node.fail("PG-TENSOR-001", port, expected="dims", got="none", fix="set_dim([n, c, h, w])")
    if not one.strides:
        dims = one.dims
        raise node.fail(
            "PG-TENSOR-003",
            port,
            expected=f"{len(dims)} strides",
            got="none",
            fix=f"set_stride({list(layout.row_major(dims))}), or {list(layout.channels_last(dims))} for NHWC",
        )
    _check_tensor(node, port, one)
    if one.get_is_pass_by_value():
        if one.get_is_virtual():
            raise node.fail("PG-TENSOR-006", port, expected="one of both", fix="set_is_virtual(False)")
        if math.prod(one.dims) != 1:
            raise node.fail(
                "PG-TENSOR-008", port, expected="one element", got=list(one.dims), fix="set_dim([1, 1, 1, 1])"
            )
    _check_ragged(node, port, one)


def _check_ragged(node: Place, port: str, one: tensor) -> None:
    ragged = one.get_ragged_offset()
    if ragged is None:
        return
    if ragged.get_data_type() not in (data_type.INT32, data_type.INT64):
        raise node.fail(
            "PG-TENSOR-012",
            port,
            expected="offsets of INT32 or INT64",
            got=ragged.get_data_type(),
            fix="set_data_type(data_type.INT32)",
        )
    wanted = (one.dims[0] + 1, *(1,) * (len(one.dims) - 1))
    ragged.as_column(wanted)
    if ragged.dims != wanted:
        raise node.fail("PG-TENSOR-013", port, expected=f"offsets of dims {list(wanted)}", got=list(ragged.dims))
    if isinstance(node, Node) and not (node.kind.ragged and len(one.dims) == 4):
        raise node.fail("PG-TENSOR-023", port, expected="attention", got=node.kind.name, fix="pad the sequences")
    if not ragged.strides:
        ragged.set_stride(layout.row_major(wanted))


def _check_output(node: Node, port: str, out: tensor) -> None:
    _check_tensor(node, port, out)
    if out.get_is_pass_by_value():
        raise node.fail(
            "PG-TENSOR-015",
            port,
            expected="memory for a result",
            got="pass by value",
            fix="set_is_pass_by_value(False)",
        )
    spec_type = data_type.FLOAT.problem_type
    assert spec_type is not None
    within = slice(0 if out.get_ragged_offset() is None else 1, None)  # offsets say where entries of the batch begin
    if TensorSpec(spec_type, out.dims[within], out.strides[within]).overlapping:
        raise node.fail(
            "PG-TENSOR-009",
            port,
            expected="strides that give each element a place of its own",
            got=list(out.strides),
            fix=f"set_stride({list(layout.row_major(out.dims))})",
        )


def _check_tensor(node: Place, port: str, one: tensor) -> None:
    """Check what holds for inputs and outputs."""
    dims, strides = one.dims, one.strides
    if len(dims) > MAX_DIMS:
        raise node.fail("PG-TENSOR-011", port, expected=f"at most {MAX_DIMS} dims", got=len(dims), fix="merge dims")
    if min(dims) < 1:
        raise node.fail(
            "PG-TENSOR-004", port, expected="dims of at least 1", got=list(dims), fix="leave the work out instead"
        )
    if len(strides) != len(dims):
        raise node.fail(
            "PG-TENSOR-010", port, expected=f"{len(dims)} strides", got=list(strides), fix="one stride for each dim"
        )
    if min(strides) < 0:
        raise node.fail(
            "PG-TENSOR-005", port, expected="strides of at least 0", got=list(strides), fix="copy the tensor first"
        )
    alignment, size = one.get_alignment(), one.get_data_type().itemsize
    if alignment < size or alignment & (alignment - 1):
        raise node.fail(
            "PG-TENSOR-016", port, expected=f"a power of two of at least {size}", got=alignment, fix="set_alignment(16)"
        )
    reordered = one.get_reordering_type() is not tensor_reordering.NONE
    if one.get_reordering_type() is tensor_reordering.F8_128x4 and _of_blocks(node, port):
        reordered = len(dims) < 2 or one.get_data_type().bits != 8
    if reordered or one.get_vector_count() != 1:
        raise node.fail(
            "PG-TENSOR-018", port, expected="elements in the order of the strides", got=one.get_reordering_type()
        )
