"""Pooling, forward and backward: every output, and every cell of the gradient, gathers what it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from portadnn.enums import DataType, NanPropagation, PoolingMode
from portadnn.ops.pooling import PoolingBackward, PoolingForward
from portadnn.problem import Problem, TensorSpec

from ...base import (
    Device,
    DeviceInfo,
    Engine,
    Kernel,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ..layouts import Axis, place_defines
from ..tiles import storage_defines, vector_lanes, vector_width

_FILE = "shared/pool/pooling.cl"
_CPU_FILE = "opencl/pool/pooling_cpu.cl"
_CPU_ROW = 4096  # numbers of a row that a CPU work-item keeps in an array
_GROUP = {"gpu": 256, "cpu": 64}
_UNROLLED = 64  # loads of a work-item that pool/pooling.cl unrolls
_MOST_INT = 2**31 - 1
_EXACT = 2**24  # integers that a float32 lane holds

Defines = dict[str, int | float | str]
_Pooling = PoolingForward | PoolingBackward


class Pooling(Engine):
    """All modes and layouts, two and three dimensions; deterministic without atomics."""

    name = "gather"
    wide = True
    problems = (PoolingForward, PoolingBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, (PoolingForward, PoolingBackward))
        padded = [size + 2 * pad for size, pad in zip(problem.x.dims[2:], problem.padding, strict=True)]
        if max((*padded, *problem.stride)) > _MOST_INT // 2 or math.prod(problem.window) > _EXACT:
            return "the padded input, the stride or the window is too large for its integers"
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        if isinstance(problem, PoolingBackward) and problem.mode is PoolingMode.MAX:
            return problem.y.size * (1 if _winners_fit_bytes(problem) else 4)
        return 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        launches: tuple[Launch, ...] = ()
        if isinstance(problem, PoolingForward) and problem.y.size:
            launches = _forward(problem, device)
        elif isinstance(problem, PoolingBackward) and problem.dx.size:
            launches = _backward(problem, device)
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _winners_fit_bytes(problem: _Pooling) -> bool:
    return math.prod(problem.window) < 256  # one value stands for "none"


def geometry(problem: _Pooling, info: DeviceInfo) -> Defines:
    """Return what all kernels of the problem share."""
    depth = (1,) * (5 - len(problem.x.dims))  # a 2-D problem has one plane
    flat = (0,) * len(depth)
    defines: Defines = {"N": problem.x.dims[0], "C": problem.x.dims[1], "GROUP": _GROUP[info.schedule]}
    defines.update(zip("DHW", (*depth, *problem.x.dims[2:]), strict=True))
    defines.update(zip("OPQ", (*depth, *problem.y.dims[2:]), strict=True))
    for i, letter in enumerate("DHW"):
        defines[f"WINDOW_{letter}"] = (*depth, *problem.window)[i]
        defines[f"STRIDE_{letter}"] = (*depth, *problem.stride)[i]
        defines[f"PAD_{letter}"] = (*flat, *problem.padding)[i]
    for name, spec in (("X", problem.x), ("Y", problem.y)):
        strides = (*spec.strides[:2], *flat, *spec.strides[2:])
        defines.update(
            (f"{name}_{letter}", f"((idx_t){stride})") for letter, stride in zip("NCDHW", strides, strict=True)
        )
    defines.update(storage_defines(problem.x), **place_defines(problem))
    if problem.mode is PoolingMode.MAX:
        defines["MODE_MAX"] = 1
        defines["WINNER_TYPE"] = "unsigned char" if _winners_fit_bytes(problem) else "int"
        if problem.nan_propagation is NanPropagation.PROPAGATE_NAN:
            defines["PROPAGATE_NAN"] = 1
    elif problem.mode is PoolingMode.AVERAGE_COUNT_EXCLUDE_PADDING:
        defines["MODE_EXCLUDE"] = 1
    return defines


def vectors_along(specs: Sequence[TensorSpec], axis: int, info: DeviceInfo) -> int:
    """Return the lanes of vectors along one axis of tensors that need not have the same dims elsewhere."""
    fast = [Axis(specs[0].dims[axis], tuple(spec.strides[axis] for spec in specs))]
    slow = [Axis(spec.dims[a], (spec.strides[a],)) for spec in specs for a in range(len(spec.dims)) if a != axis]
    return vector_width(fast, slow, specs, vector_lanes(specs[0].dtype, info), aligned=info.schedule == "gpu")


def _channels_last(problem: _Pooling) -> bool:
    return problem.x.dims[1] > 1 and problem.x.strides[1] == 1 and problem.y.strides[1] == 1


def _lanes(width: int, info: DeviceInfo) -> Defines:
    return {"VW": width, **({"VECTOR_ALIGNED": 1} if width > 1 and info.schedule == "gpu" else {})}


def _windows(problem: _Pooling, specs: Sequence[TensorSpec], info: DeviceInfo) -> Defines:
    """Return the defines of the kernels whose work-items each make TP outputs."""
    y = problem.y.dims
    window_d, window_h, window_w = (1, *problem.window)[-3:]
    stride_h = problem.stride[-2]
    rows = 1
    if stride_h < window_h:
        while rows < 4 and 2 * rows < y[-2] and window_d * window_w * (rows * 2 * stride_h + window_h) <= _UNROLLED:
            rows *= 2
    tiles = -(-y[-2] // rows)
    defines = {**geometry(problem, info), **_lanes(1, info), "TP": rows, "P_TILES": tiles}
    items = math.prod(y) // y[-2] * tiles
    if _channels_last(problem):
        width = vectors_along(specs, 1, info)
        defines.update(_lanes(width, info), CHANNELS_LAST=1, C_UNITS=y[1] // width)
        items //= width
    return {**defines, "ITEMS": f"{items}u"}


def _grid(defines: Defines) -> tuple[tuple[int], tuple[int]]:
    items, group = int(str(defines["ITEMS"])[:-1]), int(defines["GROUP"])
    return (-(-items // group),), (group,)


def _scalars(dtype: DataType) -> tuple[ScalarArg, ScalarArg]:
    return (ScalarArg(0, dtype.accumulator), ScalarArg(1, dtype.accumulator))


def _forward(problem: PoolingForward, device: Device) -> tuple[Launch, ...]:
    defines = {**_windows(problem, (problem.x, problem.y), device.info), "FORWARD": 1}
    kernel = device.compile(_FILE, "pooling_forward", defines)
    return (Launch(kernel, *_grid(defines), (TensorArg(0), TensorArg(1), *_scalars(problem.dtype))),)


def _gather(problem: PoolingBackward, device: Device) -> tuple[Kernel, tuple[int], tuple[int]]:
    """Return the kernel that makes dx, and its launch sizes."""
    info = device.info
    defines = geometry(problem, info)
    dims = problem.dx.dims
    if info.schedule == "cpu" and not _channels_last(problem) and dims[-1] <= _CPU_ROW:
        planes = problem.dx.size // (dims[-1] * dims[-2])
        return device.compile(_CPU_FILE, "pooling_rows", defines), (planes,), (1,)
    if _channels_last(problem):
        width = vectors_along((problem.dy, problem.dx), 1, info)
        defines.update(_lanes(width, info), TW=1, CHANNELS_LAST=1, C_UNITS=dims[1] // width)
    else:
        width = vectors_along((problem.dx,), len(dims) - 1, info)
        defines.update(_lanes(width, info), TW=width)
    defines.update(GATHER=1, ITEMS=f"{problem.dx.size // width}u")
    return device.compile(_FILE, "pooling_gather", defines), *_grid(defines)


def _backward(problem: PoolingBackward, device: Device) -> tuple[Launch, ...]:
    info = device.info
    winners = WorkspaceArg(0)
    launches = []
    if problem.mode is PoolingMode.MAX:
        defines = {**_windows(problem, (problem.x,), info), "WINNERS": 1}
        kernel = device.compile(_FILE, "pooling_winners", defines)
        launches.append(Launch(kernel, *_grid(defines), (TensorArg(2), winners)))
    kernel, grid, block = _gather(problem, device)
    extra = (winners,) if problem.mode is PoolingMode.MAX else ()
    launches.append(Launch(kernel, grid, block, (TensorArg(1), TensorArg(3), *extra, *_scalars(problem.dtype))))
    return tuple(launches)


ENGINES = (Pooling(),)
