"""Transpose engines: transform_tensor between layouts with different contiguous axes.

Element by element, one side of such a copy touches a new cache line for every value. On GPUs both sides move whole rows
through a tile in local memory; on CPUs vectors are turned over in registers, a tile of lines that stay in the cache.
"""

from __future__ import annotations

import math

from portadnn.ops.tensor import TransformTensor
from portadnn.problem import Problem

from ..base import Arg, ConstantArg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from .conv.cpu.common import Defines, Tile
from .conv.run_time_sizes import as_argument
from .layouts import Axis, coalesce, offset_expression, place_defines

TILE, ROWS = 32, 8
X, Y = 0, 1  # tensor positions
Described = tuple[Defines, tuple[ConstantArg, ...]]


def _axes(problem: Problem) -> list[Axis]:
    return coalesce(problem.tensors[Y].dims, problem.tensors)


def _both(axes: list[Axis]) -> tuple[Axis, Axis]:
    """Return the axes along which y and x are contiguous."""
    return axes[-1], next(axis for axis in axes if axis.strides[X] == 1)


def _batches(rest: list[Axis]) -> Defines:
    return {"X_BATCH(i)": offset_expression(rest, X, "i"), "Y_BATCH(i)": offset_expression(rest, Y, "i")}


class _Transpose(Engine):
    """Tiles of the two contiguous axes; all others are batches."""

    wide = True
    problems = (TransformTensor,)
    folder: str
    tile: int
    block: tuple[int, int]

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        axes = _axes(problem)
        if axes[-1].strides[Y] != 1 or axes[-1].strides[X] == 1:
            return "the layouts have the same contiguous axis"
        if not any(axis.strides[X] == 1 for axis in axes):
            return "x has no contiguous axis"
        return None

    def described(self, problem: Problem, info: DeviceInfo, sizes: dict[str, int], rest: list[Axis]) -> Described:
        """Return the defines of sizes, of the other axes and of this schedule, and further arguments."""
        raise NotImplementedError

    def prepare(self, problem: Problem, device: Device) -> Plan:
        axes = _axes(problem)
        a, b = _both(axes)
        rest = [axis for axis in axes if axis is not a and axis is not b]
        sizes = {"SIZE_A": a.size, "SIZE_B": b.size, "X_STRIDE_A": a.strides[X], "Y_STRIDE_B": b.strides[Y]}
        described, more = self.described(problem, device.info, sizes, rest)
        defines = {f"DTYPE_{problem.dtype}": 1, **place_defines(problem), "TILE": self.tile, **described}
        kernel = device.compile(f"{self.folder}/tensor/{self.name}.cl", self.name, defines)
        groups = -(-a.size // self.tile) * -(-b.size // self.tile) * math.prod(axis.size for axis in rest)
        real = problem.dtype.accumulator
        args: tuple[Arg, ...] = (TensorArg(X), TensorArg(Y), ScalarArg(0, real), ScalarArg(1, real), *more)
        launch = Launch(kernel, (groups, 1), self.block, args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


class TransposeEngine(_Transpose):
    """On GPUs."""

    name, folder = "transpose", "shared"
    tile, block = TILE, (TILE, ROWS)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        if info.schedule != "gpu":
            return "it is a GPU schedule"
        if info.max_work_group < TILE * ROWS:
            return f"it needs work-groups of {TILE * ROWS}"
        return super().why_not(problem, info)

    def described(self, problem: Problem, info: DeviceInfo, sizes: dict[str, int], rest: list[Axis]) -> Described:
        return {"ROWS": ROWS, **{name: f"{size}u" for name, size in sizes.items()}, **_batches(rest)}, ()


class TransposeCpuEngine(_Transpose):
    """On CPUs."""

    name, folder = "transpose_cpu", "opencl"
    tile, block = 64, (1, 1)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        if info.schedule != "cpu":
            return "it is made for CPUs"
        if info.backend != "opencl":
            return "it is written in OpenCL C only"
        reason, least = super().why_not(problem, info), Tile.of(problem.dtype, info, 1).lanes // 2
        if reason is None and min(axis.size for axis in _both(_axes(problem))) < least:
            reason = f"it takes at least {least} elements along both axes"
        return reason

    def described(self, problem: Problem, info: DeviceInfo, sizes: dict[str, int], rest: list[Axis]) -> Described:
        """One text serves all sizes; but those of several other axes are part of it."""
        sizes["X_SPAN"] = problem.tensors[X].span
        defines: Defines = {"VW": Tile.of(problem.dtype, info, 1).lanes, **_batches(rest)}
        if len(rest) <= 1:
            sizes["X_STRIDE_N"], sizes["Y_STRIDE_N"] = rest[0].strides if rest else (0, 0)
            defines |= {f"{of}_BATCH(i)": f"((i) * {of}_STRIDE_N)" for of in "XY"}
        return as_argument({**defines, **sizes}, tuple(sizes))


ENGINES = (TransposeEngine(), TransposeCpuEngine())
