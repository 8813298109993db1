"""Single nodes by their definitions on the host, with copies there and back: for what no kernel computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from portadnn_backends.base import Run

from ...registry import get_backend
from ..engine import GraphEngine, GraphPlan
from ..enums import behavior_note
from ..errors import GraphError
from ..knobs import Knobs
from ..memory import host as memory
from ..operation_graph import OperationGraph

if TYPE_CHECKING:
    from portadnn_backends.base import Device, DeviceInfo

BYTES_PER_SECOND = 1e9  # of copies and of NumPy in float64
FLOPS = 1e8
CALL_SECONDS = 1e-3


class DefinitionOnHost(GraphEngine):
    """Copies a node's inputs to the host, computes it there as backend ``reference`` does, and copies results back.

    It waits for the device's stream at every node.
    """

    name = "host"
    behavior_notes = frozenset({behavior_note.HOST_COMPUTATION})

    def reasons(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        return by_definition(graph, info).reasons(graph, info)

    def estimate(self, graph: OperationGraph, info: DeviceInfo) -> float:
        nbytes = sum(one.extent for one in graph.packed)
        return CALL_SECONDS + nbytes / BYTES_PER_SECOND + graph.flops() / FLOPS

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        plan = by_definition(graph, device.info).prepare(graph, device)
        gaps = [info.uid for info in graph.memory if info.uid in graph.results and not memory.is_dense(info)]

        def run(arrays: Sequence[Any], numbers: Sequence[float], workspace: Any) -> None:
            given = graph.keyed(arrays, numbers)
            content = {info.uid: device.read_bytes(given[info.uid]) for info in graph.memory}
            views = [memory.view(content[info.uid], info, output=info.uid in graph.results) for info in graph.memory]
            before = {uid: content[uid].copy() for uid in gaps}
            plan.run(views, numbers, None)
            for info in graph.memory:
                if info.uid not in graph.results:
                    continue
                computed = content[info.uid]
                if info.uid in before:  # what lies between the elements may have been written meanwhile
                    memory.write(info, there := device.read_bytes(given[info.uid]), computed, before[info.uid])
                    computed = there
                device.write_bytes(given[info.uid], computed)

        return GraphPlan(graph, self, 0, Run(run))


def by_definition(graph: OperationGraph, info: DeviceInfo) -> GraphEngine:
    """Return the engine that computes graphs by definition on the host."""
    engines: Sequence[GraphEngine] = get_backend("reference").graph_engines()
    return next((engine for engine in engines if not engine.reasons(graph, info)), engines[0])
