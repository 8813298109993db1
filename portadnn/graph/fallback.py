"""The engine that works on every handle: a graph cut into nodes, each computed by Problems on the handle's plans."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import DnnError, NotSupported
from ..plan import candidates, choose, make_problem
from ..problem import Problem
from ..registry import get_backend
from .cost import LAUNCH_SECONDS
from .engine import GraphEngine, GraphPlan
from .enums import knob_type
from .errors import GraphError, fail
from .fallback_run import Forced, Running
from .knobs import Knobs, knob
from .lowering import lower, mistyped
from .lowering.steps import Lowering, Step
from .operation_graph import Operation, OperationGraph

if TYPE_CHECKING:
    from portadnn_backends.base import Engine

    from ..handle import Handle

    Part = Lowering | GraphPlan | list[GraphError]

MOST_KNOWN = 64  # graphs of a handle


class FallbackEngine(GraphEngine):
    """Node by node: by Problems, or else by an engine of the backend that takes the node alone.

    Virtual tensors lie in the workspace, each in its own type. The knob KERNEL_CFG chooses the engine of the step with
    the most operations, as a number in the order of the estimates; without it Find's measurements decide.
    """

    name = "fallback"

    def why_not(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        return [error for part in _parts(graph, handle) if isinstance(part, list) for error in part]

    def seconds(self, graph: OperationGraph, handle: Handle) -> float:
        total = 0.0
        for part in _parts(graph, handle):
            if isinstance(part, GraphPlan):
                total += part.engine.seconds(part.graph, handle)
            elif isinstance(part, Lowering):
                for step in part.steps:
                    problem = _problem(handle, step)
                    total += choose(handle, problem).seconds(problem, handle.info) + LAUNCH_SECONDS
        return total

    def knobs(self, graph: OperationGraph, handle: Handle) -> Sequence[knob]:
        main = _main(graph, handle)
        names = [] if main is None else [engine.name for engine in _engines(handle, main[1])]
        if len(names) < 2:
            return ()
        says = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        return (knob(knob_type.KERNEL_CFG, len(names) - 1, says=says),)

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        return self.tuned(graph, handle, {})

    def tuned(self, graph: OperationGraph, handle: Handle, knobs: Knobs) -> GraphPlan:
        parts: list[Lowering | GraphPlan] = []
        for part in _parts(graph, handle):
            if isinstance(part, list):
                raise part[0]
            parts.append(part)
        forced, main = {}, _main(graph, handle) if knobs else None
        if main is not None:
            step, problem = main
            forced[id(step)] = Forced(handle, _engines(handle, problem)[knobs[knob_type.KERNEL_CFG]], problem)
        running = Running(handle, graph, parts, forced)
        return GraphPlan(self, graph, running.memory.size, running.run, running.bind, knobs)


_KNOWN: weakref.WeakKeyDictionary[Handle, dict[OperationGraph, tuple[Part, ...]]] = weakref.WeakKeyDictionary()


def _parts(graph: OperationGraph, handle: Handle) -> tuple[Part, ...]:
    """Return what computes each node, or why nothing does."""
    known = _KNOWN.setdefault(handle, {})
    if graph not in known:
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[graph] = tuple(_made(graph, handle))
    return known[graph]


def _made(graph: OperationGraph, handle: Handle) -> Iterator[Part]:
    for operation in graph.operations:
        try:
            lowered = lower(graph, operation)
            for step in lowered.steps:
                _check(handle, step, operation.label)
            yield lowered
        except GraphError as error:
            alone = _alone(graph, operation)
            engines = get_backend(handle.backend).graph_engines()
            other = next((engine for engine in engines if not engine.why_not(alone, handle)), None)
            yield _all_reasons(graph, operation, error) if other is None else other.prepare(alone, handle)


def _all_reasons(graph: OperationGraph, operation: Operation, first: GraphError) -> list[GraphError]:
    """Return the reason that a lowering ended with, and what else of the node's types it would have met."""
    reasons = [first]
    if first.id != "PG-ENGINE-002":
        reasons += [error for error in mistyped(graph, operation) if str(error) != str(first)]
    return reasons


def _alone(graph: OperationGraph, operation: Operation) -> OperationGraph:
    """Return the graph of one node, whose tensors all are in memory."""
    tensors = (replace(graph.by_uid[uid], virtual=False) for uid in dict.fromkeys(operation.uids.values()))
    return OperationGraph(operation.name, (operation,), tuple(tensors))


def _problem(handle: Handle, step: Step) -> Problem:
    return make_problem(handle, step.kind, [None if view is None else view.spec for view in step.tensors], step.params)


def _main(graph: OperationGraph, handle: Handle) -> tuple[Step, Problem] | None:
    """Return the step with the most operations."""
    steps = [step for part in _parts(graph, handle) if isinstance(part, Lowering) for step in part.steps]
    problems = [(step, _problem(handle, step)) for step in steps]
    return max(problems, key=lambda one: one[1].flops(), default=None)


def _engines(handle: Handle, problem: Problem) -> list[Engine]:
    return candidates(handle.engines_for(problem), problem, handle.info)


def _check(handle: Handle, step: Step, label: str) -> None:
    """Demand that the device has an engine for a step."""
    try:
        choose(handle, _problem(handle, step))
        _check_in_place(step)
    except DnnError as error:
        fix = "create_handle('reference')"
        raise fail("PG-ENGINE-005", node=label, argument=step.kind.op, got=str(error), fix=fix) from error


def _check_in_place(step: Step) -> None:
    """Demand of a step that writes what it reads that its Problem may."""
    views = dict(zip(step.kind.tensor_names(), step.tensors, strict=True))
    for out in step.kind.outputs:
        for name in step.kind.inputs:
            written, read = views[out], views[name]
            if written is None or read is None or written.memory != read.memory:
                continue
            other = step.kind.together.get((out, name))
            if (out, name) not in step.kind.in_place or written != read or (other and views[other] != written):
                raise NotSupported("it does not work in place", argument=out, expected="another tensor", got=name)
