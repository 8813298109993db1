"""Philox4x32-10 in NumPy: the random numbers of dropout, the same on every device.

Random words are a function of a counter and a key, without a state between them (Salmon et al. [1]_). The layout
of counters is part of the interface: ``kernels_shared/common/philox.h`` states it.

References
----------
.. [1] J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
_MASK = (1 << 32) - 1


def philox4x32(counters: npt.ArrayLike, seed: int) -> Words:
    """Return four random words for each counter.

    Parameters
    ----------
    counters
        Four words each, of shape (..., 4).
    seed
        The key, 64 bits; its low word is the key's first.

    Returns
    -------
    array of uint32
        Of the shape of `counters`.
    """
    c0, c1, c2, c3 = np.moveaxis(np.asarray(counters, np.uint64), -1, 0)
    key0, key1 = seed & _MASK, seed >> 32
    low = np.uint64(_MASK)
    for _ in range(ROUNDS):
        p0, p1 = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])  # below 2**64
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ np.uint64(key0), p1 & low, (p0 >> 32) ^ c3 ^ np.uint64(key1), p0 & low
        key0, key1 = (key0 + WEYL[0]) & _MASK, (key1 + WEYL[1]) & _MASK
    return np.stack([c0, c1, c2, c3], -1).astype(np.uint32)


def random_words(count: int, seed: int, draw: int, stream: int = 0) -> Words:
    """Return the words of elements 0 to `count` - 1 of a tensor, counted in logical order.

    Parameters
    ----------
    seed, draw
        What the states hold: the key, and the number of calls since it was set; 64 bits each.
    stream
        Tells apart the tensors of one call; 32 bits.
    """
    counters = np.empty((-(-count // 4), 4), np.uint32)
    counters[:, 0] = np.arange(len(counters), dtype=np.uint32)
    counters[:, 1:] = stream, draw & _MASK, draw >> 32
    return philox4x32(counters, seed).reshape(-1)[:count]


def threshold(dropout: float) -> int:
    """Return the least word that is kept: round(dropout * 2**32), which for 1 is beyond every word."""
    return round(dropout * 2**32)


def keep_words(probability: float) -> int:
    """Return the least word that is not kept where words / 2**32 below a probability are: for 1 beyond every word."""
    return math.ceil(probability * 2**32)


def keep_mask(count: int, dropout: float, seed: int, draw: int, stream: int = 0) -> npt.NDArray[np.bool_]:
    """Return which of `count` elements are kept, see :func:`random_words`."""
    kept: npt.NDArray[np.bool_] = random_words(count, seed, draw, stream) >= np.uint64(threshold(dropout))
    return kept
