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
from ..descriptors import miopenTensorDescriptor_t, tensor, wide_of
from ..names import function, integer
from ..workspaces import given_workspace
from .algorithms import DATA, FORWARD, WEIGHTS, Direction, arranged, estimates, miopenConvSolution_t
from .calls import Specs, compute
from .descriptor import ConvolutionSettings, convolution_settings, miopenConvolutionDescriptor_t

Desc = miopenTensorDescriptor_t
Conv = miopenConvolutionDescriptor_t


def _solutions(direction: Direction, handle: Handle, convDesc: Any, specs: Specs) -> list[miopenConvSolution_t]:
    settings = convolution_settings(convDesc)
    named = _algorithms(direction, settings)
    return [
        miopenConvSolution_t(perf.time, perf.memory, int(perf.algo) + 1, named[perf.algo])
        for perf in estimates(direction, check_handle(handle), settings, specs)
        if perf.time >= 0 and perf.algo in named and (perf.deterministic or not settings.deterministic)
    ]


def _algorithms(direction: Direction, settings: ConvolutionSettings) -> dict[DnnEnum, Any]:
    computation = direction.computation(settings)
    return {algo: theirs for theirs, algos in computation.algorithms.items() for algo in algos}


def _get(
    direction: Direction, handle: Handle, convDesc: Any, specs: Specs, most: Any
) -> tuple[int, list[miopenConvSolution_t]]:
    found = _solutions(direction, handle, convDesc, specs)[: integer(most, "maxSolutionCount", 1)]
    return len(found), found


def _algo(direction: Direction, settings: ConvolutionSettings, solution_id: Any) -> DnnEnum:
    number = integer(solution_id, "solution_id")
    ids = {int(algo) + 1: algo for algo in _algorithms(direction, settings)}
    if number not in ids:
        raise BadParam(
            argument="solution_id",
            expected=f"one that GetSolution returns for {direction.name}: {', '.join(map(str, sorted(ids)))}",
            got=number,
        )
    return ids[number]


def _problem(
    direction: Direction, handle: Handle, convDesc: Any, specs: Specs, solution_id: Any
) -> tuple[Problem, DnnEnum]:
    settings = convolution_settings(convDesc)
    algo = _algo(direction, settings, solution_id)
    computation = direction.computation(settings)
    given = arranged(computation, settings, specs)
    return convolution_problem(handle, computation.direction.kind, given, settings.conv), algo


def _size(direction: Direction, handle: Handle, convDesc: Any, specs: Specs, solution_id: Any) -> int:
    problem, algo = _problem(direction, handle, convDesc, specs, solution_id)
    return workspace_size(handle, problem, algo)


def _compile(direction: Direction, handle: Handle, convDesc: Any, specs: Specs, solution_id: Any) -> None:
    problem, algo = _problem(direction, handle, convDesc, specs, solution_id)
    with handle.lock:
        prepare(handle, problem, algo)


def _run(
    direction: Direction,
    handle: Handle,
    convDesc: Any,
    specs: Specs,
    tensors: tuple[Any, Any, Any],
    workspace: Any,
    size: Any,
    solution_id: Any,
) -> None:
    settings = convolution_settings(convDesc)
    algo = _algo(direction, settings, solution_id)
    scratch = given_workspace(handle, workspace, size, _size(direction, handle, convDesc, specs, solution_id))
    compute(direction, handle, settings, tensors, (1.0, 0.0), algo, scratch)


def _forward(xDesc: Any, wDesc: Any, yDesc: Any) -> Specs:
    return wide_of(xDesc, "xDesc"), wide_of(wDesc, "wDesc"), wide_of(yDesc, "yDesc")


def _data(dyDesc: Any, wDesc: Any, dxDesc: Any) -> Specs:
    return wide_of(dxDesc, "dxDesc"), wide_of(wDesc, "wDesc"), wide_of(dyDesc, "dyDesc")


def _weights(dyDesc: Any, xDesc: Any, dwDesc: Any) -> Specs:
    return wide_of(xDesc, "xDesc"), wide_of(dwDesc, "dwDesc"), wide_of(dyDesc, "dyDesc")


@function
def miopenConvolutionForwardGetSolutionCount(
    handle: Handle, wDesc: Desc, xDesc: Desc, convDesc: Conv, yDesc: Desc
) -> int:
    """Return how many solutions the convolution has."""
    return len(_solutions(FORWARD, handle, convDesc, _forward(xDesc, wDesc, yDesc)))


@function
def miopenConvolutionForwardGetSolution(
    handle: Handle, wDesc: Desc, xDesc: Desc, convDesc: Conv, yDesc: Desc, maxSolutionCount: int
) -> tuple[int, list[miopenConvSolution_t]]:
    """Return (solutionCount, solutions) of the convolution, the fastest first by estimate."""
    return _get(FORWARD, handle, convDesc, _forward(xDesc, wDesc, yDesc), maxSolutionCount)


@function
def miopenConvolutionForwardGetSolutionWorkspaceSize(
    handle: Handle, wDesc: Desc, xDesc: Desc, convDesc: Conv, yDesc: Desc, solution_id: int
) -> int:
    """Return the bytes of workspace of a solution."""
    return _size(FORWARD, handle, convDesc, _forward(xDesc, wDesc, yDesc), solution_id)


@function
def miopenConvolutionForwardCompileSolution(
    handle: Handle, wDesc: Desc, xDesc: Desc, convDesc: Conv, yDesc: Desc, solution_id: int
) -> None:
    """Compile a solution's kernels, which the first run would do otherwise."""
    _compile(FORWARD, handle, convDesc, _forward(xDesc, wDesc, yDesc), solution_id)


@function
def miopenConvolutionForwardImmediate(
    handle: Handle,
    wDesc: Desc,
    w: Any,
    xDesc: Desc,
    x: Any,
    convDesc: Conv,
    yDesc: Desc,
    y: Any,
    workSpace: Any,
    workSpaceSize: int,
    solution_id: int,
) -> None:
    """Compute the convolution by a solution; Find is not needed."""
    tensors = tensor(handle, xDesc, x, "x"), tensor(handle, wDesc, w, "w"), tensor(handle, yDesc, y, "y")
    _run(FORWARD, handle, convDesc, _forward(xDesc, wDesc, yDesc), tensors, workSpace, workSpaceSize, solution_id)


@function
def miopenConvolutionBackwardDataGetSolutionCount(
    handle: Handle, dyDesc: Desc, wDesc: Desc, convDesc: Conv, dxDesc: Desc
) -> int:
    """Return how many solutions the gradient by the input has."""
    return len(_solutions(DATA, handle, convDesc, _data(dyDesc, wDesc, dxDesc)))


@function
def miopenConvolutionBackwardDataGetSolution(
    handle: Handle, dyDesc: Desc, wDesc: Desc, convDesc: Conv, dxDesc: Desc, maxSolutionCount: int
) -> tuple[int, list[miopenConvSolution_t]]:
    """Return (solutionCount, solutions) of the gradient by the input, the fastest first by estimate."""
    return _get(DATA, handle, convDesc, _data(dyDesc, wDesc, dxDesc), maxSolutionCount)


@function
def miopenConvolutionBackwardDataGetSolutionWorkspaceSize(
    handle: Handle, dyDesc: Desc, wDesc: Desc, convDesc: Conv, dxDesc: Desc, solution_id: int
) -> int:
    """Return the bytes of workspace of a solution."""
    return _size(DATA, handle, convDesc, _data(dyDesc, wDesc, dxDesc), solution_id)


@function
def miopenConvolutionBackwardDataCompileSolution(
    handle: Handle, dyDesc: Desc, wDesc: Desc, convDesc: Conv, dxDesc: Desc, solution_id: int
) -> None:
    """Compile a solution's kernels, which the first run would do otherwise."""
    _compile(DATA, handle, convDesc, _data(dyDesc, wDesc, dxDesc), solution_id)


@function
def miopenConvolutionBackwardDataImmediate(
    handle: Handle,
    dyDesc: Desc,
    dy: Any,
    wDesc: Desc,
    w: Any,
    convDesc: Conv,
    dxDesc: Desc,
    dx: Any,
    workSpace: Any,
    workSpaceSize: int,
    solution_id: int,
) -> None:
    """Compute the gradient by the input by a solution; Find is not needed."""
    tensors = tensor(handle, dxDesc, dx, "dx"), tensor(handle, wDesc, w, "w"), tensor(handle, dyDesc, dy, "dy")
    _run(DATA, handle, convDesc, _data(dyDesc, wDesc, dxDesc), tensors, workSpace, workSpaceSize, solution_id)


@function
def miopenConvolutionBackwardWeightsGetSolutionCount(
    handle: Handle, dyDesc: Desc, xDesc: Desc, convDesc: Conv, dwDesc: Desc
) -> int:
    """Return how many solutions the gradient by the filter has."""
    return len(_solutions(WEIGHTS, handle, convDesc, _weights(dyDesc, xDesc, dwDesc)))


@function
def miopenConvolutionBackwardWeightsGetSolution(
    handle: Handle, dyDesc: Desc, xDesc: Desc, convDesc: Conv, dwDesc: Desc, maxSolutionCount: int
) -> tuple[int, list[miopenConvSolution_t]]:
    """Return (solutionCount, solutions) of the gradient by the filter, the fastest first by estimate."""
    return _get(WEIGHTS, handle, convDesc, _weights(dyDesc, xDesc, dwDesc), maxSolutionCount)


@function
def miopenConvolutionBackwardWeightsGetSolutionWorkspaceSize(
    handle: Handle, dyDesc: Desc, xDesc: Desc, convDesc: Conv, dwDesc: Desc, solution_id: int
) -> int:
    """Return the bytes of workspace of a solution."""
    return _size(WEIGHTS, handle, convDesc, _weights(dyDesc, xDesc, dwDesc), solution_id)


@function
def miopenConvolutionBackwardWeightsCompileSolution(
    handle: Handle, dyDesc: Desc, xDesc: Desc, convDesc: Conv, dwDesc: Desc, solution_id: int
) -> None:
    """Compile a solution's kernels, which the first run would do otherwise."""
    _compile(WEIGHTS, handle, convDesc, _weights(dyDesc, xDesc, dwDesc), solution_id)


@function
def miopenConvolutionBackwardWeightsImmediate(
    handle: Handle,
    dyDesc: Desc,
    dy: Any,
    xDesc: Desc,
    x: Any,
    convDesc: Conv,
    dwDesc: Desc,
    dw: Any,
    workSpace: Any,
    workSpaceSize: int,
    solution_id: int,
) -> None:
    """Compute the gradient by the filter by a solution; Find is not needed."""
    tensors = tensor(handle, xDesc, x, "x"), tensor(handle, dwDesc, dw, "dw"), tensor(handle, dyDesc, dy, "dy")
    _run(WEIGHTS, handle, convDesc, _weights(dyDesc, xDesc, dwDesc), tensors, workSpace, workSpaceSize, solution_id)
