"""``compile_commands.json``: which files are compiled, with which macros, and the headers that they include."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..._io.outside import open_regular, parse_json, read_text
from ...errors import BadParam

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]{1,400})[">]', re.MULTILINE)
_HEADER = 4 << 20  # bytes that are searched for includes


def files(path: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """Yield the compiled files in order, each followed by the headers that it is the first to include, with macros.

    Raises
    ------
    BadParam
        It cannot be read, or is not such a file.
    """
    seen: set[Path] = set()
    for entry in _entries(path):
        folder = path.parent / str(entry.get("directory", ""))
        file = _resolved(folder / str(entry["file"]))
        if file in seen:
            continue
        seen.add(file)
        defines, includes = _options(_words(entry), folder)
        yield file, defines
        pending = [file]
        while pending:
            for header in _headers(pending.pop(), includes):
                if header not in seen:
                    seen.add(header)
                    pending.append(header)
                    yield header, defines


def _entries(path: Path) -> list[dict[str, Any]]:
    expected = "a compile_commands.json: a list of objects with directory, file, and command or arguments"
    try:
        content = parse_json(read_text(path, "paths", errors="replace"), "paths")
    except OSError as error:
        raise BadParam(argument="paths", expected=expected, got=f"{path}: {error.strerror}") from None
    except BadParam as error:
        got = "which is not JSON" if error.expected == "JSON" else f"{error.got}"
        raise BadParam(argument="paths", expected=expected, got=f"{path}, {got}") from None
    if not isinstance(content, list) or not all(
        isinstance(e, dict) and isinstance(e.get("file"), str) for e in content
    ):
        raise BadParam(argument="paths", expected=expected, got=f"{path}, which is other JSON")
    return content


def _words(entry: dict[str, Any]) -> list[str]:
    arguments = entry.get("arguments")
    if isinstance(arguments, list):
        return [str(word) for word in arguments]
    command = str(entry.get("command", ""))
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return command.split()


def _options(words: list[str], folder: Path) -> tuple[dict[str, str], list[Path]]:
    """Return the macros that a command line defines, and the folders in which it looks for the project's headers."""
    defines: dict[str, str] = {}
    includes: list[Path] = []
    for number, word in enumerate(words):
        option, value = word[:2], word[2:]
        if option not in ("-D", "/D", "-U", "-I", "/I"):
            continue
        if not value and number + 1 < len(words):
            value = words[number + 1]
        if option[1] == "I":
            includes.append(folder / value)
        elif option == "-U":
            defines.pop(value, None)
        else:
            name, _, said = value.partition("=")
            if re.fullmatch(r"[A-Za-z_]\w*", name):
                defines[name] = said or ("" if "=" in value else "1")
    return defines, includes


def _headers(file: Path, includes: list[Path]) -> Iterator[Path]:
    try:
        with open_regular(file) as stream:
            text = stream.read(_HEADER)
    except (OSError, BadParam):
        return
    for match in _INCLUDE.finditer(text):
        name = match.group(1).decode("utf-8", "replace")
        for folder in (file.parent, *includes):
            try:
                header = _resolved(folder / name)
                if header.is_file():
                    yield header
                    break
            except (OSError, ValueError):
                continue


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of symbolic links; a NUL
        return path.absolute()
