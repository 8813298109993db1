"""Reading of untrusted files: without blocking, up to a size limit, with located errors."""

from __future__ import annotations

import io
import json
import os
import re
import stat
from collections.abc import Callable
from typing import Any, BinaryIO, NoReturn

from ..errors import BadParam, shown
from .toml import tomllib

MOST_BYTES = 64 << 20  # of a file that is read in one piece
MOST_DEPTH = 64  # of nested lists and objects: far below what Python's own recursion takes
_OPENS = re.compile(r"[\[{]")
_OPENED = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")  # what a shell has opened for us


def open_regular(path: str | os.PathLike[str], argument: str = "path") -> BinaryIO:
    """Open a regular file for reading; refuse named pipes and devices, which could block.

    Raises
    ------
    BadParam
        `path` is no path, or something else than a regular file.
    OSError
        It cannot be opened.
    """
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (TypeError, ValueError):  # no path; a NUL in it
        raise BadParam(argument=argument, expected="a path", got=shown(path)) from None
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(number, "rb")
    os.close(number)
    raise BadParam(argument=argument, expected="a regular file", got=f"{os.fspath(path)!s}, {kind_of(mode)}")


def kind_of(mode: int) -> str:
    """Return the kind of a file that is not regular."""
    kinds = {"a folder": stat.S_ISDIR, "a named pipe": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
    return next((name for name, test in kinds.items() if test(mode)), "a device")


def is_open_pipe(path: str) -> bool:
    """Tell whether a path names an open descriptor of the shell, as ``<(command)`` does."""
    return _OPENED.fullmatch(path) is not None


def read_bytes(path: str | os.PathLike[str], argument: str = "path", most: int = MOST_BYTES) -> bytes:
    """Return a regular file's content.

    Raises
    ------
    BadParam
        It is no regular file, or larger than `most` bytes.
    OSError
        It cannot be read.
    """
    with open_regular(path, argument) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise BadParam(argument=argument, expected=f"at most {most:,} bytes", got=f"{os.fspath(path)!s}, a larger file")
    return data


def read_text(
    path: str | os.PathLike[str], argument: str = "path", most: int = MOST_BYTES, errors: str = "strict"
) -> str:
    """Return a regular file's text, in UTF-8; lines end with a line feed.

    Raises
    ------
    BadParam
        It is no regular file, too large, or (where `errors` is strict) no text.
    OSError
        It cannot be read.
    """
    data = read_bytes(path, argument, most)
    try:
        return io.TextIOWrapper(io.BytesIO(data), "utf-8", errors).read()
    except UnicodeDecodeError:
        raise BadParam(argument=argument, expected="a text file in UTF-8", got=str(os.fspath(path))) from None


def integer_of_64_bits(text: str) -> int:
    """Return a JSON integer; for files in which larger ones cannot be, as ``parse_json(..., parse_int=...)``.

    Raises
    ------
    ValueError
        It is larger.
    """
    value = int(text)
    if not -(2**63) <= value < 2**64:
        raise ValueError("an integer of more than 64 bits")
    return value


def parse_json(text: str | bytes, argument: str, parse_int: Callable[[str], int] | None = None) -> Any:
    """Parse JSON; refuse nesting deeper than `MOST_DEPTH`.

    Parameters
    ----------
    argument
        The file, and where it has several the line.

    Raises
    ------
    BadParam
        It is not JSON, or nests too deep.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(text, parse_int=parse_int)
    except RecursionError:
        raise _too_deep(argument) from None
    except ValueError as error:  # also bytes that are no text, and numbers of thousands of digits
        raise BadParam(argument=argument, expected="JSON", got=str(error)[:200]) from None
    if len(_OPENS.findall(text)) > MOST_DEPTH:
        check_depth(value, argument)
    return value


def parse_toml(text: str, argument: str) -> dict[str, Any]:
    """Parse TOML.

    Raises
    ------
    BadParam
        It is not TOML, or nests too deep.
    """
    try:
        value: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(argument) from None
    except Exception as error:  # a ValueError, and what readers of TOML let through
        raise BadParam(argument=argument, expected="TOML", got=str(error)[:200]) from None
    check_depth(value, argument)
    return value


def check_depth(value: Any, argument: str) -> None:
    """Refuse values nested too deeply."""
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        level = [
            item
            for one in level
            if isinstance(one, (list, dict))
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return
    raise _too_deep(argument)


def _too_deep(argument: str) -> BadParam:
    return BadParam(argument=argument, expected=f"at most {MOST_DEPTH} nested lists and objects", got="more")


class Fields:
    """Fields of an object from a file, taken by name and type, or refused.

    Parameters
    ----------
    values
        The object.
    place
        The file and the line, for messages.
    """

    def __init__(self, values: Any, place: str) -> None:
        self.place = place
        if not isinstance(values, dict):
            self.refuse("", "an object", values)
        self.values: dict[str, Any] = values

    def refuse(self, name: str, expected: str, got: Any) -> NoReturn:
        """Raise the error of a field; `got` is shortened."""
        where = f"{self.place}: {name}" if name else self.place
        raise BadParam(argument=where, expected=expected, got=shown(got)[:120])

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def take(self, name: str, kind: type[Any] | tuple[type[Any], ...], expected: str, default: Any = ...) -> Any:
        """Return a field of a type; refuse a missing one without a default."""
        if name not in self.values:
            if default is ...:
                self.refuse(name, expected, "nothing")
            return default
        value = self.values[name]
        wrong = isinstance(value, bool) and bool not in (kind if isinstance(kind, tuple) else (kind,))
        if wrong or not isinstance(value, kind):
            self.refuse(name, expected, value)
        return value

    def text(self, name: str, default: Any = ...) -> str:
        """Return a string that can be written as UTF-8."""
        value = self.take(name, str, "a string", default)
        if value is not default:
            try:
                value.encode()
            except UnicodeEncodeError:
                self.refuse(name, "a string of Unicode characters", value)
        return value  # type: ignore[no-any-return]

    def integer(self, name: str, least: int = 0, most: int = 2**63 - 1, default: Any = ...) -> int:
        """Return an integer within bounds."""
        expected = f"an integer from {least} to {most}"
        value: int = self.take(name, int, expected, default)
        if value is not default and not least <= value <= most:
            self.refuse(name, expected, value)
        return value

    def number(self, name: str, default: Any = ...) -> float:
        """Return a number; one too large for a float is refused."""
        value = self.take(name, (int, float), "a number", default)
        try:
            return value if value is default else float(value)
        except OverflowError:
            self.refuse(name, "a number of float64", value)

    def mapping(self, name: str, default: Any = ...) -> dict[str, Any]:
        """Return an object."""
        return self.take(name, dict, "an object", default)  # type: ignore[no-any-return]

    def integers(self, name: str, least: int = 0, most: int = 2**63 - 1, length: int = 64) -> tuple[int, ...]:
        """Return a list of integers within bounds."""
        expected = f"a list of at most {length} integers from {least} to {most}"
        found: list[Any] = self.take(name, list, expected)
        if len(found) > length or not all(type(item) is int and least <= item <= most for item in found):
            self.refuse(name, expected, found)
        return tuple(found)


def host_memory() -> int:
    """Return the host's memory in bytes; 0 if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0
