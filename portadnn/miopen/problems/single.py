"""What solves single problems: convolutions by their algorithms, softmax and attention by one solver each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...enums import DnnEnum
from ...errors import BadParam, NotSupported
from ...handle import Handle
from ...ops.convolution.algorithms import find_workspace_size
from ...problem import TensorSpec
from ..convolution import algorithms as conv
from ..convolution.calls import compute
from ..convolution.descriptor import ConvolutionSettings
from ..convolution.special import is_special
from ..generated.enums import miopenTensorArgumentId_t
from ..softmax import miopenSoftmaxBackward_V2, miopenSoftmaxForward_V2
from ..workspaces import given_workspace
from .memory import allocated
from .options import Options
from .problem import BACKWARD, FORWARD, WEIGHTS, Id, Single, SoftmaxSettings

Values = Mapping[miopenTensorArgumentId_t, Any]
_DIRECTIONS = {FORWARD: conv.FORWARD, BACKWARD: conv.DATA, WEIGHTS: conv.WEIGHTS}
_CONVOLUTION = (Id.miopenTensorConvolutionX, Id.miopenTensorConvolutionW, Id.miopenTensorConvolutionY)
_SOFTMAX = {
    FORWARD: (Id.miopenTensorSoftmaxX, Id.miopenTensorSoftmaxY),
    BACKWARD: (Id.miopenTensorSoftmaxY, Id.miopenTensorSoftmaxDY, Id.miopenTensorSoftmaxDX),
}


@dataclass(frozen=True)
class Candidate:
    """A way to solve a problem: number of its solver, milliseconds, bytes of workspace."""

    solver: int
    time: float
    memory: int


def specs(problem: Single) -> dict[miopenTensorArgumentId_t, TensorSpec | None]:
    """Return the tensors that running a convolution or a softmax takes."""
    settings = problem.settings
    ids: Sequence[Id] = _CONVOLUTION if isinstance(settings, ConvolutionSettings) else _SOFTMAX[problem.direction]
    return {id: problem.spec(id) for id in ids}


def find_convolution(handle: Handle, problem: Single, options: Options) -> list[Candidate]:
    """Return the algorithms that take a convolution, measured."""
    settings = problem.settings
    assert isinstance(settings, ConvolutionSettings)
    direction = _DIRECTIONS[problem.direction]
    computation = direction.computation(settings)
    layouts = [problem.spec(id) for id in _CONVOLUTION]
    arranged = conv.arranged(computation, settings, layouts)
    needed = 0
    if not is_special(layouts):
        needed = find_workspace_size(handle, computation.direction.kind, arranged, settings.conv)
    size = needed if options.limit is None else min(needed, options.limit)
    workspace = options.workspace
    if workspace is not None:
        given_workspace(handle, workspace, options.size, 0, "buffer")
        size = min(size, options.size)
    elif size:
        workspace = handle.empty_bytes(size)
    arrays = [allocated(handle, options.tensors, id, spec) for id, spec in zip(_CONVOLUTION, layouts, strict=True)]
    found = conv.search(direction, handle, settings, layouts, arrays, workspace, size)
    return [Candidate(conv.solver_id(entry.algo), entry.time, entry.memory) for _, entry in found]


def run_convolution(handle: Handle, problem: Single, solver: int, values: Values, workspace: Any) -> None:
    """Run a convolution with an algorithm."""
    settings = problem.settings
    assert isinstance(settings, ConvolutionSettings)
    direction = _DIRECTIONS[problem.direction]
    known: dict[int, DnnEnum] = {
        conv.solver_id(algo): algo for algos in direction.computation(settings).algorithms.values() for algo in algos
    }
    if solver not in known:
        raise BadParam(argument="solution", expected="a solver of this problem", got=solver)
    image, weights, result = (values[id] for id in _CONVOLUTION)
    x, w, y = (problem.spec(id) for id in _CONVOLUTION)
    given = (image, weights, result)
    compute(direction, handle, settings, (x, w, y), given, (1.0, 0.0), known[solver], workspace)


def run_softmax(handle: Handle, problem: Single, values: Values) -> None:
    """Run softmax or its gradient."""
    settings = problem.settings
    assert isinstance(settings, SoftmaxSettings)
    tensors = [values[id] for id in _SOFTMAX[problem.direction]]
    call: Callable[..., None] = miopenSoftmaxForward_V2 if problem.direction is FORWARD else miopenSoftmaxBackward_V2
    call(handle, settings.algorithm, settings.mode, *tensors, settings.alpha, settings.beta)


def not_alone(problem: Single) -> NotSupported:
    """Return the refusal of an operation that MIOpen solves only where it is fused."""
    kind = type(problem.settings).__name__.removesuffix("Settings").lower()
    expected = "a convolution, softmax, attention, or a fused problem"
    return NotSupported("fuse it with others (miopenFuseProblems)", argument="problem", expected=expected, got=kind)
