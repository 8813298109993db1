"""What a library would say to a graph: surface by surface, with all rules that are broken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..operation_graph import OperationGraph
from .matching import match, name_of
from .predicates import CHECKS, Fault
from .roles import MAINS, Case, divided
from .table import Capability, Library, Surface, SurfaceRule, cc_fits, library

Answer = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class Broken:
    """A rule that a graph breaks, or may break where `answer` is unknown.

    Attributes
    ----------
    rule, says, source : str
        Of the rule.
    node, tensor : str or None
        Where.
    expected, got : str
    """

    rule: str
    says: str
    source: str
    answer: Answer
    expected: str
    got: str
    node: str | None = None
    tensor: str | None = None

    def __str__(self) -> str:
        place = "".join(f"{one}: " for one in (self.node, self.tensor) if one)
        mark = "" if self.answer == "no" else " (unknown)"
        return f"[{self.rule}]{mark} {place}{self.says}; expected {self.expected}, got {self.got} [{self.source}]"


@dataclass(frozen=True)
class SurfaceAnswer:
    """What one surface says.

    Attributes
    ----------
    fits : bool
        Whether the graph has the surface's form at all; only then its other rules are asked.
    """

    surface: str
    source: str
    answer: Answer
    fits: bool
    broken: tuple[Broken, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """Whether a library would take a graph.

    Attributes
    ----------
    library : str
    cc : tuple of int or None
        The compute capability that was asked for.
    answer : {"yes", "no", "unknown"}
        "yes" where one surface takes the graph; "unknown" where none does for certain and sources do not say enough.
    surfaces : tuple of SurfaceAnswer
        All of them, those that fit the graph best first.
    """

    library: str
    cc: Capability | None
    answer: Answer
    surfaces: tuple[SurfaceAnswer, ...]

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The rules that stand in the way: those of the surface that comes nearest; none for "yes"."""
        return () if self.answer == "yes" else self.surfaces[0].broken

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(self.as_dict(), indent=1)

    def __str__(self) -> str:
        words = {"yes": "takes the graph", "no": "does not take the graph", "unknown": "may take the graph"}
        cc = "" if self.cc is None else f" on compute capability {self.cc[0]}.{self.cc[1]}"
        lines = [f"{self.library}{cc} {words[self.answer]}"]
        fitting = [one for one in self.surfaces if one.fits]
        for one in fitting or self.surfaces:
            lines.append(f"  {one.surface}: {one.answer} [{one.source}]")
            lines += [f"    {broken}" for broken in one.broken]
        return "\n".join(lines)


_ORDER = {"yes": 0, "unknown": 1, "no": 2}


def judge(graph: OperationGraph, name: str, cc: Capability | None = None) -> Judgement:
    """Ask a library's surfaces; see :meth:`~portadnn.graph.pygraph.check_against`."""
    asked = library(name)
    found = [_asked(surface, asked, graph, cc) for surface in asked.surfaces]
    found.sort(key=lambda one: (_ORDER[one.answer], not one.fits, len(one.broken)))
    if not any(one.fits for one in found):
        found.insert(0, _nowhere(asked, graph))
    return Judgement(asked.name, cc, found[0].answer, tuple(found))


def _nowhere(asked: Library, graph: OperationGraph) -> SurfaceAnswer:
    """Return the answer for a graph that has no surface's form: unknown where no source speaks of its operations."""
    others = [operation for operation in graph.operations if operation.kind != "pointwise"]
    if others and all(operation.kind in asked.undocumented for operation in others):
        says = "a source says what is taken"
        broken = [
            Broken("undocumented", says, asked.undocumented[one.kind], "unknown", "a source", "none", one.label)
            for one in others
        ]
        return SurfaceAnswer("what no source documents", "", "unknown", True, tuple(broken))
    nodes, forms = ", ".join(map(name_of, graph.operations)), "; ".join(one.name for one in asked.surfaces)
    why = Broken("form", "the graph has the form of a surface", asked.title, "no", forms, nodes)
    return SurfaceAnswer("no surface", asked.title, "no", True, (why,))


def _asked(surface: Surface, asked: Library, graph: OperationGraph, cc: Capability | None) -> SurfaceAnswer:
    case = _case(surface, graph)
    if isinstance(case, Fault):
        why = Broken(f"{surface.name}: form", "the graph has the form", surface.source, "no", case.expected, case.got)
        return SurfaceAnswer(surface.name, surface.source, "no", False, (why,))
    broken = []
    if surface.cc and (cc is None or not cc_fits(surface.cc, cc)):
        says, got = f"compute capability {surface.cc}", "none stated" if cc is None else f"{cc[0]}.{cc[1]}"
        answer: Answer = "unknown" if cc is None else "no"
        broken.append(Broken(f"{surface.name}: device", says, surface.source, answer, surface.cc, got))
    for rule in surface.rules:
        broken += _broken(rule, case, cc)
    answers: list[Answer] = ["yes", *(one.answer for one in broken)]
    worst = max(answers, key=_ORDER.__getitem__)
    return SurfaceAnswer(surface.name, surface.source, worst, True, tuple(broken))


def _broken(rule: SurfaceRule, case: Case, cc: Capability | None) -> Iterator[Broken]:
    """Yield where a rule is broken; a rule for some devices is unknown where the device is."""
    if rule.kinds and (case.main is None or case.main.kind not in rule.kinds):
        return
    if rule.cc and cc is not None and not cc_fits(rule.cc, cc):
        return
    if rule.only_with and not case.operations(rule.only_with):
        return
    for fault in CHECKS[rule.check](case, rule.arguments):
        unknown = fault.unknown or (rule.cc and cc is None)
        yield Broken(
            rule.id,
            rule.says,
            rule.source,
            "unknown" if unknown else "no",
            fault.expected,
            fault.got,
            fault.node,
            fault.tensor,
        )


def _case(surface: Surface, graph: OperationGraph) -> Case | Fault:
    """Return the graph as a surface sees it, or why it has another form."""
    if surface.pattern:
        names = match(surface.pattern, graph)
        if names is None:
            nodes = ", ".join(map(name_of, graph.operations))
            return Fault("nodes joined as " + "; ".join(surface.pattern), nodes)
        mains = [operation for operation in graph.operations if operation.kind in MAINS]
        case = divided(graph, mains[0] if mains else None)
        case.names = names
        return case
    mains = [operation for operation in graph.operations if operation.kind in MAINS]
    kinds = [operation.kind for operation in mains] or [""]
    if len(kinds) > 1 or kinds[0] not in surface.main:
        wanted = " or ".join(kind or "none" for kind in surface.main)
        return Fault(f"one product or convolution: {wanted}", ", ".join(kinds) if mains else "none")
    case = divided(graph, mains[0] if mains else None)
    for part, allowed in ((case.before, surface.before), (case.after, surface.after)):
        for operation in part:
            if operation.kind not in allowed:
                words = "before" if part is case.before else "after"
                return Fault(f"nothing but {', '.join(allowed) or 'nothing'} {words} it", operation.label)
    return case
