"""A source to rewrite: its text byte for byte, its words, its lines and its branches of the preprocessor."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

from ..cpp.text import Text

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|->|::|<<<|>>>|&&|\|\||[^\s\w]", re.ASCII)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:[^\\\n]|\\(?:\r?\n)?)*)", re.MULTILINE)
VERSION = re.compile(r"\bCUDNN_(?:\w*_)?(VERSION|MAJOR|MINOR|PATCH)")  # says nothing of where cuDNN is used
_CLOSING = {"(": ")", "[": "]", "{": "}"}
OPERATION_TYPE = r"\b(?:cudnnOpTensorDescriptor_t|miopenTensorOp_t)\s+"
OPERATION = re.compile(rf"\b(\w+)\s*\(([^();{{}}]*{OPERATION_TYPE}\w+[^();{{}}]*)\)")
_BLANKS = re.compile(r"\s*")
_INDENT = re.compile(r"[ \t]*")
_RAW_STRING = re.compile(r'R"([^()\\\s"]{0,16})\(.*?\)\1"', re.DOTALL)
_REMEMBERED = 64  # lines of the preprocessor between two places where the open branches are remembered


@dataclass(frozen=True, slots=True)
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
        texts: dict[str, str] = {}  # the same words come again and again
        return [Token(texts.setdefault(m[0], m[0]), m.start(), m.end()) for m in _TOKEN.finditer(self.code)]

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

    @cached_property
    def opening(self) -> dict[int, int]:
        """Indices of closing brackets, and of those that they close."""
        return {b: a for a, b in self.closing.items()}

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
        line = self.line(offset if directive is None else directive.start)
        while line > 1 and self._within(self._read.line_start(line)):
            line -= 1
        return self._read.line_start(line)

    def line_begin(self, offset: int) -> int:
        """Return where the line of an offset begins, whatever it is within."""
        return self._read.line_start(self.line(offset))

    def line_end(self, offset: int) -> int:
        """Return where the next line begins."""
        line = self.line(offset) + 1
        return self._read.line_start(line) if line <= self._newlines else len(self.text)

    @cached_property
    def _newlines(self) -> int:
        return self.text.count("\n") + 1

    def is_blank(self, start: int, end: int) -> bool:
        """Tell whether a stretch holds nothing but blanks."""
        found = _BLANKS.match(self.text, start, end)
        return found is not None and found.end() == end

    def _within(self, start: int) -> bool:
        """Tell whether a line begins inside of a comment, a string or a directive."""
        place = bisect_left(self._long, (start, 0)) - 1
        if place >= 0 and start < self._long[place][1]:
            return True
        directive = self.directive(start)
        return directive is not None and directive.start < start

    @cached_property
    def _long(self) -> list[tuple[int, int]]:
        """Comments and raw strings of several lines, in order."""
        found = [(comment.start, comment.end) for comment in self._read.comments if b"\n" in comment.text]
        found += [match.span() for match in _RAW_STRING.finditer(self.text)]
        result: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if result and start < result[-1][1]:
                result[-1] = (result[-1][0], max(end, result[-1][1]))
            else:
                result.append((start, end))
        return result

    def indent(self, line_start: int) -> str:
        """Return the blanks at the beginning of a line."""
        found = _INDENT.match(self.text, line_start)
        return found[0] if found else ""

    # Branches -----------------------------------------------------------------------------------------------------

    def branches(self, offset: int) -> list[Branch]:
        """Return the branches of the preprocessor around an offset, the outermost first, without an include guard."""
        count = bisect_right(self.directives, offset, key=lambda directive: directive.start)
        first = count // _REMEMBERED
        stack = [chain[:length] for chain, length in self._open_branches[first]]
        for place in range(first * _REMEMBERED, count):
            self._step(stack, place)
        return [tuple(chain) for chain in stack if chain]

    @cached_property
    def _open_branches(self) -> list[list[tuple[list[str], int]]]:
        """The chains that are open before every so many lines of the preprocessor, and how much of each is read."""
        stack: list[list[str]] = []
        found: list[list[tuple[list[str], int]]] = []
        for place in range(len(self.directives)):
            if place % _REMEMBERED == 0:
                found.append([(chain, len(chain)) for chain in stack])
            self._step(stack, place)
        if len(self.directives) % _REMEMBERED == 0:
            found.append([(chain, len(chain)) for chain in stack])
        return found

    def _step(self, stack: list[list[str]], place: int) -> None:
        """Open, continue or end a chain of branches by one line of the preprocessor."""
        directive = self.directives[place]
        if directive.kind in {"if", "ifdef", "ifndef"}:
            stack.append([] if self._is_guard(place) else [self._written(directive)])
        elif directive.kind in {"elif", "else", "elifdef", "elifndef"} and stack:
            stack[-1].append(self._written(directive))
        elif directive.kind == "endif" and stack:
            stack.pop()

    def _written(self, directive: Directive) -> str:
        return self.text[directive.start : directive.end].strip()

    def of_a_version(self, offset: int) -> bool:
        """Tell whether a place is in a branch that cuDNN's version chooses."""
        return any(any(map(VERSION.search, chain)) for chain in self.branches(offset))

    def _is_guard(self, place: int) -> bool:
        first = self.directives[place]
        if place > 1 or first.kind != "ifndef" or place + 1 >= len(self.directives):
            return False
        following = self.directives[place + 1]
        return following.kind == "define" and following.rest.split()[:1] == first.rest.split()[:1]

    @cached_property
    def of_operations(self) -> dict[int, list[re.Match[str]]]:
        """Heads of functions that have descriptors of tensor operations as parameters, by where their blocks open."""
        found: dict[int, list[re.Match[str]]] = {}
        for match in OPERATION.finditer(self.code):
            found.setdefault(self.block_behind(match.end()), []).append(match)
        return found

    def depth(self, offset: int) -> int:
        """Return how many braces are open."""
        before = bisect_left(self._braces, offset)
        return max(2 * bisect_left(self._opening_braces, offset) - before, 0)

    @cached_property
    def _braces(self) -> list[int]:
        return [match.start() for match in re.finditer("[{}]", self.code)]

    @cached_property
    def _opening_braces(self) -> list[int]:
        return [place for place in self._braces if self.code[place] == "{"]

    @cached_property
    def _blocks(self) -> tuple[dict[int, int], dict[int, int]]:
        """The blocks in braces: of each opening brace the end, and the opening brace of the block around it."""
        ends: dict[int, int] = {}
        outer: dict[int, int] = {}
        open_: list[int] = []
        for place in self._braces:
            if self.code[place] == "{":
                outer[place] = open_[-1] if open_ else -1
                open_.append(place)
            elif open_:
                ends[open_.pop()] = place
        return ends, outer

    def block_behind(self, offset: int) -> int:
        """Return where the next brace behind an offset opens a block; -1 where it opens none."""
        place = bisect_left(self._braces, offset)
        return self._braces[place] if place < len(self._braces) and self.code[self._braces[place]] == "{" else -1

    def blocks_around(self, offset: int) -> list[int]:
        """Return where the blocks around an offset open, the outermost first."""
        ends, outer = self._blocks
        place = bisect_left(self._opening_braces, offset) - 1
        block = self._opening_braces[place] if place >= 0 else -1
        found: list[int] = []
        while block >= 0:
            if ends.get(block, len(self.code)) >= offset:
                found.append(block)
            block = outer[block]
        return found[::-1]
