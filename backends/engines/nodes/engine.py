"""The graph engine of nodes that have a plain kernel each: a work-item for every number of the result."""

from __future__ import annotations

import math
from collections.abc import Iterator

from portadnn.graph.data_types import data_type
from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.errors import GraphError
from portadnn.graph.knobs import Knobs
from portadnn.graph.operation_graph import OperationGraph
from portadnn.graph.rules import fail

from ...base import Device, DeviceInfo, Launch, TensorArg
from . import block_scale, rows
from .kernel import FLOATS, Defines

_ITEMS = 128  # of a GPU's work-group
_GROUPS = 8  # for each of a CPU's cores
KERNELS = {**block_scale.KERNELS, **rows.KERNELS}


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
    made = KERNELS[operation.kind]
    if not info.fp64 and _is_double(graph):
        yield fail("PG-ENGINE-003", node=operation.label, expected="tensors of FLOAT or shorter", got="DOUBLE")
    for port, uid in operation.inputs + operation.outputs:
        one = graph.by_uid[uid]
        wanted = made.types.get(port, FLOATS)
        if one.by_value or one.virtual or one.data_type.name not in wanted:
            got = "a number passed by value" if one.by_value else "a virtual one" if one.virtual else one.data_type
            place, names = f"{port} = {one.describe()}", f"a tensor in memory of {', '.join(wanted)}"
            yield fail("PG-ENGINE-003", node=operation.label, tensor=place, expected=names, got=got)


def _more(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if any(_one_node(graph, info)):
        return
    (operation,) = graph.operations
    reason = KERNELS[operation.kind].why_not(graph, operation)
    if reason is not None:
        yield fail(
            "PG-ENGINE-004", node=operation.label, argument="nodes", expected="what one work-item writes", got=reason
        )


class NodesEngine(GraphEngine):
    """One node, by the kernel of its kind."""

    name = "nodes"
    rules = (
        SupportRule("PG-ENGINE-002", "the graph is one node that has a kernel of its own", _one_node),
        SupportRule("PG-ENGINE-003", "tensors lie in memory and are of floating-point types", _types),
        SupportRule("PG-ENGINE-004", "no two work-items write one byte", _more),
    )

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        launch = described(graph, device)
        return GraphPlan(graph, self, 0, device.bind([launch]), (launch,))


def described(graph: OperationGraph, device: Device) -> Launch:
    """Return the launch of a graph's node."""
    (operation,) = graph.operations
    made, info = KERNELS[operation.kind], device.info
    cpu = info.schedule == "cpu"
    items = 1 if cpu else _ITEMS
    defines: Defines = {
        "DTYPE_DOUBLE" if _is_double(graph) else "DTYPE_FLOAT": 1,
        "ITEMS": items,
        "COUNT": math.prod(graph.by_uid[operation.outputs[0][1]].dims),
        **made.defines(graph, operation),
    }
    groups = min(info.compute_units * _GROUPS if cpu else 1 << 20, -(-int(defines["COUNT"]) // items))
    args = tuple(TensorArg(graph.places[operation.uids[port]]) for port in made.ports if port in operation.uids)
    kernel = device.compile(made.source, made.name, defines)
    return Launch(kernel, (groups,), (items,), args)
