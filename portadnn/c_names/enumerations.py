"""Base of the enumerations that C has."""

from __future__ import annotations

from enum import IntEnum


class CEnum(IntEnum):
    """Base of a library's enumerations: members are the integers of the C headers."""

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return self.name
