"""Universal Binary JSON, as far as cudnn-frontend's ``graph.serialize()`` writes it: https://ubjson.org/type-reference."""

from __future__ import annotations

import struct
from typing import Any

from ..._io.outside import MOST_DEPTH

_NUMBERS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
_WORDS = {b"Z": None, b"T": True, b"F": False}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError(f"{size} bytes at byte {self.at}, of {len(self.data)}")
        self.at += size
        return self.data[self.at - size : self.at]

    def value(self, depth: int = 0) -> Any:
        mark = self.take(1)
        if depth > MOST_DEPTH:
            raise ValueError(f"more than {MOST_DEPTH} nested lists and objects")
        if mark in _WORDS:
            return _WORDS[mark]
        if mark in _NUMBERS:
            return struct.unpack(_NUMBERS[mark], self.take(struct.calcsize(_NUMBERS[mark])))[0]
        if mark == b"S":
            return self.text()
        if mark == b"C":
            return self.take(1).decode()
        if mark == b"[":
            found = []
            while not self.ends(b"]"):
                found.append(self.value(depth + 1))
            return found
        if mark == b"{":
            pairs = {}
            while not self.ends(b"}"):
                name = self.text()
                pairs[name] = self.value(depth + 1)
            return pairs
        raise ValueError(f"{mark!r} at byte {self.at - 1}")

    def text(self) -> str:
        size = self.value(MOST_DEPTH)
        return self.take(size if type(size) is int else -1).decode()

    def ends(self, mark: bytes) -> bool:
        """Tell whether a list or an object ends here; step over its end."""
        if self.take(1) == mark:
            return True
        self.at -= 1
        return False


def read(data: bytes) -> Any:
    """Return the value that a buffer begins with.

    Raises
    ------
    ValueError
        It is none.
    """
    return _Reader(data).value()
