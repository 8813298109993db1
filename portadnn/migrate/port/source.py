"""A source to rewrite: its text byte for byte, its words, its lines and its branches of the preprocessor."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from ..cpp.text import Text

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|->|::|<<<|>>>|&&|\|\||[^\s\w]", re.ASCII)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:[^\\\n]|\\(?:\r?\n)?)*)", re.MULTILINE)
VERSION = re.compile(r"\bCUDNN_(?:\w*_)?(VERSION|MAJOR|MINOR|PATCH)")  # says nothing of where cuDNN is used
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    """A word, a number or a mark, and where it stands."""

    text: str
    start: int
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it is an identifier or a keyword."""
        return _WORD.fullmatch(self.text) is not None


@dataclass(frozen=True)
class Directive:
    """A line of the preprocessor, with the lines that continue it."""

    kind: str
    rest: str
    start: int
    end: int


Branch = tuple[str, ...]  # the directives of one chain that lead into a branch, as written


class Source:
    """A source.

    Attributes
    ----------
    name : str
        As it is shown.
    text : str
        The bytes as characters of the same number: places in it are places in the file, whatever its encoding.
    code : str
        The same without comments and without what is in strings.
    """

    def __init__(self, name: str, raw: bytes) -> None:
        self.name = name
        self._read = Text(raw)
        self.text, self.code = raw.decode("latin-1"), self._read.mask.decode("latin-1")

    @cached_property
    def tokens(self) -> list[Token]:
        """All words, numbers and marks outside of comments and strings."""
        return [Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(self.code)]

    def before(self, place: int) -> Token | None:
        """Return the token before another, where both are in the same line of the preprocessor or in none."""
        if place <= 0:
            return None
        found = self.tokens[place - 1]
        return found if self.directive(found.start) == self.directive(self.tokens[place].start) else None

    @cached_property
    def closing(self) -> dict[int, int]:
        """Indices of opening brackets, and of those that close them."""
        found: dict[int, int] = {}
        open_: list[int] = []
        for i, token in enumerate(self.tokens):
            if token.text in _CLOSING:
                open_.append(i)
            elif token.text in _CLOSING.values():
                while open_ and _CLOSING[self.tokens[open_[-1]].text] != token.text and token.text == "}":
                    open_.pop()
                if open_ and _CLOSING[self.tokens[open_[-1]].text] == token.text:
                    found[open_.pop()] = i
        return found

    # Lines --------------------------------------------------------------------------------------------------------

    @cached_property
    def directives(self) -> list[Directive]:
        """The lines of the preprocessor."""
        return [Directive(m[1], m[2].strip(), m.start(), m.end()) for m in _DIRECTIVE.finditer(self.code)]

    def directive(self, offset: int) -> Directive | None:
        """Return the line of the preprocessor that an offset is in."""
        place = bisect_right(self.directives, offset, key=lambda directive: directive.start) - 1
        found = self.directives[place] if place >= 0 else None
        return found if found is not None and offset < found.end else None

    @cached_property
    def newline(self) -> str:
        """How the source ends its lines."""
        return "\r\n" if self.text.count("\r\n") * 2 > self.text.count("\n") else "\n"

    def line(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        return self._read.line(offset)

    def line_start(self, offset: int) -> int:
        """Return where the line of an offset begins, or the first one of a directive, a comment or a string."""
        directive = self.directive(offset)
        offset = offset if directive is None else directive.start
        start = self.text.rfind("\n", 0, offset) + 1
        while start > 0 and self._within(start):
            start = self.text.rfind("\n", 0, start - 1) + 1
        return start

    def line_end(self, offset: int) -> int:
        """Return where the next line begins."""
        end = self.text.find("\n", offset)
        return len(self.text) if end < 0 else end + 1

    def _within(self, start: int) -> bool:
        """Tell whether a line begins inside of a comment, a string or a directive."""
        return any(a < start < b for a, b in self._long) or (
            (directive := self.directive(start)) is not None and directive.start < start
        )

    @cached_property
    def _long(self) -> list[tuple[int, int]]:
        """Comments and raw strings of several lines."""
        found = [(comment.start, comment.end) for comment in self._read.comments if b"\n" in comment.text]
        found += [(m.start(), m.end()) for m in re.finditer(r'R"([^()\\\s"]{0,16})\(.*?\)\1"', self.text, re.DOTALL)]
        return found

    def indent(self, line_start: int) -> str:
        """Return the blanks at the beginning of a line."""
        found = re.compile(r"[ \t]*").match(self.text, line_start)
        return found[0] if found else ""

    # Branches -----------------------------------------------------------------------------------------------------

    def branches(self, offset: int) -> list[Branch]:
        """Return the branches of the preprocessor around an offset, the outermost first, without an include guard."""
        stack: list[list[str]] = []
        for i, directive in enumerate(self.directives):
            if directive.start > offset:
                break
            written = self.text[directive.start : directive.end].strip()
            if directive.kind in {"if", "ifdef", "ifndef"}:
                stack.append([] if self._is_guard(i) else [written])
            elif directive.kind in {"elif", "else", "elifdef", "elifndef"} and stack:
                stack[-1].append(written)
            elif directive.kind == "endif" and stack:
                stack.pop()
        return [tuple(chain) for chain in stack if chain]

    def of_a_version(self, offset: int) -> bool:
        """Tell whether a place is in a branch that cuDNN's version chooses."""
        return any(any(map(VERSION.search, chain)) for chain in self.branches(offset))

    def _is_guard(self, place: int) -> bool:
        first = self.directives[place]
        if place > 1 or first.kind != "ifndef" or place + 1 >= len(self.directives):
            return False
        following = self.directives[place + 1]
        return following.kind == "define" and following.rest.split()[:1] == first.rest.split()[:1]

    def depth(self, offset: int) -> int:
        """Return how many braces are open."""
        before = self.code[:offset]
        return max(before.count("{") - before.count("}"), 0)
