"""What is told of a program's calls."""

from __future__ import annotations

from typing import Protocol

from ..events import Event
from .state import Deed, State


class Listener(Protocol):
    """What is told of each call, before its effects, and of the end."""

    def call(self, event: Event, state: State, journal: dict[int, Deed]) -> None:
        """Hear of a call of a library's function."""

    def finish(self, state: State, journal: dict[int, Deed]) -> None:
        """Hear that there are no more calls."""
