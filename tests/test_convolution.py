"""Kernel backends: convolution against the reference."""

from __future__ import annotations

from cases import CONVOLUTION_CASES
from helper import check, over


@over(CONVOLUTION_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)
