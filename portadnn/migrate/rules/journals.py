"""What rules ask of a whole journal, found out once: walking through it for each call would take forever."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..events import Event
from ..model.state import Deed

T = TypeVar("T")


class _Asked:
    """What was found out of the journal that was asked last, as long as it does not grow."""

    def __init__(self) -> None:
        self.journal: Mapping[int, Deed] | None = None
        self.size = 0
        self.found: dict[Hashable, Any] = {}

    def once(self, journal: Mapping[int, Deed], key: Hashable, make: Callable[[Mapping[int, Deed]], T]) -> T:
        if self.journal is not journal or self.size != len(journal):
            self.journal, self.size, self.found = journal, len(journal), {}
        if key not in self.found:
            self.found[key] = make(journal)
        found: T = self.found[key]
        return found


_ASKED = _Asked()


def once(journal: Mapping[int, Deed], key: Hashable, make: Callable[[Mapping[int, Deed]], T]) -> T:
    """Return what `make` finds out of a journal, found out once while the journal stays as it is."""
    return _ASKED.once(journal, key, make)


def later(journal: Mapping[int, Deed], number: int) -> Iterator[Deed]:
    """Yield the calls after one, in order."""
    numbers = once(journal, "numbers", sorted)
    for place in range(bisect_right(numbers, number), len(numbers)):
        yield journal[numbers[place]]


def deeds(journal: Mapping[int, Deed], functions: Iterable[str]) -> Iterator[Deed]:
    """Yield the calls of some functions, function by function, each in order."""
    for function in functions:
        yield from _index(journal, _function)[function]


def deeds_within(journal: Mapping[int, Deed], function: str, within: str) -> Sequence[Deed]:
    """Return the calls of a function that one of the program's functions holds, in order."""
    return _index(journal, _function_and_holder)[function, within]


def deeds_about(journal: Mapping[int, Deed], function: str, id_: str) -> Sequence[Deed]:
    """Return the calls of a function that got a descriptor, in order."""
    return _index(journal, _function_and_descriptors)[function, id_]


def deeds_at(journal: Mapping[int, Deed], event: Event) -> Sequence[Deed]:
    """Return a call and all those that are written in its place, in order."""
    return _index(journal, _function_and_place)[event.function, event.place]


def _function(deed: Deed) -> Iterator[Hashable]:
    yield deed.event.function


def _function_and_holder(deed: Deed) -> Iterator[Hashable]:
    yield deed.event.function, deed.event.within


def _function_and_descriptors(deed: Deed) -> Iterator[Hashable]:
    for id_ in {thing.id for name, thing in deed.things.items() if name != "handle"}:
        yield deed.event.function, id_


def _function_and_place(deed: Deed) -> Iterator[Hashable]:
    yield deed.event.function, deed.event.place


class _Index(dict[Hashable, list[Deed]]):
    def __missing__(self, key: Hashable) -> list[Deed]:
        return []


def _index(journal: Mapping[int, Deed], keys: Callable[[Deed], Iterator[Hashable]]) -> _Index:
    """Return calls by what `keys` yields of them."""

    def make(journal: Mapping[int, Deed]) -> _Index:
        found = _Index()
        for deed in journal.values():
            for key in keys(deed):
                found.setdefault(key, []).append(deed)
        return found

    return once(journal, keys, make)
