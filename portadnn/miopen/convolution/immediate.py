"""Convolutions without Find: MIOpen's immediate mode. A solution is one of portadnn's algorithms."""

from __future__ import annotations

from typing import Any

from ...dispatch.choice import prepare, workspace_size
from ...dispatch.problems import check_handle
from ...enums import DnnEnum
from ...errors import BadParam
from ...handle import Handle
from ...ops.convolution.calls import convolution_problem
from ...problem import Problem
from ..names import integer
from ..workspaces import given_workspace
from .algorithms import DATA, FORWARD, WEIGHTS, Direction, arranged, estimates, miopenConvSolution_t, solver_id
from .calls import compute, specs_of, tensors_of
from .descriptor import ConvolutionSettings, convolution_settings
from .special import check, is_special


def _solutions(direction: Direction, handle: Handle, convDesc: Any, **c: Any) -> list[miopenConvSolution_t]:
    specs = specs_of(direction, c)
    settings = convolution_settings(convDesc)
    named = _algorithms(direction, settings)
    return [
        miopenConvSolution_t(perf.time, perf.memory, solver_id(perf.algo), named[perf.algo])
        for perf in estimates(direction, check_handle(handle), settings, specs)
        if perf.time >= 0 and perf.algo in named and (perf.deterministic or not settings.deterministic)
    ]


def _algorithms(direction: Direction, settings: ConvolutionSettings) -> dict[DnnEnum, Any]:
    computation = direction.computation(settings)
    return {algo: theirs for theirs, algos in computation.algorithms.items() for algo in algos}


def _get(direction: Direction, maxSolutionCount: Any, **c: Any) -> tuple[int, list[miopenConvSolution_t]]:
    found = _solutions(direction, **c)[: integer(maxSolutionCount, "maxSolutionCount", 1)]
    return len(found), found


def _algo(direction: Direction, settings: ConvolutionSettings, solution_id: Any) -> DnnEnum:
    number = integer(solution_id, "solution_id")
    ids = {solver_id(algo): algo for algo in _algorithms(direction, settings)}
    if number not in ids:
        raise BadParam(
            argument="solution_id",
            expected=f"one that GetSolution returns for {direction.name}: {', '.join(map(str, sorted(ids)))}",
            got=number,
        )
    return ids[number]


def _problem(
    direction: Direction, handle: Handle, convDesc: Any, solution_id: Any, **c: Any
) -> tuple[Problem, DnnEnum]:
    specs = specs_of(direction, c)
    settings = convolution_settings(convDesc)
    algo = _algo(direction, settings, solution_id)
    computation = direction.computation(settings)
    given = arranged(computation, settings, specs)
    return convolution_problem(handle, computation.direction.kind, given, settings.conv), algo


def _size(direction: Direction, handle: Handle, **c: Any) -> int:
    if _special(direction, c):
        return 0
    problem, algo = _problem(direction, handle, **c)
    return workspace_size(handle, problem, algo)


def _special(direction: Direction, c: dict[str, Any]) -> bool:
    """Check a convolution of several steps, which has one solution and no workspace."""
    specs = specs_of(direction, c)
    if not is_special(specs):
        return False
    settings = convolution_settings(c["convDesc"])
    check(direction, settings, specs)
    _algo(direction, settings, c["solution_id"])
    return True


def _compile(direction: Direction, handle: Handle, **c: Any) -> None:
    if _special(direction, c):
        return
    problem, algo = _problem(direction, handle, **c)
    with handle.lock:
        prepare(handle, problem, algo)


def _run(direction: Direction, handle: Handle, workSpace: Any, workSpaceSize: Any, **c: Any) -> None:
    tensors = tensors_of(direction, handle, c)
    settings = convolution_settings(c["convDesc"])
    algo = _algo(direction, settings, c["solution_id"])
    scratch = given_workspace(handle, workSpace, workSpaceSize, _size(direction, handle, **c))
    compute(direction, handle, settings, specs_of(direction, c), tensors, (1.0, 0.0), algo, scratch)


def miopenConvolutionForwardGetSolutionCount(**c):
    return len(_solutions(FORWARD, **c))


def miopenConvolutionForwardGetSolution(**c):
    return _get(FORWARD, **c)


def miopenConvolutionForwardGetSolutionWorkspaceSize(**c):
    return _size(FORWARD, **c)


def miopenConvolutionForwardCompileSolution(**c):
    _compile(FORWARD, **c)


def miopenConvolutionForwardImmediate(**c):
    _run(FORWARD, **c)


def miopenConvolutionBackwardDataGetSolutionCount(**c):
    return len(_solutions(DATA, **c))


def miopenConvolutionBackwardDataGetSolution(**c):
    return _get(DATA, **c)


def miopenConvolutionBackwardDataGetSolutionWorkspaceSize(**c):
    return _size(DATA, **c)


def miopenConvolutionBackwardDataCompileSolution(**c):
    _compile(DATA, **c)


def miopenConvolutionBackwardDataImmediate(**c):
    _run(DATA, **c)


def miopenConvolutionBackwardWeightsGetSolutionCount(**c):
    return len(_solutions(WEIGHTS, **c))


def miopenConvolutionBackwardWeightsGetSolution(**c):
    return _get(WEIGHTS, **c)


def miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(**c):
    return _size(WEIGHTS, **c)


def miopenConvolutionBackwardWeightsCompileSolution(**c):
    _compile(WEIGHTS, **c)


def miopenConvolutionBackwardWeightsImmediate(**c):
    _run(WEIGHTS, **c)
