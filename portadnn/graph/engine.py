"""The seam between graphs and what runs them: engines, which take frozen graphs or say why not, and their plans.

A backend offers engines through :meth:`Backend.graph_engines`; one that works on every handle,
:class:`~portadnn.graph.fallback.FallbackEngine`, is portadnn's own.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .enums import behavior_note, heur_mode, numerical_note
from .errors import GraphError
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
    """

    engine: GraphEngine
    graph: OperationGraph
    workspace_size: int
    run: Callable[[Mapping[int, Any], Any], None]


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
    """

    name: str
    modes: frozenset[heur_mode] = frozenset(heur_mode)
    numerical_notes: frozenset[numerical_note] = frozenset()
    behavior_notes: frozenset[behavior_note] = frozenset()

    @abc.abstractmethod
    def why_not(self, graph: OperationGraph, handle: Handle) -> Sequence[GraphError]:
        """Return all reasons not to take the graph on such a handle; none when it does."""

    @abc.abstractmethod
    def prepare(self, graph: OperationGraph, handle: Handle) -> GraphPlan:
        """Compile and lay out everything, so that running is launches."""
