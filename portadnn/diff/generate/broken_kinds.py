"""Changes by which windows and channels break their rules by one."""

from __future__ import annotations


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
