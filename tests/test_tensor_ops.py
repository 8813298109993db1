"""Kernel backends: tensor ops against the reference."""

from __future__ import annotations

from cases import TENSOR_CASES
from helper import check, over


@over(TENSOR_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)
