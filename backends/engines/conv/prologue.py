"""The beginning of a convolution whose operands lie in no memory: what engines need that compute them as they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from portadnn.enums import DataType
from portadnn.ops.convolution.calls import ConvolutionBackwardFilter
from portadnn.problem import Problem

from ...base import Arg, DeviceInfo, ScalarArg, TensorArg
from .epilogue import Written, WrittenBackwardData, WrittenBackwardFilter, WrittenForward

OPERANDS = ("image", "filter")
PLACE = {  # what an element costs beside its nodes, in nodes (on CPUs as measured on two AVX2 cores)
    ("cpu", "image"): 50,
    ("cpu", "filter"): 100,
    ("gpu", "image"): 8,
    ("gpu", "filter"): 8,
}
SHORT = {"cpu": 30, "gpu": 1}  # and for each tensor of numbers that have to be converted


@dataclass(frozen=True)
class Computed:
    """What the text of an operand reads.

    Attributes
    ----------
    storage : tuple of DataType
        Of its tensors: types as wide as their elements.
    numbers : int
        Its float32 numbers.
    nodes : int
        The pointwise nodes that it computes.
    """

    storage: tuple[DataType, ...]
    numbers: int
    nodes: int

    def steps(self, schedule: str, operand: str) -> float:
        """Return what an element costs, in pointwise nodes."""
        short = sum(kind.itemsize < DataType.FLOAT.itemsize for kind in self.storage)
        return self.nodes + PLACE[schedule, operand] + SHORT[schedule] * short


@dataclass(frozen=True, kw_only=True)
class WithComputed(Written):
    """What a convolution has of whose operands at least one is computed by text (conv/prologue.h).

    That one's spec is without gaps; the tensor in its place is not read. `text` has what computes the operands as well.

    Attributes
    ----------
    before_image, before_filter : Computed or None
        For the image and the filter of conv/prologue.h; see `operand_of`. Their tensors and numbers come after those
        of what follows, in this order.
    """

    before_image: Computed | None = None
    before_filter: Computed | None = None


@dataclass(frozen=True)
class ComputedForward(WithComputed, WrittenForward):
    """y by text, of operands by text."""

    op: ClassVar[str] = ""  # not to be asked for by name


@dataclass(frozen=True)
class ComputedBackwardData(WithComputed, WrittenBackwardData):
    """dx by text, of operands by text."""

    op: ClassVar[str] = ""


@dataclass(frozen=True)
class ComputedBackwardFilter(WithComputed, WrittenBackwardFilter):
    """dw by text, of operands by text."""

    op: ClassVar[str] = ""


@runtime_checkable
class ComputesOperands(Protocol):
    """An engine that takes Problems of these types."""

    def computed_elements(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return how many elements of each of `OPERANDS` it computes, repetitions included, if all are by text."""


def operand_of(problem: Problem, name: str) -> str:
    """Return what conv/prologue.h calls the input `name` of a convolution: "filter" for the rows of the product."""
    rows = "dy" if isinstance(problem, ConvolutionBackwardFilter) else "w"
    return "filter" if name == rows else "image"


def computed(problem: Problem, operand: str) -> Computed | None:
    """Return what the text of an operand, "image" or "filter", reads; None for one in memory."""
    if not isinstance(problem, WithComputed):
        return None
    return problem.before_image if operand == "image" else problem.before_filter


def prologue_defines(problem: Problem) -> dict[str, int | float | str]:
    """Return the defines of conv/prologue.h, which come beside those of conv/epilogue.h."""
    return {f"PROLOGUE_{operand.upper()}": 1 for operand in OPERANDS if computed(problem, operand)}


def prologue_args(problem: Problem, *operands: str) -> tuple[Arg, ...]:
    """Return the arguments of IMAGE_TENSORS and FILTER_TENSORS, for those of the operands that a kernel asks for."""
    if not isinstance(problem, WithComputed):
        return ()
    args: list[Arg] = []
    tensor, number = len(problem.names) + len(problem.storage), 2 + problem.numbers
    for operand in OPERANDS:
        one = computed(problem, operand)
        if one is None:
            continue
        if operand in operands:
            args += [TensorArg(tensor + i, 0, kind) for i, kind in enumerate(one.storage)]
            args += [ScalarArg(number + i, DataType.FLOAT) for i in range(one.numbers)]
        tensor, number = tensor + len(one.storage), number + one.numbers
    return tuple(args)
