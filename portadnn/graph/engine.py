"""Engines and plans of graphs: an engine takes graphs or says which rules they break; its plan runs on variant packs.

A backend offers engines through :meth:`Backend.graph_engines`; those that cut graphs into parts are portadnn's own.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from portadnn_backends.base import Engine, Plan, roofline

from ..problem import Problem
from .api.arguments import whole
from .enums import behavior_note, heur_mode, numerical_note
from .errors import GraphError
from .knobs import Knobs, knob
from .operation_graph import OperationGraph
from .rules import fail

if TYPE_CHECKING:
    from portadnn_backends.base import Device, DeviceInfo


@dataclass(frozen=True)
class GraphPlan(Plan):
    """A plan of a graph; ``run`` takes arrays for ``problem.memory``, numbers for ``problem.numbers`` and a workspace.

    Arrays have the graph's dims and strides and the type's storage dtype; types that other Problems do not know are
    packed bytes. Nothing is converted or copied.

    Attributes
    ----------
    knobs : mapping of knob_type to int
        Those that were set.
    parts : tuple of tuple of str
        Names of the nodes that are computed together, for pictures; empty where each is by itself.
    source : str
        Text of the kernels that were generated for the graph; empty where all are in files.
    """

    problem: OperationGraph
    engine: GraphEngine
    knobs: Knobs = field(default_factory=dict)
    parts: tuple[tuple[str, ...], ...] = ()
    source: str = ""


@dataclass(frozen=True)
class SupportRule:
    """A part of what an engine supports.

    Attributes
    ----------
    id : str
        As in :data:`~portadnn.graph.rules.RULES`.
    says : str
        What a graph has to be like.
    broken : callable
        ``broken(graph, info)`` yields an error, with node, tensor and fix, for each place that is not.
    """

    id: str
    says: str
    broken: Callable[[OperationGraph, DeviceInfo], Iterable[GraphError]]


class GraphEngine(Engine):
    """One way to run some graphs.

    Attributes
    ----------
    modes : frozenset of heur_mode
        The heuristics that offer it.
    numerical_notes, behavior_notes : frozenset
        What it does to numbers, and what else is to be known.
    joins : bool
        Whether it takes whatever nodes together that it takes one by one.
    follows : bool
        Whether it takes a product, which other kernels compute as well, with the pointwise nodes around it.
    rules : tuple of SupportRule
        What it supports, for an engine that says so in rules; others define :meth:`reasons`.
    """

    problems = (OperationGraph,)
    wide = True
    modes: frozenset[heur_mode] = frozenset(heur_mode)
    numerical_notes: frozenset[numerical_note] = frozenset()
    behavior_notes: frozenset[behavior_note] = frozenset()
    joins: bool = False
    follows: bool = False
    rules: tuple[SupportRule, ...] = ()

    def reasons(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        """Return all reasons not to take the graph on such a device; none when it does."""
        return [error for rule in self.rules for error in rule.broken(graph, info)]

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        reasons = self.reasons(_graph(problem), info)
        return str(reasons[0]) if reasons else None

    def estimate(self, graph: OperationGraph, info: DeviceInfo) -> float:
        """Estimate the time of a graph that it takes, without measuring; the least is chosen."""
        return roofline(graph, info)

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return self.estimate(_graph(problem), info)

    def knobs(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[knob]:
        """Return what can be set for a graph that it takes."""
        return ()

    def remarks(self, graph: OperationGraph, info: DeviceInfo) -> Sequence[GraphError]:
        """Return what of a graph that it takes it computes in a slow way, each with the reason."""
        return ()

    @abc.abstractmethod
    def tuned(self, graph: OperationGraph, device: Device, knobs: Knobs) -> GraphPlan:
        """Compile and lay out everything with some knobs set, to values in their ranges; running is launches then."""

    def prepare(self, problem: Problem, device: Device) -> GraphPlan:
        return self.tuned(_graph(problem), device, {})


def _graph(problem: Problem) -> OperationGraph:
    assert isinstance(problem, OperationGraph)
    return problem


@dataclass(frozen=True)
class Config:
    """An engine with the knobs that are set: what a plan is made of."""

    engine: GraphEngine
    knobs: Knobs = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the plan: ``"eng_fallback_k12=2"``, with the knobs' numbers."""
        return "_".join([f"eng_{self.engine.name}", *(f"k{int(kind)}={value}" for kind, value in self.knobs.items())])

    def prepare(self, graph: OperationGraph, device: Device) -> GraphPlan:
        """Return the plan; the knobs have been checked."""
        return self.engine.tuned(graph, device, self.knobs)


MOST_CONFIGURATIONS = 64  # of one engine, that are tried


def configurations(engine: GraphEngine, graph: OperationGraph, info: DeviceInfo) -> Iterator[Config]:
    """Yield an engine without knobs, then with each value of one knob at a time."""
    yield Config(engine)
    left = MOST_CONFIGURATIONS - 1
    for one in engine.knobs(graph, info):
        for value in one.values()[:left]:
            left -= 1
            yield Config(engine, {one.type: value})


def checked(engine: GraphEngine, graph: OperationGraph, info: DeviceInfo, knobs: Mapping[Any, int]) -> Config:
    """Return an engine with knobs set.

    Raises
    ------
    InvalidValue
        A knob that it does not have, or a value out of range (PG-PLAN-006).
    """
    offered = {one.type: one for one in engine.knobs(graph, info)} if knobs else {}
    values: dict[Any, int] = {}
    for kind, value in knobs.items():
        one = offered.get(kind)
        if one is None:
            names = ", ".join(str(known) for known in offered) or "no knobs"
            raise fail("PG-PLAN-006", argument="knobs", expected=f"of {engine.name}: {names}", got=str(kind))
        number = whole(value, f"knobs[{kind}]", "PG-PLAN-006", str(one))
        if number not in one.values():
            raise fail("PG-PLAN-006", argument=f"knobs[{kind}]", expected=str(one), got=number)
        values[one.type] = number
    return Config(engine, dict(sorted(values.items())))
