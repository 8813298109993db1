"""The end of a fused convolution: what engines that finish it in their stores need, and an engine for the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from portadnn.enums import DataType, DnnEnum
from portadnn.graph.operation_graph import OperationGraph
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem

from ...base import (
    LAUNCH_SECONDS,
    Arg,
    Device,
    DeviceInfo,
    Engine,
    Plan,
    Run,
    ScalarArg,
    TensorArg,
)
from ...fusion.product.byte_pairs import reads_unsigned
from ...fusion.product.texts import Fused, fused, storage
from ..elementwise import ElementwiseEngine, activation_defines
from .sums import Sums, sums_args

FUSED = ConvolutionBiasActivationForward


@dataclass(frozen=True, kw_only=True)
class WithEpilogue:
    """What a convolution has whose sums go to the nodes that follow it in a graph; its output is not written.

    Its kernels' text is generated from the graph. The text's tensors come after the output, its float32 numbers after
    alpha (1) and beta (0). Places in the output are those in memory: it has no gaps.

    Attributes
    ----------
    graph : OperationGraph
        The product, and the nodes around it that its kernels compute.
    vectors : bool
        Whether the text takes vectors of VW numbers, else one number at a time.
    first : int
        Where in the output the text's first place is.
    """

    graph: OperationGraph
    vectors: bool = False
    first: int = 0

    @property
    def fused(self) -> Fused:
        """The texts."""
        return fused(self.graph, self.vectors)


@dataclass(frozen=True)
class ForwardWithEpilogue(WithEpilogue, ConvolutionForward):
    """y by the nodes that follow."""

    op: ClassVar[str] = ""  # not to be asked for by name


@dataclass(frozen=True)
class ForwardOfBytes(ForwardWithEpilogue):
    """The same of bytes, pairs of which are elements of HALF here: by kernels that sum their products as integers."""

    op: ClassVar[str] = ""

    @property
    def fused(self) -> Fused:
        """The texts."""
        return fused(self.graph, self.vectors, pairs=True)

    @property
    def defines(self) -> dict[str, int]:
        """What conv/mma.cu is told of them."""
        return {"MMA_BYTES": 1, **({"IMAGE_UNSIGNED": 1} if reads_unsigned(self.graph) else {})}


@dataclass(frozen=True)
class BackwardDataWithEpilogue(WithEpilogue, ConvolutionBackwardData):
    """dx by the nodes that follow."""

    op: ClassVar[str] = ""


@dataclass(frozen=True)
class BackwardFilterWithEpilogue(WithEpilogue, ConvolutionBackwardFilter):
    """dw by the nodes that follow, which are computed where all parts of a sum have been added up."""

    op: ClassVar[str] = ""


def epilogue_defines(problem: Problem) -> dict[str, int | float | str]:
    """Return the defines of conv/epilogue.h: none for a convolution alone, Z_STRIDES where z has other strides."""
    if isinstance(problem, WithEpilogue):
        sums = problem.fused.sums
        return {
            "EPILOGUE_LANES": "VW" if problem.vectors else 1,
            "EPILOGUE_FIRST": problem.first,
            "GENERATED": problem.fused.source,
            **(sums.defines if sums else {}),
        }
    if not isinstance(problem, FUSED):
        return {}
    return {
        "EPILOGUE": 1,
        "BIAS_C": problem.bias.strides[1],
        **({} if problem.z.same_strides(problem.y) else {"Z_STRIDES": 1}),
        **activation_defines(problem.activation, problem),
    }


def sums_of(problem: Problem) -> Sums | None:
    """Return what is taken together of results as they are stored, which few engines do."""
    return problem.fused.sums if isinstance(problem, WithEpilogue) else None


def epilogue_args(problem: Problem, workspace: int = 0) -> tuple[Arg, ...]:
    """Return the arguments of EPILOGUE_TENSORS; sums are left after so many bytes of `workspace`."""
    if isinstance(problem, WithEpilogue):
        count, text = len(problem.names), problem.fused.after
        tensors = (TensorArg(count + i, 0, kind) for i, kind in enumerate(storage(text)))
        numbers = (ScalarArg(2 + i, DataType.FLOAT) for i in range(len(text.numbers)))
        return (*tensors, *numbers, *sums_args(problem.fused.sums, workspace))
    if not isinstance(problem, FUSED):
        return ()
    names = problem.tensor_names()
    return (TensorArg(names.index("z")), TensorArg(names.index("bias")))


def output(problem: Convolution) -> TensorArg:
    """Return the argument of the tensor that a convolution of any kind writes."""
    return TensorArg(len(problem.tensors) - 1)


class ConvThenEpilogue(Engine):
    """A fused convolution by an engine that only convolves, and one pass over y that does the rest in place.

    Where z is y, the convolution is added to it; else the pass reads z.
    """

    problems = (FUSED,)

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.deterministic = engine.deterministic
        self.transforms = engine.transforms
        self.name = f"{engine.name}_then_epilogue"
        self._pass = ElementwiseEngine()

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self.engine.algo(_convolution(problem))

    def error_factor(self, problem: Problem) -> float:
        """Return the engine's, or what the rounding of the sums costs where y's type is narrower than theirs.

        That is half a unit of the stored type, of numbers that are at most the largest sum of absolute terms;
        :func:`portadnn.tolerance.tolerance` grants at least four units of the arithmetic type for each of these.
        """
        rounding = problem.dtype.limits.eps / problem.dtype.accumulator.limits.eps / 8
        return max(self.engine.error_factor(_convolution(problem)), 1 + rounding if rounding > 1 else 1.0)

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        moved = 2 * problem.tensors[-1].nbytes
        return self.engine.seconds(_convolution(problem), info) + moved / (0.8 * info.bandwidth) + LAUNCH_SECONDS

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return self.engine.why_not(_convolution(problem), info)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        return self.engine.workspace(_convolution(problem), info)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        convolve = self.engine.prepare(_convolution(problem), device)
        finish = self._pass.prepare(problem, device)

        def run(arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
            x, w, z, _, y = arrays
            alpha1, alpha2 = scalars
            if device.address(z) == device.address(y):
                convolve.run((x, w, y), (alpha1, alpha2), workspace)
                finish.run(arrays, (alpha1, 0.0), workspace)
            else:
                convolve.run((x, w, y), (alpha1, 0.0), workspace)
                finish.run(arrays, scalars, workspace)

        return Plan(
            problem, self, convolve.workspace_size, Run(run, composite=True), (*convolve.launches, *finish.launches)
        )


def _convolution(problem: Problem) -> ConvolutionForward:
    assert isinstance(problem, FUSED)
    return problem.convolution


def then_epilogue(engines: Sequence[Engine]) -> tuple[Engine, ...]:
    """Return an engine for fused convolutions for each of those engines that convolves, but only that."""
    plain = [e for e in engines if ConvolutionForward in e.problems and FUSED not in e.problems]
    return tuple(map(ConvThenEpilogue, plain))
