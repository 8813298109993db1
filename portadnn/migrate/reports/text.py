"""What all reports share: excerpts of sources, words for the effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..._io.text import clean, count
from ..events import Place
from ..report import Apart, Effort
from ..texts import Sources


def work(effort: Effort) -> str:
    """Return how much there is to port: ``"4 calls of 3 functions, 7 lines to touch in 1 file"``; of logs no lines."""
    lines = f", {count(effort.lines, 'line')} to touch in {count(effort.files, 'file')}" if effort.lines else ""
    return f"{count(effort.calls, 'call')} of {count(effort.functions, 'function')}{lines}"


def apart(found: Sequence[Apart]) -> str:
    """Return what is no work of the port: ``"5,007 lines in 95 files of cudnn-frontend"``."""
    parts = []
    for one in found:
        calls = f" with {count(one.calls, 'call')}" if one.calls else ""
        parts.append(f"{count(one.lines, 'line')} in {count(one.files, 'file')} of {one.what}{calls}")
    return ", ".join(parts)


APART = "Apart, as copies of other projects"
REACH = 1000  # characters on each side of what is underlined that are looked at: lines may have millions


@dataclass(frozen=True)
class Excerpt:
    """A line of a source, and which characters of it to underline (0-based, the end behind the last)."""

    number: int
    text: str
    start: int
    end: int

    def cut(self, width: int) -> Excerpt:
        """Return as much of it as fits in a width, around what is underlined."""
        if len(self.text) <= width:
            return self
        indent = len(self.text) - len(self.text.lstrip())
        if indent:
            start = max(self.start - indent, 0)
            return Excerpt(self.number, self.text.lstrip(), start, max(start + 1, self.end - indent)).cut(width)
        width = max(width, 12)
        first = max(0, min(self.start - width // 3, len(self.text) - width))
        last = first + width
        left, right = "…" if first else "", "…" if last < len(self.text) else ""
        inner = self.text[first + len(left) : last - len(right)]
        start = max(self.start - first, len(left))
        return Excerpt(self.number, left + inner + right, start, max(start + 1, min(self.end - first, width)))


def excerpt(sources: Sources, place: Place, word: str = "") -> Excerpt | None:
    """Return the first line of a place; None where the text is not at hand.

    Where only the line is known, as in logs, `word` is underlined.
    """
    raw = sources.line(place.file, place.line)
    if not raw.strip():
        return None
    known = place.column > 1 or place.end_column > 0
    start = max(0, min(place.column - 1, len(raw)) if known or not word else raw.find(word))
    one_line = place.end_line <= place.line
    end = place.end_column - 1 if one_line and place.end_column > place.column else len(raw.rstrip())
    if place.end_column == 0:  # only where it begins is known: the word there
        end = start + 1
        while end < len(raw) and (raw[end].isalnum() or raw[end] == "_"):
            end += 1
    first, last = max(0, start - REACH), min(end, start + REACH) + REACH
    raw, start, end = raw[first:last].rstrip(), start - first, min(end, last) - first
    before, inside = clean(raw[:start]), clean(raw[start:end])
    text = clean(raw)
    return Excerpt(place.line, text, len(before), min(max(len(before) + 1, len(before) + len(inside)), len(text) + 1))
