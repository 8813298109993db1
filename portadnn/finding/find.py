"""Find: time every engine that takes a problem."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..descriptors import TensorView
from ..dispatch.choice import check_type
from ..dispatch.overlap import check_apart, check_memory, extents_of
from ..dispatch.problems import check_handle, make_problem, wrapped
from ..enums import Status
from ..errors import DnnError
from ..handle import Handle, log
from ..hooks import CALL_HOOKS, computing
from ..problem import ALIGNMENT, Problem, TensorSpec

if TYPE_CHECKING:
    from portadnn_backends.base import Device, DeviceInfo, Engine

HOPELESS = 10.0  # an engine whose first run takes this many times the best engine's time is not run again
ROUNDS = 5  # measurements of the others
SHORT = 1e-4  # seconds: shorter runs are measured several at a time
LONG = 0.3  # seconds of measurements after which no more are made
_SAMPLE = 1 << 16  # random numbers, repeated over a tensor


@dataclass(frozen=True)
class Trial:
    """Outcome of timing one engine.

    Attributes
    ----------
    status : Status
        SUCCESS; NOT_SUPPORTED where it does not take the problem; ALLOC_FAILED where the workspace is too small or
        there is no memory; or the status of its failure.
    seconds : float
        The median time, -1 for failures.
    memory : int
        Bytes of workspace that it needs; 0 where it does not take the problem.
    reason : str
        Why it failed.
    """

    engine: Engine
    status: Status
    seconds: float = -1.0
    memory: int = 0
    reason: str = ""


def plain_search(handle: Handle, problem: Problem) -> list[Trial]:
    """Time all engines on memory that portadnn allocates.

    Raises
    ------
    ArchMismatch
        The device cannot compute in the problem's type.
    NotSupported
        The backend's capability table refuses the problem.
    AllocFailed
        No memory for the tensors.
    """
    device = check_handle(handle).device
    with handle.lock:
        return _search(handle, problem, lambda: [sample(device, spec) for spec in problem.tensors], None, None)


def search_with(
    handle: Handle,
    kind: type[Problem],
    tensors: Sequence[Any],
    params: Any,
    workspace: Any,
    limit: int | None = None,
) -> tuple[Problem, list[Trial]]:
    """Time the engines on the caller's tensors; outputs are overwritten.

    Parameters
    ----------
    workspace
        Scratch memory of the caller's; with None it is ours, as in the call itself.
    limit
        Bytes of workspace that an engine may need, where they are less than the workspace has; None for no limit.

    Raises
    ------
    BadParam, NotSupported, ArchMismatch
        As for the call itself.
    """
    device = check_handle(handle).device
    arrays = wrapped(device, kind, tensors)
    problem = make_problem(handle, kind, arrays, params)
    extents = extents_of(problem)
    addresses = [device.address(array) for array in arrays]
    if CALL_HOOKS:
        computing(problem, (), addresses)
    with handle.lock:
        check_memory(problem, extents, addresses)
        if workspace is not None:
            workspace = device.native_workspace(workspace)
            size = device.workspace_size(workspace)
            limit = size if limit is None else min(size, limit)
            check_apart(device, problem, extents, arrays, device.native_workspace(workspace), limit)
        return problem, _search(handle, problem, lambda: arrays, workspace, limit)


def _search(
    handle: Handle, problem: Problem, tensors: Callable[[], Sequence[Any]], workspace: Any, limit: int | None
) -> list[Trial]:
    """Return a trial of each engine with an algorithm number; `tensors` is called if one has to run."""
    from .. import capability  # read when the first search is made

    device = handle.device
    device.host_access("measures engines")
    info = device.info
    check_type(problem, info)
    engines = handle.engines_for(problem)
    capability.check(engines, problem, info)
    trials, takers = _takers(engines, problem, info)
    known = handle.found.stored(problem, info)
    _build(device, problem, [engine for engine in takers if engine.name not in known])
    seconds: dict[str, float] = {}
    new: dict[str, float] = {}
    arrays: Sequence[Any] = ()
    for engine in takers:
        name, memory = engine.name, engine.workspace(problem, info)
        if limit is not None and memory > limit:
            reason = f"needs {memory} bytes of workspace, {limit} bytes are given"
            trials.append(Trial(engine, Status.ALLOC_FAILED, memory=memory, reason=reason))
            continue
        if name not in known:
            arrays = arrays or tensors()
            trial = _attempt(device, engine, problem, arrays, workspace, min(seconds.values(), default=None))
            if trial.status is not Status.SUCCESS:
                log.warning("%s: %s failed in Find: %s", problem, name, trial.reason)
                trials.append(trial)
                continue
            new[name] = trial.seconds
        seconds[name] = known.get(name, new.get(name, 0.0))
        trials.append(Trial(engine, Status.SUCCESS, seconds[name], memory))
    handle.found.add(problem, info, seconds, new)
    handle.forget(problem)
    return trials


def _build(device: Device, problem: Problem, engines: Sequence[Engine]) -> None:
    """Build the kernels of several engines side by side; none is being built any longer when they are timed."""
    scout = device.scout() if len(engines) > 1 else None
    if scout is not None:
        for engine in engines:
            scout.visit(functools.partial(engine.prepare, problem))
        scout.wait()


def _takers(engines: Sequence[Engine], problem: Problem, info: DeviceInfo) -> tuple[list[Trial], list[Engine]]:
    """Return trials of engines that decline, and the other engines, fastest estimate first."""
    trials, takers = [], []
    for engine in engines:
        reason = engine.refusal(problem, info)
        if reason is None:
            takers.append(engine)
        else:
            trials.append(Trial(engine, Status.NOT_SUPPORTED, reason=reason))
    return trials, sorted(takers, key=lambda engine: engine.seconds(problem, info))


def _attempt(
    device: Device, engine: Engine, problem: Problem, arrays: Sequence[Any], workspace: Any, best: float | None
) -> Trial:
    """Time one engine; an error becomes its outcome."""
    memory = engine.workspace(problem, device.info)
    try:
        plan = engine.prepare(problem, device)
        if workspace is None and memory:
            workspace = device.workspace(memory)
        scalars = list(problem.scalars.values())

        def run() -> None:
            plan.run(arrays, scalars, workspace if memory else None)

        return Trial(engine, Status.SUCCESS, median_time(device, run, best), memory)
    except DnnError as error:
        return Trial(engine, Status(error.status), memory=memory, reason=str(error))
    except MemoryError as error:
        return Trial(engine, Status.ALLOC_FAILED, memory=memory, reason=str(error))
    except Exception as error:  # the other engines may be right
        return Trial(engine, Status.INTERNAL_ERROR, memory=memory, reason=f"{type(error).__name__}: {error}")


def median_time(device: Device, run: Callable[[], None], best: float | None = None) -> float:
    """Return the median seconds of a run; a single run if it takes far longer than `best`."""
    run()  # compiles what is compiled late, and fills caches
    device.synchronize()
    first = device.time(run)
    if best is not None and first > HOPELESS * best:
        return first
    batch = max(1, min(10, int(SHORT / first) if first > 0 else 10))

    def runs() -> None:
        for _ in range(batch):
            run()

    times: list[float] = []
    while len(times) < ROUNDS and sum(times) * batch < LONG:
        times.append(device.time(runs) / batch)
    return float(np.median(times))


def sample(device: Device, spec: TensorSpec) -> Any:
    """Return a new tensor of random numbers: some devices are faster on zeros."""
    skip = 0 if spec.alignment == ALIGNMENT else spec.alignment // spec.dtype.itemsize
    numbers = spec.dtype.stored(np.random.default_rng(0).standard_normal(_SAMPLE))
    memory = device.asarray(np.resize(numbers, spec.span + skip))
    return device.wrap(TensorView(spec, memory, skip), "tensor") if spec.size else device.empty(spec)


__all__ = ["Trial", "median_time", "plain_search", "sample", "search_with"]
