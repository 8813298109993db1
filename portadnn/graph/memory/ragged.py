"""Tensors with ragged offsets: sequences of different lengths behind each other, without padding.

Sequence b of a tensor (b, h, s, d) begins at ``offsets[b] * multiplier`` elements, whatever the stride of its first
dim, and has as many rows as lie before ``offsets[b + 1] * multiplier`` by the stride of s. Its memory is an array of
one dim that need only reach to the last row. Sequences are no longer than any tensor that is read has rows of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..operation_graph import Operation, OperationGraph, TensorInfo
from ..ops.attention import is_cumulative, lengths_port
from ..rules import fail
from .host import flat

Array = npt.NDArray[Any]
OF_QUERIES = frozenset(("Q", "O", "DO", "DQ", "STATS", "MAX", "SUM_EXP"))  # ports with a row for each query


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


def lengths(
    graph: OperationGraph, operation: Operation, known: Mapping[int, Array], offsets: Callable[[int], Array]
) -> dict[int, Array]:
    """Return the lengths of an attention's sequences that tensors without padding have rows for, by uid.

    Parameters
    ----------
    known
        Numbers by uid, among them those of lengths.
    offsets
        Returns the offsets that a uid stands for.
    """
    found: dict[int, Array] = {}
    for port, uid in operation.inputs:
        info = graph.by_uid[uid]
        if info.ragged_offset is None:
            continue
        lengths_at = lengths_port(operation.uids, "Q" if port in OF_QUERIES else "KV")
        assert lengths_at is not None  # without padding there are lengths
        of, summed = operation.uids[lengths_at], is_cumulative(lengths_at)
        _, rows = sequences(info, offsets(info.ragged_offset), sys.maxsize)
        if port.startswith("PAGE_TABLE_"):
            rows = rows * graph.at(operation, port[-1]).dims[2]
        before = found.get(of, known[of])
        least = np.minimum(np.diff(before, axis=0) if summed else before, rows.reshape(-1, 1, 1, 1))
        found[of] = np.concatenate([[[[[0]]]], np.cumsum(least, axis=0)]) if summed else least
    return found


def reach(info: TensorInfo) -> int:
    """Return the elements from the first of a row to its last, over all heads."""
    return 1 + sum((info.dims[axis] - 1) * info.strides[axis] for axis in (1, 3))


def sequences(info: TensorInfo, offsets: Array, room: int) -> tuple[Array, Array]:
    """Return where each sequence begins, in elements, and how many rows it has.

    Parameters
    ----------
    room
        Elements of the memory.

    Raises
    ------
    InvalidVariantPack
        The offsets lead out of the memory (PG-PACK-012).
    """
    begins = np.asarray(offsets, np.int64).reshape(-1) * info.ragged_multiplier
    step = max(info.strides[2], 1)
    rows = np.maximum(np.diff(begins), 0) // step
    used = np.minimum(rows, info.dims[2])
    ends = np.where(used > 0, begins[:-1] + (used - 1) * step + reach(info), 0)
    if begins[0] < 0 or ends.max(initial=0) > room:
        raise _leads_nowhere(info, begins, room)
    return begins[:-1], rows


def check(info: TensorInfo, offsets: Array, room: int, rows: Array | None) -> None:
    """Demand offsets that rise, but for sequences of 0 `rows` (None where nobody knows), and stay in the memory.

    Raises
    ------
    InvalidVariantPack
        They do not (PG-PACK-012).
    """
    sequences(info, offsets, room)
    begins = np.asarray(offsets, np.int64).reshape(-1)
    falling = np.diff(begins) < 0
    if rows is not None:
        falling &= rows.reshape(-1) > 0
    if falling.any():
        raise _leads_nowhere(info, begins * info.ragged_multiplier, room)


def _leads_nowhere(info: TensorInfo, begins: Array, room: int) -> GraphError:
    expected = f"offsets that rise from 0 and end within the buffer's {room} elements"
    return fail("PG-PACK-012", tensor=info.describe(), expected=expected, got=begins.tolist())


def rows_of(graph: OperationGraph, uid: int, known: Mapping[int, Array]) -> Array | None:
    """Return the lengths of a ragged tensor's sequences, None where those are not `known` by uid."""
    for operation in graph.operations:
        for port, other in operation.inputs + operation.outputs:
            if other == uid:
                found = lengths_port(operation.uids, "Q" if port in OF_QUERIES else "KV")
                lengths_there = None if found is None else known.get(operation.uids[found])
                summed = found is not None and is_cumulative(found)
                return np.diff(lengths_there, axis=0) if summed and lengths_there is not None else lengths_there
    return None


def places(info: TensorInfo, offsets: Array, room: int) -> tuple[Array, Array]:
    """Return where each element lies, and whether its row is one of the sequence's; `room` as in :func:`sequences`."""
    begins, rows = sequences(info, offsets, room)
    index = np.ogrid[tuple(slice(size) for size in info.dims)]
    found = begins.reshape(-1, 1, 1, 1)
    for one, step in zip(index[1:], info.strides[1:], strict=True):
        found = found + one * step
    return found, np.broadcast_to(index[2] < rows.reshape(-1, 1, 1, 1), info.dims)
