"""The graph engine of attention on devices: one node, online softmax, scores never in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.knobs import Knobs, knob
from portadnn.graph.operation_graph import OperationGraph

from ..base import Device
from ..graph_launches import Running
from . import cpu, cpu_backward, gpu
from .building import Building
from .operands import Operands
from .rules import RULES

if TYPE_CHECKING:
    from portadnn.handle import Handle


class FlashAttention(GraphEngine):
    """Attention of one node, forward or backward."""

    name = "flash_attention"
    rules: tuple[SupportRule, ...] = RULES

    def knobs(self, graph: OperationGraph, handle: Handle) -> Sequence[knob]:
        known = cpu.knobs_of if handle.info.schedule == "cpu" else gpu.knobs_of
        return known(Operands(graph), handle.info)

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        return self.tuned(graph, handle, {})

    def tuned(self, graph: OperationGraph, handle: Handle, knobs: Knobs) -> GraphPlan:
        operands = Operands(graph)
        building = built(operands, handle.device, knobs)

        def used(arrays: Mapping[int, Any]) -> tuple[list[Any], list[float]]:
            return operands.arrays(arrays), operands.scalars(arrays)

        running = Running(handle.device, building.launches, used)
        parts = tuple((operation.name,) for operation in graph.operations)
        return GraphPlan(self, graph, building.workspace.size, running.run, True, knobs, parts)


def built(operands: Operands, device: Device, knobs: Knobs) -> Building:
    """Return the launches for a device."""
    if device.info.schedule == "cpu":
        return (cpu_backward.CpuBackward if operands.backward else cpu.CpuForward)(operands, device, knobs)
    return gpu.built(operands, device, knobs)


ENGINE = FlashAttention()
