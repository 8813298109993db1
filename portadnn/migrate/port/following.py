"""The calls of sources, with what following the program tells of their arguments, and what it finds wrong with them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .. import interpret
from ..events import Event
from ..files.discover import Found
from ..files.reading import read_all
from ..findings import Finding
from ..model.state import Deed, State
from ..program import Unit
from ..rules.engine import Judge


class _Calls:
    """Keeps every call."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def call(self, event: Event, state: State, journal: Mapping[int, Deed]) -> None:
        """Keep a call."""
        self.events.append(event)

    def finish(self, state: State, journal: Mapping[int, Deed]) -> None:
        """Nothing is left to do at the end."""


@dataclass
class Followed:
    """What following sources told.

    Attributes
    ----------
    events : list of Event
        Calls.
    findings : list of Finding
        What breaks or changes at some of them.
    """

    events: list[Event] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def follow(texts: Mapping[str, bytes], target: str) -> Followed:
    """Follow and judge sources, by name, that belong together."""
    return of_files([Found(name, "c++", text=text) for name, text in texts.items()])(texts, target)


def _version(target: str) -> str | None:
    """Return the version that the preprocessor's branches are chosen for."""
    return "9.0" if target == "cudnn-9" else None


def of_files(found: Sequence[Found]) -> Callable[[Mapping[str, bytes], str], Followed]:
    """Return what follows files: those that have to do with the libraries, read in several processes."""

    def follow_files(_: Mapping[str, bytes], target: str) -> Followed:
        looks = sorted(read_all(found, _version(target)), key=lambda look: look.name)
        return _judged([look.unit for look in looks if look.unit is not None], target)

    return follow_files


def _judged(units: Sequence[Unit], target: str) -> Followed:
    calls = _Calls()
    judge = Judge(target, mentioned={name for unit in units for name, _, _ in unit.mentions})
    with contextlib.suppress(Exception):  # as above: what was told until then counts
        interpret.follow(units, [calls, judge])
    return Followed(calls.events, judge.findings)
