"""Engine x problem cases for the executor of AMD's machine code, and which of them are run each time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_problems import LINES

import portadnn as dnn
from portadnn.operation import operation
from portadnn_backends.base import DeviceInfo
from portadnn_backends.engines import kernel_engines
from portadnn_backends.reference.outcomes import outcomes

_LARGE = ("1x1x181x18", "f64:1500", "1x1x1x4200", "64x3x2")  # minutes of a processor on two targets


def cases(info: DeviceInfo) -> Iterator[tuple[str, object, str, bool]]:
    """Yield the target, engine and line of each case, and whether it is the first of an engine and an operation."""
    seen = set()
    for line in LINES:
        problem = dnn.parse(line)
        if not _opaque(problem).isdisjoint(problem.names[: len(problem.inputs)]):
            continue  # it needs what another call made: tests/operations/test_rnn.py makes both
        for engine in kernel_engines():
            if not isinstance(problem, engine.problems) or engine.why_not(problem, info) is not None:
                continue
            new = (engine.name, problem.op) not in seen and not any(text in line for text in _LARGE)
            seen.add((engine.name, problem.op))
            yield info.arch, engine, line, new


def param(dialect: str, target: str, engine: object, line: str, sampled: bool) -> object:
    """Return a case as pytest's parameters: target, engine and line. It is long unless it is of the sample."""
    marks = [] if sampled else [pytest.mark.long]
    return pytest.param(target, engine, line, id=f"{dialect}-{target}-{engine.name}-{line}", marks=marks)


def comparable(problem, tensors, numbers):
    """Return the outputs that every engine makes alike."""
    return {name: due for name, due in outcomes(problem, tensors, numbers).items() if name not in _opaque(problem)}


def _opaque(problem):
    return frozenset(operation(problem.op).data.opaque)
