"""Pictures of errors as SVG: where they are along each axis, and how large."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from ..._page import escape
from ..compare import PROFILE, ULP_BINS

LEVELS = (0.0, 0.1, 0.5, 1.0, 1e2, 1e4)  # lower ends, in units of what is allowed; above 1 is wrong
LEVEL_NAMES = ("none", "to 0.1", "to 0.5", "to 1", "to 100", "to 10 000", "beyond")
BINS = (*(f"{a:g} to {b:g}" for a, b in pairwise(ULP_BINS)), f"from {ULP_BINS[-1]:g}")
_STRIP, _BAR, _HEIGHT = 14, 16, 44


def strip(profile: Sequence[float], size: int, label: str) -> str:
    """Return a heat map along one axis: of each index, or part of the axis, the largest excess.

    Parameters
    ----------
    profile
        Of :class:`~portadnn.diff.compare.Difference`.
    size
        Elements along the axis.
    label
        What the axis is called.
    """
    count = max(len(profile), 1)
    cells = []
    start = 0
    for level, group in groupby(map(_level, profile)):
        length = len(list(group))
        cells.append(f'<path class="x{level}" d="M{start} 0h{length}v{_STRIP}h-{length}z"/>')
        start += length
    worst = max(range(len(profile)), key=profile.__getitem__) if profile else 0
    parts = f", in {PROFILE} parts" if size > count else ""
    place = _range(worst, count, size)
    told = f"axis {label}, {size} long{parts}: worst at {place}, {_excess(max(profile, default=0.0))}"
    return (
        f'<svg class="strip" viewBox="0 0 {count} {_STRIP}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(told)}" style="--cells: {count}"><title>{escape(told)}</title>{"".join(cells)}</svg>'
    )


def worst_place(profile: Sequence[float], size: int) -> str:
    """Return the index, or indices, where a profile is largest."""
    return _range(max(range(len(profile)), key=profile.__getitem__), len(profile), size) if profile else ""


def _range(part: int, parts: int, size: int) -> str:
    first, last = part * size // max(parts, 1), (part + 1) * size // max(parts, 1) - 1
    return str(first) if first >= last else f"{first} to {last}"


def _excess(value: float) -> str:
    return "beyond any measure" if value >= 1e29 else f"{value:.3g} of what is allowed"


def _level(excess: float) -> int:
    """Return how dark an excess is drawn: 0 for none, above 3 for what is wrong."""
    if excess <= 0:
        return 0
    return max(i for i, low in enumerate(LEVELS) if excess > low or i == 0) + 1


def histogram(numbers: Sequence[int], *, large: bool = False) -> str:
    """Return how many elements have errors in each bin of `ULP_BINS`, as bars whose heights are logarithms."""
    total = sum(numbers)
    told = ", ".join(f"{number:,} {name}" for number, name in zip(numbers, BINS, strict=True) if number)
    label = f"elements by units of the last place: {told or 'none'}"
    top = math.log1p(max(numbers, default=0)) or 1.0
    bars = []
    for i, number in enumerate(numbers):
        height = max(2.0, _HEIGHT * math.log1p(number) / top) if number else 0.0
        bars.append(f"M{i * _BAR + 1} {_HEIGHT}h{_BAR - 2}v-{height:.3g}h-{_BAR - 2}z" if number else "")
    width, below = len(numbers) * _BAR, 14 if large else 0
    near = "".join(bars[:4])
    far = "".join(bars[4:])
    labels = ""
    if large:
        names = ("0", "½", "1", "2", "4", "16", "256", "64K")
        labels = "".join(f'<text x="{i * _BAR + 1}" y="{_HEIGHT + 11}">{n}</text>' for i, n in enumerate(names))
    line = f'<path class="base" d="M0 {_HEIGHT}h{width}"/>' if total or large else ""
    return (
        f'<svg class="ulp{" large" if large else ""}" viewBox="0 0 {width} {_HEIGHT + below + 1}" role="img" '
        f'aria-label="{escape(label)}"><title>{escape(label)}</title><path d="{near}"/><path class="far" d="{far}"/>'
        f"{line}{labels}</svg>"
    )
