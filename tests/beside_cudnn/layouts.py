"""Numbers of cuDNN's types, and how they lie in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .sides import Side

NUMPY: dict[str, Any] = {
    "FLOAT": np.float32,
    "HALF": np.float16,
    "DOUBLE": np.float64,
    "INT8": np.int8,
    "UINT8": np.uint8,
    "INT32": np.int32,
    "INT8x4": np.int8,
    "UINT8x4": np.uint8,
    "INT8x32": np.int8,
}
LANES = {"INT8x4": 4, "UINT8x4": 4, "INT8x32": 32}


def drawn(side: Side, kind: str, dims: tuple[int, ...]) -> Any:
    """Return numbers of a type: all that bytes have, and small multiples of 1/8 as floating point."""
    dtype = np.dtype(NUMPY[kind])
    if dtype.kind == "f":
        return (side.rng.integers(-99, 100, dims) / 8).astype(dtype)
    if dtype.itemsize == 1:
        return side.rng.integers(0, 256, dims).astype(np.uint8).view(dtype)
    return side.rng.integers(-300, 300, dims).astype(dtype)


def laid(array: Any, kind: str, layout: int = 0) -> Any:
    """Return an array as it lies in NCHW (0), NHWC (1) or with vectors of channels."""
    lanes = LANES.get(kind, 1)
    if lanes > 1:
        n, c, *spatial = array.shape
        whole = np.zeros((n, -(-c // lanes) * lanes, *spatial), array.dtype)
        whole[:, :c] = array
        return np.ascontiguousarray(np.moveaxis(whole.reshape(n, -1, lanes, *spatial), 2, -1))
    return np.ascontiguousarray(np.moveaxis(array, 1, -1) if layout == 1 else array)


def packed(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides without gaps."""
    return tuple(math.prod(dims[i + 1 :]) for i in range(len(dims)))
