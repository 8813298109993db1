"""Solutions: finding, running, saving and asking them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...dispatch.problems import check_handle
from ...errors import BadParam
from ...handle import Handle
from ...problem import TensorSpec
from ..convolution.descriptor import ConvolutionSettings
from ..descriptors import Opaque, value_of
from ..fusion.plan import Plan, compile_plan
from ..generated.enums import miopenFindResultsOrder_t, miopenTensorArgumentId_t
from ..names import integer
from ..workspaces import given_workspace
from . import attention, fused, single
from .memory import allocated, arguments, read
from .options import Options, find_options
from .problem import FORWARD, Fused, MhaSettings, Single, SoftmaxSettings, miopenProblem_t
from .saved import loaded, saved
from .solvers import FUSED, MHA, MHA_BACKWARD, NAMES, SOFTMAX, SOFTMAX_BACKWARD

Specs = dict[miopenTensorArgumentId_t, TensorSpec | None]


@dataclass(frozen=True)
class Solution:
    """A solution of a problem.

    Attributes
    ----------
    problem
        What it solves.
    solver, time, workspace
        Number of the solver, milliseconds when it was found, bytes of workspace.
    plan
        Of a fused problem.
    """

    problem: Single | Fused
    solver: int
    time: float
    workspace: int
    plan: Plan | None = field(default=None, compare=False)

    @property
    def specs(self) -> Specs:
        """The tensors that a run takes; None for scalars."""
        return _specs(self.problem)

    def run(self, handle: Handle, values: dict[miopenTensorArgumentId_t, Any], workspace: Any) -> None:
        """Run it on its tensors."""
        problem = self.problem
        if isinstance(problem, Fused):
            assert self.plan is not None
            fused.run(handle, problem, self.plan, values)
        elif isinstance(problem.settings, ConvolutionSettings):
            single.run_convolution(handle, problem, self.solver, values, workspace)
        elif isinstance(problem.settings, SoftmaxSettings):
            single.run_softmax(handle, problem, values)
        else:
            attention.run(handle, problem, values)


class miopenSolution_t(Opaque):
    """A solution."""

    made_by = "miopenFindSolutions"


def _specs(problem: Single | Fused) -> Specs:
    if isinstance(problem, Fused):
        return fused.specs(problem)
    if isinstance(problem.settings, MhaSettings):
        return attention.specs(problem)
    if isinstance(problem.settings, (ConvolutionSettings, SoftmaxSettings)):
        return single.specs(problem)
    raise single.not_alone(problem)


def _solver(problem: Single | Fused) -> int:
    if isinstance(problem, Fused):
        return FUSED
    forward, backward = (
        (SOFTMAX, SOFTMAX_BACKWARD) if isinstance(problem.settings, SoftmaxSettings) else (MHA, MHA_BACKWARD)
    )
    return forward if problem.direction is FORWARD else backward


def _object(solution: Solution) -> miopenSolution_t:
    desc = miopenSolution_t()
    desc.value = solution
    return desc


def miopenFindSolutions(handle, problem, options, maxSolutions):
    _ = check_handle(handle).device
    value = value_of(problem, miopenProblem_t, "problem")
    given, most = find_options(options), integer(maxSolutions, "maxSolutions")
    if isinstance(value, Single) and isinstance(value.settings, ConvolutionSettings):
        candidates = single.find_convolution(handle, value, given)
        found = [Solution(value, c.solver, c.time, c.memory) for c in candidates]
    else:
        found = [_only(handle, value, given)]
    by_size = given.order is miopenFindResultsOrder_t.miopenFindResultsOrderByWorkspaceSize
    found.sort(key=lambda one: one.workspace if by_size else one.time)
    solutions = [_object(one) for one in found if given.limit is None or one.workspace <= given.limit][:most]
    return tuple(solutions), len(solutions)


def _only(handle: Handle, problem: Single | Fused, options: Options) -> Solution:
    """Return the one solution of a problem, once it was run twice."""
    specs = _specs(problem)
    plan = None
    if isinstance(problem, Fused):
        plan = fused.plan_of(problem)
        compile_plan(handle, plan)
    values = {id: allocated(handle, options.tensors, id, spec) for id, spec in specs.items()}
    solution = Solution(problem, _solver(problem), 0.0, 0, plan)
    spent = _timed(handle, lambda: solution.run(handle, values, None))
    return Solution(problem, solution.solver, spent, 0, plan)


def _timed(handle: Handle, run: Callable[[], None]) -> float:
    run()
    handle.synchronize()
    start = time.perf_counter()
    run()
    handle.synchronize()
    return 1e3 * (time.perf_counter() - start)


def miopenRunSolution(handle, solution, nInputs, tensors, workspace, workspaceSize):
    _ = check_handle(handle).device
    value = _value(solution)
    given = arguments(tensors, nInputs)
    scratch = given_workspace(handle, workspace, workspaceSize, value.workspace, "workspace")
    fixed = isinstance(value.problem, Fused)
    values = {}
    optional = attention.OPTIONAL
    for id, spec in value.specs.items():
        if id in given or id not in optional:
            values[id] = read(handle, given, id, spec, fixed)
    value.run(handle, values, scratch)


def miopenLoadSolution(data, size):
    count = integer(size, "size")
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise BadParam(argument="data", expected="bytes", got=type(data).__name__)
    if len(data) < count:
        raise BadParam(argument="size", expected=f"at most the {len(data)} bytes of data", got=count)
    problem, solver, spent, workspace = loaded(bytes(data)[:count])
    if solver not in NAMES:
        raise BadParam(argument="data", expected="a known solver", got=solver)
    plan = fused.plan_of(problem) if isinstance(problem, Fused) else None
    return _object(Solution(problem, solver, spent, workspace, plan))


def _value(solution: Any) -> Solution:
    value: Solution = value_of(solution, miopenSolution_t, "solution")
    return value


def miopenSaveSolution(solution):
    return _saved(_value(solution))


def miopenGetSolutionSize(solution):
    return len(_saved(_value(solution)))


def _saved(solution: Solution) -> bytes:
    return saved(solution.problem, solution.solver, solution.time, solution.workspace)


def miopenGetSolutionWorkspaceSize(solution):
    return _value(solution).workspace


def miopenGetSolutionTime(solution):
    return _value(solution).time


def miopenGetSolutionSolverId(solution):
    return _value(solution).solver
