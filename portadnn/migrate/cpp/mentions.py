"""Every call of the libraries by its syntax, and comments that silence findings."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .. import libraries
from ..libraries import is_library
from ..program import Span
from .context import last
from .sheet import Brackets
from .text import Text

_WORD = re.compile(rb"\b[A-Za-z_]\w*\Z")
_SCOPE = re.compile(rb"(?:[A-Za-z_]\w*\s*::\s*|::\s*)+\Z")
_TWO_WORDS = re.compile(
    rb"[A-Za-z_]\w*[\s*&]+[A-Za-z_]\w*\s*(?:\[\s*\w*\s*\]\s*)?(?:,|\Z)|\A\s*void\s*\Z|\*\s*(?:,|\Z)"
)
_KEYWORDS = frozenset(b"return else do case throw co_return co_await goto and or not in default".split())
_NEAR = 200  # bytes before a name that tell what it is there
_WORD_LENGTH = 64
_LONGEST = 4000  # bytes of a call that are shown
MOST = 50_000  # calls of a file that are told of
_IGNORE = re.compile(rb"portadnn:\s*ignore\b(?:\s*\[([^\]]*)\])?", re.IGNORECASE)


def named(mask: bytes) -> frozenset[str]:
    """Return everything named in the code that begins as the libraries' functions do."""
    return frozenset(name.decode() for name in set(libraries.named().findall(mask)))


def mentions(
    text: Text,
    mask: bytes,
    found: Mapping[int, tuple[str, Span, str]],
    own: Collection[str],
    aliases: Mapping[str, str],
    indirect: Iterable[tuple[str, Span, str]] = (),
) -> list[tuple[str, Span, str]]:
    """Return all calls of the libraries, at most `MOST`.

    Parameters
    ----------
    mask : bytes
        The text without strings, comments and what is certainly not compiled.
    found : dict
        What the tree has of them, by the offset of the name.
    own : collection of str
        Functions and macros that the file itself defines.
    aliases : dict of str to str
        Other names; those of libraries' functions count too.
    indirect : iterable of (str, Span, str)
        Calls whose function is written otherwise than before its arguments.
    """
    others = [name for name, target in aliases.items() if is_library(last(target)) and name not in own]
    pattern = libraries.called(*(name.encode() for name in others))
    result: list[tuple[str, Span, str]] = []
    brackets: Brackets | None = None
    for match in pattern.finditer(mask):
        if len(result) >= MOST:
            break
        name = match.group(1).decode()
        name = last(aliases.get(name, name))
        if not is_library(name) or name in own:
            continue
        if match.start() in found:
            result.append(found[match.start()])
            continue
        brackets = brackets or Brackets(mask)
        closing = brackets.partner(match.end() - 1)
        start = _scope(mask, match.start())
        if not _is_declaration(mask, start, match.end(), closing):
            end = match.end() if closing is None else closing + 1
            result.append((name, text.span(start, end), text.read(start, min(end, start + _LONGEST))))
    return [*result, *indirect]


def _scope(mask: bytes, start: int) -> int:
    """Return where a qualified name starts of which the last part is at `start`."""
    near = max(0, start - _NEAR)
    if not mask[near:start].rstrip().endswith(b"::"):
        return start
    scope = _SCOPE.search(mask[near:start])
    return start if scope is None else near + scope.start()


def _is_declaration(mask: bytes, start: int, opening: int, closing: int | None) -> bool:
    before = mask[max(0, start - _NEAR) : start].rstrip()
    word = _WORD.search(before[-_WORD_LENGTH:])
    if word is not None:
        return word.group() not in _KEYWORDS
    if before[-1:] in (b"*", b"&", b">") and closing is not None:
        return _TWO_WORDS.search(mask, opening, min(closing, opening + _LONGEST)) is not None
    return False


def suppressions(text: Text, calls: Sequence[tuple[str, Span, str]]) -> dict[int, frozenset[str]]:
    """Return the lines that comments silence: their own or the next one; anywhere in a call, the call's first line."""
    result: dict[int, frozenset[str]] = {}
    firsts = {line: span.line for _, span, _ in reversed(calls) for line in range(span.line, span.end_line + 1)}
    for commented, rules in _said(text):
        line = firsts.get(commented, commented)
        known = result.get(line)
        result[line] = rules if known is None else frozenset() if not (known and rules) else known | rules
    return result


def _said(text: Text) -> Iterator[tuple[int, frozenset[str]]]:
    for comment in text.comments:
        match = _IGNORE.search(comment.text)
        if match is None:
            continue
        rules = frozenset()  # type: frozenset[str]
        if match.group(1) is not None:
            names = match.group(1).decode("utf-8", "replace").replace(",", " ").split()
            rules = frozenset(name.upper().removeprefix("PD-") for name in names)
            if not rules:
                continue
        line = text.line(comment.start)
        alone = (
            not text.code[text.line_start(line) : comment.start].strip()
            and not _rest_of_line(text, comment.end).strip()
        )
        yield (_next_line(text, comment.end) if alone else line), rules


def _rest_of_line(text: Text, position: int) -> bytes:
    end = text.raw.find(b"\n", position)
    return text.code[position : len(text.raw) if end < 0 else end]


def _next_line(text: Text, position: int) -> int:
    """Return the next line with code."""
    match = re.compile(rb"\S").search(text.code, position)
    return text.line(position if match is None else match.start())


_CONSTANT = re.compile(rb"\bCUDNN_[A-Z][A-Z0-9_]+\b")
_OPENING = re.compile(rb"(?:(<)|\b([A-Z][A-Z0-9_]{3,})\s*\()[^;{}()<>]{0,200}\Z")


def given_to_templates(mask: bytes) -> frozenset[str]:
    """Return the enumerators of cuDNN that templates are given, or macros in capitals, which may hand them on."""
    found = set()
    for match in _CONSTANT.finditer(mask) if b"template" in mask or b"<CUDNN_" in mask else ():
        before = _OPENING.search(mask[max(0, match.start() - 240) : match.start()])
        if before is not None and not (before[2] or b"").startswith((b"CUDNN_", b"CHECK")):
            found.add(match.group().decode())
    return frozenset(found)


_NUMBER = re.compile(
    rb"\btypedef\s+(?:const\s+)?(float|double)\s+([A-Za-z_]\w*)\s*;|\busing\s+([A-Za-z_]\w*)\s*=\s*(float|double)\s*;"
    rb"|#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+(float|double)[ \t]*$",
    re.MULTILINE,
)


def numbers(mask: bytes) -> frozenset[tuple[str, str]]:
    """Return the names that stand for float or double, each with which: with both where builds decide."""
    found = (match.groups(b"") for match in _NUMBER.finditer(mask))
    return frozenset(
        ((name or other or macro).decode(), (type_ or type2 or type3).decode())
        for type_, name, other, type2, macro, type3 in found
    )


_FLOATED = re.compile(rb"\btemplate\s+(?:class|struct)\s+(?:\w+::)*(\w+)\s*<\s*float\s*>\s*;")
_CALLED = re.compile(rb"\b([A-Za-z_]\w*)\s*<\s*float\s*>\s*::\s*[a-z_]\w*\s*[(),;]")


def floated(mask: bytes) -> frozenset[str]:
    """Return the class templates of one parameter that are instantiated for float, or whose functions are named so."""
    found = (*_FLOATED.finditer(mask), *_CALLED.finditer(mask)) if b"<float" in mask or b"< float" in mask else ()
    return frozenset(match[1].decode() for match in found)


_DOUBLE = re.compile(rb"\b([A-Za-z_]\w*)\s*<\s*((?:[\w:]+\s*,\s*)*)double\s*[,>]")
_HALF = re.compile(rb"\b([A-Za-z_]\w*)\s*<\s*(half|__half|float16|(?:\w+::)*(?:Half|float16|half))\s*>")
_INSTANCE = re.compile(rb"\btemplate\s+(?:class|struct)\s+(?:\w+::)*(\w+\s*<[^;{}()]*<\s*double\s*>[^;{}()]*>)\s*;")
_INSTANTIATING = re.compile(rb"^[ \t]*(\w*INST\w*)[ \t]*\([ \t]*([A-Za-z_]\w*)", re.IGNORECASE | re.MULTILINE)


def halved(mask: bytes) -> frozenset[str]:
    """Return the templates of one parameter that are given a type of half precision, as they are written."""
    found = _HALF.finditer(mask) if b"alf" in mask or b"float16" in mask else ()
    return frozenset(f"{match[1].decode()}<{match[2].decode()}>" for match in found)


def doubled(mask: bytes) -> frozenset[str]:
    """Return the templates that are given double, and ``MACRO(X)`` of macros that may instantiate the template X.

    Where double is not the first argument, a comma for each before it is in front of the name: ``,Pool``. Of
    templates that are instantiated for classes of double all arguments are there: ``Pool<Dense<double>>``.
    """
    if b"double" not in mask and b"INST" not in mask:
        return frozenset()
    found = {"," * match[2].count(b",") + match[1].decode() for match in _DOUBLE.finditer(mask)}
    found |= {re.sub(rb"\s+", b" ", match[1]).decode() for match in _INSTANCE.finditer(mask)}
    return frozenset(found | {f"{match[1].decode()}({match[2].decode()})" for match in _INSTANTIATING.finditer(mask)})
