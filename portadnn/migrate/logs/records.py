"""What logs of all kinds are read into: calls with the arguments that the log names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..values import NULL, UNKNOWN, Value, items, known, unknown


@dataclass(frozen=True)
class Logged:
    """An argument in a log: its type and text, what is known of it, and what is listed below it."""

    text: str
    value: Value
    type: str = ""
    fields: Mapping[str, Logged] = field(default_factory=dict)


@dataclass
class Record:
    """A call in a log.

    Attributes
    ----------
    function : str
        The name in C.
    line, lines : int
        The first line of its record, and how many there are.
    arguments : dict of str to Logged
        By the names that the log gives them, in its order.
    version : str or None
        The library's, such as ``"9.19.0"``.
    thread : str
        Process and thread, as far as they are told.
    status : str
        What it returned, where that is told.
    level : str
        ``"I"``, ``"W"`` or ``"E"`` where the log has levels: warnings tell of a call once more.
    complete : bool
        Whether it ends as it should; False where the log was cut off.
    driver : bool
        Whether it is what a command of MIOpenDriver does: a problem, of which nothing else of the program is told.
    """

    function: str
    line: int
    lines: int = 1
    arguments: dict[str, Logged] = field(default_factory=dict)
    version: str | None = None
    thread: str = ""
    status: str = ""
    level: str = "I"
    complete: bool = True
    driver: bool = False


_NULLS = frozenset({"NULL", "NULL_PTR", "(nil)", "nullptr", "null", "0x0", "0000000000000000"})
_NUMBERED = re.compile(r"([A-Za-z_]\w*) \((-?\d+)\)\Z")  # CUDNN_DATA_FLOAT (0)
_INTEGER = re.compile(r"[-+]?\d{1,40}\Z")  # of a damaged log they may be longer than Python reads
_ADDRESS = re.compile(r"(?:0x[0-9a-fA-F]+|[0-9A-F]{16})\Z")
_FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[fF]?\Z")


def value_of(text: str, type_: str = "") -> Value:
    """Return what is known of a value as a log prints it: a number, a name, a list, an address."""
    text = text.strip()
    numbered = _NUMBERED.match(text)
    if numbered:
        return known(numbered[1], type_)
    if _INTEGER.match(text):
        return known(int(text), type_)
    if text in _NULLS:
        return NULL.typed(type_)
    if _ADDRESS.match(text):
        return unknown(text, type_ or "void*")
    if _FLOAT.match(text) and math.isfinite(number := float(text.rstrip("fF"))):
        return known(number, type_)
    if text[:1] in "[{" and text[-1:] in "]}":
        return items(map(value_of, _listed(text[1:-1])), type_)
    if text in ("true", "false"):
        return known(text == "true", type_)
    if re.match(r"[A-Za-z_]\w*\Z", text):
        return known(text, type_)
    return UNKNOWN.typed(type_)


def _listed(text: str) -> Iterable[str]:
    return text.replace(",", " ").split()
