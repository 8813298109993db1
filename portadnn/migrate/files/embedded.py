"""C, C++, CUDA and Python inside of other files: templates, Cython, cgo and notebooks, line by line as they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

TEMPLATES = frozenset((".in", ".erb", ".j2", ".jinja", ".jinja2", ".tmpl", ".tpl", ".template", ".mako", ".inja"))
CYTHON = frozenset((".pyx", ".pxi"))
HOLDING = frozenset((".go", ".ipynb"))  # which hold sources in comments and cells, beside what is not read

_WRITTEN = re.compile(rb"\{\{.{0,200}?\}\}|\{%.{0,400}?%\}|\{#.{0,400}?#\}|<%.{0,400}?%>", re.DOTALL)
_CONFIGURED = re.compile(rb"@[A-Za-z_]\w*@")  # of CMake
_VALUE = re.compile(rb"\{\{|<%=|@")
_IMPORT = re.compile(rb"^import[ \t]+\"C\"", re.MULTILINE)
_CELL = re.compile(r"%%(?:cu|cuda|nvcc|cpp|c)\b|%%(?:writefile|file)\s+(?:-a\s+)?\S+\.(?:cu|cuh|cpp|cc|cxx|c|h|hpp)\b")


def name_inside(path: str) -> str:
    """Return the name of what a template makes: ``conv.cu`` of ``conv.cu.in``; other names as they are."""
    pure = PurePath(path)
    return str(pure.with_suffix("")) if pure.suffix.lower() in TEMPLATES and PurePath(pure.stem).suffix else path


def code(path: str, text: bytes) -> bytes:
    """Return what is to be read of a file, each line where it is in the file.

    Parameters
    ----------
    path : str
        Its name.
    text : bytes
        What it holds.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix in _READERS:
        return _READERS[suffix](text)
    if suffix == ".in":
        return _CONFIGURED.sub(_stand_in, text)
    if suffix in TEMPLATES or (b"<%" in text and b"%>" in text):
        return _WRITTEN.sub(_stand_in, text)
    return text


def _stand_in(match: re.Match[bytes]) -> bytes:
    """Return a name for what a template writes, and nothing for what decides what it writes."""
    found = match[0]
    blank = re.sub(rb"[^\n]", b" ", found)
    return b"t" * len(found) if _VALUE.match(found) and b"\n" not in found else blank


def _preamble(text: bytes) -> bytes:
    """Return the C of a source in Go: the comment right before ``import "C"``."""
    match = _IMPORT.search(text)
    before = text[: match.start()].rstrip() if match else b""
    if before.endswith(b"*/"):
        start = before.rfind(b"/*")
        inside = before[start + 2 : -2]
    else:
        start = len(before)
        while (begin := before.rfind(b"\n", 0, max(start - 1, 0)) + 1) < start and before.startswith(b"//", begin):
            start = begin
        inside = re.sub(rb"(?m)^//", b"", before[start:])
    return b"\n" * text.count(b"\n", 0, max(start, 0)) + inside + b"\n"


def _cells(text: bytes) -> bytes:
    """Return the cells of a notebook that are sources of C, C++ or CUDA, where their lines stand in the file."""
    lines = text.decode("utf-8", "replace").split("\n")
    return "\n".join(_lines_of_cells(lines)).encode()


def _lines_of_cells(lines: list[str]) -> Iterator[str]:
    inside, ours, first = False, False, False
    for line in lines:
        bare = line.strip()
        if not inside:
            inside = first = bare == '"source": ['
            yield ""
        elif bare in ("]", "],"):
            inside = False
            yield ""
        else:
            written = _string(bare)
            ours = _CELL.match(written) is not None if first else ours
            yield written if ours and not first else ""
            first = False


def _string(literal: str) -> str:
    try:
        found = json.loads(literal.rstrip(", "))
    except ValueError:
        return ""
    return found.replace("\n", "") if isinstance(found, str) else ""


def _cython(text: bytes) -> bytes:
    from .cython import as_python

    return as_python(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


_READERS: dict[str, Callable[[bytes], bytes]] = {".go": _preamble, ".ipynb": _cells, ".pyx": _cython, ".pxi": _cython}
