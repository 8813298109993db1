"""A listener that keeps a program's calls, and asks what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from .. import mapping
from .answers import Answered, answer, of_a_family
from .coverage import Coverage, Known, how_known
from .events import Event, Place
from .frontend.answers import answer_of_node
from .frontend.judge import Judged
from .libraries import is_library
from .model.state import Deed, State
from .older import of_version
from .program import Unit
from .report import Call

OFTEN = 100  # calls between two reports of progress

_Where = tuple[str, int, int, str]


class Collector:
    """Keeps each call of the program once, however often it is reached.

    Parameters
    ----------
    target : str
        Where the program is to go.
    own : collection of str
        Names of the program's own functions and types, which may look like the library's.
    told : callable
        Told now and then how many calls there were.
    by_place : bool
        True for sources, where a call is a place in a file; False for logs, where it is a function.
    """

    def __init__(
        self,
        target: str,
        own: Collection[str] = (),
        told: Callable[[int], None] = lambda number: None,
        *,
        by_place: bool = True,
    ) -> None:
        self.target = target
        self._own, self._told, self._by_place = own, told, by_place
        self._number = 0
        self._ported: dict[_Where, Call] = {}
        self._known: dict[_Where, Known] = {}
        self._calls: dict[_Where, Call] = {}
        self._times: dict[_Where, int] = {}
        self._logged: dict[str, _Where] = {}

    def call(self, event: Event, state: State, journal: Mapping[int, Deed]) -> None:
        """Keep a call."""
        self.add(event, state)
        self._number += 1
        if self._number % OFTEN == 0:
            self._told(self._number)

    def finish(self, state: State, journal: Mapping[int, Deed]) -> None:
        """Nothing is left to do."""

    def add(self, event: Event, state: State | None = None) -> None:
        """Keep a call of cuDNN; of MIOpen's only the number, as they stay as they are."""
        if not self._is_call(event.function):
            return
        place = event.place
        where = (place.file, place.line, place.column, event.function)
        if not self._by_place:
            where = self._logged.setdefault(event.function, where)
        known: Known = "by name" if state is None else how_known(event, state)
        if where not in self._known or known == "partly":  # what is unknown on one way to it is unknown
            self._known[where] = known
        if event.library == "miopen":
            self._ported.setdefault(where, Call(event.function, place, event.text, event.within))
            self._times[where] = self._times.get(where, 0) + 1
            return
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

    def _is_call(self, name: str) -> bool:
        if name in mapping.table().functions:
            return True
        return is_library(name) and name not in self._own

    def mentions(self, units: Iterable[Unit]) -> None:
        """Keep calls that following the program did not reach."""
        reached = {(file, line, function) for file, line, _, function in self._times}
        seconds = {second for unit in units for second in unit.seconds.values()}
        lines = {(file, line) for file, line, function in reached if function in seconds}
        for unit in units:
            for function, span, text in unit.mentions:
                if (unit.file, span.line, of_version(function)) not in reached and (unit.file, span.line) not in lines:
                    self.add(Event(0, function, (), Place.of(unit.file, span), text=text))

    def graphs(self, graphs: Iterable[Judged]) -> None:
        """Keep the calls that add nodes to graphs of cudnn_frontend."""
        for one in graphs:
            for node in () if one.graph.backend else one.graph.nodes:  # backend descriptors' calls are there already
                name = f"cudnn_frontend::{node.method.name}"
                place = node.place
                where = (place.file, place.line, place.column, name)
                if where not in self._times:
                    self._times[where] = 1
                    self._known[where] = "fully" if one.hipdnn.certainty == "proven" else "partly"
                    said, becomes, note = answer_of_node(node, one.hipdnn, self.target)
                    self._calls[where] = Call(name, place, node.text, node.within, said, becomes, note)

    @property
    def coverage(self) -> Coverage:
        """How much of the calls was known."""
        said = Counter(self._known.values())
        return Coverage(said["fully"], said["partly"], said["by name"])

    @property
    def judged(self) -> int:
        """How many calls of MIOpen there are."""
        return len(self._ported)

    @property
    def ported(self) -> list[Call]:
        """All calls of MIOpen, by file and line."""
        return self._listed(self._ported)

    @property
    def calls(self) -> list[Call]:
        """All calls of cuDNN, by file and line."""
        return self._listed(self._calls)

    def _listed(self, calls: Mapping[_Where, Call]) -> list[Call]:
        found = (replace(call, times=self._times[where], known=self._known[where]) for where, call in calls.items())
        return sorted(found, key=lambda call: (call.place.file, call.place.line, call.place.column))


def answer_of(event: Event, target: str) -> Answered | None:
    """Return what becomes of a call; None where the tables do not know the function."""
    if event.function not in mapping.table().functions and not of_a_family(event.function):
        return None
    return answer(event, target)
