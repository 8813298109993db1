"""A listener that keeps a program's calls, and asks what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .. import mapping
from .answers import Answered, answer
from .events import Event, Place
from .model.state import Deed, State
from .program import Span, Unit
from .report import Call

_Where = tuple[str, int, int, str]


class Collector:
    """Keeps each call of the program once, however often it is reached.

    Parameters
    ----------
    target : str
        Where the program is to go.
    by_place : bool
        True for sources, where a call is a place in a file; False for logs, where it is a function with its shape of
        arguments.
    """

    def __init__(self, target: str, *, by_place: bool = True) -> None:
        self.target = target
        self.judged = 0
        self._by_place = by_place
        self._calls: dict[_Where, Call] = {}
        self._times: dict[_Where, int] = {}
        self._logged: dict[str, _Where] = {}

    def call(self, event: Event, state: State, journal: Mapping[int, Deed]) -> None:
        """Keep a call."""
        self.add(event)

    def finish(self, state: State, journal: Mapping[int, Deed]) -> None:
        """Nothing is left to do."""

    def add(self, event: Event) -> None:
        """Keep a call, unless it is of the library that the program is to go to."""
        self.judged += 1
        if not leaves(event.library, self.target):
            return
        place = event.place
        where = (place.file, place.line, place.column, event.function)
        if not self._by_place:
            where = self._logged.setdefault(event.function, where)
        if where in self._times:
            self._times[where] += 1
            return
        self._times[where] = 1
        answered = answer_of(event, self.target)
        call = Call(event.function, place, event.text, event.within)
        if answered is not None:
            certain = answered.sure and bool(answered.call) and not answered.before and not answered.after
            becomes = answered.call if certain else answered.text
            call = replace(call, answer=answered.kind, becomes=becomes, note=answered.note, certain=certain)
        self._calls[where] = call

    def mentions(self, units: Iterable[Unit]) -> None:
        """Keep calls that following the program did not reach."""
        reached = {(file, line, function) for file, line, _, function in self._times}
        for unit in units:
            for function, span, text in unit.mentions:
                if (unit.file, span.line, function) not in reached:
                    self.add(Event(0, function, (), place_of(unit.file, span), text=text))

    @property
    def calls(self) -> list[Call]:
        """All calls, by file and line."""
        found = (replace(call, times=self._times[where]) for where, call in self._calls.items())
        return sorted(found, key=lambda call: (call.place.file, call.place.line, call.place.column))


def leaves(library: str, target: str) -> bool:
    """Tell whether calls of a library have to become others on the way to a target."""
    return not (library == "miopen" and target.startswith("miopen"))


def place_of(file: str, span: Span) -> Place:
    """Return where a span is."""
    return Place(file, span.line, span.column, span.end_line, span.end_column, span.start, span.end)


def answer_of(event: Event, target: str) -> Answered | None:
    """Return what becomes of a call; None where the tables do not know the function."""
    if event.function not in mapping.table().functions:
        return None
    return answer(event, target)
