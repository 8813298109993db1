"""The runs of a plan: memory that takes turns, as that of a network's equal layers, finds its arguments bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portadnn_backends.base import Device, Launch, Run

MOST_RUNS = 1024  # of a plan
MOST_PLACES = 4096  # that are known to have come once


class Runs:
    """The runs of one plan, by the places of its tensors.

    Places that come for the first time share a run, because many never come again. Those that do get one of their own.

    Attributes
    ----------
    last : Run
        The one used last.
    """

    __slots__ = ("_at", "_launches", "_once", "_shared", "last")

    def __init__(self, run: Run, launches: Sequence[Launch]) -> None:
        self.last = run
        self._shared: Run | None = run
        self._launches = launches
        self._at: dict[tuple[Any, ...], Run] = {}
        self._once: set[tuple[Any, ...]] = set()

    def at(self, device: Device, places: Sequence[Any]) -> Run:
        """Return the run to take for tensors at these places; it may be bound to others yet."""
        key = tuple(places)
        run = self._at.get(key)
        if run is None:
            if key in self._once and self._launches:
                self._once.discard(key)
                run = self._own(device, key)
            else:
                if len(self._once) >= MOST_PLACES:
                    self._once.clear()
                self._once.add(key)
                run = self._shared = self._shared or device.bind(self._launches)
        self.last = run
        return run

    def keep(self, places: Sequence[Any]) -> None:
        """Leave the run used last to these places, where it was called again and again."""
        if self.last is self._shared and self._launches:
            self._at[tuple(places)] = self.last
            self._shared = None

    def _own(self, device: Device, key: tuple[Any, ...]) -> Run:
        """Return a run for these places alone: a new one, or that of the places that have had theirs longest."""
        run = device.bind(self._launches) if len(self._at) < MOST_RUNS else self._at.pop(next(iter(self._at)))
        self._at[key] = run
        return run
