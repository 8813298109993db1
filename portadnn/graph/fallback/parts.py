"""Cutting a graph into nodes for the fallback engine: what computes each, or why nothing does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from portadnn_backends.base import LAUNCH_SECONDS

from ...dispatch.choice import choose
from ...dispatch.problems import make_problem
from ...errors import DnnError, NotSupported
from ...problem import Problem
from ...registry import get_backend
from ..engine import GraphEngine, GraphPlan
from ..errors import GraphError
from ..lowering import lower, mistyped
from ..lowering.steps import FIX, Lowering, Step
from ..operation_graph import Operation, OperationGraph
from ..per_handle import PerHandle
from ..rules import fail
from .type_promotion import widened

if TYPE_CHECKING:
    from portadnn_backends.base import Device

    from ...handle import Handle


@dataclass(frozen=True)
class Alone:
    """A part of a graph, as a rule a node, and the engine that takes it; nothing is prepared yet."""

    engine: GraphEngine
    graph: OperationGraph


@dataclass
class Cut:
    """A graph in parts.

    Attributes
    ----------
    graph : OperationGraph
        With the tensors and nodes of conversions as well.
    parts : list of Lowering or Alone
        What computes its nodes, one after another.
    errors : list of GraphError
        Why nothing computes some; there are no parts for these.
    """

    graph: OperationGraph
    parts: list[Lowering | Alone] = field(default_factory=list)
    errors: list[GraphError] = field(default_factory=list)


_KNOWN: PerHandle[tuple[OperationGraph, tuple[GraphEngine, ...]], Cut] = PerHandle()


def cut(graph: OperationGraph, handle: Handle, helpers: tuple[GraphEngine, ...]) -> Cut:
    """Return what computes each node: kernels, engines of the backend, and `helpers` where nothing else does."""
    return _KNOWN.get(handle, (graph, helpers), lambda: _cut(graph, handle, helpers))


def _cut(graph: OperationGraph, handle: Handle, helpers: tuple[GraphEngine, ...]) -> Cut:
    made = Cut(graph)
    for operation in graph.operations:
        add_node(made, operation, handle, helpers)
    return made


def add_node(made: Cut, operation: Operation, handle: Handle, helpers: tuple[GraphEngine, ...]) -> None:
    """Add what computes a node of the graph to the parts, or else the reasons why nothing does."""
    graph = made.graph
    engines = get_backend(handle.backend).graph_engines()
    part = _part(graph, operation, handle, engines)
    if not isinstance(part, list):
        made.parts.append(part)
        return
    wide = _widened(made, operation, handle, engines)
    single = alone(graph, operation)
    helper = next((one for one in helpers if not one.reasons(single, handle.info)), None)
    if wide:
        made.parts += wide
    elif helper is not None:
        made.parts.append(Alone(helper, single))
    else:
        made.errors += part


def prepared(made: Cut, device: Device) -> list[Lowering | GraphPlan]:
    """Return the parts of a cut with plans, compiled now, in the place of other engines' parts."""
    return [part.engine.prepare(part.graph, device) if isinstance(part, Alone) else part for part in made.parts]


def seconds_of(part: Lowering | Alone, handle: Handle) -> float:
    """Return the estimate for a part."""
    if isinstance(part, Alone):
        return part.engine.seconds(part.graph, handle.info)
    total = 0.0
    for step in part.problems:
        problem = problem_of(handle, step)
        total += choose(handle, problem).seconds(problem, handle.info) + LAUNCH_SECONDS
    return total


def _part(
    graph: OperationGraph, operation: Operation, handle: Handle, engines: Sequence[GraphEngine]
) -> Lowering | Alone | list[GraphError]:
    """Return what computes a node, or why nothing does."""
    try:
        lowered = lower(graph, operation)
        for step in lowered.problems:
            check_step(handle, step, operation.label)
    except GraphError as error:
        single = alone(graph, operation)
        other = next((engine for engine in engines if not engine.reasons(single, handle.info)), None)
        return _all_reasons(graph, operation, error) if other is None else Alone(other, single)
    return lowered


def _widened(made: Cut, operation: Operation, handle: Handle, engines: Sequence[GraphEngine]) -> list[Lowering | Alone]:
    """Return what computes a node in one type with its conversions, whose tensors the graph then has; or nothing."""
    wide = widened(made.graph, operation, max(made.graph.by_uid) + 1)
    if wide is None:
        return []
    graph = replace(made.graph, infos=(*made.graph.infos, *wide.tensors))
    parts: list[Lowering | Alone] = []
    for one in wide.operations:
        part = _part(graph, one, handle, engines)
        if isinstance(part, list):
            return []
        parts.append(part)
    made.graph = graph
    return parts


def _all_reasons(graph: OperationGraph, operation: Operation, first: GraphError) -> list[GraphError]:
    """Return the reason that a lowering ended with, and what else of the node's types it would have met."""
    reasons = [first]
    if first.id != "PG-ENGINE-002":
        reasons += [error for error in mistyped(graph, operation) if str(error) != str(first)]
    return reasons


def alone(graph: OperationGraph, operation: Operation) -> OperationGraph:
    """Return the graph of one node, whose tensors all are in memory."""
    uids = dict.fromkeys(operation.uids.values())
    uids.update(dict.fromkeys(o for uid in tuple(uids) if (o := graph.by_uid[uid].ragged_offset) is not None))
    tensors = (replace(graph.by_uid[uid], virtual=False) for uid in uids)
    return OperationGraph(operation.name, (operation,), tuple(tensors))


def problem_of(handle: Handle, step: Step) -> Problem:
    """Return a step's Problem."""
    return make_problem(handle, step.kind, [None if view is None else view.spec for view in step.tensors], step.params)


def check_step(handle: Handle, step: Step, label: str) -> None:
    """Demand that the device has an engine for a step."""
    try:
        choose(handle, problem_of(handle, step))
        _check_in_place(step)
    except DnnError as error:
        raise fail("PG-ENGINE-005", node=label, argument=step.kind.op, got=str(error), fix=FIX) from error


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
