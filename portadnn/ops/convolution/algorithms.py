"""What the queries of convolution algorithms share: results, one for each algorithm, and how they are come by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ...arguments import as_integer
from ...dispatch.choice import choose
from ...dispatch.problems import check_handle
from ...enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdDataPreference,
    ConvolutionBwdFilterAlgo,
    ConvolutionBwdFilterPreference,
    ConvolutionFwdAlgo,
    ConvolutionFwdPreference,
    DnnEnum,
    MathType,
    Status,
)
from ...errors import BadParam, NotSupported
from ...finding.find import Trial, plain_search, search_with
from ...handle import Handle
from ...problem import Problem
from .calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
    check_convolution,
    convolution_problem,
)

__all__ = ["ConvolutionBwdDataAlgoPerf", "ConvolutionBwdFilterAlgoPerf", "ConvolutionFwdAlgoPerf"]

A = TypeVar("A", bound=DnnEnum)


@dataclass(frozen=True)
class AlgoPerf(Generic[A]):
    """What is known of an algorithm for a problem.

    Attributes
    ----------
    algo
        The algorithm.
    status : Status
        SUCCESS; NOT_SUPPORTED where it does not take the problem; ALLOC_FAILED where it needs more workspace than was
        given or than there is; otherwise the status of its failure.
    time : float
        Milliseconds, measured by Find and estimated by Get; -1 where the status is not SUCCESS.
    memory : int
        Exact bytes of workspace.
    deterministic : bool
        Whether repetition is known to give the same bits.
    math_type : MathType
        The math that the problem permits.
    engine : str
        Which implementation of the algorithm, the fastest where there are several; the one that runs when this
        algorithm is asked for.
    reason : str
        Why the status is not SUCCESS.
    """

    algo: A
    status: Status
    time: float = -1.0
    memory: int = 0
    deterministic: bool = False
    math_type: MathType = MathType.DEFAULT
    engine: str = ""
    reason: str = ""


class ConvolutionFwdAlgoPerf(AlgoPerf[ConvolutionFwdAlgo]):
    """What is known of a forward algorithm (guide section 3.16)."""


class ConvolutionBwdDataAlgoPerf(AlgoPerf[ConvolutionBwdDataAlgo]):
    """What is known of a backward-data algorithm (guide section 3.22)."""


class ConvolutionBwdFilterAlgoPerf(AlgoPerf[ConvolutionBwdFilterAlgo]):
    """What is known of a backward-filter algorithm (guide section 3.19)."""


P = TypeVar("P", bound="AlgoPerf[Any]")


class AlgoPerfs(list[P]):
    """What Find and Get return: a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        from ..._page.cells import table

        head = ("algorithm", "engine", "ms", "bytes of workspace", "deterministic", "status")
        rows = [
            (
                getattr(perf.algo, "name", perf.algo),
                perf.engine,
                None if perf.time < 0 else float(perf.time),
                perf.memory,
                perf.deterministic,
                perf.reason or perf.status.name,
            )
            for perf in self
        ]
        return table(f"{len(self)} algorithms", head, rows)


@dataclass(frozen=True)
class Direction(Generic[A, P]):
    """What the three directions differ in."""

    kind: type[Convolution]
    algos: type[A]
    perf: type[P]
    preferences: type[DnnEnum]


FORWARD = Direction(ConvolutionForward, ConvolutionFwdAlgo, ConvolutionFwdAlgoPerf, ConvolutionFwdPreference)
DATA = Direction(
    ConvolutionBackwardData, ConvolutionBwdDataAlgo, ConvolutionBwdDataAlgoPerf, ConvolutionBwdDataPreference
)
FILTER = Direction(
    ConvolutionBackwardFilter, ConvolutionBwdFilterAlgo, ConvolutionBwdFilterAlgoPerf, ConvolutionBwdFilterPreference
)


def _count(requested: Any, algos: type[DnnEnum]) -> int:
    if requested is None:
        return len(algos)
    return as_integer(requested, "requested", 1, "an integer >= 1")


def _summary(direction: Direction[A, P], algo: A, problem: Problem, trials: Sequence[Trial]) -> P:
    """Return the fastest engine's trial as the algorithm's, or else the failure that came furthest."""
    mine = [trial for trial in trials if trial.engine.implements(problem, algo)]
    assert isinstance(problem, Convolution)
    math_type = problem.math
    if not mine:
        return direction.perf(algo, Status.NOT_SUPPORTED, math_type=math_type, reason="no engine implements it here")
    order = (Status.SUCCESS, Status.ALLOC_FAILED)  # then failures, then what is not supported

    def rank(trial: Trial) -> tuple[int, float, int]:
        place = order.index(trial.status) if trial.status in order else 2 + (trial.status is Status.NOT_SUPPORTED)
        return place, trial.seconds, trial.memory

    best = min(mine, key=rank)
    engine, time, reason = best.engine, -1.0, best.reason
    if best.status is Status.SUCCESS:
        time = 1e3 * best.seconds
    elif best.status is Status.NOT_SUPPORTED:
        reason = "; ".join(f"{trial.engine.name}: {trial.reason}" for trial in mine)
    return direction.perf(algo, best.status, time, best.memory, engine.deterministic, math_type, engine.name, reason)


def _sorted(direction: Direction[A, P], problem: Problem, trials: Sequence[Trial], count: int) -> list[P]:
    """Return one result for each algorithm: those that can, the fastest first, and then the others."""
    own = {trial.engine.algo(problem) for trial in trials}  # of equal times, an engine's own algorithm stands first
    algos = sorted(direction.algos, key=lambda algo: algo not in own)
    found = [_summary(direction, algo, problem, trials) for algo in algos]
    found.sort(key=lambda perf: (perf.status is not Status.SUCCESS, perf.time))
    return AlgoPerfs(found[:count])


def find(
    direction: Direction[A, P], handle: Handle, tensors: tuple[Any, ...], conv: Any, requested: int | None
) -> list[P]:
    """Measure on memory of our own."""
    count = _count(requested, direction.algos)
    problem = convolution_problem(handle, direction.kind, tensors, conv)
    return _sorted(direction, problem, plain_search(handle, problem), count)


def find_ex(
    direction: Direction[A, P],
    handle: Handle,
    tensors: tuple[Any, ...],
    conv: Any,
    requested: int | None,
    workspace: Any,
    limit: int | None = None,
) -> list[P]:
    """Measure on the caller's tensors and workspace, of which no more than `limit` bytes are used."""
    check_handle(handle)
    count = _count(requested, direction.algos)
    for name, tensor in zip(direction.kind.tensor_names(), tensors, strict=True):
        if tensor is None:
            raise BadParam(argument=name, expected="a tensor", got=None)
    problem, trials = search_with(handle, direction.kind, tensors, check_convolution(conv), workspace, limit)
    return _sorted(direction, problem, trials, count)


def _estimates(direction: Direction[A, P], handle: Handle, problem: Problem) -> list[Trial]:
    """Return the engine that would run for each algorithm, with the seconds that it says it takes."""
    info = handle.device.info
    trials = []
    for algo in direction.algos:
        try:
            engine = choose(handle, problem, algo)
        except NotSupported:
            continue
        seconds, memory = engine.seconds(problem, info), engine.workspace(problem, info)
        trials.append(Trial(engine, Status.SUCCESS, seconds, memory))
    return trials


def get(
    direction: Direction[A, P],
    handle: Handle,
    tensors: tuple[Any, ...],
    conv: Any,
    preference: Any,
    memory_limit: Any,
) -> A:
    """Estimate, and return the best algorithm that does with the workspace."""
    check_handle(handle)
    wanted = None if preference is None else direction.preferences.parse(preference, "preference").name
    if wanted is None:
        wanted = "PREFER_FASTEST" if memory_limit is None else "SPECIFY_WORKSPACE_LIMIT"
    limit: float = 0 if wanted == "NO_WORKSPACE" else float("inf")
    if wanted == "SPECIFY_WORKSPACE_LIMIT":
        limit = as_integer(memory_limit, "memory_limit", 0, "an integer >= 0")
    problem = convolution_problem(handle, direction.kind, tensors, conv)
    found = _sorted(direction, problem, _estimates(direction, handle, problem), len(direction.algos))
    for perf in found:
        if perf.status is Status.SUCCESS and perf.memory <= limit:
            return perf.algo  # type: ignore[no-any-return]
    able = [perf for perf in found if perf.status is Status.SUCCESS]
    if not able:
        choose(handle, problem)  # raises and says why
        raise NotSupported("no algorithm takes it", argument="algo")
    least = min(able, key=lambda perf: perf.memory)
    raise NotSupported(
        argument="preference" if wanted == "NO_WORKSPACE" else "memory_limit",
        expected=f"at least {least.memory} bytes of workspace, which {least.algo} needs",
        got=f"{limit:.0f} bytes",
    )


def get_v7(
    direction: Direction[A, P], handle: Handle, tensors: tuple[Any, ...], conv: Any, requested: int | None
) -> list[P]:
    """Estimate, and return all algorithms."""
    count = _count(requested, direction.algos)
    problem = convolution_problem(handle, direction.kind, tensors, conv)
    info = handle.device.info
    trials = _estimates(direction, handle, problem)
    able = {trial.engine.algo(problem) for trial in trials}
    for engine in handle.engines_for(problem):
        reason = engine.refusal(problem, info)
        if reason is not None and engine.algo(problem) not in able:
            trials.append(Trial(engine, Status.NOT_SUPPORTED, reason=reason))
    return _sorted(direction, problem, trials, count)


def find_workspace_size(handle: Handle, kind: type[Convolution], tensors: tuple[Any, ...], conv: Any) -> int:
    """Return the largest workspace that an engine asks for."""
    return largest_workspace(handle, convolution_problem(handle, kind, tensors, conv))


def largest_workspace(handle: Handle, problem: Problem) -> int:
    """Return the largest workspace that an engine asks for."""
    info = handle.device.info
    takers = [engine for engine in handle.engines_for(problem) if engine.refusal(problem, info) is None]
    return max((engine.workspace(problem, info) for engine in takers), default=0)
