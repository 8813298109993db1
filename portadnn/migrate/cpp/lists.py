"""Lists that a macro makes: ``#define MODES(X) X(Max, CUDNN_POOLING_MAX) X(...)``, with what ``MODES(ROW)`` means.

They stand in enumerations, in tables and among the cases of a ``switch``, where nothing else could be read of them: the
text is parsed with their meaning in their place, on the same line. So are macros that only keep or drop what they are
given: ``IF_CUDNN_GE4(cudnnCreate)(&h)`` is read as what they keep.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..program import Span
from .expansion import Expander, Foreign, Template, keeping, templates_in, tokens, unfolded
from .text import Text

_FEWEST = 2  # rows of a list
_LONGEST = 200_000  # bytes that all lists of a file may add
_DIRECTIVE = re.compile(rb"^[ \t]*#[^\\\n]*(?:\\(?:[ \t\r]*\n|.)[^\\\n]*)*", re.MULTILINE)
_OBJECT = re.compile(rb"#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\\\n]|\\(?:[ \t\r]*\n|.))*)")
_ROW = re.compile(rb"([A-Za-z_]\w*)\s*\(")
_CASE = re.compile(rb"\bcase\b")


@dataclass(frozen=True)
class Moved:
    """A piece that stands for another: where it starts and ends in the new text, and where the other did."""

    start: int
    end: int
    was: int
    was_end: int


class Unrolled(Text):
    """A source with the meaning of its lists in it; places are those of the source as it was."""

    def __init__(self, before: Text, raw: bytes, moved: Sequence[Moved]) -> None:
        super().__init__(raw)
        self._before, self._moved = before, moved
        self._ends = [piece.start for piece in moved]

    def _was(self, offset: int, *, end: bool = False) -> int:
        place = bisect_right(self._ends, offset - end) - 1
        if place < 0:
            return offset
        piece = self._moved[place]
        if offset - end < piece.end:
            return piece.was_end if end else piece.was
        return offset - piece.end + piece.was_end

    def span(self, start: int, end: int) -> Span:
        """Return the place of a stretch of bytes in the source."""
        first = self._was(start)
        return self._before.span(first, max(first, self._was(end, end=True)))


def unrolled(text: Text, foreign: Foreign) -> Text:
    """Return a source with what its lists mean, and without macros that keep what they are given."""
    if b"define" not in text.mask and not foreign.templates:
        return text
    definitions = [*((-1, template) for template in foreign.templates), *templates_in(text.code)]
    _keep(text, [template for _, template in definitions])
    lists = {template.name.encode() for _, template in definitions if _is_list(template)}
    rows = {template.name.encode() for _, template in definitions if _is_row(template)} - lists
    objects = dict(_objects(text.code))
    if not lists and not objects and not rows:
        return text
    raw, moved = _Lists(text, definitions, objects, rows).read(lists)
    return Unrolled(text, raw, moved) if moved else text


def _is_list(template: Template) -> bool:
    """Whether a macro calls one of its parameters several times."""
    called = [name.decode() for name in _ROW.findall(template.body)]
    return any(called.count(parameter) >= _FEWEST for parameter in template.parameters)


def _is_row(template: Template) -> bool:
    """Whether what a macro means needs nothing behind it: rows of a list are written one behind the other."""
    return bool(template.parameters) and template.body.rstrip().endswith((b";", b",", b"}"))


def _objects(code: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the macros without parameters that are rows of one macro: ``#define MODES X(A) X(B)``."""
    for match in _OBJECT.finditer(code):
        body = unfolded(match[2]).strip()
        first = _ROW.match(body)
        if first is not None and body.endswith(b")") and _ROW.findall(body).count(first[1]) >= _FEWEST:
            yield match[1], body


def _keep(text: Text, templates: Sequence[Template]) -> None:
    """Blank macros that keep what they are given in some builds, and drop it in others, but for a comma of theirs."""
    names = keeping(templates)
    if not names:
        return
    commas = {template.name.encode() for template in templates if template.body.startswith(b",")}
    pattern = re.compile(rb"\b(?:%s)[ \t]*\(" % b"|".join(sorted(name.encode() for name in names)))
    code, mask = bytearray(text.code), bytearray(text.mask)
    for start, opening in _invocations(text.mask, pattern):
        end = _closing(text.mask, opening)
        if end is not None:
            first = b"," if text.mask[start:opening].rstrip() in commas else b" "
            for sheet in (code, mask):
                sheet[start : opening + 1] = first.ljust(opening + 1 - start)
                sheet[end : end + 1] = b" "
    text.code, text.mask = bytes(code), bytes(mask)


def _invocations(mask: bytes, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    """Yield where what a pattern finds outside of directives starts, and where its last byte is."""
    directives = [match.span() for match in _DIRECTIVE.finditer(mask)]
    starts = [start for start, _ in directives]
    for match in pattern.finditer(mask):
        place = bisect_right(starts, match.start()) - 1
        if place < 0 or directives[place][1] <= match.start():
            yield match.start(), match.end() - 1


def _closing(mask: bytes, opening: int) -> int | None:
    """Return where the partner of an opening bracket is."""
    depth = 0
    for match in re.compile(rb"[()]").finditer(mask, opening):
        depth += 1 if match.group() == b"(" else -1
        if depth == 0:
            return match.start()
    return None


def _behind(mask: bytes, end: int) -> int:
    """Return where what follows a place begins, blanks aside."""
    found = re.compile(rb"\S").search(mask, end)
    return len(mask) if found is None else found.start()


class _Lists:
    """Puts the meaning of a source's lists in their place."""

    def __init__(
        self,
        text: Text,
        definitions: Sequence[tuple[int, Template]],
        objects: dict[bytes, bytes],
        written: set[bytes],
    ) -> None:
        self.text, self.objects, self.written = text, objects, written
        self.rows: dict[str, list[tuple[int, Template]]] = {}
        for start, template in definitions:
            self.rows.setdefault(template.name, []).append((start, template))

    def read(self, names: set[bytes]) -> tuple[bytes, list[Moved]]:
        """Return the source, and which pieces are new."""
        text = self.text
        pattern = re.compile(rb"\b(?:%s)\b" % b"|".join(sorted(names | self.objects.keys() | self.written)))
        result, moved = bytearray(), list[Moved]()
        behind, row = 0, (0, b"")
        for start, last in _invocations(text.mask, pattern):
            name = text.mask[start : last + 1]
            end = self._end(start, last + 1)
            if name in self.written:
                meaning = None
                if end is not None and start >= behind and (row == (start, name) or self._goes_on(name, end)):
                    meaning = self._row(name, start, end)
                row = (_behind(text.mask, end), name) if meaning is not None and end is not None else (0, b"")
            else:
                meaning = None if end is None or start < behind else self._meaning(start, end)
            if end is None or meaning is None or len(meaning) + len(result) > len(text.raw) + _LONGEST:
                continue
            result += text.raw[behind:start]
            piece = meaning + b"\n" * text.raw.count(b"\n", start, end)
            moved.append(Moved(len(result), len(result) + len(piece), start, end))
            result += piece
            behind = end
        return bytes(result) + text.raw[behind:], moved

    def _end(self, start: int, end: int) -> int | None:
        """Return where an invocation ends; None of a name alone."""
        if self.text.mask[start:end] in self.objects:
            return end
        opening = re.compile(rb"\s*\(").match(self.text.mask, end)
        closing = None if opening is None else _closing(self.text.mask, opening.end() - 1)
        return None if closing is None else closing + 1

    def _goes_on(self, name: bytes, end: int) -> bool:
        """Whether another row follows right behind one."""
        return re.compile(rb"%s\s*\(" % name).match(self.text.mask, _behind(self.text.mask, end)) is not None

    def _row(self, name: bytes, start: int, end: int) -> bytes | None:
        """Return what a row means that is written out; None of one that is given a call."""
        given = self.text.code[start:end]
        before = [template for place, template in self.rows[name.decode("utf-8", "replace")] if place < start]
        if given.count(b"(") > 1 or not before:
            return None
        expanded = Expander({before[-1].name: [before[-1]]}).meaning(given, start)
        return None if expanded is None or expanded.code == given else expanded.code

    def _meaning(self, start: int, end: int) -> bytes | None:
        """Return what an invocation means; None where its row is no macro, or where calls are followed as they are."""
        code = self.text.code[start:end]
        given = self.objects.get(code, code)
        words = {token.text.decode("utf-8", "replace") for token in tokens(given)}
        macros = {}
        for name in words & self.rows.keys():
            before = [template for place, template in self.rows[name] if place < start]
            if before:
                macros[name] = [before[-1]]
        if len(macros) < (1 if code in self.objects else _FEWEST):
            return None
        expander = Expander(macros)
        expanded = expander.meaning(given, start)
        if expanded is None or expanded.code == given:
            return None
        return None if _CASE.search(expanded.code) is None and expander.expand(given, start) else expanded.code
