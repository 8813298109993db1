"""The methods of :class:`~portadnn.graph.api.pygraph` that tell of plans and choose among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ..engine import checked
from ..enums import behavior_note, build_plan_policy, heur_mode, knob_type, numerical_note
from ..knobs import knob
from ..plans import engines_of
from .arguments import also_named, listed, pairs, text, whole
from .builder import method
from .handles import handle_of
from .overrides import Overrides, with_layouts
from .planned import Planned

Self = TypeVar("Self", bound=Planned)


@also_named(heuristics="modes")
@method
def create_execution_plans(self: Planned, modes: Sequence[heur_mode]) -> None:
    """Ask the heuristics for engines, in the order of the modes.

    A ranks engines by estimates; B puts first what ``autotune`` timed, now or earlier (``PORTADNN_FIND_DB``).
    """
    wanted = listed(modes, "modes", "PG-PLAN-004", fix="[heur_mode.A, heur_mode.FALLBACK]")
    self._modes, self._only, self._pinned = [heur_mode.parse(mode, "modes") for mode in wanted], None, None
    self._drop_plans()
    self._plans_on(self._handle)


@method
def create_execution_plan(self: Planned, engine_id: int, knobs: Mapping[knob_type, int] | None = None) -> None:
    """Take one engine, with some knobs set, and no other plan.

    Raises
    ------
    InvalidValue
        No such engine, knob or value (PG-PLAN-006).
    """
    engine = self._engine(engine_id)
    given = {} if knobs is None else pairs(knobs, "knobs", "PG-PLAN-006", "a dict of integers by knob_type")
    values = {knob_type.parse(kind, "knobs"): whole(value, "knobs", "PG-PLAN-006") for kind, value in given.items()}
    checked(engine, self._graph_frozen(), handle_of(self._handle).info, values)
    self._modes, self._only, self._pinned = list(heur_mode), (engine.name, values), None
    self._drop_plans()
    self._plans_on(self._handle)


@method
def check_support(self: Planned) -> None:
    """Choose the first engine that the filters leave."""
    self._chosen = self._wanted(self._plans_on(self._handle))[0]


@method
def build_plans(self: Planned, policy: build_plan_policy = build_plan_policy.HEURISTICS_CHOICE) -> None:
    """Build the first plan, or all of them."""
    plans = self._plans_on(self._handle)
    numbers = self._wanted(plans)
    for number in numbers if build_plan_policy.parse(policy) is build_plan_policy.ALL else numbers[:1]:
        plans.plan(number)
    self._choose(plans, numbers[0])


@method
def build_plan_at_index(self: Planned, index: int) -> None:
    """Build one plan, which ``execute`` then takes."""
    plans, number = self._plans_on(self._handle), whole(index, "index", "PG-PLAN-002")
    plans.plan(number)
    self._choose(plans, number)


@method
def get_workspace_size(
    self: Planned,
    handle: Any = None,
    override_uids: Any = None,
    override_shapes: Any = None,
    override_strides: Any = None,
) -> int:
    """Return the bytes of workspace that the chosen plan needs, with other dims on request; 0 before there is one."""
    if self._chosen is None:
        return 0
    if override_uids is override_shapes is override_strides is None:
        return get_workspace_size_plan_at_index(self, self._chosen)
    overrides = (override_uids, override_shapes, override_strides)
    return get_workspace_size_plan_at_index(self, self._chosen, handle, *overrides)


@method
def get_workspace_size_plan_at_index(
    self: Planned,
    index: int,
    handle: Any = None,
    override_uids: Any = None,
    override_shapes: Any = None,
    override_strides: Any = None,
) -> int:
    """Return the bytes of workspace that a plan needs, with other dims on request; 0 where it is not built."""
    if not (override_uids is override_shapes is override_strides is None):
        layouts = Overrides(override_uids, override_shapes, override_strides).layouts()
        other = with_layouts(self, layouts, self._config(whole(index, "index", "PG-PLAN-002")))
        plans = other._plans_on(self._handle if handle is None else handle)
        return plans.plan(other._index(plans)).workspace_size
    plan = self._plans_on(self._handle).built.get(whole(index, "index", "PG-PLAN-002"))
    return 0 if plan is None else plan.workspace_size


@method
def get_execution_plan_count(self: Planned) -> int:
    """Return the number of candidates."""
    return len(self._plans_on(self._handle).candidates) if self._plans else 0


@method
def get_plan_name(self: Planned) -> str:
    """Return the name of the chosen plan."""
    return get_plan_name_at_index(self, self._chosen or 0)


@method
def get_plan_name_at_index(self: Planned, index: int) -> str:
    """Return the name of a plan: ``"eng_fallback_k12=2"``, with the numbers of the knobs that are set."""
    return self._config(index).name


@method
def get_plan_source(self: Planned) -> str:
    """Return the text of the kernels that were written for the graph; "" where all come from files."""
    return get_plan_source_at_index(self, self._chosen or 0)


@method
def get_plan_source_at_index(self: Planned, index: int) -> str:
    """Return the text of the kernels that were written for a plan, which is built where it is not."""
    return self._plans_on(self._handle).plan(index).source


@method
def get_engine_and_knobs_at_index(self: Planned, index: int) -> tuple[int, dict[knob_type, int]]:
    """Return what ``create_execution_plan`` takes to make the plan again."""
    config = self._config(index)
    names = [engine.name for engine in engines_of(handle_of(self._handle))]
    return names.index(config.engine.name), dict(config.knobs)


@method
def get_behavior_notes(self: Planned) -> list[behavior_note]:
    """Return the notes of the chosen plan."""
    return get_behavior_notes_for_plan_at_index(self, self._chosen or 0)


@method
def get_behavior_notes_for_plan_at_index(self: Planned, index: int) -> list[behavior_note]:
    """Return the notes of a plan."""
    return sorted(self._config(index).engine.behavior_notes, key=int)


@method
def get_numeric_notes_for_plan_at_index(self: Planned, index: int) -> list[numerical_note]:
    """Return what a plan does to numbers."""
    return sorted(self._config(index).engine.numerical_notes, key=int)


@method
def get_engine_count(self: Planned) -> int:
    """Return the number of engines of the handle."""
    return len(engines_of(handle_of(self._handle)))


@method
def get_knobs_for_engine(self: Planned, engine_id: int) -> list[knob]:
    """Return what can be set of an engine for this graph; nothing where the engine does not take the graph."""
    engine, graph, info = self._engine(engine_id), self._graph_frozen(), handle_of(self._handle).info
    return [] if engine.reasons(graph, info) else list(engine.knobs(graph, info))


@method
def select_numeric_notes(self: Self, notes: Sequence[numerical_note]) -> Self:
    """Take only engines with all of these notes."""
    self._filters.wanted.update(numerical_note.parse(note, "notes") for note in listed(notes, "notes"))
    return self


@method
def deselect_numeric_notes(self: Self, notes: Sequence[numerical_note]) -> Self:
    """Take no engine with one of these notes."""
    self._filters.unwanted.update(numerical_note.parse(note, "notes") for note in listed(notes, "notes"))
    return self


@method
def select_behavior_notes(self: Self, notes: Sequence[behavior_note]) -> Self:
    """Take only engines with all of these notes."""
    self._filters.wanted.update(behavior_note.parse(note, "notes") for note in listed(notes, "notes"))
    return self


@method
def deselect_behavior_notes(self: Self, notes: Sequence[behavior_note]) -> Self:
    """Take no engine with one of these notes."""
    self._filters.unwanted.update(behavior_note.parse(note, "notes") for note in listed(notes, "notes"))
    return self


@also_named(engine_names="names")
@method
def deselect_engines(self: Self, names: Sequence[str]) -> Self:
    """Take no engine whose plans' names contain one of these."""
    self._filters.names.update([text(name, "names") for name in listed(names, "names")])
    return self


@also_named(workspace_limit="workspace")
@method
def deselect_workspace_greater_than(self: Self, workspace: int) -> Self:
    """Take no plan that needs more bytes of workspace."""
    self._filters.workspace = whole(workspace, "workspace")
    return self
