"""Normalisations on CPUs: work-groups of one, which go through contiguous lines or through panels of columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from portadnn.ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from portadnn.problem import Problem

from ..base import Arg, Device, DeviceInfo, Engine, Launch, Plan, WorkspaceArg, roofline
from .layouts import Axis, offset_expression
from .norm import SAVED, backward_arguments, forward_arguments
from .norm_layout import Defines, Layout, Shape, make_layout, shape_of
from .norm_parameters import Workspace, arguments, numbers
from .tiles import storage_defines

_VECTOR = 64  # bytes, of what arithmetic is done in
_BLOCK = 4  # as in norm_cpu.h
_PANEL = 16  # vectors of a panel: arrays of them stay in the first cache
_WORK = 1 << 14  # numbers of a slice at least: 64 KB of float32
_SHARES = 4  # work-groups for each core, so that one that is late does not matter


@dataclass(frozen=True)
class _Way:
    """How a problem is cut.

    Attributes
    ----------
    layout : Layout
        With the axes of single numbers.
    width : int
        Numbers of a vector.
    rows : bool
        Whether what is normalised together lies in lines, or what is not in columns.
    slices, length : int
        Pieces of a row's numbers, or of the columns' rows, and numbers of each.
    """

    layout: Layout
    width: int
    rows: bool
    slices: int = 1
    length: int = 1

    @property
    def groups(self) -> int:
        """Work-groups without slices."""
        if self.rows:
            return _count(self.layout.tile.outer)
        return _count(self.layout.tile.outer[:-1]) * self.panels

    @property
    def share(self) -> int:
        """Rows of a work-group that makes several."""
        numbers_of_row = self.layout.tile.reduce_units
        return max(1, _WORK // max(numbers_of_row, 1)) if self.slices == 1 else 1

    @property
    def columns(self) -> int:
        return self.layout.tile.outer[-1].size

    @property
    def vectors(self) -> int:
        return -(-self.columns // self.width)

    @property
    def panel(self) -> int:
        """Vectors of a panel."""
        return min(_PANEL, self.vectors)

    @property
    def panels(self) -> int:
        return -(-self.vectors // self.panel)

    def defines(self) -> Defines:
        """Return the macros of the kernels."""
        layout, tile = self.layout, self.layout.tile
        macros: Defines = {**layout.defines(), "VW": self.width, "SLICES": f"{self.slices}u"}
        macros["LENGTH"] = f"{self.length}u"
        if self.rows:
            line = tile.reduce[-1]
            macros.update(ALONG_REDUCE=1, REDUCE=f"{_count(tile.reduce)}u", LINE=f"{line.size}u")
            for i, name in enumerate(layout.names):
                macros[f"{name}_LINE(l)"] = offset_expression(tile.reduce[:-1], i, "l") if tile.reduce[:-1] else "0u"
            macros["LINE_STEP"] = line.strides[layout.names.index("SCALE")] if "SCALE" in layout.names else 0
            return macros
        macros.pop("ALONG_REDUCE", None)
        blocks = tile.outer[:-1]
        macros.update(COLUMNS=f"{self.columns}u", VECTORS=f"{self.vectors}u", PANEL=self.panel)
        macros.update(PANELS=f"{self.panels}u", BLOCKS=f"{_count(blocks)}u")
        for i, name in enumerate(layout.names):
            macros[f"{name}_OUTER(o)"] = offset_expression(blocks, i, "o") if blocks else "0u"
            macros[f"{name}_STEP"] = f"{tile.outer[-1].strides[i]}u"
        return macros


def _count(axes: Sequence[Axis]) -> int:
    return math.prod(axis.size for axis in axes)


def _width(size: int, itemsize: int, info: DeviceInfo) -> int:
    """Return the most lanes that `size` neighbours fill."""
    width = min(_VECTOR // itemsize, info.simd_width * 4 // itemsize)
    while width >= 4 and width > size:
        width //= 2
    return width if width >= 4 else 1


def _cut(problem: Problem, info: DeviceInfo, shape: Shape | None = None) -> _Way | None:
    """Return how a problem is cut, or None for layouts that these kernels do not take."""
    shape = shape_of(problem) if shape is None else shape
    layout = make_layout(shape, info, vectors=False)
    tile = layout.tile
    itemsize = problem.dtype.accumulator.itemsize
    fast = (tile.reduce if tile.along_reduce else tile.outer)[-1]
    data = len(shape.data)
    if any(stride != 1 for stride in fast.strides[-data:]) and fast.size > 1:
        return None
    if 0 in (tile.outer_units, tile.reduce_units):
        return None
    if tile.along_reduce:
        steps = {fast.strides[layout.names.index(name)] for name in ("SCALE", "BIAS") if name in layout.names}
        if len(steps) > 1 or steps - {0, 1}:
            return None
        if isinstance(problem, BatchNormalizationForwardInference):
            layout = make_layout(_lines(shape), info, vectors=False)
            if not layout.tile.along_reduce:
                return None
        way = _Way(layout, _width(fast.size, itemsize, info), True, 1, layout.tile.reduce_units)
    elif layout.per_reduce:
        return None
    else:
        way = _Way(layout, _width(fast.size, itemsize, info), False, 1, tile.reduce_units)
    return _sliced(way, info)


def _lines(shape: Shape) -> Shape:
    """Return the shape with the reduced axes kept that do not continue a line, so that rows lie as memory does."""
    x = shape.data["X"]
    kept, size = set(range(len(shape.dims))), 1
    for axis in sorted((a for a in kept if a not in shape.kept and shape.dims[a] > 1), key=lambda a: x.strides[a]):
        if any(spec.strides[axis] != size for spec in shape.data.values()):
            break
        kept.discard(axis)
        size *= shape.dims[axis]
    return replace(shape, kept=tuple(sorted(kept)))


def _sliced(way: _Way, info: DeviceInfo) -> _Way:
    """Cut few rows or panels into slices for all cores."""
    units = way.layout.tile.reduce_units
    groups = way.groups
    wanted = _SHARES * info.compute_units
    if groups >= wanted:
        return way
    total = units * (1 if way.rows else way.panel * way.width) * groups
    slices = min(-(-wanted // groups), max(total // groups // _WORK, 1))
    step = 1
    if way.rows:
        line = way.layout.tile.reduce[-1].size
        step = line if units > line else _BLOCK * way.width
    share = -(-units // slices)
    length = -(-share // step) * step
    return _Way(way.layout, way.width, way.rows, -(-units // length), length)


class CpuNormalization(Engine):
    """Contiguous rows or columns of any length."""

    name = "normalization_cpu"
    problems = (BatchNormalizationForwardTraining, BatchNormalizationForwardInference, BatchNormalizationBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        """Take what lies in lines or in columns."""
        if info.schedule != "cpu" or info.backend != "opencl":
            return "it is for CPUs"
        return None if _cut(problem, info) else "neither rows nor columns are contiguous"

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Return less than the general engine does."""
        return roofline(problem, info, 0.8)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        space = Workspace(problem)
        way = _cut(problem, info)
        assert way is not None
        _areas(problem, way, space)
        return space.size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        way = _cut(problem, device.info)
        assert way is not None
        defines: Defines = {**way.defines(), **storage_defines(way.layout.shape.data["X"])}
        make = _backward if isinstance(problem, BatchNormalizationBackward) else _forward
        launches = make(problem, way, defines, device)
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _areas(problem: Problem, way: _Way, space: Workspace) -> tuple[list[Arg], list[Arg]]:
    """Return parts of moments (means with the pivots behind them, squares) and parts of sums."""
    kept = way.layout.shape.groups
    moments: list[WorkspaceArg] = []
    sums: list[WorkspaceArg] = []
    if way.slices > 1 and not isinstance(problem, BatchNormalizationForwardInference):
        backward = isinstance(problem, BatchNormalizationBackward)
        if not backward or SAVED[1] not in problem.names:
            moments = [space.take((way.slices + 1) * kept), space.take(way.slices * kept)]
        if backward:
            sums = [space.take(way.slices * kept) for _ in range(2)]
    return [*moments], [*sums]


def _forward(problem: Problem, way: _Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    stem = "norm_rows" if way.rows else "norm_columns"
    file = f"opencl/{stem}_cpu.cl"
    grid, one = (way.groups * way.slices,), (1,)
    blends = numbers(problem, "alpha", "beta", "epsilon")
    if isinstance(problem, BatchNormalizationForwardInference):
        if way.rows:
            share = way.share
            defines["SHARE"] = f"{share}u"
            grid = (-(-way.groups // share) * way.slices,)
        kernel = device.compile(file, f"{stem}_inference", {**defines, "INFERENCE": 1})
        return (Launch(kernel, grid, one, (*arguments(problem, *problem.names), *blends)),)
    tensors, more, extra = forward_arguments(problem)
    defines.update(more)
    blends += extra
    if way.slices == 1:
        kernel = device.compile(file, stem, {**defines, "WHOLE": 1})
        return (Launch(kernel, grid, one, (*tensors, *blends)),)
    moments, _ = _areas(problem, way, Workspace(problem))
    partial = device.compile(file, f"{stem}_partial", {**defines, "PARTIAL": 1})
    apply = device.compile(file, f"{stem}_apply", {**defines, "APPLY": 1})
    return (
        Launch(partial, grid, one, (*arguments(problem, "x"), *moments)),
        Launch(apply, grid, one, (*tensors, *moments, *blends)),
    )


def _backward(problem: Problem, way: _Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    stem = "norm_rows" if way.rows else "norm_columns"
    file = f"opencl/{stem}_backward_cpu.cl"
    grid, one = (way.groups * way.slices,), (1,)
    inputs, known, outputs, more, blends = backward_arguments(problem)
    defines.update(more)
    epsilon = numbers(problem, "epsilon")
    if way.slices == 1:
        kernel = device.compile(file, f"{stem}_backward", {**defines, "WHOLE": 1})
        return (Launch(kernel, grid, one, (*inputs, *known, *outputs, *blends, *epsilon)),)
    moments, sums = _areas(problem, way, Workspace(problem))
    launches = []
    if moments:
        kernel = device.compile(f"opencl/{stem}_cpu.cl", f"{stem}_partial", {**defines, "PARTIAL": 1})
        launches.append(Launch(kernel, grid, one, (*arguments(problem, "x"), *moments)))
        defines["FROM_PARTS"] = 1
    partial = device.compile(file, f"{stem}_backward_partial", {**defines, "PARTIAL": 1})
    apply = device.compile(file, f"{stem}_backward_apply", {**defines, "APPLY": 1})
    launches.append(Launch(partial, grid, one, (*inputs, *known, *moments, *sums, *epsilon)))
    launches.append(Launch(apply, grid, one, (*inputs, *known, *outputs, *moments, *sums, *blends, *epsilon)))
    return tuple(launches)


ENGINES = (CpuNormalization(),)
