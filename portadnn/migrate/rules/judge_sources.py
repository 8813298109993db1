"""What the rules say of a program's source files."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping

from ..events import Place
from ..findings import Finding
from ..nearby import Nearby
from ..program import Around, Unit
from . import notes, targets
from .table import Rule, rules
from .walking import forget

_RESULTS = re.compile(r"AlgoPerf(?:_t|Struct)\b")


def _around(units: list[Unit]) -> Around:
    """Return what the files declare for each other."""
    classes = {class_.name.rpartition("::")[2]: class_ for unit in units for class_ in unit.classes if class_.members}
    returned: dict[str, set[str]] = {}
    templates: dict[str, frozenset[str]] = {}
    for unit in units:
        for function in unit.functions:
            if function.returns:
                returned.setdefault(function.name.rpartition("::")[2], set()).add(function.returns)
            if function.template:
                templates[function.name] = frozenset(text.split()[-1] for text in function.template)
        for name, returns in unit.prototypes:
            returned.setdefault(name.rpartition("::")[2], set()).add(returns)
    aliases: dict[str, list[tuple[str, str]]] = {}
    for unit in units:
        for name, type_ in unit.aliases.items():
            if _RESULTS.search(type_):
                aliases.setdefault(name, []).append((unit.file, type_))
    of_results = {v.name: v.type for unit in units for v in unit.variables if _is_result(v.type, aliases)}
    alike = {
        name: " | ".join(sorted(types))
        for name, types in returned.items()
        if len(types) == 1 or all(_RESULTS.search(type_) for type_ in types)
    }
    frontend = notes.including(units)
    named = notes.named(unit for unit in units if unit.file in frontend)
    near = {name: Nearby(found, operator.itemgetter(0)) for name, found in aliases.items()}
    return Around(classes, alike, templates, near, of_results, frontend, named)


def _is_result(type_: str, aliases: Mapping[str, object]) -> bool:
    return type_ in aliases or _RESULTS.search(type_) is not None


def judge_sources(
    units: Iterable[Unit], target: str = "miopen-3", table: Mapping[str, Rule] | None = None
) -> list[Finding]:
    """Return what the rules say of sources themselves, in their order."""
    judge = targets.TARGETS[target]
    known = (rules() if table is None else table).values()
    cases = [(rule, case) for rule in known for case in rule.cases if case.source and case.serves(judge)]
    found: dict[object, Finding] = {}
    units = list(units)
    around = _around(units)
    for unit in units:
        unit.around = around
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
