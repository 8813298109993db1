"""Running a case on one target: guarded buffers, two runs, and what of the contract can be seen from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..descriptors import TensorView
from ..dispatch.choice import choose
from ..dispatch.execute import execute
from ..enums import DnnEnum, Status
from ..errors import DnnError, NotSupported
from ..finding.find import median_time
from ..handle import Handle
from ..problem import Problem
from .buffers import on_host
from .cases import Case
from .inputs import Buffers

if TYPE_CHECKING:
    from portadnn_backends.base import Engine

WORKSPACE_GUARD = 64  # bytes behind a workspace
_GUARD_BYTE = 0xA5


class NoSuchEngine(NotSupported):
    """The target has no engine of the name that a case asks for, or that engine does not take the problem."""


@dataclass(frozen=True)
class Violation:
    """A broken promise that is not about numbers.

    Attributes
    ----------
    kind : str
        ``"input written"``, ``"outside written"``, ``"workspace overrun"``, ``"workspace size"``, ``"not repeatable"``
        or ``"failed call wrote"``.
    tensor : str
        Whose memory.
    message : str
    """

    kind: str
    tensor: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.tensor}: {self.message}"


@dataclass
class Ran:
    """What came of a case on one target.

    Attributes
    ----------
    status : str
        Name of cuDNN's status, or of an exception that is none of portadnn's.
    message : str
        Of the error.
    engine : str
        What computed it.
    error_factor : float
        How exact the engine claims to be; see ``Engine.error_factor``.
    transforms : bool
        Whether it multiplies transformed data; see ``Engine``.
    repeatable : bool or None
        Whether two runs gave the same bits; None where one was made.
    outputs : dict of str to numpy.ndarray
        The outputs in logical order, as stored.
    violations : list of Violation
    seconds : float or None
        Median device time of a call, where it was asked for.
    """

    status: str
    message: str = ""
    engine: str = ""
    error_factor: float = 1.0
    transforms: bool = False
    repeatable: bool | None = None
    outputs: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    seconds: float | None = None


def algorithm(problem: Problem, name: str) -> DnnEnum | None:
    """Return the guide's algorithm of that name for a problem; None for "".

    Raises
    ------
    BadParam
        The operation has no such algorithm.
    """
    return problem.parse_algo(name) if name else None


def status_of(error: BaseException) -> str:
    """Return the name of an error's status, or of its class where it has none."""
    return Status(error.status).name if isinstance(error, DnnError) else type(error).__name__


def run(handle: Handle, case: Case, buffers: Buffers, *, perf: bool = False) -> Ran:
    """Run a case twice and look at all of its memory afterwards. Errors of the call are results, too.

    Parameters
    ----------
    handle
        Where.
    case
        What.
    buffers
        Of :func:`~portadnn.diff.inputs.make_buffers`; not changed.
    perf
        Measure the time of a call as well.
    """
    problem = case.problem
    arrays = upload(handle, buffers, case)
    ran = Ran("SUCCESS")
    try:
        engine = _engine(handle, case, problem) if case.expect == "SUCCESS" else None
        first, ran.violations = call(handle, case, problem, buffers, arrays, engine, guarded=False)
    except Exception as error:
        ran.status, ran.message = status_of(error), str(error) or type(error).__name__
        ran.violations = _untouched(handle, buffers, arrays)
        return ran
    if engine is None:
        return ran
    ran.engine, ran.error_factor, ran.transforms = engine.name, engine.error_factor(problem), engine.transforms
    again_arrays = upload(handle, buffers, case)
    again, more = call(handle, case, problem, buffers, again_arrays, engine, guarded=True)
    ran.violations += more
    written = _written(case, buffers)
    ran.repeatable = all(first[name].tobytes() == again[name].tobytes() for name in written)
    ran.violations += violations_of(case, buffers, first, again, engine.deterministic)
    ran.outputs = {name: buffers[name].after(first[name]).array.copy() for name in problem.written}
    if perf:
        ran.seconds = _time(handle, case, problem, buffers, arrays, engine)
    return ran


def _written(case: Case, buffers: Buffers) -> set[str]:
    """Return the tensors whose memory a case writes."""
    return {name for name in buffers if name in case.problem.written or name in (case.alias or ())}


def violations_of(
    case: Case,
    buffers: Buffers,
    first: Mapping[str, npt.NDArray[Any]],
    again: Mapping[str, npt.NDArray[Any]],
    repeats: bool,
) -> list[Violation]:
    """Return the promises that all memory after two runs shows as broken.

    Parameters
    ----------
    buffers
        What both runs began with.
    first, again
        Memory after each, by tensor.
    repeats
        Whether both have to be the same.
    """
    found = []
    for name, buffer in buffers.items():
        if name not in _written(case, buffers):
            if any(memory[name].tobytes() != buffer.memory.tobytes() for memory in (first, again)):
                found.append(Violation("input written", name, "an input was changed"))
            continue
        if repeats and first[name].tobytes() != again[name].tobytes():
            found.append(Violation("not repeatable", name, "two runs differ, though the engine claims to repeat"))
        if any(buffer.after(memory[name]).outside() != buffer.outside() for memory in (first, again)):
            where = "bytes before, behind or between its elements were written"
            found.append(Violation("outside written", name, where))
    return found


def upload(handle: Handle, buffers: Buffers, case: Case) -> dict[str, Any]:
    """Return each buffer's memory on the device, copied; in place means one array, not two."""
    arrays: dict[str, Any] = {}
    for name, buffer in buffers.items():
        if case.alias and name == case.alias[0] and case.alias[1] in arrays:
            arrays[name] = arrays[case.alias[1]]
        else:
            arrays[name] = handle.device.asarray(buffer.memory)
    if case.alias:
        arrays[case.alias[0]] = arrays[case.alias[1]]
    return arrays


def _engine(handle: Handle, case: Case, problem: Problem) -> Engine:
    """Return the engine that is to compute the case."""
    if not case.engine:
        return choose(handle, problem, algorithm(problem, case.algo))
    for engine in handle.engines_for(problem):
        if engine.name == case.engine:
            reason = engine.refusal(problem, handle.info)
            if reason is not None:
                raise NoSuchEngine(f"{engine.name}: {reason}")
            return engine
    raise NoSuchEngine(f"{handle.backend} has no engine {case.engine!r} for {problem.op}")


def call(
    handle: Handle,
    case: Case,
    problem: Problem,
    buffers: Buffers,
    arrays: Mapping[str, Any],
    engine: Engine | None,
    guarded: bool,
) -> tuple[dict[str, npt.NDArray[Any]], list[Violation]]:
    """Make the call; return all memory afterwards and what was wrong with the workspace.

    The public way is taken where dispatch chooses, else the engine's plan is run. With `guarded` the workspace is a
    buffer of exactly the size that was asked for, poisoned, with a guard behind it.
    """
    tensors = {
        name: handle.device.wrap(TensorView(buffers[name].spec, array, buffers[name].offset), name)
        for name, array in arrays.items()
    }
    if case.alias:  # one array, not two views
        tensors[case.alias[0]] = tensors[case.alias[1]]
    numbers = tuple(case.numbers.values())
    direct = bool(case.engine) and engine is not None
    violations: list[Violation] = []
    workspace, size = None, 0
    if engine is not None and (guarded or direct):
        size = engine.workspace(problem, handle.info)
        if size:
            poisoned = np.full(size + WORKSPACE_GUARD, 0xFF, np.uint8)
            poisoned[size:] = _GUARD_BYTE
            workspace = handle.device.asarray(poisoned)
    if direct:
        assert engine is not None
        plan = engine.prepare(problem, handle.device)
        if plan.workspace_size != size:
            told = f"{engine.name} asked for {size} bytes, and then for {plan.workspace_size}"
            violations.append(Violation("workspace size", "workspace", told))
        plan.run([tensors[name] for name in problem.names], numbers, workspace)
    else:
        problem.validate()  # calls take 2-D arrays, problems do not
        algo = algorithm(problem, case.algo)
        names = problem.tensor_names()
        parameters = tuple(getattr(problem, f.name) for f in fields(problem) if f.name not in names)
        given = tuple(tensors.get(name) for name in names)
        execute(handle, type(problem), given, parameters, numbers, algo=algo, workspace=workspace)
    handle.synchronize()
    if workspace is not None and np.any(on_host(handle, workspace)[size:] != _GUARD_BYTE):
        told = f"bytes behind the {size} that were asked for were written"
        violations.append(Violation("workspace overrun", "workspace", told))
    return {name: on_host(handle, array) for name, array in arrays.items()}, violations


def _untouched(handle: Handle, buffers: Buffers, arrays: Mapping[str, Any]) -> list[Violation]:
    """Return which tensors a call that failed has changed."""
    try:
        after = {name: on_host(handle, array) for name, array in arrays.items()}
    except Exception as error:
        return [Violation("failed call wrote", "", f"the device does not answer any more: {error}")]
    return [
        Violation("failed call wrote", name, "a call that failed changed it")
        for name, buffer in buffers.items()
        if after[name].tobytes() != buffer.memory.tobytes()
    ]


def _time(
    handle: Handle, case: Case, problem: Problem, buffers: Buffers, arrays: Mapping[str, Any], engine: Engine
) -> float:
    """Return the median seconds of the engine's plan on the device."""
    device = handle.device
    plan = engine.prepare(problem, device)
    tensors: Sequence[Any] = [
        device.wrap(TensorView(buffers[name].spec, arrays[name], buffers[name].offset), name) for name in problem.names
    ]
    workspace = device.workspace(plan.workspace_size) if plan.workspace_size else None
    numbers = tuple(case.numbers.values())
    return median_time(device, lambda: plan.run(tensors, numbers, workspace))
