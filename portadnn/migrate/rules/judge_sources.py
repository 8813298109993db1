"""What the rules say of a program's source files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..events import Place
from ..findings import Finding
from ..program import Unit
from . import targets
from .table import Rule, rules
from .walking import forget


def _returned(units: list[Unit]) -> dict[str, str]:
    """Return what methods return by their names, where all of a name return the same or results of Find."""
    found: dict[str, set[str]] = {}
    for unit in units:
        for function in unit.functions:
            if function.owner and function.returns:
                found.setdefault(function.name.rpartition("::")[2], set()).add(function.returns)
    return {
        name: " | ".join(sorted(types))
        for name, types in found.items()
        if len(types) == 1 or all("AlgoPerf_t" in type_ for type_ in types)
    }


def judge_sources(
    units: Iterable[Unit], target: str = "miopen-3", table: Mapping[str, Rule] | None = None
) -> list[Finding]:
    """Return what the rules say of sources themselves, in their order."""
    judge = targets.TARGETS[target]
    known = (rules() if table is None else table).values()
    cases = [(rule, case) for rule in known for case in rule.cases if case.source and case.serves(judge)]
    found: dict[object, Finding] = {}
    units = list(units)
    around = {class_.name.rpartition("::")[2]: class_ for unit in units for class_ in unit.classes if class_.members}
    returned = _returned(units)
    for unit in units:
        unit.around, unit.returned = around, returned
        for rule, case in cases:
            for hit in case.source.look(unit) if case.source else ():
                words = {**hit.words, "target": judge.title}
                finding = Finding(
                    rule.id,
                    case.severity,
                    hit.certainty,
                    Place.of(unit.file, hit.span),
                    case.message.format_map(words),
                    case.fix.format_map(words),
                    hit.function,
                )
                found.setdefault(finding.key, finding)
        forget()
    return list(found.values())
