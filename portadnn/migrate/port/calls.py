"""Calls of cuDNN in a source, by its words alone: macros, templates and broken code have them too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ... import mapping
from .source import Source, Token

_KEYWORDS = {"return", "else", "do", "case", "throw", "co_return", "co_await", "co_yield", "and", "or", "not", "in"}
_HEADS = {"if", "while", "for", "switch", "sizeof", "decltype", "defined"}
_QUALIFIERS = {"const", "static", "inline", "extern", "virtual", "struct", "enum", "typename", "volatile"}

Kind = Literal["call", "declaration", "member", "qualified", "name"]


@dataclass(frozen=True)
class Call:
    """A place where a function of cuDNN is named.

    Attributes
    ----------
    name : str
        The function.
    kind : str
        ``"call"``; ``"declaration"`` of a function of that name; ``"member"`` (``table.cudnnCreate(...)``) and
        ``"qualified"`` (``dynload::cudnnCreate(...)``) calls of something else; ``"name"`` without parentheses.
    start, end : int
        Of the call, up to its parenthesis.
    open : int
        Where its parenthesis is.
    arguments : tuple of (int, int)
        Where the arguments stand, with the blanks and comments around them.
    statement : (int, int) or None
        Where the statement is that consists of nothing else, but for macros or functions around that check the status.
    """

    name: str
    kind: Kind
    start: int
    end: int
    open: int = -1
    arguments: tuple[tuple[int, int], ...] = ()
    statement: tuple[int, int] | None = None

    @property
    def alone(self) -> bool:
        """Whether it is a statement without such."""
        return self.statement is not None and self.statement[0] == self.start


def functions() -> frozenset[str]:
    """Return the names of cuDNN's functions."""
    return frozenset(f.name for f in mapping.table().functions.values() if f.library == "cudnn")


def find(source: Source) -> list[Call]:
    """Return every place where a function of cuDNN is named, in order."""
    known = functions()
    return [
        _read(source, i)
        for i, token in enumerate(source.tokens)
        if token.text in known or (token.text.startswith("cudnnBackend") and not token.text.endswith("_t"))
    ]


def _read(source: Source, place: int) -> Call:
    tokens = source.tokens
    token = tokens[place]
    before = source.before(place)
    opening = place + 1 if place + 1 < len(tokens) and tokens[place + 1].text == "(" else -1
    closing = source.closing.get(opening, -1)
    if opening < 0 or closing < 0:
        return Call(token.text, "name", token.start, token.end)
    kind: Kind = "call"
    if before is not None and before.text in {".", "->"}:
        kind = "member"
    elif before is not None and before.text == "::" and place > 1 and _adjoins(tokens[place - 2], before):
        kind = "qualified"
    elif _is_declaration(source, place, closing):
        kind = "declaration"
    statement = _statement(source, place, closing) if kind == "call" else None
    arguments = tuple(_split(source, opening, closing, token.text))
    return Call(token.text, kind, token.start, tokens[closing].end, tokens[opening].start, arguments, statement)


def _adjoins(name: Token, colons: Token) -> bool:
    return name.is_word and name.text not in _KEYWORDS and name.end == colons.start


def _is_declaration(source: Source, place: int, closing: int) -> bool:
    """Tell whether a name with parentheses declares a function: a type goes before it."""
    tokens, i = source.tokens, place
    before = source.before(i)
    while before is not None and before.text in {"*", "&"}:
        i -= 1
        before = source.before(i)
    if before is None or not before.is_word or before.text in _KEYWORDS:
        return False
    if i == place:
        return True
    first = source.before(i - 1)  # type * name(...): a product or a declaration
    behind = tokens[closing + 1].text if closing + 1 < len(tokens) else ""
    begins = first is None or first.text in {";", "{", "}"} or first.text in _QUALIFIERS
    return begins and behind in {"{", ";", ""}


def _statement(source: Source, place: int, closing: int) -> tuple[int, int] | None:
    """Return the statement that a call is, with what is around it: ``check(cudnnCreate(&h));``."""
    tokens = source.tokens
    while place > 1 and tokens[place - 1].text == "(" and tokens[closing + 1 : closing + 2]:
        if not tokens[place - 2].is_word or tokens[place - 2].text in _KEYWORDS | _HEADS:
            return None
        if tokens[closing + 1].text != ")":
            return None
        place, closing = place - 2, closing + 1
        while place > 1 and tokens[place - 1].text == "::" and tokens[place - 2].is_word:
            place -= 2
    before = source.before(place)
    behind = tokens[closing + 1] if closing + 1 < len(tokens) else None
    if behind is None or behind.text != ";" or source.directive(tokens[place].start) is not None:
        return None
    if before is None or before.text in {";", "{", "}"}:
        return tokens[place].start, behind.end
    return None


def _split(source: Source, opening: int, closing: int, name: str) -> Iterator[tuple[int, int]]:
    """Yield where the arguments are; commas of templates count where that gives a number that the function has."""
    known = mapping.table().functions.get(name)
    wanted = {len(p) for p in (known.signatures if known else ())}
    plain = list(_commas(source, opening, closing, angles=False))
    if wanted and len(plain) not in wanted:
        other = list(_commas(source, opening, closing, angles=True))
        if len(other) in wanted:
            return iter(other)
    return iter(plain)


def _commas(source: Source, opening: int, closing: int, *, angles: bool) -> Iterator[tuple[int, int]]:
    tokens = source.tokens
    start, depth, i = tokens[opening].end, 0, opening + 1
    while i < closing:
        text = tokens[i].text
        if i in source.closing:
            i = source.closing[i]
        elif angles and text == "<":
            depth += 1
        elif angles and text == ">":
            depth = max(depth - 1, 0)
        elif text == "," and depth == 0:
            yield start, tokens[i].start
            start = tokens[i].end
        i += 1
    if start != tokens[opening].end or source.code[start : tokens[closing].start].strip():
        yield start, tokens[closing].start
