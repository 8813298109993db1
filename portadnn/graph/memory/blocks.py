"""Scales of blocks in memory: tiles of 128 rows and 4 columns, as tensor cores read them (F8_128x4).

Columns are along the axis of the least stride of the last two, a scale for each block of elements there; rows are
along the other. A tile has 512 bytes: byte ``r % 32 * 16 + r // 32 * 4 + c`` is row r's and column c's. Tiles follow
one another along the columns, then along the rows, then entries of the batch; rows and columns are padded to whole
tiles (NVIDIA's cuBLAS documentation, "1D block scaling factors layout").
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..layout import Dims

ROWS, COLUMNS = 128, 4


def axes(strides: Dims) -> tuple[int, int]:
    """Return the axes of rows and of columns."""
    last = len(strides) - 1
    return (last, last - 1) if strides[last - 1] < strides[last] else (last - 1, last)


def padded(dims: Dims, strides: Dims) -> tuple[int, int]:
    """Return rows and columns in whole tiles."""
    row, column = axes(strides)
    return -(-dims[row] // ROWS) * ROWS, -(-dims[column] // COLUMNS) * COLUMNS


def nbytes(dims: Dims, strides: Dims) -> int:
    """Return the bytes of all tiles."""
    return math.prod(dims[:-2]) * math.prod(padded(dims, strides))


def places(dims: Dims, strides: Dims, tiled: bool) -> npt.NDArray[np.int64]:
    """Return where each element lies, in elements from the first one on."""
    index = np.indices(dims, np.int64, sparse=True)
    found: Any
    if not tiled:
        found = sum(i * step for i, step in zip(index, strides, strict=True))
        return np.broadcast_to(np.asarray(found, np.int64), dims)
    rows, columns = padded(dims, strides)
    row, column = (index[axis] for axis in axes(strides))
    entry: Any = 0
    for i, size in zip(index[:-2], dims[:-2], strict=True):
        entry = entry * size + i
    tile = row // ROWS * (columns // COLUMNS) + column // COLUMNS
    within = row % 32 * 16 + row % ROWS // 32 * 4 + column % COLUMNS
    found = entry * (rows * columns) + tile * (ROWS * COLUMNS) + within
    return np.broadcast_to(found, dims)
