"""The calls of sources, with what following the program tells of their arguments."""

from __future__ import annotations

from collections.abc import Mapping

from .. import cpp, interpret
from ..events import Event
from ..model.state import Deed, State
from ..program import Unit


class _Calls:
    """Keeps every call."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def call(self, event: Event, state: State, journal: Mapping[int, Deed]) -> None:
        """Keep a call."""
        self.events.append(event)

    def finish(self, state: State, journal: Mapping[int, Deed]) -> None:
        """Nothing is left to do at the end."""


def follow(texts: Mapping[str, bytes]) -> list[Event]:
    """Return the calls of sources, by name, that belong together."""
    units: list[Unit] = []
    calls = _Calls()
    try:
        units = [cpp.read(text, name) for name, text in texts.items()]
        interpret.follow(units, [calls])
    except Exception:  # what the calls' own texts say is enough to go on with
        return calls.events
    return calls.events
