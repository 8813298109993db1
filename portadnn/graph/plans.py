"""From a frozen graph to plans: which engines take it, in which order, and what the program's filters leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..handle import Handle
from ..registry import get_backend
from .engine import GraphEngine, GraphPlan
from .enums import behavior_note, heur_mode, numerical_note
from .errors import GraphError, fail
from .fallback import FallbackEngine
from .operation_graph import OperationGraph


@dataclass
class Filters:
    """What a program wants of engines."""

    wanted: set[numerical_note | behavior_note] = field(default_factory=set)
    unwanted: set[numerical_note | behavior_note] = field(default_factory=set)
    names: set[str] = field(default_factory=set)  # parts of names of engines that are not wanted
    workspace: int | None = None  # at most

    def refusal(self, engine: GraphEngine) -> GraphError | None:
        """Return why an engine is not wanted, if it is not."""
        notes = {*engine.numerical_notes, *engine.behavior_notes}
        if not notes >= self.wanted:
            missing = sorted(str(note) for note in self.wanted - notes)
            return fail(
                "PG-ENGINE-006", argument=engine.name, expected=f"the notes {', '.join(missing)}", got="none of them"
            )
        if notes & self.unwanted:
            found = ", ".join(sorted(str(note) for note in notes & self.unwanted))
            return fail("PG-ENGINE-006", argument=engine.name, expected="engines without deselected notes", got=found)
        part = next((name for name in self.names if name in plan_name(engine)), None)
        if part is not None:
            return fail("PG-ENGINE-006", argument=engine.name, expected="an engine that is not deselected", got=part)
        return None


def plan_name(engine: GraphEngine) -> str:
    """Return the name of an engine's plans."""
    return f"eng_{engine.name}"


def engines_of(handle: Handle) -> list[GraphEngine]:
    """Return all engines that a handle has for graphs, the best first."""
    return [*get_backend(handle.backend).graph_engines(), FallbackEngine()]


class Plans:
    """The candidates of one graph on one handle, and the plans built of them.

    Attributes
    ----------
    candidates : list of GraphEngine
        Those that take the graph, in the order of the heuristics.
    reasons : list of GraphError
        Of the engines that do not.
    built : dict
        Plans by their candidate's number.
    """

    def __init__(self, graph: OperationGraph, handle: Handle) -> None:
        self.graph, self.handle = graph, handle
        self.candidates: list[GraphEngine] = []
        self.reasons: dict[str, Sequence[GraphError]] = {}
        self.built: dict[int, GraphPlan] = {}

    def query(self, modes: Iterable[heur_mode], only: str | None = None) -> None:
        """Append the engines that the heuristics offer, or of these the one of a name.

        Raises
        ------
        cudnnGraphNotSupportedError
            None takes the graph (PG-ENGINE-001); with the reasons of all.
        """
        for mode in modes:
            for engine in engines_of(self.handle):
                if mode not in engine.modes or any(known.name == engine.name for known in self.candidates):
                    continue
                if only not in (None, engine.name):
                    continue
                refused = list(engine.why_not(self.graph, self.handle))
                if refused:
                    self.reasons[engine.name] = refused
                else:
                    self.candidates.append(engine)
        if not self.candidates:
            raise self.no_engine([])

    def no_engine(self, more: Sequence[GraphError]) -> GraphError:
        """Return the error that says why no engine is left."""
        reasons = [*(reason for refused in self.reasons.values() for reason in refused), *more]
        return fail(
            "PG-ENGINE-001",
            argument=f"graph '{self.graph.name}'",
            expected=f"a graph that an engine of {self.handle.backend} takes",
            got=f"{len(reasons)} reasons why not",
            fix="change what the reasons name, or use a handle of the reference backend: create_handle('reference')",
            reasons=reasons,
        )

    def chosen(self, filters: Filters) -> list[int]:
        """Return the numbers of the candidates that the filters leave.

        Raises
        ------
        cudnnGraphNotSupportedError
            None is left (PG-ENGINE-001).
        """
        found, refused = [], []
        for number, engine in enumerate(self.candidates):
            reason = filters.refusal(engine) or self._too_large(number, filters)
            if reason is None:
                found.append(number)
            else:
                refused.append(reason)
        if not found:
            raise self.no_engine(refused)
        return found

    def _too_large(self, number: int, filters: Filters) -> GraphError | None:
        if filters.workspace is None or self.plan(number).workspace_size <= filters.workspace:
            return None
        return fail(
            "PG-ENGINE-006",
            argument=self.candidates[number].name,
            expected=f"a workspace of at most {filters.workspace} bytes",
            got=self.plan(number).workspace_size,
        )

    def plan(self, number: int) -> GraphPlan:
        """Return the plan of a candidate, built when first asked for."""
        if not 0 <= number < len(self.candidates):
            raise fail(
                "PG-PLAN-002",
                argument="index",
                expected=f"0 to {len(self.candidates) - 1}",
                got=number,
                fix="get_execution_plan_count()",
            )
        if number not in self.built:
            self.built[number] = self.candidates[number].prepare(self.graph, self.handle)
        return self.built[number]
