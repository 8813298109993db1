"""Random choices by whole numbers alone: the same on every machine, whatever NumPy and C library it has."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MASK = 0xFFFFFFFFFFFFFFFF


class Draws:
    """A stream of random choices (SplitMix64), which a key starts.

    Parameters
    ----------
    key
        Numbers and words; equal keys give equal choices.
    """

    def __init__(self, *key: int | str) -> None:
        text = "|".join(map(str, key)).encode()
        self._state = zlib.crc32(text) << 32 | zlib.crc32(text[::-1], 0x9E3779B9)

    def _next(self) -> int:
        self._state = self._state + 0x9E3779B97F4A7C15 & _MASK
        z = self._state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
        return z ^ z >> 31

    def integers(self, low: int, high: int | None = None) -> int:
        """Return a whole number from `low` up to but not `high`; with one bound, from 0 up to but not that."""
        low, high = (0, low) if high is None else (low, high)
        return low + self._next() % (high - low)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.integers(len(options))]

    def one_in(self, count: int) -> bool:
        """Return True once in `count` times on average."""
        return self.integers(count) == 0

    def weighted(self, weights: Sequence[float]) -> int:
        """Return an index, each as often as its weight says."""
        place = self.integers(2**32) / 2**32 * sum(weights)
        for index, weight in enumerate(weights):
            place -= weight
            if place < 0:
                return index
        return max(index for index, weight in enumerate(weights) if weight > 0)

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return the options in random order."""
        rest, found = list(options), []
        while rest:
            found.append(rest.pop(self.integers(len(rest))))
        return found

    def few(self, most: int) -> int:
        """Return a size from 1 to `most`, each power of two as often as the next one: small ones are likelier."""
        power = self.integers(most.bit_length())
        return self.integers(1 << power, min(2 << power, most + 1))
