"""What a launch may touch: the memory of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

GUARD = 4096  # bytes before and behind each allocation that belong to nobody
REGION = np.dtype([("start", "u8"), ("end", "u8"), ("writable", "u4"), ("unused", "u4")])
_ALIGNMENT = 256

Region = tuple[int, int, bool]  # start, end, whether it may be written


def allocate(nbytes: int) -> np.ndarray:
    """Return new bytes at a multiple of 256, with a guard zone on both sides."""
    whole = np.full(nbytes + 2 * GUARD + _ALIGNMENT, 0xD7, np.uint8)
    first = GUARD + -(whole.ctypes.data + GUARD) % _ALIGNMENT
    return whole[first : first + nbytes]


def region(array: np.ndarray) -> Region:
    """Return the memory of an array, from its first element to its last."""
    start, steps = array.ctypes.data, [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    if array.size == 0:
        return start, start, False
    end = start + sum(step for step in steps if step > 0) + array.itemsize
    return start + sum(step for step in steps if step < 0), end, array.flags.writeable


def table(regions: Iterable[Region]) -> np.ndarray:
    """Return regions as the executor reads them: in order, those that overlap as one."""
    made: list[list[int]] = []
    for start, end, writable in sorted(regions):
        if made and start < made[-1][1]:
            made[-1][1] = max(made[-1][1], end)
            made[-1][2] |= writable
        elif start < end:
            made.append([start, end, writable])
    return np.array([(*entry, 0) for entry in made], REGION)


def around(regions: np.ndarray, address: int) -> str:
    """Return where an address lies, in words."""
    place = int(np.searchsorted(regions["start"], address, "right"))
    near: Sequence[np.void] = regions[max(place - 1, 0) : place + 1]
    words = [f"{address - int(r['start'])} bytes from the start of one of {r['end'] - r['start']}" for r in near]
    return "; ".join(words)
