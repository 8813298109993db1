"""The methods of :class:`~portadnn.graph.pygraph` that tell of plans and choose among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..errors import public
from .builder import Builder
from .core import Graph
from .engine import GraphEngine
from .enums import behavior_note, heur_mode, numerical_note
from .errors import fail
from .handles import handle_of
from .operation_graph import OperationGraph
from .plans import Filters, Plans, engines_of, plan_name

Self = TypeVar("Self", bound="PlanMethods")


class PlanMethods(Builder):
    """A graph with its candidates on handles."""

    def __init__(self, graph: Graph, handle: Any) -> None:
        super().__init__(graph)
        self._handle = handle
        self._frozen: OperationGraph | None = None
        self._plans: dict[int, Plans] = {}  # by the handle's serial
        self._modes: list[heur_mode] = []
        self._only: str | None = None  # the one engine that the program asked for
        self._filters = Filters()
        self._chosen: int | None = None

    def _plans_on(self, handle: Any) -> Plans:
        """Return the candidates on a handle, which need not be the graph's."""
        if self._frozen is None:
            raise fail(
                "PG-PLAN-001",
                expected="build_operation_graph() first",
                got="no frozen graph",
                fix="graph.build([heur_mode.A])",
            )
        if not self._modes:
            raise fail("PG-PLAN-001", expected="create_execution_plans([heur_mode.A]) first", got="no candidates")
        opened = handle_of(handle)
        found = self._plans.get(opened.serial)
        if found is None:
            found = Plans(self._frozen, opened)
            found.query(self._modes, self._only)
            self._plans[opened.serial] = found
        return found

    # what is known of plans

    @public
    def get_workspace_size(self) -> int:
        """Return the bytes of workspace that the chosen plan needs; 0 before there is one."""
        return self.get_workspace_size_plan_at_index(self._chosen) if self._chosen is not None else 0

    @public
    def get_workspace_size_plan_at_index(self, index: int) -> int:
        """Return the bytes of workspace that a plan needs; 0 where it is not built."""
        plan = self._plans_on(self._handle).built.get(index)
        return 0 if plan is None else plan.workspace_size

    @public
    def get_execution_plan_count(self) -> int:
        """Return the number of candidates."""
        return len(self._plans_on(self._handle).candidates) if self._plans else 0

    @public
    def get_plan_name_at_index(self, index: int) -> str:
        """Return the name of a plan."""
        return plan_name(self._plans_on(self._handle).plan(index).engine)

    @public
    def get_behavior_notes(self) -> list[behavior_note]:
        """Return the notes of the chosen plan."""
        return self.get_behavior_notes_for_plan_at_index(self._chosen or 0)

    @public
    def get_behavior_notes_for_plan_at_index(self, index: int) -> list[behavior_note]:
        """Return the notes of a plan."""
        return sorted(self._plans_on(self._handle).plan(index).engine.behavior_notes)

    @public
    def get_engine_count(self) -> int:
        """Return the number of engines of the handle."""
        return len(engines_of(handle_of(self._handle)))

    @public
    def get_knobs_for_engine(self, engine_id: int) -> list[Any]:
        """Return the knobs of an engine; no engine has any yet."""
        self._engine(engine_id)
        return []

    def _engine(self, engine_id: int) -> GraphEngine:
        engines = engines_of(handle_of(self._handle))
        if not 0 <= engine_id < len(engines):
            raise fail("PG-PLAN-006", argument="engine_id", expected=f"0 to {len(engines) - 1}", got=engine_id)
        return engines[engine_id]

    # filters

    @public
    def select_numeric_notes(self: Self, notes: Sequence[numerical_note]) -> Self:
        """Take only engines with all of these notes."""
        self._filters.wanted.update(numerical_note.parse(note, "notes") for note in notes)
        return self

    @public
    def deselect_numeric_notes(self: Self, notes: Sequence[numerical_note]) -> Self:
        """Take no engine with one of these notes."""
        self._filters.unwanted.update(numerical_note.parse(note, "notes") for note in notes)
        return self

    @public
    def select_behavior_notes(self: Self, notes: Sequence[behavior_note]) -> Self:
        """Take only engines with all of these notes."""
        self._filters.wanted.update(behavior_note.parse(note, "notes") for note in notes)
        return self

    @public
    def deselect_behavior_notes(self: Self, notes: Sequence[behavior_note]) -> Self:
        """Take no engine with one of these notes."""
        self._filters.unwanted.update(behavior_note.parse(note, "notes") for note in notes)
        return self

    @public
    def deselect_engines(self: Self, names: Sequence[str]) -> Self:
        """Take no engine whose plans' names contain one of these."""
        self._filters.names.update(names)
        return self

    @public
    def deselect_workspace_greater_than(self: Self, workspace: int) -> Self:
        """Take no plan that needs more bytes of workspace."""
        self._filters.workspace = workspace
        return self
