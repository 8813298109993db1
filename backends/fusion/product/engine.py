"""The graph engine for a matrix product or a convolution with pointwise nodes around it, in one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from portadnn.descriptors import TensorView
from portadnn.errors import BadParam, NotSupported
from portadnn.graph.engine import GraphEngine, GraphPlan
from portadnn.graph.enums import behavior_note
from portadnn.graph.knobs import Knobs
from portadnn.graph.lowering.steps import View
from portadnn.graph.operation_graph import OperationGraph
from portadnn.graph.pack import lies_as
from portadnn.ops.convolution.calls import ConvolutionBackwardFilter
from portadnn.problem import ALIGNMENT

from ...base import EFFICIENCY, LAUNCH_SECONDS, Device, DeviceInfo, Plan, Run
from ...engines.conv.epilogue import ForwardOfBytes
from ..prepare import uid_of
from .choice import FusedProblem, bytes_of, chosen_for, computing_seconds, parts_of
from .rules import RULES
from .sums import join_launch
from .texts import must_split


class _Running:
    """A convolution with its text, ready to run."""

    def __init__(self, graph: OperationGraph, device: Device, aligned: bool = True) -> None:
        self.chosen, self.device = chosen_for(graph, device.info, aligned), device
        self.label = must_split(graph).product.label
        self.graph = graph
        self.source = self.chosen.fused.source
        self.plans: dict[int, Plan] = {}  # by the alignment of the operands
        self.workspace_size = max(self._plan(alignment).workspace_size for alignment in self._alignments())
        self.other: _Running | None = None  # for bytes at odd addresses
        if self._of_bytes:
            with suppress(NotSupported):
                self.other = _Running(graph, device, aligned=False)
                self.workspace_size = max(self.workspace_size, self.other.workspace_size)

    @property
    def _of_bytes(self) -> bool:
        return isinstance(self.chosen.problem, ForwardOfBytes)

    def _alignments(self) -> tuple[int, ...]:
        if self._of_bytes:
            return (ALIGNMENT,)
        return ALIGNMENT, self.chosen.problem.dtype.itemsize

    def _plan(self, alignment: int) -> Plan:
        if alignment not in self.plans:
            problem, engine = self.chosen.problem, self.chosen.engine
            specs: dict[str, Any] = {
                name: replace(spec, alignment=min(spec.alignment, alignment))
                for name, spec, view in zip(problem.inputs, problem.tensors, self.chosen.fused.views, strict=False)
                if view is not None
            }
            problem = replace(problem, **specs)
            self.plans[alignment] = self._joined(engine.prepare(problem, self.device), problem)
        return self.plans[alignment]

    def _joined(self, plan: Plan, problem: FusedProblem) -> Plan:
        """Return the plan with the launch that joins the parts of sums."""
        made, engine = self.chosen.fused, plan.engine
        if made.totals is None or made.sums is None:
            return plan
        parts = parts_of(engine, problem, self.device.info)
        kernel, launch = join_launch(made.totals, made.sums, parts, len(problem.names) + len(made.memory), self.device)
        self.source = f"{made.source}\n\n{kernel.text}"
        launches = (*plan.launches, launch)
        size = parts.offset + bytes_of(made.sums, parts)
        return Plan(problem, engine, max(plan.workspace_size, size), self.device.bind(launches), launches)

    def used(self, arrays: Mapping[int, Any]) -> tuple[Plan, list[Any], list[float]]:
        """Return the plan for some memory, its tensors and its numbers."""
        made = self.chosen.fused
        others = [arrays[uid_of(value)] for value in made.memory]
        unread = arrays[uid_of(made.memory[-1])]  # stands for what the text reads and writes itself
        operands = [None if view is None else self._operand(view, arrays[view.memory]) for view in made.views]
        aligned = all(one is None or self.device.address(one) % ALIGNMENT == 0 for one in operands)
        if not aligned and self._of_bytes:
            if self.other is None:
                raise BadParam(argument="x and w", expected=f"bytes at multiples of {ALIGNMENT}", got="others")
            return self.other.used(arrays)
        numbers = [float(arrays[uid_of(value)]) for value in made.numbers]
        plan = self._plan(self._alignments()[not aligned])
        tensors = [unread if one is None else one for one in (*operands, None)]
        return plan, [*tensors, *others], [1.0, 0.0, *numbers]

    def _operand(self, view: View, base: Any) -> Any:
        if view.offset or not lies_as(base, view.spec):
            return self.device.wrap(TensorView(view.spec, base, view.offset), self.label)
        return base

    def run(self, arrays: Sequence[Any], numbers: Sequence[float], workspace: Any) -> None:
        """Enqueue the launches."""
        plan, tensors, numbers = self.used(self.graph.keyed(arrays, numbers))
        plan.run(tensors, numbers, workspace)


class ProductEngine(GraphEngine):
    """A matrix product or a convolution that hands its sums to generated text instead of storing them.

    The text computes the pointwise nodes after it and stores what is a result, in the kernels of the engines for
    convolutions. What computes an operand is text, too, where these read it. Virtual tensors never reach memory.
    """

    name = "product"
    follows = True
    behavior_notes = frozenset({behavior_note.RUNTIME_COMPILATION})
    rules = RULES

    def estimate(self, graph: OperationGraph, info: DeviceInfo) -> float:
        chosen = chosen_for(graph, info)
        output = chosen.problem.tensors[-1]
        made = chosen.fused
        more = sum(value.size * value.memory_type.itemsize for value in made.memory) - output.nbytes
        for view, spec in zip(made.views, chosen.problem.tensors, strict=False):
            more -= 0 if view else spec.nbytes
        nodes = (len(must_split(graph).rest.operations) - 1) * output.size / (EFFICIENCY * info.flops)
        nodes += computing_seconds(chosen.engine, chosen.problem, info)
        launches = 1
        if made.sums is not None:
            launches = 2
            more = max(more, 0) + 2 * bytes_of(made.sums, parts_of(chosen.engine, chosen.problem, info))
        moved = max(more, 0) / (EFFICIENCY * info.bandwidth)
        if info.schedule == "cpu" and isinstance(chosen.problem, ConvolutionBackwardFilter):
            moved += 2 * output.nbytes / info.bandwidth  # no gain: a pass over so little finds it in the caches
        return chosen.engine.seconds(chosen.problem, info) + moved + nodes + launches * LAUNCH_SECONDS

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        running = _Running(graph, device)
        run, names = Run(running.run, composite=True), (tuple(operation.name for operation in graph.operations),)
        return GraphPlan(graph, self, running.workspace_size, run, (), {}, names, running.source)
