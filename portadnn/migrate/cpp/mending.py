"""What the grammar does not know, or what macros hide from it, written so that it can be parsed at the same offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..libraries import CALLED
from .sheet import Brackets, Sheet

_LAUNCH = re.compile(rb"<<<[^;{}]{0,600}?>>>")
# Words that say nothing here and that the grammar does not know.
_NOISE = re.compile(
    rb"\b(?:__global__|__device__|__host__|__constant__|__shared__|__managed__|__forceinline__|__noinline__|__restrict__"
    rb"|__restrict|__extension__|__inline__|CUDNNWINAPI|CUDARTAPI|WINAPI|STDCALL|JNIEXPORT|JNICALL"
    rb"|[A-Z][A-Z0-9_]*_(?:API|EXPORT|EXPORTS|DLL|DECL|INLINE|FORCE_INLINE|HIDDEN|VISIBLE|CINLINE|XINLINE|NODISCARD|NOINLINE)"
    rb"|[A-Z]+_(?:HOST|DEVICE|HOST_DEVICE)_?[A-Z]*)\b(?!\s*[(,)=;])"
    rb"|\b(?:__launch_bounds__|__declspec|__attribute__|__align__|alignas|[A-Z_]*GUARDED_BY|[A-Z_]*LOCKS_REQUIRED"
    rb"|[A-Z_]*EXCLUSIVE_LOCKS?[A-Z_]*|[A-Z_]*LOCKS_EXCLUDED)\s*\((?:[^()]|\([^()]{0,400}\)){0,2000}\)"
)
_CLASS = re.compile(
    rb"\b(?:class|struct|union)\s+(?P<macro>[A-Z][A-Z0-9_]+(?:\([^()]*\))?)\s+(?=[A-Za-z_]\w*\s*(?:final\b\s*)?(?:<[^;{}()]{0,300}>\s*)?[:{])"
)
_BLOCK = re.compile(rb"[(,]\s*(?=\{)")
_WORD_BEFORE = re.compile(rb"([A-Za-z_]\w*)\s*\Z")
_WHITE = re.compile(rb"\s*")
_OPERAND_NEXT = re.compile(rb"\s*(?:[A-Za-z_}#]|\Z)")
_ALONE = re.compile(
    rb"^(?P<indent>[ \t]+)(?P<call>(?P<name>[A-Za-z_]\w*)\([^;{}\n]*\))[ \t\r]*\n(?=(?P<next>[ \t]*)[A-Za-z_}])",
    re.MULTILINE,
)
_NOT_MACROS = frozenset(
    (b"if", b"for", b"while", b"switch", b"return", b"catch", b"sizeof", b"new", b"delete", b"else")
)


def mend(sheet: Sheet, assigning: Iterable[str] = ()) -> set[int]:
    """Change what stands in the way of parsing; return where what stood in checking macros begins: blocks, calls.

    `assigning` are the macros that end in an assignment: ``#define CK result =``.
    """
    mask = sheet.mask
    _each(sheet, _LAUNCH, lambda m: m.span(), b"<<<")
    _each(sheet, _NOISE, lambda m: m.span())
    _each(sheet, _CLASS, lambda m: m.span("macro"))
    checked: set[int] = set()
    for name in assigning:
        for match in list(re.finditer(rb"\b%s\s+(?=(?:cudnn|miopen)[A-Z]\w*\s*\()" % name.encode(), mask)):
            sheet.blank(*match.span())
            checked.add(match.end())
    if b"{" not in mask:
        return checked
    brackets = Brackets(mask)
    for match in list(_BLOCK.finditer(mask)):
        _open_block(sheet, brackets, match, checked)
    _end_statements(sheet, brackets, checked)
    _end_macros(sheet, brackets)
    return checked


def _each(
    sheet: Sheet, pattern: re.Pattern[bytes], span: Callable[[re.Match[bytes]], tuple[int, int]], needs: bytes = b""
) -> None:
    if needs and needs not in sheet.mask:
        return
    for start, end in [span(match) for match in pattern.finditer(bytes(sheet.mask))]:
        sheet.blank(start, end)


def _statement_macro(sheet: Sheet, opening: int) -> int | None:
    """Where the name starts of a macro that makes a statement of its own, with this opening bracket."""
    word = _WORD_BEFORE.search(bytes(sheet.mask[max(0, opening - 200) : opening]))
    if word is None or word.group(1) in _NOT_MACROS:
        return None
    start = max(0, opening - 200) + word.start()
    before = bytes(sheet.mask[max(0, start - 400) : start]).rstrip()
    return start if not before or before[-1:] in b";{})" else None


def _open_block(sheet: Sheet, brackets: Brackets, match: re.Match[bytes], checked: set[int]) -> None:
    """Make ``MACRO(a, { statements });`` a plain block."""
    brace = match.end()
    end = brackets.partner(brace)
    opening = brackets.around(brace)
    if end is None or opening is None or sheet.mask[opening] != 0x28 or sheet.mask.find(b";", brace, end) < 0:
        return
    closing = brackets.partner(opening)
    if closing is None or not _is_next(sheet.mask, end, closing):
        return
    start = _statement_macro(sheet, opening)
    if start is None:
        return
    sheet.blank(start, brace)
    sheet.blank(closing, closing + 1)
    checked.add(brace)


def _end_statements(sheet: Sheet, brackets: Brackets, checked: set[int]) -> None:
    """Give ``CHECK(cudnnCreate(&h))`` without a semicolon one, in place of the bracket."""
    mask = sheet.mask
    for match in list(CALLED.finditer(bytes(mask))):
        before = bytes(mask[max(0, match.start() - 200) : match.start()]).rstrip()
        if not before.endswith(b"("):
            continue
        opening = max(0, match.start() - 200) + len(before) - 1
        inner, outer = brackets.partner(match.end() - 1), brackets.partner(opening)
        if inner is None or outer is None or not _is_next(mask, inner, outer):
            continue
        rest = bytes(mask[outer + 1 : outer + 200])
        if b"\n" not in rest[: len(rest) - len(rest.lstrip())] or not _OPERAND_NEXT.match(rest):
            continue
        start = _statement_macro(sheet, opening)
        if start is not None:
            sheet.blank(start, opening + 1)
            sheet.put(outer, b";")
            checked.add(match.start())


def _end_macros(sheet: Sheet, brackets: Brackets) -> None:
    """Give ``SET(a, b)`` on a line of its own, of a macro that ends in a semicolon, one in place of the line's end."""
    for match in list(_ALONE.finditer(bytes(sheet.mask))):
        opening, closing = match.end("name"), match.end("call") - 1
        if match["name"] in _NOT_MACROS or len(match["next"]) > len(match["indent"]):
            continue  # the body of what may be a loop
        if brackets.partner(opening) == closing and _statement_macro(sheet, opening) is not None:
            sheet.put(match.end("call"), b";")


def _is_next(mask: bytearray, before: int, after: int) -> bool:
    """Tell whether there is nothing between two characters."""
    match = _WHITE.match(mask, before + 1)
    return match is not None and match.end() == after
