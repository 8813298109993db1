"""Single nodes by their definitions on the host, with copies there and back: for what no kernel computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...registry import get_backend
from .. import memory
from ..engine import GraphEngine, GraphPlan
from ..enums import behavior_note
from ..errors import GraphError
from ..operation_graph import OperationGraph

if TYPE_CHECKING:
    from ...handle import Handle

BYTES_PER_SECOND = 1e9  # of copies and of NumPy in float64
FLOPS = 1e8
CALL_SECONDS = 1e-3


class DefinitionOnHost(GraphEngine):
    """Copies a node's inputs to the host, computes it there as backend ``reference`` does, and copies results back.

    It waits for the device's stream at every node.
    """

    name = "host"
    behavior_notes = frozenset({behavior_note.HOST_COMPUTATION})

    def why_not(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        return by_definition(graph, handle).why_not(graph, handle)

    def seconds(self, graph: OperationGraph, handle: Handle) -> float:
        nbytes = sum(info.extent for info in graph.packed)
        return CALL_SECONDS + nbytes / BYTES_PER_SECOND + graph.flops() / FLOPS

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        plan, device = by_definition(graph, handle).prepare(graph, handle), handle.device
        tensors = [info for info in graph.packed if not info.by_value]

        gaps = [info.uid for info in tensors if info.uid in graph.results and not memory.is_dense(info)]

        def run(arrays: Mapping[int, Any], workspace: Any) -> None:
            content = {info.uid: device.read_bytes(arrays[info.uid]) for info in tensors}
            host = dict(arrays)
            for info in tensors:
                host[info.uid] = memory.view(content[info.uid], info, output=info.uid in graph.results)
            before = {uid: content[uid].copy() for uid in gaps}
            plan.run(host, None)
            for info in tensors:
                if info.uid not in graph.results:
                    continue
                computed = content[info.uid]
                if info.uid in before:  # what lies between the elements may have been written meanwhile
                    memory.write(info, there := device.read_bytes(arrays[info.uid]), computed, before[info.uid])
                    computed = there
                device.write_bytes(arrays[info.uid], computed)

        return GraphPlan(self, graph, 0, run)


def by_definition(graph: OperationGraph, handle: Handle) -> GraphEngine:
    """Return the engine that computes graphs by definition on the host."""
    engines: Sequence[GraphEngine] = get_backend("reference").graph_engines()
    return next((engine for engine in engines if not engine.why_not(graph, handle)), engines[0])
