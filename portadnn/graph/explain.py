"""Why a graph runs as it does, or does not: what each engine of a handle answers, as text and as data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .engine import GraphEngine
from .errors import GraphError, lines_of
from .operation_graph import OperationGraph

if TYPE_CHECKING:
    from portadnn_backends.base import DeviceInfo

    from ..handle import Handle


@dataclass(frozen=True)
class Answer:
    """What one engine says to a graph.

    Attributes
    ----------
    engine : str
        Its name.
    reasons : tuple of GraphError
        All rules of the engine that the graph breaks, each with node, tensor, what was expected and a fix; none where
        the engine takes it.
    excluded : GraphError or None
        The program's filter that excludes the engine.
    remarks : tuple of GraphError
        What the engine computes in a slow way, and why.
    rules : tuple of (str, str, int)
        Id and text of the engine's rules and how often the graph breaks each, where it states them.
    notes, modes, knobs : tuple of str
        Its notes, the heuristics that offer it, and what can be set for this graph.
    seconds : float or None
        The estimate by which it is ranked.
    """

    engine: str
    reasons: tuple[GraphError, ...]
    excluded: GraphError | None = None
    remarks: tuple[GraphError, ...] = ()
    rules: tuple[tuple[str, str, int], ...] = ()
    notes: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    knobs: tuple[str, ...] = ()
    seconds: float | None = None

    @property
    def takes(self) -> bool:
        """Whether the engine can run the graph."""
        return not self.reasons

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "engine": self.engine,
            "takes": self.takes,
            "reasons": [reason.as_dict() for reason in self.reasons],
            "excluded": None if self.excluded is None else self.excluded.as_dict(),
            "remarks": [remark.as_dict() for remark in self.remarks],
            "rules": [{"id": id, "says": says, "broken": broken} for id, says, broken in self.rules],
            "notes": list(self.notes),
            "modes": list(self.modes),
            "knobs": list(self.knobs),
            "seconds": self.seconds,
        }

    def lines(self) -> Iterable[str]:
        """Yield the answer as text."""
        if self.reasons:
            yield f"{self.engine} does not take it:"
            yield from (f"  {line}" for line in lines_of(self.reasons))
            return
        about = "" if self.seconds is None else f", about {1e6 * self.seconds:.1f} us"
        yield f"{self.engine} takes it{about} (heuristics {', '.join(self.modes) or 'none'})"
        if self.excluded is not None:
            yield f"  but is excluded: {self.excluded}"
        yield from (f"  note {note}" for note in self.notes)
        yield from (f"  knob {one}" for one in self.knobs)
        yield from (f"  slowly: {line}" for line in lines_of(self.remarks))


@dataclass(frozen=True)
class Explanation:
    """What all engines of a handle say to a graph; ``print`` shows it.

    Attributes
    ----------
    graph, backend, device : str
    answers : tuple of Answer
        In the order of preference.
    plan : str or None
        Name of the plan that ``execute`` runs, once there is one.
    notes : tuple of GraphError
        What is unusual about the graph, or about the packs that it ran on, and was taken all the same.
    """

    graph: str
    backend: str
    device: str
    answers: tuple[Answer, ...]
    plan: str | None = None
    notes: tuple[GraphError, ...] = ()

    @property
    def supported(self) -> bool:
        """Whether an engine is left that takes the graph."""
        return any(answer.takes and answer.excluded is None for answer in self.answers)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        head = {"graph": self.graph, "backend": self.backend, "device": self.device}
        engines = [answer.as_dict() for answer in self.answers]
        notes = [note.as_dict() for note in self.notes]
        return {**head, "supported": self.supported, "plan": self.plan, "notes": notes, "engines": engines}

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), indent=1)

    def refusals(self) -> str:
        """Return the answers of engines that do not run it, as text."""
        return "\n".join(
            line for answer in self.answers if answer.reasons or answer.excluded for line in answer.lines()
        )

    def _repr_html_(self) -> str:
        """Show in notebooks which engine takes the graph, and why others do not."""
        from .._page.cells import table

        rows = []
        for answer in self.answers:
            said = [*answer.reasons, *([answer.excluded] if answer.excluded else []), *answer.remarks]
            takes = "excluded" if answer.excluded else "yes" if answer.takes else "no"
            micro = None if answer.seconds is None else answer.seconds * 1e6
            rows.append((answer.engine, takes, micro, "; ".join(lines_of(said))))
        return table(str(self).partition("\n")[0], ("engine", "takes it", "estimate (µs)", "why"), rows)

    def __str__(self) -> str:
        what = "runs" if self.supported else "does not run"
        plan = f" as {self.plan}" if self.plan else ""
        head = f"graph '{self.graph}' {what}{plan} on {self.backend} ({self.device})"
        notes = (f"  note: {line}" for line in lines_of(self.notes))
        return "\n".join([head, *notes, *(f"  {line}" for answer in self.answers for line in answer.lines())])


def answer(engine: GraphEngine, graph: OperationGraph, info: DeviceInfo, excluded: GraphError | None = None) -> Answer:
    """Ask one engine; `excluded` is the filter of the program that it does not pass."""
    reasons = tuple(engine.reasons(graph, info))
    rules = tuple((rule.id, rule.says, len(list(rule.broken(graph, info)))) for rule in engine.rules)
    notes = tuple(map(str, (*sorted(engine.numerical_notes, key=int), *sorted(engine.behavior_notes, key=int))))
    modes = tuple(str(mode) for mode in sorted(engine.modes, key=int))
    if reasons:
        return Answer(engine.name, reasons, rules=rules, notes=notes, modes=modes)
    remarks, knobs = tuple(engine.remarks(graph, info)), tuple(map(str, engine.knobs(graph, info)))
    return Answer(engine.name, (), excluded, remarks, rules, notes, modes, knobs, seconds=engine.seconds(graph, info))


def explain(
    graph: OperationGraph,
    handle: Handle,
    engines: Sequence[GraphEngine],
    excluded: Iterable[GraphError] = (),
    plan: str | None = None,
    notes: Iterable[GraphError] = (),
) -> Explanation:
    """Ask all engines; `excluded` are filters that some do not pass, whose arguments are the engines' names."""
    unwanted = {error.argument: error for error in excluded}
    answers = tuple(answer(engine, graph, handle.info, unwanted.get(engine.name)) for engine in engines)
    return Explanation(graph.name, handle.backend, handle.info.name, answers, plan, tuple(notes))
