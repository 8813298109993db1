"""Windows over images, shared by convolution and pooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .definition import Array

Cell = tuple[int, ...]
Place = tuple[Any, ...]


def cells(
    window: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...], out: tuple[int, ...]
) -> Iterator[tuple[Cell, Place]]:
    """Yield, in row-major order, each cell of the window and what it meets of the padded image."""
    for cell in np.ndindex(*window):
        place = (
            slice(i * d, i * d + (p - 1) * s + 1, s) for i, s, d, p in zip(cell, stride, dilation, out, strict=True)
        )
        yield cell, (..., *place)


def padded(x: Array, padding: tuple[int, ...], value: float = 0.0) -> Array:
    """Return x with `padding` more cells of `value` at both ends of each spatial dimension."""
    sizes = [d + 2 * p for d, p in zip(x.shape[2:], padding, strict=True)]
    wide = np.full((*x.shape[:2], *sizes), value)
    wide[inside(x.shape[2:], padding)] = x
    return wide


def inside(sizes: tuple[int, ...], padding: tuple[int, ...]) -> Place:
    """Return where the image lies in the padded image."""
    return (..., *(slice(p, p + d) for d, p in zip(sizes, padding, strict=True)))
