"""The calls of sources, with what following the program tells of their arguments, and what it finds wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import cpp, interpret
from ..events import Event
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
    calls, result = _Calls(), Followed()
    try:
        units: list[Unit] = [cpp.read(text, name) for name, text in texts.items()]
        judge = Judge(target, mentioned={name for unit in units for name, _, _ in unit.mentions})
        interpret.follow(units, [calls, judge])
        result.findings = judge.findings
    except Exception:  # what the calls' own texts say is enough to go on with
        pass
    result.events = calls.events
    return result
