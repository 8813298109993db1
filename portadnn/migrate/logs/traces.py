"""Traces with one call a line, as ZLUDA writes them: ``cudnnCreate(handle: 0x7ffd..) -> CUDNN_STATUS_SUCCESS``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..values import UNKNOWN
from .records import Logged, Record, value_of

CALL = re.compile(r"^(?:\[ZLUDA_\w+\] ?)?(?:\[[^\]]*\] ?)?( *)((?:cudnn|miopen)[A-Z]\w*)\((.*)\) -> (\w+)\s*\Z")


class Reader:
    """Takes lines and gives a record for each; calls inside of other calls are the library's own and left out."""

    def take(self, number: int, line: str) -> Iterator[Record]:
        """Read a line of the trace, by its number in the file."""
        call = CALL.match(line) if ") -> " in line else None
        if call is None or len(call[1]) >= 4 or call[3] == "...":
            return
        arguments = dict(_arguments(call[3]))
        yield Record(call[2], number, arguments=arguments, status=call[4] if call[4] != "UNKNOWN" else "")

    def end(self) -> Iterator[Record]:
        """Nothing spans lines."""
        yield from ()


def _arguments(text: str) -> Iterator[tuple[str, Logged]]:
    """Split at the commas outside of brackets."""
    for part in _split(text):
        name, colon, value = part.partition(": ")
        if colon and re.match(r"\s*\w+\Z", name):
            yield name.strip(), _logged(value.strip())


def _split(text: str) -> Iterator[str]:
    depth = start = 0
    for i, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth <= 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def _logged(text: str) -> Logged:
    if text.startswith("{") and ":" in text:
        fields = dict(_arguments(text[1:-1]))
        return Logged(text, UNKNOWN, "", fields)
    return Logged(text, value_of(text))
