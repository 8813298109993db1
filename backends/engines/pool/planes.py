"""The gradient of pooling on CPUs: a plane of dx for each work-item, whose lanes are neighbouring windows."""

from __future__ import annotations

import math

from portadnn.enums import DataType, PoolingMode
from portadnn.ops.pooling import PoolingBackward
from portadnn.problem import Problem

from ...base import Arg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from ..layouts import stream_defines
from .general import Defines, geometry

_FILE = "opencl/pool/planes_cpu.cl"
_MOST_KEPT = 32 << 10  # bytes of the rows that a work-item keeps
_MOST_WINDOW = 32
_FLOATS = 16  # lanes; PoCL 3.0 compiles nothing else of 64 bytes


class PoolingPlanes(Engine):
    """Two-dimensional windows over contiguous rows, without a workspace."""

    name = "planes"
    problems = (PoolingBackward,)
    wide = True

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, PoolingBackward)
        if info.schedule != "cpu":
            return "it is a CPU schedule"
        if len(problem.x.dims) != 4:
            return "its windows have two dimensions"
        if problem.x.strides[-1] != 1 or problem.dx.strides[-1] != 1:
            return "rows are not contiguous"
        if not problem.x.same_strides(problem.dx):
            return "x and dx have different strides"
        if max(problem.window) > _MOST_WINDOW:
            return f"the window is larger than {_MOST_WINDOW}"
        kept = 2 * math.prod(_ring(problem)) * problem.dtype.accumulator.itemsize
        return f"the rows of a window take {kept} bytes, more than {_MOST_KEPT}" if kept > _MOST_KEPT else None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in the geometry."""
        assert isinstance(problem, PoolingBackward)
        if not problem.dx.size:
            return Plan(problem, self, 0, device.bind(()))
        lanes = _lanes(problem)
        ring, parts, length = _ring(problem)
        defines: Defines = {**geometry(problem, device.info), "VW": lanes, "HALF_VW": lanes // 2}
        defines.update(RING=ring, PARTS=parts, LENGTH=length, VECTORS_Q=-(-problem.y.dims[-1] // lanes))
        defines.update(stream_defines(problem.tensors))
        if problem.dy.strides[-1] == 1:
            defines["CONTIGUOUS_Y"] = 1
        kernel = device.compile(_FILE, "pooling_planes", defines)
        read = ["dy", "x"] if problem.mode is PoolingMode.MAX else ["dy"]
        args: list[Arg] = [TensorArg(problem.index(name)) for name in (*read, "dx")]
        real = problem.dtype.accumulator
        launch = Launch(kernel, (math.prod(problem.x.dims[:2]),), (1,), (*args, ScalarArg(0, real), ScalarArg(1, real)))
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


def _lanes(problem: PoolingBackward) -> int:
    return _FLOATS if problem.dtype is DataType.FLOAT else 32 // problem.dtype.accumulator.itemsize


def _ring(problem: PoolingBackward) -> tuple[int, int, int]:
    """Return rows, parts of a row, and numbers of a part, whole vectors of windows and the image included."""
    (window_h, window_w), (stride_h, stride_w) = problem.window[-2:], problem.stride[-2:]
    lanes = _lanes(problem)
    windows = problem.y.dims[-1] + (window_w - 1) // stride_w
    image = (problem.x.dims[-1] - 1 + problem.padding[-1]) // stride_w + 1
    length = max(windows, image)
    return max(window_h, stride_h), stride_w, -(-length // lanes) * lanes


ENGINES = (PoolingPlanes(),)
