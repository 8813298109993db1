"""Strides: packed ones in an order of the axes, and what can be read off strides."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ..enums import TensorFormat
from ..problem import packed_strides, strides_in

Dims = tuple[int, ...]


def row_major(dims: Sequence[int]) -> Dims:
    """Return packed strides with the last axis fastest: NCHW."""
    return packed_strides(tuple(dims))


def channels_last(dims: Sequence[int]) -> Dims:
    """Return packed strides with axis 1 fastest, NHWC; row-major with fewer than three dims."""
    return packed_strides(tuple(dims), TensorFormat.NHWC)


def order_of(dims: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Return the axes from the slowest to the fastest. Axes of one element stay where the others leave them room."""
    return sorted(range(len(dims)), key=lambda axis: (-strides[axis], axis))


def like(dims: Sequence[int], other_dims: Sequence[int], other_strides: Sequence[int]) -> Dims:
    """Return packed strides for `dims` in the order of another tensor's axes, row-major where ranks differ."""
    if len(dims) != len(other_dims):
        return row_major(dims)
    return strides_in(dims, order_of(other_dims, other_strides))


def span(dims: Sequence[int], strides: Sequence[int]) -> int:
    """Return the elements from the first to the last one, gaps included; 0 for an empty tensor.

    Axes of one element add nothing, however long their stride.
    """
    if math.prod(dims) == 0:
        return 0
    return 1 + sum((d - 1) * s for d, s in zip(dims, strides, strict=True))


def overlap(dims: Sequence[int], strides: Sequence[int]) -> bool:
    """Tell whether elements may share a place: an axis whose stride does not lead beyond the faster ones."""
    reach = 0
    for step, size in sorted((step, size) for size, step in zip(dims, strides, strict=True) if size > 1):
        if step <= reach:
            return True
        reach += (size - 1) * step
    return False


def viewed(dims: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> Dims | None:
    """Return the strides with which elements in row-major order have other dims; None where no strides do that.

    >>> viewed((4, 6), (12, 2), (2, 2, 3, 2))
    (24, 12, 4, 2)
    """
    if 0 in wanted:
        return row_major(wanted)
    left = [(size, step) for size, step in zip(dims, strides, strict=True) if size != 1]
    axes = [axis for axis, size in enumerate(wanted) if size != 1]
    found = [1] * len(wanted)
    while left:
        taken, count = [axes.pop(0)], 1
        size, product = left[0][0], wanted[taken[0]]
        while size != product:
            if size < product:
                size *= left[count][0]
                count += 1
            else:
                taken.append(axes.pop(0))
                product *= wanted[taken[-1]]
        if any(outer != inner * below for (_, outer), (below, inner) in itertools.pairwise(left[:count])):
            return None
        step = left[count - 1][1]
        for axis in reversed(taken):
            found[axis] = step
            step *= wanted[axis]
        del left[:count]
    return tuple(found)


def broadcast(shapes: Sequence[Dims]) -> Dims | None:
    """Return the common dims of several, aligned at the last axis as NumPy does; None where there are none."""
    result = []
    for sizes in itertools.zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            return None
        result.append(wide.pop() if wide else 1)
    return tuple(reversed(result))


def refines(dims: Sequence[int], wide: Sequence[int]) -> bool:
    """Tell whether `dims` broadcasts to `wide`."""
    return broadcast([tuple(dims), tuple(wide)]) == tuple(wide)
