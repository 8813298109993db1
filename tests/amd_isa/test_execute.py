"""Kernels for AMD GPUs compute the right numbers when their machine code is executed on the CPU.

Every engine runs every small problem that it takes, on a device with waves of 32 and on one with waves of 64. Results
are judged as those of any other backend. `make test` runs each engine on one problem of each operation.
"""

from __future__ import annotations

import functools

import helper
import pytest
from small_problems import LINES

import portadnn as dnn
from amd_isa import clang
from amd_isa.device import TARGETS, device_info, open_handle
from portadnn_backends.engines import kernel_engines
from portadnn_backends.reference.outcomes import outcomes

pytestmark = pytest.mark.amd

_STATE = ("reserve",)  # of an RNN: each engine has its own layout
_LARGE = ("1x1x181x18", "f64:1500", "1x1x1x4200", "64x3x2")  # minutes of a processor on two targets


def cases():
    """Yield target, engine and line; the first line of an engine's operation is no long test."""
    for target in TARGETS:
        info, seen = device_info(target, "opencl"), set()
        for line in LINES:
            problem = dnn.parse(line)
            if any(name in _STATE for name in problem.names[: len(problem.inputs)]):
                continue  # what it needs is another call's: tests/operations/test_rnn.py makes both
            for engine in kernel_engines():
                if not isinstance(problem, engine.problems) or engine.why_not(problem, info) is not None:
                    continue
                new = engine.name, problem.op
                marks = [] if new not in seen and not any(text in line for text in _LARGE) else [pytest.mark.long]
                seen.add(new)
                yield pytest.param(target, engine, line, id=f"{target}-{engine.name}-{line}", marks=marks)


@functools.cache
def handle_of(target):
    """Open the handle of a target, once."""
    clang.require()
    return open_handle(target)


def numbers(problem, tensors, scalars):
    """Return what is compared of a problem's outputs."""
    return {name: due for name, due in outcomes(problem, tensors, scalars).items() if name not in _STATE}


@pytest.mark.parametrize(("target", "engine", "line"), list(cases()))
def test_small_problems(target, engine, line):
    helper.check(handle_of(target), line, engine=engine, oracle=numbers)
