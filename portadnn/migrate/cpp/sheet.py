"""What is parsed: the source with what the compiler does not see, and what a parser stumbles over, blanked."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from .directives import Directive, Group, Prepared
from .text import Text, blanked

_FIRST_WORD = re.compile(rb"\s*(\w+|\S)")
_NOT_A_START = frozenset((b"else", b"catch", b"while"))
_MOST_VARIANTS = 4
_NEAR = 8  # groups whose conditions are told of a stretch
_BRACKET = re.compile(rb"[(){}\[\]]")
_PARTNER = {b")": b"(", b"}": b"{", b"]": b"["}


@dataclass
class Sheet:
    """Two copies of a source that are changed alike: as it is parsed, and with strings empty."""

    code: bytearray
    mask: bytearray

    def blank(self, start: int, end: int) -> None:
        """Put spaces, keep newlines."""
        if start < end:
            piece = blanked(bytes(self.code[start:end]))
            self.code[start:end] = self.mask[start:end] = piece

    def put(self, start: int, text: bytes) -> None:
        """Overwrite bytes."""
        self.code[start : start + len(text)] = self.mask[start : start + len(text)] = text

    def copy(self) -> Sheet:
        """Return an independent sheet."""
        return Sheet(bytearray(self.code), bytearray(self.mask))


@dataclass
class Variant:
    """One text to parse; `chosen` says which branch of each group that cannot be parsed with the others is in it."""

    sheet: Sheet
    chosen: list[tuple[Group, int]] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    def condition(self, start: int, end: int) -> str:
        """Return what holds in this variant for a stretch, by the groups in it and around it."""
        if not self._starts:
            self.chosen.sort(key=lambda one: one[0].branches[0].directive.start)
            self._starts = [group.branches[0].directive.start for group, _ in self.chosen]
        first, last = bisect_left(self._starts, start), bisect_left(self._starts, end)
        near = self.chosen[max(0, first - _NEAR) : min(last, first + _NEAR)]
        said = [branch_condition(group, index) for group, index in near if group.end > start]
        return " && ".join(dict.fromkeys(c for c in said if c))


def branch_condition(group: Group, index: int) -> str:
    """Return the condition of a branch in words, also of the one that is not written."""
    if index < len(group.branches):
        return group.branches[index].condition
    return " && ".join(f"!({branch.condition})" for branch in group.branches[:8])


def base(text: Text, prepared: Prepared) -> Sheet:
    """Return the sheet without directives and without what is certainly not compiled; open groups are still there."""
    sheet = Sheet(bytearray(text.code), bytearray(text.mask))
    for start, end in prepared.blanks:
        sheet.blank(start, end)
    return sheet


def variants(sheet: Sheet, groups: Iterable[Group]) -> tuple[list[Variant], dict[int, Group]]:
    """Return the texts to parse, and the groups that stay in them as ``#if``, by the offset of their first directive.

    A group stays where each branch is a row of whole statements. The others are taken apart: each variant has one
    branch of each of them.
    """
    apart: list[Group] = []
    kept: dict[int, Group] = {}
    scratch = bytearray(sheet.mask)
    for group in sorted(groups, key=lambda g: -g.branches[0].directive.start):
        fits = _is_whole(scratch, group)
        if fits:
            kept[group.branches[0].directive.start] = group
        else:
            apart.append(group)
        _reduce(scratch, group, fits)
    common = sheet.copy()
    for group in kept.values():
        _mark(common, group)
    if not apart:
        return [Variant(common)], kept
    number = min(_MOST_VARIANTS, max(len(group.branches) + (not group.complete) for group in apart))
    result = []
    for index in range(number):
        variant = Variant(common.copy())
        for group in apart:
            last = len(group.branches) - group.complete
            _take(variant.sheet, group, min(index, last))
            variant.chosen.append((group, min(index, last)))
        result.append(variant)
    return result, kept


def _is_whole(mask: bytearray, group: Group) -> bool:
    if group.closing is None:
        return False
    before = _last(mask, 0, group.branches[0].directive.start)
    if before not in b";{}:":
        return False
    for branch in group.branches:
        if not _has_room(branch.directive):
            return False
        last = _last(mask, branch.start, branch.end)
        first = _FIRST_WORD.match(mask, branch.start, branch.end)
        if last not in b";}:" or (first is not None and first.group(1) in _NOT_A_START):
            return False
        if not _is_balanced(mask, branch.start, branch.end):
            return False
    return True


def _has_room(directive: Directive) -> bool:
    """Whether it can be written anew: one without a condition is too short."""
    needed = {b"else": b"#else", b"if": b"#if 1", b"ifdef": b"#if 1", b"ifndef": b"#if 1"}.get(
        directive.word, b"#elif 1"
    )
    return directive.end - directive.start >= len(needed)


def _last(mask: bytearray, start: int, end: int) -> bytes:
    """Return the last byte before `end` that is not white; b"" if there is none."""
    while end > start:
        block = max(start, end - 256)
        stripped = bytes(mask[block:end]).rstrip()
        if stripped:
            return stripped[-1:]
        end = block
    return b""


def _is_balanced(mask: bytearray, start: int, end: int) -> bool:
    open_: list[bytes] = []
    for match in _BRACKET.finditer(mask, start, end):
        bracket = match.group()
        if bracket in _PARTNER:
            if not open_ or open_.pop() != _PARTNER[bracket]:
                return False
        else:
            open_.append(bracket)
    return not open_


def _reduce(scratch: bytearray, group: Group, whole: bool) -> None:
    """Leave of an inner group what its surroundings are to be judged by."""
    opening = group.branches[0].directive
    if whole:
        ranges = [(opening.start, group.end)]
    else:
        ranges = [(branch.directive.start, branch.directive.end) for branch in group.branches]
        ranges += [(branch.start, branch.end) for branch in group.branches[1:]]
        if group.closing is not None:
            ranges.append((group.closing.start, group.closing.end))
    for start, end in ranges:
        scratch[start:end] = blanked(bytes(scratch[start:end]))


def _mark(sheet: Sheet, group: Group) -> None:
    """Write the directives so that the parser takes them whatever the conditions were."""
    for number, branch in enumerate(group.branches):
        directive = branch.directive
        sheet.blank(directive.start, directive.end)
        is_else = group.complete and number == len(group.branches) - 1
        sheet.put(directive.start, b"#if 1" if number == 0 else b"#else" if is_else else b"#elif 1")
    if group.closing is not None:
        sheet.blank(group.closing.start, group.closing.end)
        sheet.put(group.closing.start, b"#endif")


def _take(sheet: Sheet, group: Group, chosen: int) -> None:
    for number, branch in enumerate(group.branches):
        sheet.blank(branch.directive.start, branch.directive.end)
        if number != chosen:
            sheet.blank(branch.start, branch.end)
    if group.closing is not None:
        sheet.blank(group.closing.start, group.closing.end)


class Brackets:
    """The partners of all brackets, those without one left out, and the opening bracket around each opening one."""

    def __init__(self, mask: bytes | bytearray) -> None:
        nothing = array("i", [-1])
        self._partner, self._around = nothing * len(mask), nothing * len(mask)  # dicts take 25 times as much memory
        open_ = array("i")
        for match in _BRACKET.finditer(mask):
            bracket, position = match.group(), match.start()
            if bracket not in _PARTNER:
                if open_:
                    self._around[position] = open_[-1]
                open_.append(position)
                continue
            wanted = _PARTNER[bracket][0]
            if bracket == b"}":  # a round bracket that is never closed must not swallow the rest of the file
                while open_ and mask[open_[-1]] != wanted:
                    open_.pop()
            if open_ and mask[open_[-1]] == wanted:
                start = open_.pop()
                self._partner[start], self._partner[position] = position, start

    def partner(self, position: int) -> int | None:
        """Return the other one of a pair."""
        found = self._partner[position]
        return None if found < 0 else found

    def around(self, position: int) -> int | None:
        """Return the opening bracket around an opening one."""
        found = self._around[position]
        return None if found < 0 else found
