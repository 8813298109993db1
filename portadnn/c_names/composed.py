"""Calls of C that portadnn composes of several operations: all is checked before the first one writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dispatch.choice import choose
from ..dispatch.execute import FLOAT_MAX
from ..dispatch.overlap import check_memory, extents_of
from ..dispatch.problems import check_handle, make_problem, wrapped
from ..errors import BadParam, DnnError
from ..handle import Handle
from ..ops.tensor import SetTensor
from ..problem import Problem


def check_call(
    handle: Handle,
    kind: type[Problem],
    tensors: Sequence[Any],
    params: tuple[Any, ...] = (),
    numbers: Mapping[str, float] | None = None,
) -> None:
    """Raise what ``execute`` would raise of these tensors, parameters and run-time numbers; nothing is computed."""
    device = check_handle(handle).device
    arrays = wrapped(device, kind, tensors)
    for name, number in (numbers or {}).items():
        if FLOAT_MAX < abs(number) < math.inf and arrays[0].dtype != np.float64:
            raise BadParam(argument=name, expected="a number that float32 can hold", got=number)
    given = dict(zip(kind.tensor_names(), arrays, strict=True))
    if device.host_memory:
        for name in kind.outputs:
            if given[name] is not None and not device.writable(given[name]):
                raise BadParam(argument=name, expected="a writable array", got="a read-only one")
    problem = make_problem(handle, kind, arrays, params)
    choose(handle, problem)
    if all(given[name] is not None for name in problem.names):
        check_memory(problem, extents_of(problem), [device.address(given[name]) for name in problem.names])


def check_output(handle: Handle, output: Any, name: str) -> None:
    """Refuse memory that results are copied to in the end, before anything is computed."""
    try:
        check_call(handle, SetTensor, (output,))
    except DnnError as error:
        error.argument = name
        raise
