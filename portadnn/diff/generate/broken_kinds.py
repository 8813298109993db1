"""What a rule that calls may break is, and changes by which windows and channels break theirs by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BAD, UNSUPPORTED = "BAD_PARAM", "NOT_SUPPORTED"


@dataclass(frozen=True)
class Rules:
    """What is forbidden to an operation.

    Attributes
    ----------
    section : str
        Where the guide says so.
    right : str
        A right call's line without the operation.
    wrong : dict of str to tuple of str
        Changes by the status that is due.
    """

    section: str
    right: str
    wrong: Mapping[str, tuple[str, ...]]


def one_off(x: str, w: str, *results: str) -> tuple[str, ...]:
    """Return changes by which a filter is one larger than the padded image, or channels are one too many or too few."""

    def change(image: str, filters: str, result: str, rest: str = "") -> str:
        words = {x: image, w: filters, **dict.fromkeys(results, result)}
        return " ".join((*(f"{name}={{t}}:{dims}" for name, dims in words.items()), rest)).strip()

    return (
        change("2x3x8x7", "4x3x11x3", "2x4x0x7"),
        change("2x3x8x7", "4x4x3x3", "2x4x8x7"),
        change("2x3x8x7", "4x2x3x3", "2x4x8x7"),
        change("2x3x8x7", "4x3x3x10", "2x4x8x0"),
        change("2x6x8x7", "4x2x3x3", "2x4x8x7", "groups=3"),
        change("2x5x8x7", "4x2x3x3", "2x4x8x7", "groups=2"),
        change("2x3x8x7", "4x3x3x3", "2x4x0x7", "dilation=5,1"),
    )


def one_larger(*results: str) -> tuple[str, ...]:
    """Return changes by which a pooling window is one larger than the padded image."""
    changes = (("2x3x0x3", "window=9,2"), ("2x3x4x0", "window=2,7"), ("2x3x0x3", "window=11,2 padding=1,0"))
    return tuple(" ".join((*(f"{y}={{t}}:{dims}" for y in results), rest)) for dims, rest in changes)
