"""The engines that work on every handle: a graph cut into nodes, each computed by Problems on the handle's plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...dispatch.choice import candidates
from ...problem import Problem
from ..engine import GraphEngine, GraphPlan
from ..enums import behavior_note, heur_mode, knob_type
from ..errors import GraphError
from ..knobs import Knobs, knob
from ..lowering.steps import Lowering, Step
from ..operation_graph import OperationGraph
from ..rules import fail
from .host import DefinitionOnHost
from .parts import Cut, cut, prepared, problem_of, seconds_of
from .run import Forced, plan_of_parts

if TYPE_CHECKING:
    from portadnn_backends.base import Device, DeviceInfo, Engine

    from ...handle import Handle


class FallbackEngine(GraphEngine):
    """Node by node: by Problems, or else by an engine of the backend that takes the node alone.

    Nodes of several types are computed in one that holds them all, between conversions, where an engine of the backend
    converts. Virtual tensors lie in the workspace, each in its own type. The knob KERNEL_CFG chooses the engine of the
    step with the most operations, as a number in the order of the estimates; without it Find's measurements decide.
    """

    name = "fallback"
    behavior_notes = frozenset({behavior_note.RUNTIME_COMPILATION})  # kernels are compiled as those of other engines
    helpers: tuple[GraphEngine, ...] = ()  # take single nodes that nothing else does

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def reasons(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        return self._cut(graph).errors

    def estimate(self, graph: OperationGraph, info: DeviceInfo) -> float:
        return sum(seconds_of(part, self.handle) for part in self._cut(graph).parts)

    def knobs(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[knob]:
        main = self._main(graph)
        names = [] if main is None else [engine.name for engine in _engines(self.handle, main[1])]
        if len(names) < 2:
            return ()
        says = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        return (knob(knob_type.KERNEL_CFG, len(names) - 1, says=says),)

    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        made = self._cut(graph)
        if made.errors:
            raise made.errors[0]
        forced, main = {}, self._main(graph) if knobs else None
        if main is not None:
            step, problem = main
            engine = _engines(self.handle, problem)[knobs[knob_type.KERNEL_CFG]]
            forced[id(step)] = Forced(self.handle, engine, problem)
        return plan_of_parts(self, self.handle, graph, made.graph, prepared(made, device), forced, knobs)

    def _cut(self, graph: OperationGraph) -> Cut:
        return cut(graph, self.handle, self.helpers)

    def _main(self, graph: OperationGraph) -> tuple[Step, Problem] | None:
        """Return the step with the most operations."""
        parts = self._cut(graph).parts
        steps = [step for part in parts if isinstance(part, Lowering) for step in part.problems]
        problems = [(step, problem_of(self.handle, step)) for step in steps]
        return max(problems, key=lambda one: one[1].flops(), default=None)


class HostFallbackEngine(FallbackEngine):
    """As the fallback, for graphs that it does not take: single nodes are computed by definition on the host.

    It takes every graph. Only ``heur_mode.FALLBACK`` offers it; its note is HOST_COMPUTATION, and its remarks say which
    nodes these are, and why.
    """

    name = "fallback_host"
    modes = frozenset({heur_mode.FALLBACK})
    behavior_notes = frozenset({behavior_note.HOST_COMPUTATION})
    helpers = (DefinitionOnHost(),)

    def reasons(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        if not cut(graph, self.handle, ()).errors:
            return [
                fail("PG-ENGINE-007", argument=self.name, got="fallback", fix="take the plan of the fallback engine")
            ]
        return super().reasons(graph, info)

    def remarks(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        nodes = dict.fromkeys(error.node for error in cut(graph, self.handle, ()).errors)
        return [fail("PG-ENGINE-008", node=node, argument=self.name) for node in nodes]


def _engines(handle: Handle, problem: Problem) -> list[Engine]:
    return candidates(handle.engines_for(problem), problem, handle.info)
