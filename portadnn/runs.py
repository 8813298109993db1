"""The runs of a plan: memory that takes turns, as that of a network's equal layers, finds its arguments bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .recent import Remembered

if TYPE_CHECKING:
    from portadnn_backends.base import Device, Launch, Run

MOST_RUNS = 1024  # of a plan


class Runs:
    """The runs of one plan, by the places of its tensors.

    Places that come for the first time share a run, because many never come again. Those that do get one of their own.

    Attributes
    ----------
    last : Run
        The one used last.
    """

    __slots__ = ("_at", "_launches", "_shared", "last")

    def __init__(self, run: Run, launches: Sequence[Launch]) -> None:
        self.last = run
        self._shared: Run | None = run
        self._launches = launches
        self._at: Remembered[tuple[Any, ...], Run] = Remembered(MOST_RUNS)

    def at(self, device: Device, places: Sequence[Any]) -> Run:
        """Return the run to take for tensors at these places; it may be bound to others yet."""
        key, known = tuple(places), self._at
        run = known.get(key)
        if run is None:
            if self._launches and known.due(key):
                run = known[key] = known.make_room() or device.bind(self._launches)
            else:
                run = self._shared = self._shared or device.bind(self._launches)
        self.last = run
        return run

    def keep(self, places: Sequence[Any]) -> None:
        """Leave the run used last to these places, where it was called again and again."""
        if self.last is self._shared and self._launches:
            self._at.keep(tuple(places), self.last)
            self._shared = None
