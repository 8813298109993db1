"""Kernel backends: pooling against the reference."""

from __future__ import annotations

from cases import POOLING_CASES
from helper import check, over


@over(POOLING_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)
