"""Kernel backends: activation against the reference."""

from __future__ import annotations

from cases import ACTIVATION_CASES
from helper import check, over


@over(ACTIVATION_CASES)
def test_agrees_with_the_reference(handle, case):
    check(handle, case)
