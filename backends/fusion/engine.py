"""The graph engine that writes kernels: whole graphs of pointwise nodes, reductions and normalisations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.enums import behavior_note, knob_type
from portadnn.graph.errors import GraphError
from portadnn.graph.fusion.moving import turns
from portadnn.graph.knobs import Knobs, knob
from portadnn.graph.operation_graph import OperationGraph
from portadnn.graph.rules import fail

from ..base import Device, DeviceInfo, roofline
from .expand.moving import NotInMemory
from .expand.region import RULES as KINDS
from .expand.region import expand
from .prepare import Prepared, launches_of, widths

_TURNED = 8  # times of reading a large tensor at full speed that neighbours which are apart cost


def _operations(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    for operation in graph.operations:
        peers = any(uid in graph.peers for _, uid in operation.inputs)
        if operation.kind not in KINDS or peers:
            yield fail(
                "PG-FUSION-001",
                node=operation.label,
                argument="operation",
                expected=", ".join(sorted(KINDS)),
                got=f"{operation.kind} with peer_stats" if peers else operation.kind,
                fix="leave the graph to the engine 'regions', which fuses what is around the node",
            )


def _places(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if any(_operations(graph, info)):
        return
    try:
        expand(graph)
    except NotInMemory as error:
        yield fail(
            "PG-FUSION-003",
            node=error.label,
            argument="operation",
            expected="a view of a tensor in memory, or a result in memory that nothing here reads",
            got="numbers that are computed beside it, or no view",
            fix="leave the graph to the engine 'regions', which computes the node by itself",
        )


def _doubles(graph: OperationGraph, info: DeviceInfo) -> Iterator[GraphError]:
    if info.fp64 or any(_operations(graph, info)) or any(_places(graph, info)):
        return
    if expand(graph).needs_doubles:
        yield fail(
            "PG-FUSION-002",
            argument=info.name,
            expected="a graph that computes in FLOAT, without DOUBLE, INT32 and INT64",
            got="numbers of 64 bits",
            fix="compute_data_type=data_type.FLOAT and tensors of FLOAT, HALF or BFLOAT16",
        )


def _names(graph: OperationGraph) -> tuple[tuple[str, ...], ...]:
    return (tuple(operation.name for operation in graph.operations),)


class FusionEngine(GraphEngine):
    """Pointwise nodes, reductions, normalisations, softmax and moves in as few generated kernels as their sums allow.

    Virtual tensors never reach memory; results of sums do that kernels after them need. The knob TILE_SIZE sets how
    many numbers an expression of a CPU's kernel stands for, or how many a GPU's work-item computes.
    """

    name = "fusion"
    joins = True
    behavior_notes = frozenset({behavior_note.RUNTIME_COMPILATION})
    rules = (
        SupportRule(
            "PG-FUSION-001",
            "all nodes are pointwise, reductions, normalisations, genstats or softmax, or move elements",
            _operations,
        ),
        SupportRule("PG-FUSION-003", "what is only moved lies in memory, or goes there", _places),
        SupportRule("PG-FUSION-002", "a device without float64 is not asked for it", _doubles),
    )

    def estimate(self, graph: OperationGraph, info: DeviceInfo) -> float:
        count = len(launches_of(graph, info))
        turned = (graph.at(operation, "X") for operation in graph.operations if turns(graph, operation))
        apart = sum(one.size * one.data_type.itemsize for one in turned)
        return roofline(graph, info, launches=count) + _TURNED * apart / info.bandwidth

    def knobs(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[knob]:
        return (
            knob(
                knob_type.TILE_SIZE,
                len(widths(info)) - 1,
                says=", ".join(f"{number} {width} numbers" for number, width in enumerate(widths(info))),
            ),
        )

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        number = knobs.get(knob_type.TILE_SIZE)
        made = Prepared(graph, device, None if number is None else widths(device.info)[number])
        run, names = device.bind(made.launches), _names(graph)
        return GraphPlan(graph, self, made.workspace_size, run, made.launches, knobs, names, made.source)
