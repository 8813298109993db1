"""What rules say of sources where no call shows it: tables of types, dropped arguments, tests of a status."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...events import Place
from ...findings import Certainty, Finding
from ...program import Span, Unit
from .. import registry, targets

if TYPE_CHECKING:
    from ..table import Rule


@dataclass(frozen=True)
class SourceHit:
    """What a check of sources answers: where, how certain, what fills the braces, and the function that it is about."""

    span: Span
    certainty: Certainty = "proven"
    words: Mapping[str, str] = field(default_factory=dict)
    function: str = ""


Look = Callable[[Unit], Iterator[SourceHit]]


@dataclass(frozen=True)
class SourceCheck:
    """A function that looks at a source file; as :class:`registry.Check`, which looks at calls."""

    name: str
    look: Look
    words: tuple[str, ...]


_CHECKS: dict[str, SourceCheck] = {}


def source_check(*words: str) -> Callable[[Look], Look]:
    """Register a function under its name; `words` are those that all of its hits have."""

    def register(look: Look) -> Look:
        if look.__name__ in _CHECKS:
            raise ValueError(f"two checks are called {look.__name__}")
        _CHECKS[look.__name__] = SourceCheck(look.__name__, look, words)
        return look

    return register


@functools.cache
def source_checks() -> Mapping[str, SourceCheck]:
    """Return all checks of sources: those of the modules of this folder."""
    registry.load("sources")
    return _CHECKS


def judge_sources(
    units: Iterable[Unit], target: str = "miopen-3", table: Mapping[str, Rule] | None = None
) -> list[Finding]:
    """Return what the rules say of sources themselves, in their order."""
    from ..table import rules

    judge = targets.TARGETS[target]
    known = (rules() if table is None else table).values()
    cases = [(rule, case) for rule in known for case in rule.cases if case.source and case.serves(judge)]
    found: dict[object, Finding] = {}
    for unit in units:
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
    return list(found.values())
