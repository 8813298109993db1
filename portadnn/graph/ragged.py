"""Tensors with ragged offsets: sequences of different lengths behind each other, without padding.

Sequence b of a tensor (b, h, s, d) begins at ``offsets[b] * multiplier`` elements, whatever the stride of its first
dim, and has as many rows as lie before ``offsets[b + 1] * multiplier`` by the stride of s. Its memory is an array of
one dim that need only reach to the last row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import fail
from .memory import flat
from .operation_graph import TensorInfo

Array = npt.NDArray[Any]


def loaded(info: TensorInfo, array: Array, offsets: Array) -> Array:
    """Return the numbers of a ragged tensor in its dims; rows that its sequences do not have are 0."""
    content = flat(array)
    where, there = places(info, offsets, content.size)
    numbers = info.data_type.loaded(content[np.where(there, where, 0)])
    return np.where(there, numbers, 0)


def store(info: TensorInfo, array: Array, offsets: Array, numbers: Array) -> None:
    """Write the rows that the sequences of a ragged tensor have; the rest of the memory keeps its content."""
    content = flat(array)
    where, there = places(info, offsets, content.size)
    content[where[there]] = info.data_type.stored(numbers)[there]


def places(info: TensorInfo, offsets: Array, room: int) -> tuple[Array, Array]:
    """Return where each element lies, and whether its row is one of the sequence's.

    Parameters
    ----------
    room
        Elements of the memory.

    Raises
    ------
    InvalidVariantPack
        The offsets decrease, or lead out of the memory (PG-PACK-012).
    """
    begins = np.asarray(offsets, np.int64).reshape(-1) * info.ragged_multiplier
    rows = np.diff(begins) // max(info.strides[2], 1)
    index = np.ogrid[tuple(slice(size) for size in info.dims)]
    found = begins[:-1].reshape(-1, 1, 1, 1)
    for one, step in zip(index[1:], info.strides[1:], strict=True):
        found = found + one * step
    there = np.broadcast_to(index[2] < rows.reshape(-1, 1, 1, 1), info.dims)
    used = found[there]
    if (rows < 0).any() or begins[0] < 0 or (used.size and used.max() >= room):
        expected = f"offsets that rise from 0 and end within the buffer's {room} elements"
        raise fail("PG-PACK-012", tensor=info.describe(), expected=expected, got=begins.tolist())
    return found, there
