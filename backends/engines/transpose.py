"""Transpose engine: transform_tensor between layouts with different contiguous axes, on GPUs.

Element by element, one side of such a copy touches a new cache line for every value; through a tile in local memory
both sides move whole rows.
"""

from __future__ import annotations

import math

from portadnn.ops.tensor import TransformTensor
from portadnn.problem import Problem

from ..base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from .layouts import Axis, coalesce, offset_expression, place_defines

TILE, ROWS = 32, 8
X, Y = 0, 1  # tensor positions


def _axes(problem: Problem) -> list[Axis]:
    return coalesce(problem.tensors[Y].dims, problem.tensors)


class TransposeEngine(Engine):
    """Copies whose source and destination run along different axes."""

    name = "transpose"
    wide = True
    problems = (TransformTensor,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Take what has a contiguous axis on either side, and not the same one."""
        if info.schedule != "gpu":
            return "it is a GPU schedule"
        if info.max_work_group < TILE * ROWS:
            return f"it needs work-groups of {TILE * ROWS}"
        axes = _axes(problem)
        if axes[-1].strides[Y] != 1 or axes[-1].strides[X] == 1:
            return "the layouts have the same contiguous axis"
        if not any(axis.strides[X] == 1 for axis in axes):
            return "x has no contiguous axis"
        return None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Tile the two contiguous axes; all others are batches."""
        axes = _axes(problem)
        a = axes[-1]
        b = next(axis for axis in axes if axis.strides[X] == 1)
        rest = [axis for axis in axes if axis is not a and axis is not b]
        kernel = device.compile(
            "shared/tensor/transpose.cl",
            "transpose",
            {
                f"DTYPE_{problem.dtype}": 1,
                **place_defines(problem),
                "TILE": TILE,
                "ROWS": ROWS,
                "SIZE_A": f"{a.size}u",
                "SIZE_B": f"{b.size}u",
                "X_STRIDE_A": f"{a.strides[X]}u",
                "Y_STRIDE_B": f"{b.strides[Y]}u",
                "X_BATCH(i)": offset_expression(rest, X, "i"),
                "Y_BATCH(i)": offset_expression(rest, Y, "i"),
            },
        )
        groups = -(-a.size // TILE) * -(-b.size // TILE) * math.prod(axis.size for axis in rest)
        real = problem.dtype.accumulator
        args = (TensorArg(X), TensorArg(Y), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (groups, 1), (TILE, ROWS), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (TransposeEngine(),)
