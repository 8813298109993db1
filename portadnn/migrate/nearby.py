"""Definitions by file: of several of one name the nearest counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Nearby(Generic[T]):
    """Things that files define, looked up for a file: its own, else those of its folder, of the folder above, ..."""

    def __init__(self, found: Iterable[T], file_of: Callable[[T], str]) -> None:
        self._under: dict[str, list[T]] = {}
        for one in found:
            for folder in _upwards(file_of(one)):
                self._under.setdefault(folder, []).append(one)
        self._of: dict[str, list[T]] = {}

    def of(self, file: str) -> list[T]:
        """Return what is nearest to a file; nothing only where there is nothing at all."""
        found = self._of.get(file)
        if found is None:
            found = next((self._under[folder] for folder in _upwards(file) if folder in self._under), [])
            self._of[file] = found
        return found


def _upwards(file: str) -> Iterator[str]:
    yield f"{file}/."
    while "/" in file:
        file = file.rpartition("/")[0]
        yield f"{file}/"
    yield ""
