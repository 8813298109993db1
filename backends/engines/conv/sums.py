"""Sums over a convolution's results that its kernel takes as it stores them: what engines and their texts agree on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from portadnn.enums import DataType
from portadnn.ops.convolution.calls import Convolution
from portadnn.problem import Problem

from ...base import Arg, DeviceInfo, WorkspaceArg

ALIGNMENT = 256  # bytes, of the parts of the workspace


@dataclass(frozen=True)
class Sums:
    """What is taken together (conv/sums.h), of the rows (channels of a group), the columns (pixels), and the groups.

    Attributes
    ----------
    count : int
        Different sums of each result.
    results : int
        Results of each.
    groups, rows, columns : bool
        What each is taken over.
    """

    count: int
    results: int
    groups: bool
    rows: bool
    columns: bool

    def slices(self, groups: int, rows: int, columns: int) -> int:
        """Return the parts of each result, of so many groups and tiles along rows and columns."""
        return math.prod(n for n, own in ((groups, self.groups), (rows, self.rows), (columns, self.columns)) if own)

    def pitch(self, slices: int) -> int:
        """Return the float32 numbers from one sum's parts to those of the next."""
        return -(-slices * self.results * 4 // ALIGNMENT) * ALIGNMENT // 4

    @property
    def defines(self) -> dict[str, int | float | str]:
        """What conv/sums.h is told beside the text."""
        flags = {"SUM_GROUPS": self.groups, "SUM_ROWS": self.rows, "SUM_COLUMNS": self.columns}
        return {"EPILOGUE_SUMS": self.count, **{name: int(own) for name, own in flags.items()}}


@dataclass(frozen=True)
class Parts:
    """Where a kernel leaves its parts: ``parts[sum][slice][result]``, from byte `offset` of the workspace on."""

    slices: int
    offset: int


@runtime_checkable
class AddsUp(Protocol):
    """An engine that takes Problems with sums; the launch that joins the parts is not its own."""

    def parts(self, problem: Problem, info: DeviceInfo) -> Parts:
        """Return where its kernel leaves the parts: beyond its own workspace."""


def after(nbytes: int) -> int:
    """Return where the parts begin, after an engine's own workspace."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def sums_args(sums: Sums | None, workspace: int) -> tuple[Arg, ...]:
    """Return the argument of a kernel with sums, whose engine has so many bytes of workspace itself."""
    return (WorkspaceArg(after(workspace), DataType.FLOAT),) if sums is not None else ()


def sums_over(problem: Convolution, axes: dict[int, tuple[int, bool]]) -> tuple[bool, bool, bool] | None:
    """Tell what sums over axes of the output's memory take together: groups, rows, columns; None for other sums.

    Parameters
    ----------
    axes
        By the stride of an axis of more than one element its size, and whether it is summed over.
    """
    y = problem.tensors[-1]
    channels = y.dims[1] // problem.groups
    step = y.strides[1]
    groups = [(problem.groups, channels * step)]
    columns = [(size, stride) for i, (size, stride) in enumerate(zip(y.dims, y.strides, strict=True)) if i != 1]
    found = []
    for part in (groups, [(channels, step)], columns):
        whole = {own for size, stride in part for own in _met(size, stride, axes)}
        if len(whole) > 1:
            return None
        found.append(whole == {True})
    return (found[0], found[1], found[2]) if found[1] or found[2] else None


def _met(size: int, stride: int, axes: dict[int, tuple[int, bool]]) -> set[bool]:
    """Return whether those axes are summed over that a walk of `size` steps goes along."""
    if size == 1:
        return set()
    return {own for other, (count, own) in axes.items() if other < size * stride and stride < other * count}
