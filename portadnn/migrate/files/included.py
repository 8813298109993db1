"""Lists that stand in a file of their own: ``#define MODE(name, value) ...`` before ``#include "modes.def"``."""

from __future__ import annotations

import re
from pathlib import Path

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"(\w[^"\n]*)"[^\n]*', re.MULTILINE)
_DEFINE = re.compile(rb"[ \t]*#[ \t]*define[ \t]+\w+\(")
_LEFT_OUT = re.compile(rb"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_ROWS = re.compile(rb"\s*(?:[A-Za-z_]\w*\s*\([^()]*\)(?:\s*[,;])?\s*)+")
_LARGEST = 1 << 16  # bytes of such a file
_MOST = 1 << 20  # bytes that a source may get


def with_lists(path: Path | None, text: bytes) -> bytes:
    """Return a source with the rows of such files in the lines that include them.

    Parameters
    ----------
    path : Path or None
        Where the source is; without it nothing is read.
    text : bytes
        What it holds.
    """
    if path is None or b"include" not in text:
        return text
    read: dict[bytes, bytes] = {}
    room = _MOST

    def rows(match: re.Match[bytes]) -> bytes:
        nonlocal room
        if not _behind_define(text, match.start()):
            return match[0]
        name = match[1]
        if name not in read:
            read[name] = _rows(path.parent, name.decode("utf-8", "replace"))
        room -= len(read[name])
        return read[name] if read[name] and room > 0 else match[0]

    return _INCLUDE.sub(rows, text)


def _behind_define(text: bytes, place: int) -> bool:
    """Tell whether the last line before a place, blank ones aside, is or ends the definition of a macro."""
    end = len(text[max(place - _LARGEST, 0) : place].rstrip()) + max(place - _LARGEST, 0)
    begin = text.rfind(b"\n", 0, end) + 1
    while begin > 1 and text[begin - 2 : begin - 1] == b"\\":
        begin = text.rfind(b"\n", 0, begin - 1) + 1
    return _DEFINE.match(text, begin) is not None


def _rows(folder: Path, name: str) -> bytes:
    """Return the rows of a list below a folder in one line; nothing where it is no such file."""
    if ".." in Path(name).parts:
        return b""
    path = folder / name
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            return b""
        held = _LEFT_OUT.sub(b" ", path.read_bytes())
    except (OSError, ValueError):
        return b""
    return b" ".join(held.split()) if _ROWS.fullmatch(held) else b""
