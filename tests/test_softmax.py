"""Kernel backends: softmax against the reference."""

from __future__ import annotations

from cases import SOFTMAX_CASES
from helper import check, over


@over(SOFTMAX_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)
