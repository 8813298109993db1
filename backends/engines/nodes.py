"""The graph engine of nodes that have a plain kernel each: a work-item for every number of the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from portadnn.graph.data_types import data_type
from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.enums import moe_grouped_matmul_mode as moe_mode
from portadnn.graph.errors import GraphError
from portadnn.graph.knobs import Knobs
from portadnn.graph.operation_graph import Operation, OperationGraph, TensorInfo
from portadnn.graph.ops.rope import rotated
from portadnn.graph.rules import fail

from ..base import Device, DeviceInfo, Launch, TensorArg

Defines = dict[str, int | float | str]

_FLOATS = ("FLOAT", "DOUBLE", "HALF", "BFLOAT16", "FP8_E4M3", "FP8_E5M2")
_ITEMS = 128  # of a GPU's work-group
_GROUPS = 8  # for each of a CPU's cores
_INDICES = ("FIRST_TOKEN_OFFSET", "TOKEN_INDEX", "TOKEN_KS")


@dataclass(frozen=True)
class NodeKernel:
    """The kernel of a kind of node.

    Attributes
    ----------
    source, name : str
        File and kernel.
    ports : tuple of str
        In the order of the kernel's arguments; what a node lacks is left out.
    defines : callable
        What the kernel is told of a node.
    """

    source: str
    name: str
    ports: tuple[str, ...]
    defines: Callable[[OperationGraph, Operation], Defines]


def _tensor(letter: str, info: TensorInfo) -> Defines:
    """Return a tensor's type and strides."""
    return {f"{letter}_T": info.data_type.name, **{f"{letter}_{axis}": step for axis, step in enumerate(info.strides)}}


def _rope(graph: OperationGraph, op: Operation) -> Defines:
    (x, _), (y, _), table = op.inputs[0], op.outputs[0], graph.at(op, "FREQS")
    dims = graph.at(op, x).dims
    return {
        **{f"D{axis}": size for axis, size in enumerate(dims)},
        **{**_tensor("X", graph.at(op, x)), **_tensor("Y", graph.at(op, y)), **_tensor("F", table)},
        "TURNED": rotated(dims, op["rope_dim"]),
        "SIGN": 1 if op.kind == "rope" else -1,
        "FACTOR": repr(float(op["output_scale"])),
    }


def _experts(rows: TensorInfo, matrices: TensorInfo, offset: TensorInfo) -> Defines:
    experts, width, out = matrices.dims
    sizes: Defines = {"ROWS": rows.dims[1], "EXPERTS": experts, "WIDTH": width, "OUT": out}
    return {**sizes, "O_0": offset.strides[0], **_tensor("W", matrices)}


def _moe(graph: OperationGraph, op: Operation) -> Defines:
    x, w, y = (graph.at(op, port) for port in ("TOKEN", "WEIGHT", "OUTPUT"))
    found = _experts(y, w, graph.at(op, "FIRST_TOKEN_OFFSET"))
    found |= {"TOKENS": x.dims[1], **_tensor("X", x), **_tensor("Y", y)}
    names = {"TOKEN_INDEX": "index", "TOKEN_KS": "ks"}
    given = {names[port]: graph.at(op, port).strides[1] for port in names if port in op.uids}
    found["MORE_ARGUMENTS"] = "".join(f", TENSOR(const int, {name})" for name in given)
    found["MORE_BIND"] = " ".join(f"BIND(const int, {name});" for name in given)
    at = {name: f"(i64){name}[(row) * {step}]" for name, step in given.items()}
    found["FROM(row)"] = at["index"] if op["mode"] is moe_mode.GATHER else "(row)"
    if op["mode"] is moe_mode.SCATTER:
        place = f"({at['index']} * {op['top_k']} + {at['ks']})" if "ks" in at else at["index"]
        found |= {"SEARCHED": 1, "PLACED(row)": place}
    return found


def _moe_backward(graph: OperationGraph, op: Operation) -> Defines:
    x, w, y = (graph.at(op, port) for port in ("TOKEN", "DWEIGHT", "DOUTPUT"))
    return {**_experts(y, w, graph.at(op, "FIRST_TOKEN_OFFSET")), **_tensor("X", x), **_tensor("Y", y)}


KERNELS = {
    "rope": NodeKernel("shared/nodes/rope.cl", "rope", ("X", "FREQS", "Y"), _rope),
    "rope_backward": NodeKernel("shared/nodes/rope.cl", "rope", ("DY", "FREQS", "DX"), _rope),
    "moe_grouped_matmul": NodeKernel(
        "shared/nodes/moe.cl",
        "moe_forward",
        ("TOKEN", "WEIGHT", "FIRST_TOKEN_OFFSET", "OUTPUT", "TOKEN_INDEX", "TOKEN_KS"),
        _moe,
    ),
    "moe_grouped_matmul_bwd": NodeKernel(
        "shared/nodes/moe_backward.cl",
        "moe_backward",
        ("DOUTPUT", "TOKEN", "FIRST_TOKEN_OFFSET", "DWEIGHT"),
        _moe_backward,
    ),
}


def _one_node(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    for operation in graph.operations:
        if operation.kind not in KERNELS or len(graph.operations) > 1:
            one = f"one node of {', '.join(KERNELS)}"
            yield fail("PG-ENGINE-002", node=operation.label, argument="nodes", expected=one)


def _is_double(graph: OperationGraph) -> bool:
    (operation,) = graph.operations
    return operation.compute_type is data_type.DOUBLE or any(i.data_type is data_type.DOUBLE for i in graph.infos)


def _types(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if any(_one_node(graph, info)):
        return
    (operation,) = graph.operations
    if not info.fp64 and _is_double(graph):
        yield fail("PG-ENGINE-003", node=operation.label, expected="tensors of FLOAT or shorter", got="DOUBLE")
    for port, uid in operation.inputs + operation.outputs:
        one = graph.by_uid[uid]
        wanted = ("INT32",) if port in _INDICES else _FLOATS
        if one.by_value or one.data_type.name not in wanted:
            got = "a number passed by value" if one.by_value else one.data_type
            place, names = f"{port} = {one.describe()}", f"a tensor in memory of {', '.join(wanted)}"
            yield fail("PG-ENGINE-003", node=operation.label, tensor=place, expected=names, got=got)


class NodesEngine(GraphEngine):
    """One node, by the kernel of its kind."""

    name = "nodes"
    rules = (
        SupportRule("PG-ENGINE-002", "the graph is one node that has a kernel of its own", _one_node),
        SupportRule("PG-ENGINE-003", "tensors lie in memory and are of floating-point types", _types),
    )

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        launch = described(graph, device)
        return GraphPlan(graph, self, 0, device.bind([launch]), (launch,))


def described(graph: OperationGraph, device: Device) -> Launch:
    """Return the launch of a graph's node."""
    (operation,) = graph.operations
    made, info = KERNELS[operation.kind], device.info
    count = math.prod(graph.by_uid[operation.outputs[0][1]].dims)
    cpu = info.schedule == "cpu"
    items = 1 if cpu else _ITEMS
    defines: Defines = {
        "DTYPE_DOUBLE" if _is_double(graph) else "DTYPE_FLOAT": 1,
        "ITEMS": items,
        "COUNT": count,
        **made.defines(graph, operation),
    }
    groups = min(info.compute_units * _GROUPS if cpu else 1 << 20, -(-count // items))
    args = tuple(TensorArg(graph.places[operation.uids[port]]) for port in made.ports if port in operation.uids)
    kernel = device.compile(made.source, made.name, defines)
    return Launch(kernel, (groups,), (items,), args)
