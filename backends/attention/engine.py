"""The graph engine of attention on devices: one node, online softmax, scores never in memory."""

from __future__ import annotations

from collections.abc import Sequence

from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.knobs import Knobs, knob
from portadnn.graph.operation_graph import OperationGraph

from ..base import Device, DeviceInfo
from ..graph_launches import bound
from . import cpu, cpu_backward, gpu
from .building import Building
from .operands import Operands
from .rules import RULES


class FlashAttention(GraphEngine):
    """Attention of one node, forward or backward."""

    name = "flash_attention"
    rules: tuple[SupportRule, ...] = RULES

    def knobs(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[knob]:
        return (cpu.knobs_of if info.schedule == "cpu" else gpu.knobs_of)(Operands(graph), info)

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        operands = Operands(graph)
        building = built(operands, device, knobs)
        run = bound(graph, device, building.launches, operands.scalars)
        parts = tuple((operation.name,) for operation in graph.operations)
        return GraphPlan(graph, self, building.workspace.size, run, tuple(building.launches), knobs, parts)


def built(operands: Operands, device: Device, knobs: Knobs) -> Building:
    """Return the launches for a device."""
    if device.info.schedule == "cpu":
        return (cpu_backward.CpuBackward if operands.backward else cpu.CpuForward)(operands, device, knobs)
    return gpu.built(operands, device, knobs)


ENGINE = FlashAttention()
