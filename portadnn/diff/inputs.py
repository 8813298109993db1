"""The tensors of a case: filled by formula, then fitted to what the operation may be given.

Some inputs cannot be any numbers: the y of a gradient is the output of its forward pass, variances are positive, a
recurrent network's gradient reads what the forward pass kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._io.outside import host_memory
from ..errors import AllocFailed
from ..operation import Filling, operation
from ..problem import Problem, TensorSpec
from .buffers import Buffer
from .cases import Case
from .data import kind_of, values
from .oracle import exact

DRAWN = 24  # bytes that drawing an element takes: random bits, float64 and what is stored
Buffers = dict[str, Buffer]


def drawn_buffers(case: Case) -> Buffers:
    """Return a buffer for every tensor of a case, filled by formula: the same bytes on every machine."""
    problem = case.problem
    _check_room(problem)
    unread = problem.unread(case.numbers)
    alias = case.alias or ()
    buffers: Buffers = {}
    for name, spec in zip(problem.names, problem.tensors, strict=True):
        if name in unread and name not in alias:
            poison = np.full(spec.dims, np.nan if spec.dtype.is_float else 0xA5)
            buffers[name] = Buffer.filled(spec, spec.dtype.stored(poison))
        elif name in case.fills:
            buffers[name] = Buffer.filled(spec, case.fills[name].array(spec))
        else:
            buffers[name] = Buffer.filled(spec, values(spec, kind_of(problem.op, name, case.data), case.seed, name))
    return buffers


def _check_room(problem: Problem) -> None:
    """Refuse a case whose tensors the host does not have the memory to draw.

    Raises
    ------
    AllocFailed
        It has not.
    """
    elements = sum(max(spec.span, spec.size, 0) for spec in problem.tensors if min(spec.dims, default=0) >= 0)
    there = host_memory()
    if there and elements * DRAWN > there:
        raise AllocFailed(f"the tensors of {problem.op} have {elements:,} elements; the host has {there:,} bytes")


def make_buffers(case: Case) -> Buffers:
    """Return a filled buffer for every tensor of a case; those that are not read hold NaN, or bytes of 0xA5.

    The last bits of what had to be computed may differ between processors.
    """
    problem, numbers, buffers = case.problem, case.numbers, drawn_buffers(case)

    def draw(spec: TensorSpec, name: str) -> Any:
        if name in case.fills:
            return case.fills[name].array(spec)
        return values(spec, "random", case.seed, f"{name} besides")

    fit = operation(problem.op).data.fit
    if fit is not None and case.expect == "SUCCESS":
        arrays = {name: buffer.array for name, buffer in buffers.items()}
        fit(Filling(problem, numbers, arrays, draw, exact))
    if case.alias is not None:
        buffers[case.alias[0]] = buffers[case.alias[1]]
    return buffers
