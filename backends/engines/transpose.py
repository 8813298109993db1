"""Transpose engines: transform_tensor between layouts with different contiguous axes.

Element by element, one side of such a copy touches a new cache line for every value. On GPUs both sides move whole rows
through a tile in local memory; on CPUs vectors are turned over in registers, a tile of lines that stay in the cache.
"""

from __future__ import annotations

import math

from portadnn.ops.tensor import TransformTensor
from portadnn.problem import Problem

from ..base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from .conv.cpu.common import Tile
from .layouts import Axis, coalesce, offset_expression, place_defines

TILE, ROWS = 32, 8
X, Y = 0, 1  # tensor positions
Defines = dict[str, int | str]


def _axes(problem: Problem) -> list[Axis]:
    return coalesce(problem.tensors[Y].dims, problem.tensors)


def _both(axes: list[Axis]) -> tuple[Axis, Axis]:
    """Return the axes along which y and x are contiguous."""
    return axes[-1], next(axis for axis in axes if axis.strides[X] == 1)


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

    def more(self, problem: Problem, info: DeviceInfo) -> Defines:
        """Return what only this schedule's kernel has to know."""
        raise NotImplementedError

    def prepare(self, problem: Problem, device: Device) -> Plan:
        axes = _axes(problem)
        a, b = _both(axes)
        rest = [axis for axis in axes if axis is not a and axis is not b]
        defines: Defines = {
            f"DTYPE_{problem.dtype}": 1,
            **place_defines(problem),
            "TILE": self.tile,
            "SIZE_A": f"{a.size}u",
            "SIZE_B": f"{b.size}u",
            "X_STRIDE_A": f"{a.strides[X]}u",
            "Y_STRIDE_B": f"{b.strides[Y]}u",
            "X_BATCH(i)": offset_expression(rest, X, "i"),
            "Y_BATCH(i)": offset_expression(rest, Y, "i"),
            **self.more(problem, device.info),
        }
        kernel = device.compile(f"{self.folder}/tensor/{self.name}.cl", self.name, defines)
        groups = -(-a.size // self.tile) * -(-b.size // self.tile) * math.prod(axis.size for axis in rest)
        real = problem.dtype.accumulator
        args = (TensorArg(X), TensorArg(Y), ScalarArg(0, real), ScalarArg(1, real))
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

    def more(self, problem: Problem, info: DeviceInfo) -> Defines:
        return {"ROWS": ROWS}


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

    def more(self, problem: Problem, info: DeviceInfo) -> Defines:
        span = f"{problem.tensors[X].span}u{'l' if place_defines(problem) else ''}"
        return {"VW": Tile.of(problem.dtype, info, 1).lanes, "X_SPAN": span}


ENGINES = (TransposeEngine(), TransposeCpuEngine())
