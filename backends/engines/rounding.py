"""Whole numbers rounded up: how many blocks there are, and of what size."""

from __future__ import annotations


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


def round_up(a: int, b: int) -> int:
    """Return the smallest multiple of `b` that is not less than `a`."""
    return ceil_div(a, b) * b


def split_evenly(size: int, most: int) -> int:
    """Return the size of blocks of at most `most` that divide `size` evenly; at least 1."""
    return max(1, ceil_div(size, max(1, ceil_div(size, max(1, most)))))
