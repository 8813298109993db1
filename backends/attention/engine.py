"""The graph engine of attention on devices: one node, online softmax, scores never in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from portadnn.graph.engine import GraphEngine, GraphPlan, SupportRule
from portadnn.graph.knobs import Knobs, knob
from portadnn.graph.operation_graph import OperationGraph

from ..base import Device
from ..graph_engines import bound_launches
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
        running = _Running(operands, handle.device, building)
        parts = tuple((operation.name,) for operation in graph.operations)
        return GraphPlan(self, graph, building.workspace.size, running.run, running.bind, knobs, parts)


def built(operands: Operands, device: Device, knobs: Knobs) -> Building:
    """Return the launches for a device."""
    if device.info.schedule == "cpu":
        return (cpu_backward.CpuBackward if operands.backward else cpu.CpuForward)(operands, device, knobs)
    return gpu.built(operands, device, knobs)


class _Running:
    """The launches of a plan, bound to the device."""

    def __init__(self, operands: Operands, device: Device, building: Building) -> None:
        self.operands, self.device, self.launches = operands, device, building.launches
        self.call = device.bind(self.launches)

    def run(self, arrays: Mapping[int, Any], workspace: Any) -> None:
        self.call(self.operands.arrays(arrays), self.operands.scalars(arrays), workspace)

    def bind(self, arrays: Mapping[int, Any], workspace: Any) -> Callable[[], bool] | None:
        """Return what launches again with these arguments."""
        arguments = self.operands.arrays(arrays), self.operands.scalars(arrays), workspace
        return bound_launches(self.device, self.launches, arguments)


ENGINE = FlashAttention()
