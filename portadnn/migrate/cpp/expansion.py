"""Macros that take a call apart, such as ``EXEC(cudnnCreate, &h)``: expanded as the preprocessor does, token by token.

Each token keeps where it came from in the file: what was an argument its own place, what stood in a macro's body the
place of the invocation. Other macros are left alone: the checker follows those as functions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..libraries import is_library, named

_TOKEN = re.compile(
    rb'[A-Za-z_$][\w$]*|\.?\d(?:[eEpP][+-]|[\w.])*|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    rb"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|##|::|->|\.\.\.|\S",
    re.DOTALL,
)
_WORD = re.compile(rb"[A-Za-z_$]")
_CONTINUED = re.compile(rb"\\[ \t\r]*\n")
DEFINITION = re.compile(rb"#[ \t]*define[ \t]+([A-Za-z_]\w*)\(([^()]*)\)([^\\\n]*(?:\\(?:[ \t\r]*\n|.)[^\\\n]*)*)")
_CALLED = re.compile(named().pattern + rb"\s*\)?\s*\(", re.ASCII)  # also (cudnnCreate)(&h)
PASTES = re.compile(rb"\b(?:cudnn|miopen)\w*\s*##")
LONGEST_MACRO = 10_000
_VARIADIC = b"__VA_ARGS__"
_COMMENT = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)
_MOST_TOKENS = 20_000  # of one expansion
_DEEPEST = 24  # macros within each other


@dataclass(frozen=True)
class Template:
    """A macro: its parameters, of which the last may be ``...`` or ``name...``, and its body."""

    name: str
    parameters: tuple[str, ...]
    body: bytes


class Token(NamedTuple):
    """A token: its text, where it stands in the file, and whether a space goes before it."""

    text: bytes
    start: int
    end: int
    spaced: bool = False
    hidden: frozenset[bytes] = frozenset()  # macros that it is not expanded by any more


class Expanded(NamedTuple):
    """A text that stands for another: for each of its bytes where what it came from starts and ends in the file."""

    code: bytes
    starts: list[int]
    ends: list[int]


def tokens(code: bytes, shift: int = 0) -> list[Token]:
    """Return the tokens of a text without comments, the first byte of which stands at `shift` in the file."""
    result, last = [], 0
    for match in _TOKEN.finditer(code):
        start, end = match.span()
        result.append(Token(match.group(), start + shift, end + shift, start > last))
        last = end
    return result


@functools.lru_cache(maxsize=2048)
def _tokens_of(body: bytes) -> tuple[Token, ...]:
    """Return the tokens of a macro's body, which many files look at."""
    return tuple(tokens(body))


def unfolded(body: bytes) -> bytes:
    """Return a macro's body in one line."""
    return _CONTINUED.sub(b" ", body)


def defined(raw: bytes) -> list[Template]:
    """Return the macros of a source that may take a call apart, or keep or drop one, by their words alone."""
    if b"#define" not in raw and b"# define" not in raw:
        return []
    every = [template for _, template in templates_in(raw)]
    kept = keeping(every)
    return [
        template
        for template in every
        if _takes_apart(template, _tokens_of(template.body), {}) or _hands_on(template) or template.name in kept
    ]


def templates_in(raw: bytes) -> Iterator[tuple[int, Template]]:
    """Yield the macros with parameters of a source, each with where it is defined."""
    for match in DEFINITION.finditer(raw):
        name, given, body = match.group(1).decode(), match.group(2), match.group(3)
        parameters = tuple(p.strip() for p in unfolded(given).decode("utf-8", "replace").split(",") if p.strip())
        if parameters and len(body) <= LONGEST_MACRO:
            yield match.start(), Template(name, parameters, unfolded(_COMMENT.sub(b" ", body)).strip())


def keeping(templates: Iterable[Template]) -> frozenset[str]:
    """Return the macros that keep what they are given in some builds, and drop it in others."""
    bodies: dict[str, set[str]] = {}
    for template in templates:
        if len(template.parameters) == 1:
            body = template.body.removeprefix(b",").strip()
            said = "drops" if not template.body else "keeps" if body == _name_of(template.parameters[0]) else ""
            bodies.setdefault(template.name, set()).add(said)
    return frozenset(name for name, said in bodies.items() if said == {"keeps", "drops"})


def _hands_on(template: Template) -> bool:
    """Whether a macro gives its first parameter to what may be a macro, too."""
    body = _tokens_of(template.body)
    first = _name_of(template.parameters[0])
    return any(
        token.text.isupper() and body[i + 1].text == b"(" and body[i + 2].text == first
        for i, token in enumerate(body[:-2])
    )


def taking_apart(
    macros: Iterable[Template], known: Mapping[str, Sequence[Template]] | None = None
) -> dict[str, list[Template]]:
    """Return those macros that call a parameter, make a name to call from one, or hand one to such a macro.

    Those that hand it a library's function by its name are among them: ``#define END() EXEC(cudnnDestroy, h)``. So are
    those that are `known` to, of other names.
    """
    written = {macro: _tokens_of(macro.body) for macro in macros}
    found = {name: list(several) for name, several in (known or {}).items()}
    waiting = True
    while waiting:
        waiting = False
        for macro, body in written.items():
            if macro not in found.get(macro.name, ()) and _takes_apart(macro, body, found):
                found.setdefault(macro.name, []).append(macro)
                waiting = True
    return {name: sorted(several, key=lambda macro: b"miopen" in macro.body) for name, several in found.items()}


class Foreign:
    """Macros of other files that take calls apart, those of the nearest files first."""

    def __init__(self, templates: Iterable[Template] = ()) -> None:
        self._templates = tuple(templates)
        self._names = frozenset(template.name for template in self._templates)

    @property
    def templates(self) -> tuple[Template, ...]:
        """All of them."""
        return self._templates

    @cached_property
    def _apart(self) -> dict[str, list[Template]]:
        return taking_apart(self._templates)

    def with_own(self, own: Sequence[Template]) -> dict[str, list[Template]]:
        """Return those that take calls apart, with a file's own, which go before others of their names."""
        names = {macro.name for macro in own}
        if names.isdisjoint(self._names):
            return taking_apart(own, self._apart) if own else self._apart
        return taking_apart([*own, *(template for template in self._templates if template.name not in names)])


def _takes_apart(macro: Template, body: Sequence[Token], found: Mapping[str, list[Template]]) -> bool:
    names = {_name_of(parameter) for parameter in macro.parameters}
    for place, token in enumerate(body):
        following = body[place + 1].text if place + 1 < len(body) else b""
        if token.text in names:
            if following == b"(":
                return True
            behind = body[place + 2].text if place + 2 < len(body) else b""
            if place and (body[place - 1].text, following, behind) == (b"(", b")", b"("):  # (f)(a, b)
                return True
            if place > 1 and body[place - 1].text == b"##" and (following == b"(" or _pastes(body, place)):
                return True
            if place > 1 and body[place - 1].text == b"##" and body[place - 2].text.startswith((b"CUDNN_", b"miopen")):
                return True
            if following == b"##" and any(t.text == b"(" for t in body[place + 2 : place + 4]):
                return True
        elif following == b"(" and (name := token.text.decode("utf-8", "replace")) in found and name != macro.name:
            inner = _arguments(body, place + 1)
            if inner is not None and any(t.text in names or _is_function(t) for argument in inner[0] for t in argument):
                return True
    return False


def _is_function(token: Token) -> bool:
    """Whether a token is the name of a library's function, which a macro hands on to be called."""
    return token.text.startswith((b"cudnn", b"miopen")) and is_library(token.text.decode("utf-8", "replace"))


def _pastes(body: Sequence[Token], place: int) -> bool:
    """Whether a parameter is pasted to what begins as a library's functions do, as in ``cudnn##name``."""
    return body[place - 2].text.lower() in (b"cudnn", b"miopen")


def _name_of(parameter: str) -> bytes:
    return _VARIADIC if parameter == "..." else parameter.removesuffix("...").strip().encode()


def _arguments(all_: Sequence[Token], opening: int) -> tuple[list[list[Token]], int] | None:
    """Return the arguments behind an opening bracket, and where its partner is; None where there is none."""
    result: list[list[Token]] = [[]]
    depth = 0
    for place in range(opening, len(all_)):
        token = all_[place]
        if token.text in (b"(", b"[", b"{"):
            depth += 1
            if place == opening:
                continue
        elif token.text in (b")", b"]", b"}"):
            depth -= 1
            if depth == 0:
                return result, place
        elif token.text == b"," and depth == 1:
            result.append([])
            continue
        result[-1].append(token)
    return None


class Expander:
    """Expands invocations of the macros that take calls apart."""

    def __init__(self, macros: Mapping[str, Sequence[Template]]) -> None:
        self.macros = macros

    def expand(self, code: bytes, shift: int) -> Expanded | None:
        """Return what an invocation, at `shift` in the file, stands for; None where that holds no library's call."""
        expanded = self.meaning(code, shift)
        return expanded if expanded is not None and _CALLED.search(expanded.code) else None

    def meaning(self, code: bytes, shift: int) -> Expanded | None:
        """Return what a stretch, at `shift` in the file, stands for; None where it cannot be expanded."""
        result = self._rescan(tokens(code, shift), (shift, shift + len(code)), 0)
        return None if result is None else _joined(result)

    def _rescan(self, given: list[Token], whole: tuple[int, int], depth: int) -> list[Token] | None:
        result: list[Token] = []
        place = 0
        while place < len(given):
            token = given[place]
            name = token.text
            following = given[place + 1].text if place + 1 < len(given) else b""
            macros = self.macros.get(name.decode("utf-8", "replace")) if following == b"(" else None
            if macros is None or name in token.hidden or depth > _DEEPEST:
                result.append(token)
                place += 1
                continue
            said = _arguments(given, place + 1)
            if said is None:
                return None
            arguments, closing = said
            macro = next((m for m in macros if _fits(m, arguments)), None)
            if macro is None:
                result.append(token)
                place += 1
                continue
            body = self._substituted(macro, arguments, whole, depth)
            if body is None or len(body) + len(result) > _MOST_TOKENS:
                return None
            hidden = token.hidden | {name}
            body = [t._replace(hidden=t.hidden | hidden) for t in body]
            again = self._rescan(body, whole, depth + 1)
            if again is None:
                return None
            result += again
            place = closing + 1
        return result

    def _substituted(
        self, macro: Template, arguments: list[list[Token]], whole: tuple[int, int], depth: int
    ) -> list[Token] | None:
        """Return a macro's body with arguments in the parameters' places."""
        bound = _bound(macro, arguments)
        body = _tokens_of(macro.body)
        result: list[Token] = []
        pasting = False
        place = 0
        while place < len(body):
            token = body[place]
            following = body[place + 1].text if place + 1 < len(body) else b""
            place += 1
            if token.text == b"##":
                pasting = bool(result)
                if following in bound and not bound[following] and result and result[-1].text == b",":
                    result.pop()  # GNU's ", ##__VA_ARGS__"
                    pasting = False
                continue
            if token.text == b"#" and following in bound:
                text = b" ".join(t.text for t in bound[following]).replace(b"\\", b"\\\\").replace(b'"', b'\\"')
                new = [Token(b'"' + text + b'"', *whole, token.spaced)]
                place += 1
            elif token.text == b"__VA_OPT__" and following == b"(":
                inner = _arguments(body, place)
                if inner is None:
                    return None
                kept = bound.get(_VARIADIC) or []
                new = []
                if kept:
                    opt = Template(macro.name, macro.parameters, _source(body[place + 1 : inner[1]]))
                    new = self._substituted(opt, arguments, whole, depth) or []
                place = inner[1] + 1
            elif token.text in bound:
                raw = bound[token.text]
                expanded = raw if pasting or following == b"##" else self._rescan(list(raw), whole, depth + 1)
                if expanded is None:
                    return None
                new = list(expanded)
                if new:
                    new[0] = new[0]._replace(spaced=token.spaced)
            else:
                new = [Token(token.text, *whole, token.spaced)]
            if pasting and result and new and result[-1].text != b",":
                first = result.pop()
                origin = new[0] if new[0].start != whole[0] or new[0].end != whole[1] else first
                new[0] = Token(first.text + new[0].text, origin.start, origin.end, first.spaced)
            pasting = False
            result += new
        return result


def _source(given: Sequence[Token]) -> bytes:
    return b"".join((b" " if t.spaced else b"") + t.text for t in given)


def _fits(macro: Template, arguments: Sequence[Sequence[Token]]) -> bool:
    wanted = len(macro.parameters)
    if macro.parameters and macro.parameters[-1].endswith("..."):
        return len(arguments) >= wanted - 1
    return len(arguments) == wanted or (wanted == 0 and not arguments[0])


def _bound(macro: Template, arguments: list[list[Token]]) -> dict[bytes, list[Token]]:
    result: dict[bytes, list[Token]] = {}
    for place, parameter in enumerate(macro.parameters):
        if parameter.endswith("..."):
            rest: list[Token] = []
            for number, argument in enumerate(arguments[place:]):
                if number:
                    before = rest[-1] if rest else None
                    where = (
                        (before.end, before.end + 1)
                        if before
                        else (argument[0].start, argument[0].start)
                        if argument
                        else (0, 0)
                    )
                    rest.append(Token(b",", *where))
                rest += argument
            result[_name_of(parameter)] = rest
        else:
            result[_name_of(parameter)] = arguments[place] if place < len(arguments) else []
    return result


def _joined(given: Sequence[Token]) -> Expanded:
    pieces: list[bytes] = []
    starts: list[int] = []
    ends: list[int] = []
    before = b""
    for token in given:
        if before and (token.spaced or (_WORD.match(before[-1:]) and _WORD.match(token.text))):
            pieces.append(b" ")
            starts.append(token.start)
            ends.append(token.start)
        pieces.append(token.text)
        single = len(token.text) == token.end - token.start
        starts += [token.start + i if single else token.start for i in range(len(token.text))]
        ends += [token.start + i + 1 if single else token.end for i in range(len(token.text))]
        before = token.text
    return Expanded(b"".join(pieces), starts, ends)
