"""Functions of the user's own as targets: called with a case's tensors by name, compared with the exact result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..descriptors import TensorView
from ..errors import BadParam
from ..handle import Handle
from ..problem import Problem
from .buffers import on_host
from .cases import Case
from .inputs import Buffers, make_buffers
from .running import Ran, Violation
from .verdict import CaseResult, expect, judge, vote

Function = Callable[..., Any]


def examine_function(
    function: Function, case: Case, handle: Handle, *, error_factor: float = 1.0, repeatable: bool = False
) -> CaseResult:
    """Run a case on a function and return what came of it, as :func:`portadnn.diff.examine` does for targets.

    Parameters
    ----------
    function
        Is given those tensors and run-time numbers that its parameters name (all of them with ``**``), as arrays of
        `handle`'s backend inside guarded memory, and `handle` where it names it; positional-only parameters, and
        functions without a signature, get the inputs in the problem's order. It writes outputs that it is given in
        place, or returns them: one array, a tuple in the problem's order, or a mapping by name.
    case
        A case that is to succeed.
    handle
        Whose arrays.
    error_factor
        How much larger errors may be than those of ordinary sums, as units of the largest element's tolerance, for
        functions that multiply transformed or shortened numbers.
    repeatable
        Whether two runs have to give the same bits.

    Raises
    ------
    BadParam
        The case must fail, the function takes none of its tensors, or does not give all its outputs.
    Exception
        What the function raises.
    """
    __tracebackhide__ = True  # of pytest: a test that fails shows its own line
    if case.expect != "SUCCESS":
        raise BadParam(argument="case", expected="one that succeeds; pytest.raises is for others", got=str(case))
    buffers = make_buffers(case)
    expected = expect(case, buffers)
    name = getattr(function, "__name__", type(function).__name__)
    ran = _run(function, case, handle, buffers, tuple(expected.want))
    ran.engine, ran.error_factor = name, error_factor
    if repeatable:
        again = _run(function, case, handle, buffers, tuple(expected.want))
        differ = [tensor for tensor in ran.outputs if ran.outputs[tensor].tobytes() != again.outputs[tensor].tobytes()]
        if differ:
            ran.violations.append(Violation("not repeatable", ", ".join(differ), f"two runs of {name} differ"))
    judgement = judge(name, handle, case, ran, expected)
    return vote(case, [judgement], {name: ran})


def _run(function: Function, case: Case, handle: Handle, buffers: Buffers, due: tuple[str, ...]) -> Ran:
    """Call a function and look at all of its memory afterwards."""
    __tracebackhide__ = True
    problem = case.problem
    alias = case.alias or ("", "")
    memories = {n: handle.device.asarray(b.memory) for n, b in buffers.items() if n != alias[0]}
    if alias[0]:
        memories[alias[0]] = memories[alias[1]]
    tensors = {
        name: handle.device.wrap(TensorView(buffers[name].spec, memory, buffers[name].offset), name)
        for name, memory in memories.items()
    }
    if alias[0]:
        tensors[alias[0]] = tensors[alias[1]]
    positional, named = _arguments(function, problem, tensors, {**case.numbers, "handle": handle})
    returned = function(*positional, **named)
    handle.synchronize()
    found = _returned(handle, problem, returned, due, in_place=set(named))
    ran = Ran("SUCCESS")
    for name, buffer in buffers.items():
        after = buffer.after(on_host(handle, memories[name]))
        if name in problem.written or name in alias:
            ran.outputs[name] = found[name] if name in found else after.array.copy()
            if after.outside() != buffer.outside():
                where = "bytes before, behind or between its elements were written"
                ran.violations.append(Violation("outside written", name, where))
        elif after.memory.tobytes() != buffer.memory.tobytes():
            ran.violations.append(Violation("input written", name, "an input was changed"))
    return ran


def _arguments(
    function: Function, problem: Problem, tensors: Mapping[str, Any], more: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return what to call a function with."""
    __tracebackhide__ = True
    inputs = [tensors[name] for name in problem.names if name in problem.inputs]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some functions written in C have none
        return inputs, {}
    known = {**tensors, **more}
    by_position = [p for p in parameters if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]
    if by_position:
        return inputs[: len(by_position)], {}
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return [], {name: value for name, value in known.items() if name != "handle"}
    wanted = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    unknown = [p.name for p in wanted if p.name not in known and p.default is p.empty]
    if unknown:
        raise BadParam(argument="function", expected=f"parameters of {', '.join(known)}", got=", ".join(unknown))
    return [], {p.name: known[p.name] for p in wanted if p.name in known}


def _returned(
    handle: Handle, problem: Problem, returned: Any, due: tuple[str, ...], in_place: set[str]
) -> dict[str, Any]:
    """Return the outputs that a function returned, by name, as NumPy arrays."""
    __tracebackhide__ = True
    if returned is None:
        found: dict[str, Any] = {}
    elif isinstance(returned, Mapping):
        found = dict(returned)
    elif isinstance(returned, tuple):
        found = dict(zip(due, returned, strict=False))
        if len(returned) != len(due):
            raise BadParam(argument="function", expected=f"outputs {', '.join(due)}", got=f"{len(returned)} of them")
    else:
        found = {due[0]: returned}
    missing = [name for name in due if name not in found and name not in in_place]
    if missing:
        raise BadParam(
            argument="function", expected=f"{', '.join(missing)}, returned or taken as a parameter", got="neither"
        )
    hosted = {}
    for name in found.keys() & set(problem.written):
        hosted[name] = _host(handle, problem, name, found[name])
    return hosted


def _host(handle: Handle, problem: Problem, name: str, array: Any) -> Any:
    """Return an output in host memory, when it has the shape and the type that are due."""
    __tracebackhide__ = True
    spec = problem.tensors[problem.index(name)]
    found = array if isinstance(array, (np.ndarray, np.generic)) else on_host(handle, handle.device.wrap(array, name))
    found = np.asarray(found)
    if found.shape != spec.dims or found.dtype != spec.dtype.storage:
        due = f"{spec.dtype.storage} of shape {spec.dims}"
        raise BadParam(argument=name, expected=due, got=f"{found.dtype} of shape {found.shape}")
    return found


__all__ = ["Function", "examine_function"]
