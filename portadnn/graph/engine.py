"""The seam between graphs and what runs them: engines, which take frozen graphs or say why not, and their plans.

A backend offers engines through :meth:`Backend.graph_engines`; one that works on every handle,
:class:`~portadnn.graph.fallback.engine.FallbackEngine`, is portadnn's own.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from portadnn_backends.base import roofline

from .api.arguments import whole
from .enums import behavior_note, heur_mode, numerical_note
from .errors import GraphError, fail
from .knobs import Knobs, knob
from .operation_graph import OperationGraph

if TYPE_CHECKING:
    from ..handle import Handle


@dataclass(frozen=True)
class GraphPlan:
    """An engine prepared for one graph on one handle.

    Attributes
    ----------
    workspace_size : int
        Bytes of scratch memory that `run` needs.
    run : callable
        ``run(arrays, workspace)``: `arrays` holds, by uid, the device's native arrays with the graph's dims and strides
        (of the type's storage dtype; packed bytes where Problems do not know the type), and Python numbers for tensors
        passed by value. Nothing is converted or copied; work is enqueued on the handle's stream.
    recordable : bool
        Whether `run` does nothing but launch and run other plans, so that a recorder sees all of it.
    knobs : mapping of knob_type to int
        Those that were set.
    parts : tuple of tuple of str
        Names of the nodes that are computed together, for pictures; empty where each is by itself.
    source : str
        Text of the kernels that were written for the graph; empty where all are in files.
    """

    engine: GraphEngine
    graph: OperationGraph
    workspace_size: int
    run: Callable[[Mapping[int, Any], Any], None]
    recordable: bool = False
    knobs: Knobs = field(default_factory=dict)
    parts: tuple[tuple[str, ...], ...] = ()
    source: str = ""


@dataclass(frozen=True)
class SupportRule:
    """A part of what an engine supports.

    Attributes
    ----------
    id : str
        As in :data:`~portadnn.graph.errors.RULES`.
    says : str
        What a graph has to be like.
    broken : callable
        ``broken(graph, handle)`` yields an error, with node, tensor and fix, for each place that is not.
    """

    id: str
    says: str
    broken: Callable[[OperationGraph, Handle], Iterable[GraphError]]


class GraphEngine(abc.ABC):
    """One way to run some graphs.

    Attributes
    ----------
    name : str
        For plans' names and filters.
    modes : frozenset of heur_mode
        The heuristics that offer it.
    numerical_notes, behavior_notes : frozenset
        What it does to numbers, and what else is to be known.
    joins : bool
        Whether it takes whatever nodes together that it takes one by one.
    follows : bool
        Whether it takes a product, which other kernels compute as well, with the pointwise nodes around it.
    rules : tuple of SupportRule
        What it supports, for an engine that says so in rules; others have a ``why_not`` of their own.
    """

    name: str
    modes: frozenset[heur_mode] = frozenset(heur_mode)
    numerical_notes: frozenset[numerical_note] = frozenset()
    behavior_notes: frozenset[behavior_note] = frozenset()
    joins: bool = False
    follows: bool = False
    rules: tuple[SupportRule, ...] = ()

    def why_not(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        """Return all reasons not to take the graph on such a handle; none when it does."""
        return [error for rule in self.rules for error in rule.broken(graph, handle)]

    def seconds(self, graph: OperationGraph, handle: Handle) -> float:
        """Estimate the time of a graph that it takes, without measuring; the least is chosen."""
        return roofline(graph, handle.info)

    def knobs(self, graph: OperationGraph, handle: Handle) -> Sequence[knob]:
        """Return what can be set for a graph that it takes."""
        return ()

    def remarks(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        """Return what of a graph that it takes it computes in a slow way, each with the reason."""
        return ()

    @abc.abstractmethod
    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        """Compile and lay out everything, so that running is launches."""

    def tuned(self, graph: OperationGraph, handle: Handle, knobs: Knobs) -> GraphPlan:
        """Prepare with some knobs set, to values in their ranges; engines with knobs define it."""
        return self.prepare(graph, handle)


@dataclass(frozen=True)
class Config:
    """An engine with the knobs that are set: what a plan is made of."""

    engine: GraphEngine
    knobs: Knobs = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the plan: ``"eng_fallback_k12=2"``, with the knobs' numbers."""
        return "_".join([f"eng_{self.engine.name}", *(f"k{int(kind)}={value}" for kind, value in self.knobs.items())])

    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        """Return the plan; the knobs have been checked."""
        return self.engine.tuned(graph, handle, self.knobs) if self.knobs else self.engine.prepare(graph, handle)


MOST_CONFIGURATIONS = 64  # of one engine, that are tried


def configurations(engine: GraphEngine, graph: OperationGraph, handle: Handle) -> Iterator[Config]:
    """Yield an engine without knobs, then with each value of one knob at a time."""
    yield Config(engine)
    left = MOST_CONFIGURATIONS - 1
    for one in engine.knobs(graph, handle):
        for value in one.values()[:left]:
            left -= 1
            yield Config(engine, {one.type: value})


def checked(engine: GraphEngine, graph: OperationGraph, handle: Handle, knobs: Mapping[Any, int]) -> Config:
    """Return an engine with knobs set.

    Raises
    ------
    InvalidValue
        A knob that it does not have, or a value out of range (PG-PLAN-006).
    """
    offered = {one.type: one for one in engine.knobs(graph, handle)} if knobs else {}
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
