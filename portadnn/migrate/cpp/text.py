"""The bytes of a source: its lines, and copies in which comments and strings are blanked, byte for byte."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..program import Span

_BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")  # what it begins with
_LONG = 4096  # bytes of a line of which characters are counted only once
_PLAIN = re.compile(rb"[\x00-\x7f]")
# An open comment or string ends with the file or the line: nothing is looked at twice, whatever the input.
_HIDDEN = re.compile(
    rb"//[^\\\n]*(?:\\(?:\r?\n|.)?[^\\\n]*)*"
    rb"|/\*(?:.*?\*/|.*\Z)"
    rb'|R"(?P<raw>[^()\\\s"]{0,16})\((?:.*?\)(?P=raw)"|.*\Z)'
    rb'|"[^"\\\n]*(?:\\(?:\r\n|.)[^"\\\n]*)*"?'
    rb"|(?<![0-9])'[^'\\\n]*(?:\\.[^'\\\n]*)*'?",
    re.DOTALL,
)


def blanked(piece: bytes) -> bytes:
    """Return as many spaces, with the newlines that were there."""
    return b"\n".join(b" " * len(line) for line in piece.split(b"\n"))


@dataclass(frozen=True)
class Comment:
    """A comment: where it stands, and its text."""

    start: int
    end: int
    text: bytes


class Text:
    """A source.

    Attributes
    ----------
    raw : bytes
        As read.
    code : bytes
        Without comments.
    mask : bytes
        Without comments and without what is in strings; the quotes stay.
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._comments = array("I")  # where they start and end
        code, mask = bytearray(raw), bytearray(raw)
        position = 0
        if raw.startswith(_BOM):
            position = len(_BOM)
            code[:position] = mask[:position] = b"   "
        for match in _HIDDEN.finditer(raw, position):
            start, end = match.span()
            if raw[start] == 0x2F:  # /
                self._comments.extend((start, end))
                code[start:end] = mask[start:end] = blanked(match.group())
            elif end - start > 2:
                mask[start + 1 : end - 1] = blanked(raw[start + 1 : end - 1])
        self.code = bytes(code)
        self.mask = bytes(mask)

    @property
    def comments(self) -> Iterator[Comment]:
        """The comments in order."""
        places = iter(self._comments)
        return (Comment(start, end, self.raw[start:end]) for start, end in zip(places, places, strict=True))

    @cached_property
    def _starts(self) -> array[int]:
        starts = array("I", [0])  # a list would take nine times as much memory
        starts.extend(match.end() for match in re.finditer(rb"\n", self.raw))
        return starts

    @cached_property
    def _ascii(self) -> bool:
        return self.raw.isascii()

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return count_lines(self.raw)

    def line(self, offset: int) -> int:
        """Return the 1-based line of a byte."""
        return bisect_right(self._starts, offset)

    def line_start(self, line: int) -> int:
        """Return the offset of a line's first byte."""
        return self._starts[line - 1]

    def _column(self, line: int, offset: int) -> int:
        start = self._starts[line - 1]
        if start == 0 and self.raw.startswith(_BOM):
            start = min(len(_BOM), offset)
        if offset - start > _LONG:
            start, before = self._counted(line, start, offset)
        else:
            before = 0
        return before + len(self.raw[start:offset].decode("utf-8", "replace")) + 1

    def _counted(self, line: int, start: int, offset: int) -> tuple[int, int]:
        """Return a place shortly before an offset of a long line, and how many characters go before it."""
        places, counts = self._long_lines.setdefault(line, ([start], [0]))
        end = self._starts[line] if line < len(self._starts) else len(self.raw)
        while places[-1] + _LONG < offset:
            match = _PLAIN.search(self.raw, places[-1] + _LONG, end)
            if match is None:
                break
            counts.append(counts[-1] + len(self.raw[places[-1] : match.start()].decode("utf-8", "replace")))
            places.append(match.start())
        number = bisect_right(places, offset) - 1
        return places[number], counts[number]

    @cached_property
    def _long_lines(self) -> dict[int, tuple[list[int], list[int]]]:
        return {}

    def span(self, start: int, end: int) -> Span:
        """Return the place of a stretch of bytes."""
        starts = self._starts
        line = bisect_right(starts, start)
        end_line = line if line == len(starts) or end < starts[line] else bisect_right(starts, end)
        if self._ascii:
            return Span(start, end, line, start - starts[line - 1] + 1, end_line, end - starts[end_line - 1] + 1)
        return Span(start, end, line, self._column(line, start), end_line, self._column(end_line, end))

    def read(self, start: int, end: int) -> str:
        """Return a stretch as written."""
        return self.raw[start:end].decode("utf-8", "replace")


def count_lines(raw: bytes) -> int:
    """Return how many lines there are, the last with or without a newline."""
    return raw.count(b"\n") + (1 if raw and not raw.endswith(b"\n") else 0)
