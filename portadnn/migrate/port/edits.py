"""Edits of a text: what stands in place of stretches of it, looked up by place."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Text in place of what stands from one offset to another."""

    start: int
    end: int
    text: str


def _ends(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


class Edits:
    """Edits in order, of which none overlaps another."""

    def __init__(self) -> None:
        self._edits: list[Edit] = []

    def add(self, start: int, end: int, text: str) -> None:
        """Add an edit, behind others in the same place."""
        insort(self._edits, Edit(start, end, text), key=_ends)

    def replace(self, start: int, end: int, text: str) -> None:
        """Add an edit in place of those of the same stretch."""
        first = self._from(start)
        while first and self._edits[first - 1].end > start:
            first -= 1
        last = first
        while last < len(self._edits) and self._edits[last].start < end:
            last += 1
        kept = [edit for edit in self._edits[first:last] if edit.end <= start or edit.start >= end]
        self._edits[first:last] = kept
        self.add(start, end, text)

    def around(self, place: int) -> Edit | None:
        """Return the edit that a place is inside of."""
        before = self._from(place) - 1
        return self._edits[before] if before >= 0 and self._edits[before].end > place else None

    def applied(self, text: str, start: int, end: int) -> str:
        """Return a stretch of text as edited; insertions at its ends count."""
        result: list[str] = []
        place = start
        for edit in self._between(start, end):
            if edit.start < place:  # inside of what is new
                continue
            result += [text[place : edit.start], edit.text]
            place = edit.end
        return "".join([*result, text[place:end]])

    def _between(self, start: int, end: int) -> Iterator[Edit]:
        for number in range(self._from(start), len(self._edits)):
            edit = self._edits[number]
            if edit.start > end:
                break
            if edit.end <= end:
                yield edit

    def _from(self, offset: int) -> int:
        return bisect_left(self._edits, (offset, -1), key=_ends)


class Stretches:
    """Stretches of a text, for whether places are in one of them."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(stretches):
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def __contains__(self, place: int) -> bool:
        before = bisect_left(self._starts, place + 1) - 1
        return before >= 0 and place < self._ends[before]
