"""The beginning of a convolution whose operands lie in no memory: what engines need that compute them as they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from portadnn.enums import DataType
from portadnn.problem import Problem

from ...base import Arg, DeviceInfo, ScalarArg, TensorArg
from ...fusion.product.texts import OPERANDS, Operand, storage
from .epilogue import BackwardDataWithEpilogue, BackwardFilterWithEpilogue, ForwardWithEpilogue, WithEpilogue

PLACE = {  # what an element costs beside its nodes, in nodes (on CPUs as measured on two AVX2 cores)
    ("cpu", "image"): 50,
    ("cpu", "filter"): 100,
    ("gpu", "image"): 8,
    ("gpu", "filter"): 8,
}
SHORT = {"cpu": 30, "gpu": 1}  # and for each tensor of numbers that have to be converted


def steps_of(one: Operand, schedule: str, operand: str) -> float:
    """Return what an element of an operand costs, in pointwise nodes."""
    short = sum(kind.itemsize < DataType.FLOAT.itemsize for kind in one.storage)
    return one.nodes + PLACE[schedule, operand] + SHORT[schedule] * short


class WithPrologue(WithEpilogue):
    """What a convolution has of whose operands at least one is computed as it is read (conv/prologue.h).

    That one's spec is without gaps; the tensor in its place is not read. The tensors and numbers of operands come after
    those of what follows, in the order of `OPERANDS`.
    """


@dataclass(frozen=True)
class ForwardWithPrologue(WithPrologue, ForwardWithEpilogue):
    """y of operands that are computed, by the nodes that follow."""

    op: ClassVar[str] = ""  # not to be asked for by name


@dataclass(frozen=True)
class BackwardDataWithPrologue(WithPrologue, BackwardDataWithEpilogue):
    """dx of operands that are computed, by the nodes that follow."""

    op: ClassVar[str] = ""


@dataclass(frozen=True)
class BackwardFilterWithPrologue(WithPrologue, BackwardFilterWithEpilogue):
    """dw of operands that are computed, by the nodes that follow."""

    op: ClassVar[str] = ""


@runtime_checkable
class ComputesOperands(Protocol):
    """An engine that takes Problems of these types."""

    def computed_elements(self, problem: Problem, info: DeviceInfo) -> dict[str, float]:
        """Return how many elements of each of `OPERANDS` it computes, repetitions included, if all are by text."""


def computed(problem: Problem, operand: str) -> Operand | None:
    """Return what computes an operand, "image" or "filter"; None for one in memory."""
    return problem.fused.before.get(operand) if isinstance(problem, WithPrologue) else None


def prologue_defines(problem: Problem) -> dict[str, int | float | str]:
    """Return the defines of conv/prologue.h, which come beside those of conv/epilogue.h."""
    return {f"PROLOGUE_{operand.upper()}": 1 for operand in OPERANDS if computed(problem, operand)}


def prologue_args(problem: Problem, *operands: str) -> tuple[Arg, ...]:
    """Return the arguments of IMAGE_TENSORS and FILTER_TENSORS, for those of the operands that a kernel asks for."""
    if not isinstance(problem, WithPrologue):
        return ()
    args: list[Arg] = []
    after = problem.fused.after
    tensor, number = len(problem.names) + len(storage(after)), 2 + len(after.numbers)
    for operand, one in problem.fused.before.items():
        if operand in operands:
            args += [TensorArg(tensor + i, 0, kind) for i, kind in enumerate(one.storage)]
            args += [ScalarArg(number + i, DataType.FLOAT) for i in range(len(one.text.numbers))]
        tensor, number = tensor + len(one.storage), number + len(one.text.numbers)
    return tuple(args)
