"""Geometries of convolutions: small, odd in every way that the API allows, and of the kinds that engines ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..shapes import convolution_output_dims
from .draws import Draws

LARGEST = 33
MOST_WORK = 1_500_000  # multiplications
MOST_ELEMENTS = 60_000  # of a tensor


@dataclass(frozen=True)
class Geometry:
    """Sizes and parameters of a convolution, without types and layouts.

    Attributes
    ----------
    n, groups : int
    c, k : int
        Channels and filters of a group.
    size, window, padding, stride, dilation : tuple of int
        By spatial axis.
    flipped : bool
        Whether the filter is turned round.
    """

    n: int
    groups: int
    c: int
    k: int
    size: tuple[int, ...]
    window: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    flipped: bool

    @property
    def image(self) -> tuple[int, ...]:
        """Dims of the image."""
        return (self.n, self.c * self.groups, *self.size)

    @property
    def filter(self) -> tuple[int, ...]:
        """Dims of the filter."""
        return (self.k * self.groups, self.c, *self.window)

    @property
    def result(self) -> tuple[int, ...]:
        """Dims of the result."""
        return convolution_output_dims(self.image, self.filter, self.padding, self.stride, self.dilation, self.groups)

    @property
    def work(self) -> int:
        """Multiplications."""
        return math.prod(self.result) * self.c * math.prod(self.window)


def any_shape(draws: Draws, rank: int = 2) -> Geometry:
    """Draw anything."""
    plane = rank == 2
    window = tuple(draws.few(5 if plane else 3) for _ in range(rank))
    return Geometry(
        n=draws.few(4),
        groups=1,
        c=draws.few(LARGEST),
        k=draws.few(LARGEST),
        size=tuple(draws.integers(1, LARGEST + 1) if plane else draws.few(12) for _ in range(rank)),
        window=window,
        padding=tuple(draws.integers(0, 2 + r // 2) for r in window),
        stride=tuple(draws.choice((1, 1, 1, 2, 2, 3, 5)) for _ in window),
        dilation=tuple(draws.choice((1, 1, 1, 2, 3)) for _ in window),
        flipped=bool(draws.integers(2)),
    )


def _unit(g: Geometry, window: tuple[int, ...]) -> Geometry:
    """Return the geometry with a given window, stride 1 and no dilation."""
    ones = (1,) * len(window)
    return replace(g, window=window, stride=ones, dilation=ones)


def _square(size: int) -> Callable[[Draws], Geometry]:
    def shape(draws: Draws) -> Geometry:
        g = _unit(any_shape(draws), (size, size))
        return replace(g, padding=(draws.integers(0, size), draws.integers(0, size)))

    return shape


def _strided(size: int) -> Callable[[Draws], Geometry]:
    def shape(draws: Draws) -> Geometry:
        g, s = any_shape(draws), draws.integers(2, 5)
        return replace(g, window=(size, size), stride=(s, s), dilation=(1, 1), padding=(size // 2, size // 2))

    return shape


def _pointwise(draws: Draws) -> Geometry:
    g = any_shape(draws)
    return replace(_unit(g, (1, 1)), padding=(0, 0), stride=(1, 1) if draws.integers(4) else g.stride)


def _long_filter(draws: Draws) -> Geometry:
    window = (draws.integers(1, 14), draws.integers(1, 14))
    return replace(_unit(any_shape(draws), window), padding=tuple(draws.integers(0, r) for r in window))


def _grouped(draws: Draws) -> Geometry:
    return replace(any_shape(draws), groups=draws.integers(2, 6), c=draws.few(8), k=draws.few(8))


def _depthwise(draws: Draws) -> Geometry:
    size = draws.choice((3, 3, 5))
    g = replace(any_shape(draws), groups=draws.few(LARGEST), c=1, k=draws.choice((1, 1, 1, 2, 3)))
    return g if draws.integers(2) else replace(g, window=(size, size), padding=(size // 2,) * 2)


def _side_by_side(draws: Draws) -> Geometry:
    """Depthwise with some vectors of channels, and mostly a rest."""
    return replace(_depthwise(draws), groups=draws.integers(9, 70), k=1)


def _wide(draws: Draws) -> Geometry:
    """One number of channels beyond the largest tile, or beyond a block of filters."""
    g, many = any_shape(draws), draws.integers(LARGEST, 140)
    if draws.one_in(4):
        g, many = replace(_pointwise(draws), c=draws.few(8), k=draws.few(8)), draws.integers(513, 600)
    g = replace(g, n=1, size=tuple(min(s, 9) for s in g.size))
    return replace(g, c=many) if draws.integers(2) else replace(g, k=many)


def _deep(draws: Draws) -> Geometry:
    """More products for each result than are summed up at a time."""
    g = _unit(any_shape(draws), (draws.integers(3, 6), draws.integers(3, 6)))
    c = draws.integers(520, 900) // math.prod(g.window)
    return replace(g, n=1, c=c, k=draws.few(12), size=tuple(draws.integers(3, 8) for _ in g.size), padding=(1, 1))


def _eights(draws: Draws) -> Geometry:
    """Channels in whole vectors of 16 bytes."""
    return replace(any_shape(draws), c=8 * draws.integers(1, 9), k=8 * draws.integers(1, 9))


def _eights_3x3(draws: Draws) -> Geometry:
    return replace(_square(3)(draws), c=8 * draws.integers(1, 9), k=8 * draws.integers(1, 9))


def _empty(draws: Draws) -> Geometry:
    """No images, or nothing to sum."""
    g = any_shape(draws)
    return draws.choice((replace(g, n=0), replace(g, c=0), replace(g, k=0)))


def _volume_3x3x3(draws: Draws) -> Geometry:
    g = _unit(any_shape(draws, 3), (3, 3, 3))
    return replace(g, padding=tuple(draws.integers(0, 2) for _ in range(3)))


def _volume_grouped(draws: Draws) -> Geometry:
    return replace(any_shape(draws, 3), groups=draws.integers(2, 4), c=draws.few(5), k=draws.few(5))


SHAPES: dict[str, Callable[[Draws], Geometry]] = {
    "any": any_shape,
    "pointwise": _pointwise,
    "3x3": _square(3),
    "5x5": _square(5),
    "7x7/s": _strided(7),
    "3x3/s": _strided(3),
    "long": _long_filter,
    "grouped": _grouped,
    "depthwise": _depthwise,
    "side by side": _side_by_side,
    "wide": _wide,
    "deep": _deep,
    "eights": _eights,
    "eights 3x3": _eights_3x3,
    "empty": _empty,
    "volume": lambda draws: any_shape(draws, 3),
    "volume 3x3x3": _volume_3x3x3,
    "volume grouped": _volume_grouped,
}


def shape_of(draws: Draws, name: str, most_work: int = MOST_WORK) -> Geometry:
    """Draw a geometry of a kind that is valid and small.

    Parameters
    ----------
    name
        One of `SHAPES`.
    most_work
        Multiplications that it may take.
    """
    while True:
        g = SHAPES[name](draws)
        reach = [(r - 1) * d + 1 for r, d in zip(g.window, g.dilation, strict=True)]
        if any(s + 2 * p < r for s, p, r in zip(g.size, g.padding, reach, strict=True)):
            continue
        if g.work <= most_work and max(map(math.prod, (g.image, g.filter, g.result))) <= MOST_ELEMENTS:
            return g
