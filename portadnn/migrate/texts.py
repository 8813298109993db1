"""The texts that were checked, for excerpts and fingerprints."""

from __future__ import annotations

from collections.abc import Mapping

from .._io.outside import read_text
from ..errors import BadParam

_KEPT = 32  # files in memory
_LONGEST = 16 * 2**20  # bytes of a file of which excerpts are shown


class Sources:
    """Lines of the files that were checked, by the names under which they are shown.

    Parameters
    ----------
    texts : mapping of str to str, optional
        Texts that did not come from files.
    """

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._given = {name: _lines(text) for name, text in (texts or {}).items()}
        self._read: dict[str, list[str]] = {}

    def add(self, name: str, text: str) -> None:
        """Give a text that did not come from a file."""
        self._given[name] = _lines(text)

    def lines(self, file: str) -> list[str]:
        """Return the lines of a file; none where it cannot be read (any more)."""
        if file in self._given:
            return self._given[file]
        if file not in self._read:
            while len(self._read) >= _KEPT:
                del self._read[next(iter(self._read))]
            self._read[file] = self._load(file)
        return self._read[file]

    @staticmethod
    def _load(file: str) -> list[str]:
        try:
            return _lines(read_text(file, "file", _LONGEST, errors="replace"))
        except (OSError, BadParam):
            return []

    def line(self, file: str, number: int) -> str:
        """Return a line, "" where there is none."""
        lines = self.lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""


def _lines(text: str) -> list[str]:
    """Split as compilers do: form feeds and the like do not end lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
