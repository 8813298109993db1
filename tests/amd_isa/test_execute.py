"""Kernels for AMD GPUs compute the right numbers when their machine code is executed on the CPU.

Every engine runs every small problem that it takes, on a device with waves of 32 and on one with waves of 64. Results
are judged as those of any other backend. `make amd` runs each engine on one problem of each operation.
"""

from __future__ import annotations

import functools

import helper
import pytest

from amd_isa import clang
from amd_isa.cases import cases, comparable, param
from amd_isa.device import TARGETS, device_info, open_handle

pytestmark = pytest.mark.amd

CASES = [case for target in TARGETS for case in cases(device_info(target, "opencl"))]


@functools.cache
def handle_of(target):
    """Open the handle of a target, once."""
    clang.require()
    return open_handle(target)


@pytest.mark.parametrize(("target", "engine", "line"), [param("opencl", *case) for case in CASES])
def test_small_problems(target, engine, line):
    helper.check(handle_of(target), line, engine=engine, oracle=comparable)
