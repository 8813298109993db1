"""What rules ask of a whole journal, found out once: walking through it for each call would take forever."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

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


def deeds(journal: Mapping[int, Deed], functions: Iterable[str]) -> Iterator[Deed]:
    """Yield the calls of some functions, function by function, each in order."""
    index = once(journal, "by function", _by_function)
    for function in functions:
        yield from index.get(function, ())


def _by_function(journal: Mapping[int, Deed]) -> dict[str, list[Deed]]:
    index: dict[str, list[Deed]] = {}
    for deed in journal.values():
        index.setdefault(deed.event.function, []).append(deed)
    return index
