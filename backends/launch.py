"""Launches as data: kernels with their arguments, and what runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portadnn.enums import DataType

from .programs import Program


@dataclass(frozen=True)
class TensorArg:
    """A kernel argument: the problem's tensor number `index` (inputs first, then outputs), from byte `offset` on.

    With a `dtype` the kernel sees a byte buffer as elements of that type.
    """

    index: int
    offset: int = 0
    dtype: DataType | None = None


@dataclass(frozen=True)
class ScalarArg:
    """A kernel argument: the problem's run-time number `index`, passed as `dtype` (float32 or float64)."""

    index: int
    dtype: DataType


@dataclass(frozen=True)
class WorkspaceArg:
    """A kernel argument: the workspace from byte `offset` (a multiple of 256) on, holding elements of `dtype`."""

    offset: int = 0
    dtype: DataType = DataType.FLOAT


@dataclass(frozen=True)
class ConstantArg:
    """A kernel argument with a fixed value, such as ``np.int32(n)``."""

    value: np.generic


@dataclass(frozen=True)
class CountersArg:
    """A kernel argument: `count` (at most ``MOST_COUNTERS``) int32 zeros, which the launch leaves as zeros.

    All launches of a stream share them. They let the last work-group of several know that it is the last.
    """

    count: int


MOST_COUNTERS = 65536

Arg = TensorArg | ScalarArg | WorkspaceArg | CountersArg | ConstantArg


@dataclass(frozen=True)
class Kernel:
    """A function of a compiled program."""

    name: str
    program: Program

    @property
    def native(self) -> Any:
        """The device's own program."""
        return self.program.native

    @property
    def source(self) -> str:
        """The source text, with everything that it includes."""
        return self.program.text()


@dataclass(frozen=True)
class Launch:
    """One kernel launch: `grid` work-groups of `block` work-items, and the arguments in order.

    `local_bytes` is local memory that the kernel does not declare; ``DeviceInfo.dynamic_memory`` limits it. The
    work-groups of a `cooperative` launch run at the same time, on devices with that feature, and may wait for each
    other.
    """

    kernel: Kernel
    grid: tuple[int, ...]
    block: tuple[int, ...]
    args: tuple[Arg, ...]
    local_bytes: int = 0
    cooperative: bool = False

    def moved(self, places: Sequence[tuple[int, int]], numbers: Sequence[int]) -> Launch:
        """Return the launch with tensors and numbers of longer lists: each tensor's place there and bytes to add."""

        def moved(arg: Arg) -> Arg:
            if isinstance(arg, TensorArg):
                index, offset = places[arg.index]
                return replace(arg, index=index, offset=offset + arg.offset)
            return replace(arg, index=numbers[arg.index]) if isinstance(arg, ScalarArg) else arg

        return replace(self, args=tuple(map(moved, self.args)))


class Run:
    """What runs a plan: ``run(arrays, scalars, workspace)``, arrays and scalars in the problem's order.

    Parameters
    ----------
    call
        Does it.
    composite
        Whether `call` does nothing but run other Runs, so that recording their launches records it.

    Attributes
    ----------
    recordable : bool
        Whether a recorder of the device sees all that a call does.
    """

    __slots__ = ("call", "recordable")

    def __init__(self, call: Callable[[Sequence[Any], Sequence[float], Any], None], composite: bool = False) -> None:
        self.call = call
        self.recordable = composite

    def __call__(self, arrays: Sequence[Any], scalars: Sequence[float], workspace: Any) -> None:
        self.call(arrays, scalars, workspace)

    def instead(self, call: Callable[[Sequence[Any], Sequence[float], Any], None]) -> Run:
        """Return what runs `call` in this run's place, for hooks."""
        return Run(call)


# launches with arrays, numbers and workspace, as a LaunchRun is called
BoundLaunches = tuple[Sequence[Launch], Sequence[Any], Sequence[float], Any]
