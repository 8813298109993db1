"""Device memory: NumPy arrays with guard zones around them, at their own addresses."""

from __future__ import annotations

import bisect
import weakref

import numpy as np

GUARD = 4096  # bytes before and behind each allocation that belong to nobody
ALLOCATION = np.dtype([("start", "u8"), ("end", "u8"), ("writable", "u4"), ("unused", "u4")])
_ALIGNMENT = 256


class Memory:
    """The live allocations, by their addresses."""

    def __init__(self) -> None:
        self._live: list[tuple[int, int, int]] = []  # start, end, writable; sorted

    def allocate(self, nbytes: int, writable: bool = True, shift: int = 0) -> np.ndarray:
        """Return new bytes, `shift` bytes behind a multiple of 256; they are live until they are collected."""
        whole = np.full(nbytes + 2 * GUARD + _ALIGNMENT + shift, 0xD7, np.uint8)
        first = GUARD + -(whole.ctypes.data + GUARD) % _ALIGNMENT + shift
        made = whole[first : first + nbytes].view(_Block)
        entry = (made.ctypes.data, made.ctypes.data + nbytes, int(writable))
        bisect.insort(self._live, entry)
        weakref.finalize(made, self._live.remove, entry).atexit = False
        return made

    def table(self) -> np.ndarray:
        """Return the live allocations as the executor reads them."""
        return np.array([(*entry, 0) for entry in self._live], ALLOCATION)

    def around(self, address: int) -> str:
        """Return where an address lies, in words."""
        place = bisect.bisect(self._live, (address, 1 << 64, 0))
        words = []
        for start, end, _ in self._live[max(place - 1, 0) : place + 1]:
            words.append(f"{address - start} bytes from the start of an allocation of {end - start}")
        return "; ".join(words) or "no allocation is live"


class _Block(np.ndarray):
    """Memory that a weak reference can be made of."""
