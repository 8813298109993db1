"""From a frozen graph to plans: which engines take it, in which order, and what the program's filters leave."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import DnnError
from ..finding.find import median_time
from ..handle import Handle, log
from ..registry import get_backend
from .api.arguments import whole
from .engine import Config, GraphEngine, GraphPlan, configurations
from .enums import behavior_note, heur_mode, numerical_note
from .errors import GraphError
from .explain import explain
from .fallback.engine import FallbackEngine, HostFallbackEngine
from .fusion.engine import RegionsEngine
from .operation_graph import OperationGraph
from .pack import works_on_host
from .rules import fail


@dataclass
class Filters:
    """What a program wants of engines."""

    wanted: set[numerical_note | behavior_note] = field(default_factory=set)
    unwanted: set[numerical_note | behavior_note] = field(default_factory=set)
    names: set[str] = field(default_factory=set)  # parts of names of engines that are not wanted
    workspace: int | None = None  # at most

    def refusal(self, config: Config, plan: Callable[[], GraphPlan] | None = None) -> GraphError | None:
        """Return why a configuration is not wanted, if it is not; `plan` builds it, to judge its workspace."""
        engine = config.engine
        notes = {*engine.numerical_notes, *engine.behavior_notes}
        if not notes >= self.wanted:
            missing = sorted(str(note) for note in self.wanted - notes)
            return fail(
                "PG-ENGINE-006", argument=engine.name, expected=f"the notes {', '.join(missing)}", got="none of them"
            )
        if notes & self.unwanted:
            found = ", ".join(sorted(str(note) for note in notes & self.unwanted))
            return fail("PG-ENGINE-006", argument=engine.name, expected="engines without deselected notes", got=found)
        part = next((name for name in self.names if name in config.name), None)
        if part is not None:
            return fail("PG-ENGINE-006", argument=engine.name, expected="an engine that is not deselected", got=part)
        size = 0 if plan is None or self.workspace is None else plan().workspace_size
        if self.workspace is not None and size > self.workspace:
            wanted = f"a workspace of at most {self.workspace} bytes"
            return fail("PG-ENGINE-006", argument=engine.name, expected=wanted, got=size)
        return None


def engines_of(handle: Handle) -> list[GraphEngine]:
    """Return all engines that a handle has for graphs, in order of preference."""
    engines: list[GraphEngine] = [*get_backend(handle.backend).graph_engines()]
    if any(engine.joins for engine in engines):
        engines.append(RegionsEngine(handle))
    engines.append(FallbackEngine(handle))
    return engines if works_on_host(handle.device) else [*engines, HostFallbackEngine(handle)]


@dataclass(frozen=True)
class Timing:
    """What ``autotune`` found of one configuration.

    Attributes
    ----------
    name : str
        Of the plan.
    seconds : float
        The median; -1 where it failed.
    workspace : int
        Bytes.
    reason : str
        Why it failed.
    """

    name: str
    seconds: float
    workspace: int = 0
    reason: str = ""


class Plans:
    """The candidates of one graph on one handle, and the plans built of them.

    Attributes
    ----------
    candidates : list of Config
        Engines that take the graph, in the order of the heuristics.
    reasons : dict
        Why not, by name of the engines that do not.
    built : dict
        Plans by their candidate's number.
    """

    def __init__(self, graph: OperationGraph, handle: Handle) -> None:
        self.graph, self.handle = graph, handle
        self.candidates: list[Config] = []
        self.reasons: dict[str, Sequence[GraphError]] = {}
        self.built: dict[int, GraphPlan] = {}

    def query(self, modes: Iterable[heur_mode], only: Config | None = None) -> None:
        """Append what the heuristics offer, or the one configuration that is asked for.

        A ranks the engines by their estimates. B puts configurations first that were timed, by this handle or as the
        Find database has it. FALLBACK adds what is left.

        Raises
        ------
        cudnnGraphNotSupportedError
            None takes the graph (PG-ENGINE-001); with the reasons of all.
        """
        for mode in modes:
            takers = [engine for engine in engines_of(self.handle) if mode in engine.modes and self._takes(engine)]
            if only is not None:
                found = [only] if only.engine.name in (engine.name for engine in takers) else []
            else:
                takers.sort(key=lambda engine: engine.seconds(self.graph, self.handle.info))
                found = self._timed(takers) if mode is heur_mode.B else [Config(engine) for engine in takers]
            names = {known.name for known in self.candidates}
            self.candidates += [config for config in found if config.name not in names]
        if not self.candidates:
            raise self.no_engine([])

    def _takes(self, engine: GraphEngine) -> bool:
        refused = list(engine.reasons(self.graph, self.handle.info))
        if refused:
            self.reasons[engine.name] = refused
        return not refused

    def _timed(self, takers: Sequence[GraphEngine]) -> list[Config]:
        """Return the configurations of engines that were timed, the fastest first, then the engines that were not."""
        seconds = self.handle.found.seconds(self.graph.canonical(), self.handle.info)
        known: dict[str, Config] = {}
        if seconds:
            known = {each.name: each for one in takers for each in configurations(one, self.graph, self.handle.info)}
        timed = sorted((name for name in seconds if name in known), key=lambda name: seconds[name])
        rest = [Config(engine) for engine in takers]
        return [*(known[name] for name in timed), *(config for config in rest if config.name not in seconds)]

    def no_engine(self, more: Sequence[GraphError]) -> GraphError:
        """Return the error that says why no engine is left."""
        reasons = [*(reason for refused in self.reasons.values() for reason in refused), *more]
        error = fail(
            "PG-ENGINE-001",
            argument=f"graph '{self.graph.name}'",
            expected=f"a graph that an engine of {self.handle.backend} takes",
            got=f"{len(reasons)} reasons why not",
            fix="change what the reasons name, add heur_mode.FALLBACK, or use create_handle('reference')",
            reasons=reasons,
        )
        error.explanation = explain(self.graph, self.handle, engines_of(self.handle), more)
        return error

    def chosen(self, filters: Filters) -> list[int]:
        """Return the numbers of the candidates that the filters leave.

        Raises
        ------
        cudnnGraphNotSupportedError
            None is left (PG-ENGINE-001).
        """
        found, refused = [], []
        for number, config in enumerate(self.candidates):
            reason = filters.refusal(config, functools.partial(self.plan, number))
            if reason is None:
                found.append(number)
            else:
                refused.append(reason)
        if not found:
            raise self.no_engine(refused)
        return found

    def config(self, number: int) -> Config:
        """Return a candidate."""
        number = whole(number, "index", "PG-PLAN-002")
        if not 0 <= number < len(self.candidates):
            raise fail(
                "PG-PLAN-002",
                argument="index",
                expected=f"0 to {len(self.candidates) - 1}",
                got=number,
                fix="get_execution_plan_count()",
            )
        return self.candidates[number]

    def plan(self, number: int) -> GraphPlan:
        """Return the plan of a candidate, built when first asked for."""
        config = self.config(number)
        number = int(number)
        if number not in self.built:
            self.built[number] = config.prepare(self.graph, self.handle.device)
        return self.built[number]

    def autotune(
        self, filters: Filters, values: Mapping[int, Any], scratch: Callable[[GraphPlan], Any]
    ) -> list[Timing]:
        """Time all configurations that the filters leave; they become the candidates, the fastest first.

        The times are kept with what Find measured, for ``heur_mode.B`` and for later processes.
        """
        self.handle.device.host_access("measures plans")
        rows: list[tuple[Timing, Config, GraphPlan]] = []
        failed: list[Timing] = []
        for config in self._configurations(filters):
            best = min((row.seconds for row, _, _ in rows), default=None)
            try:
                plan = config.prepare(self.graph, self.handle.device)
                if filters.workspace is not None and plan.workspace_size > filters.workspace:
                    continue
                seconds = self._time(plan, values, scratch(plan), best)
            except (DnnError, MemoryError) as error:  # the others may do
                log.warning("graph '%s': %s failed: %s", self.graph.name, config.name, error)
                failed.append(Timing(config.name, -1.0, 0, str(error)))
                continue
            rows.append((Timing(config.name, seconds, plan.workspace_size), config, plan))
        if not rows:
            raise self.no_engine([])
        rows.sort(key=lambda row: row[0].seconds)
        times = {row.name: row.seconds for row, _, _ in rows}
        self.handle.found.add(self.graph.canonical(), self.handle.info, times, times)
        self.candidates = [config for _, config, _ in rows]
        self.built = {number: plan for number, (_, _, plan) in enumerate(rows)}
        return [*(row for row, _, _ in rows), *failed]

    def _configurations(self, filters: Filters) -> list[Config]:
        """Return all configurations that the filters leave, their kernels built: side by side, before any is timed."""
        wanted = {config.engine.name: config.engine for config in self.candidates if filters.refusal(config) is None}
        found = [
            config
            for engine in wanted.values()
            for config in configurations(engine, self.graph, self.handle.info)
            if filters.refusal(config) is None
        ]
        scout = self.handle.device.scout() if len(found) > 1 else None
        if scout is not None:
            for config in found:
                scout.visit(functools.partial(config.prepare, self.graph))
            scout.wait()
        return found

    def _time(self, plan: GraphPlan, values: Mapping[int, Any], workspace: Any, best: float | None) -> float:
        given = self.graph.arguments(values)
        with self.handle.lock:
            return median_time(self.handle.device, lambda: plan.run(*given, workspace), best)
