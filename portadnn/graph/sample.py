"""Seeded numbers and memory for the tensors of a graph, the same in reproducers and where graphs are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import memory
from .operation_graph import OperationGraph, TensorInfo

POISON = 0xA5


def numbers(kind: str, dims: tuple[int, ...], seed: int) -> npt.NDArray[Any]:
    """Return numbers of a type: normal floats, small integers, and 0 or 1 for BOOLEAN."""
    rng = np.random.default_rng(seed)
    if kind == "BOOLEAN":
        return rng.integers(0, 2, dims)
    whole = kind.startswith(("INT", "UINT"))
    return rng.integers(0, 4, dims) if whole else rng.standard_normal(dims)


def pack_of(graph: OperationGraph, seed: int) -> dict[int, Any]:
    """Return a variant pack in host memory, by uid: flat arrays of seeded numbers, results poisoned.

    A tensor's numbers are drawn with the sum of `seed` and its uid. Those that are passed by value have their own
    value, or 1.
    """
    pack: dict[int, Any] = {}
    for info in graph.packed:
        if info.by_value:
            pack[info.uid] = 1.0 if info.value is None else info.value
            continue
        flat = np.full(info.extent, POISON, np.uint8)
        if info.uid not in graph.written:
            flat[:] = 0
            values = numbers(info.data_type.name, info.dims, seed + info.uid)
            memory.view(flat, info, output=True)[...] = info.data_type.stored(values)
        pack[info.uid] = flat
    return pack


def gaps_of(info: TensorInfo) -> npt.NDArray[np.bool_]:
    """Return which bytes of a tensor's memory belong to no element."""
    owned = np.zeros(info.span, np.bool_)
    strides = [step if d > 1 else 0 for d, step in zip(info.dims, info.strides, strict=True)]
    np.lib.stride_tricks.as_strided(owned, info.dims, strides)[...] = True
    return np.repeat(~owned, info.data_type.itemsize)
