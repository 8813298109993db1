"""Cython as Python, line by line: without its declarations of types, casts and blocks for C."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..interpret.texts import split_arguments

_TYPE = r"(?:(?:const|unsigned|signed|long|struct|inline|readonly|public)\s+)*[A-Za-z_][\w.]*(?:\[[^\]]*\])?"
_BLOCK = re.compile(
    r"(?:cdef\s+extern\b|(?:cdef|cpdef|ctypedef)\s+(?:public\s+)?(?:enum|struct|union|fused|packed)\b).*:\s*$"
)
_PLAIN = re.compile(r"cdef\s*:\s*$")
_CLASS = re.compile(r"(?:cdef|cpdef)\s+class\s+(\w+)\s*(\([^)]*\))?\s*:")
_FUNCTION = re.compile(rf"(?:(?:cdef|cpdef)\s+(?:(?:public|api|inline)\s+)*(?:{_TYPE}[\s*&]+)?|def\s+)(\w+)\s*\((.*)$")
_DECLARED = re.compile(rf"(?:cdef\s+)?(?:public\s+|readonly\s+)?{_TYPE}[\s*&]+(?=[A-Za-z_])(.*)$")
_LONGEST = 5000  # characters of a function's head
_NEXT = re.compile(r",\s*(?=[A-Za-z_]\w*\s*=[^=])")
_CAST = re.compile(rf"<\s*{_TYPE}[\s*&]*\??\s*>(?=\s*[\w(&<\"'-])")
_ADDRESS = re.compile(r"(?<=[(,=])(\s*)&\s*([A-Za-z_][\w.]*(?:\[[^\]]*\])?)")
_NOGIL = re.compile(r"with\s+(?:nogil|gil)\s*:")
_LEFT_OUT = re.compile(r"(?:cimport\b|from\s+\S+\s+cimport\b|ctypedef\b|include\b)")
_PARAMETER = re.compile(
    rf"^\s*(?:{_TYPE}[\s*&]+)?(\*{{0,2}}[A-Za-z_]\w*)(?:\[[^\]]*\])*\s*(?:not\s+None\s*|or\s+None\s*)?(=.*)?$"
)


def as_python(text: str) -> str:
    """Return a source in Cython as Python with the same lines; what has no like in Python is left out."""
    return "\n".join(_converted(text.split("\n")))


def _converted(lines: list[str]) -> Iterator[str]:
    skipping = declaring = -1  # the indentation of the block that is left out, or holds declarations
    header, space = "", ""
    for line in lines:
        bare = line.lstrip()
        code = bare.partition("#")[0].rstrip()
        indent = len(line) - len(bare)
        if header or _begins_function(code):
            space = space if header else line[:indent]
            header = f"{header} {code}"
            complete = header.count("(") <= header.count(")") and header.endswith(":")
            complete = complete or len(header) > _LONGEST
            yield space + _function(header.strip()) if complete else ""
            header = "" if complete else header
            continue
        if code and indent <= skipping:
            skipping = -1
        if code and indent <= declaring:
            declaring = -1
        if skipping >= 0 or not code:
            yield "" if code else line
            continue
        if _BLOCK.match(code):
            skipping = indent
        elif _PLAIN.match(code):
            declaring = indent
        yield line[:indent] + _statement(bare, code, declared=declaring >= 0)


def _begins_function(code: str) -> bool:
    match = _FUNCTION.match(code)
    return match is not None and (code.endswith((":", ",", "(")) or code.count("(") > code.count(")"))


def _statement(bare: str, code: str, *, declared: bool) -> str:
    """Return a line that begins no function."""
    if _BLOCK.match(code) or _LEFT_OUT.match(code):
        return "pass"
    if _PLAIN.match(code):
        return "if True:"
    if match := _CLASS.match(code):
        return f"class {match[1]}{match[2] or ''}:{code[match.end() :]}"
    if code.startswith("cdef ") or declared:
        match = _DECLARED.match(code)
        left = match[1] if match else ""
        return _expressions(_NEXT.sub("; ", left)) if "=" in left else "pass"
    return _expressions(_NOGIL.sub("if True:", bare))


def _function(header: str) -> str:
    """Return a function's head without types."""
    match = _FUNCTION.match(header)
    assert match is not None
    inside, _, end = match[2].rpartition(")")
    names = [_PARAMETER.match(part) for part in split_arguments(f"({inside})")]
    kept = [f"{one[1]}{one[2] or ''}" for one in names if one is not None]
    behind = end.partition(":")[2] if end.rstrip().endswith(":") else ""
    return f"def {match[1]}({', '.join(kept)}):{behind if behind.strip() != '' else ''}"


def _expressions(code: str) -> str:
    return _ADDRESS.sub(r"\1byref(\2)", _CAST.sub("", code))
