"""Bilinear sampling and its gradients: the spatial transformer's sampler, forward and backward."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portadnn.enums import DataType
from portadnn.ops.spatial_sampler import SpatialTfSamplerBackward, SpatialTfSamplerForward
from portadnn.problem import Problem, TensorSpec

from ..base import (
    LAUNCH_SECONDS,
    Arg,
    ConstantArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
    needs_wide_places,
    roofline,
)
from .layouts import place_defines, strides
from .tiles import storage_defines

_FILE = "shared/grid_sample.cl"
_GATHER = "shared/grid_gather.cl"
_CPU_FILE = "opencl/grid_sample_cpu.cl"
_GROUP = 256
_BINS = "shared/grid_bins.cl"
_BINS_GROUP = 256
_LOCAL_GROUP = 1024  # work-items that sort an image whose counters fit into local memory
_LOCAL_CELLS = 8 << 10  # counters there, at most
_LOCAL_POINTS = 16 << 10  # points of an image that one work-group sorts
_SHARING = 8  # work-items of a point that share its channels, for dgrid
_IN_FLIGHT = 8  # channels of a work-item, where they are planes
_VECTORS = 2  # vectors of channels of a work-item, where they are lanes
_BAND = 3 << 20  # numbers of scratch of a CPU work-group that sums up dx
_WHOLE = 3 << 20  # numbers of an image's scratch from which on a CPU reads x where it lies
_READS = 6  # pixels copied that cost as much as a point read where it lies
_CPU_GROUPS = 4  # work-groups for each core, each with scratch of its own

Defines = dict[str, int | float | str]
_Sampler = SpatialTfSamplerForward | SpatialTfSamplerBackward


def _up(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class _Geometry:
    """Sizes and strides as the kernels' SIZES has them; runs of rows are merged to one row where that is the same."""

    n: int
    c: int
    h: int
    w: int
    p: int
    q: int
    x: tuple[int, ...]
    y: tuple[int, ...]
    grid: tuple[int, ...]
    dgrid: tuple[int, ...]
    wide: bool

    @property
    def points(self) -> int:
        """Points of an image's grid."""
        return self.p * self.q

    def args(self, x: tuple[int, ...] | None = None) -> tuple[Arg, ...]:
        """Return SIZES; `x` are the strides of dx where they take the place of x's."""
        signed = (self.c, self.h, self.w, self.p, self.q)
        return (*ints(*signed), *self.places(*(x or self.x), *self.y, *self.grid))

    def bin_args(self) -> tuple[Arg, ...]:
        """Return BIN_SIZES."""
        return (*ints(self.h, self.w), *words(self.q, self.points), *self.places(*self.grid))

    def places(self, *values: int) -> tuple[Arg, ...]:
        """Return arguments of the type idx_t."""
        return tuple(ConstantArg(np.uint64(value) if self.wide else np.uint32(value)) for value in values)


def ints(*values: int) -> tuple[Arg, ...]:
    """Return arguments of 32 bits."""
    return tuple(ConstantArg(np.int32(value)) for value in values)


def words(*values: int) -> tuple[Arg, ...]:
    """Return unsigned arguments of 32 bits."""
    return tuple(ConstantArg(np.uint32(value)) for value in values)


def _geometry(problem: _Sampler) -> _Geometry:
    y = problem.y if isinstance(problem, SpatialTfSamplerForward) else problem.dy
    dgrid = problem.grid if isinstance(problem, SpatialTfSamplerForward) else problem.dgrid
    n, c, h, w = problem.x.dims
    _, p, q, _ = problem.grid.dims
    steps = (strides(problem.x), strides(y), strides(problem.grid), strides(dgrid))
    geometry = _Geometry(n, c, h, w, p, q, *steps, needs_wide_places(problem))
    rows = ((y, 2, 3), (problem.grid, 1, 2), (dgrid, 1, 2))
    if q and p > 1 and all(spec.strides[i] == q * spec.strides[j] for spec, i, j in rows):
        step = tuple(spec.strides[j] for spec, _, j in rows)
        geometry = replace(
            geometry,
            p=1,
            q=p * q,
            y=(*geometry.y[:2], 0, step[0]),
            grid=(geometry.grid[0], 0, step[1], geometry.grid[3]),
            dgrid=(geometry.dgrid[0], 0, step[2], geometry.dgrid[3]),
        )
    return geometry


def _lanes(problem: _Sampler, specs: tuple[TensorSpec, ...], info: DeviceInfo) -> int:
    """Return how many channels make an aligned vector in all of the specs; 0 where channels do not lie side by side."""
    if problem.x.dims[1] < 2 or any(spec.strides[1] != 1 for spec in specs):
        return 0
    if info.schedule == "cpu":
        return 1
    width = 16 // problem.dtype.itemsize
    while width > 1:
        others = [s for spec in specs for a, s in enumerate(spec.strides) if a != 1 and spec.dims[a] > 1]
        fits = problem.x.dims[1] % width == 0 and all(s % width == 0 for s in others)
        if fits and all(spec.alignment % (width * problem.dtype.itemsize) == 0 for spec in specs):
            return width if width * problem.dtype.accumulator.itemsize >= 16 else 1  # no vectors of two floats
        width //= 2
    return 1


def _types(problem: _Sampler) -> Defines:
    return {**storage_defines(problem.x), **place_defines(problem)}


def _power(n: int) -> int:
    """Return the highest power of two up to `n`, and at least 1."""
    return 1 << max(n.bit_length() - 1, 0)


def _tile(problem: _Sampler, specs: tuple[TensorSpec, ...], info: DeviceInfo, sharing: int) -> Defines:
    """Return how work-items are laid over points (or pixels) and channels."""
    defines: Defines = _types(problem)
    lanes = _lanes(problem, specs, info)
    group = _GROUP if info.schedule == "gpu" else 64
    if lanes:
        vectors = problem.x.dims[1] // lanes
        share = 1 if info.schedule == "cpu" else min(_power(vectors), 32)
        defines.update(CHANNELS_LAST=1, VW=lanes, SHARING=share, POINTS=group // share, CHANNELS=_VECTORS)
        if lanes > 1:
            defines["VECTOR_ALIGNED"] = 1
        return defines
    share = 1 if info.schedule == "cpu" else min(sharing, _power(max(problem.x.dims[1], 1)))
    return {**defines, "VW": 1, "SHARING": share, "POINTS": group // share, "CHANNELS": _IN_FLIGHT}


def _number(defines: Defines, name: str) -> int:
    return int(defines[name])


def _covered(defines: Defines, points: int, channels: int) -> tuple[int, int, tuple[int]]:
    """Return work-groups along points and along channels, and a work-group's size."""
    points_each, sharing = _number(defines, "POINTS"), _number(defines, "SHARING")
    channels_each = _number(defines, "CHANNELS") * sharing * _number(defines, "VW")
    return _up(points, points_each), _up(channels, channels_each), (points_each * sharing,)


def _scalars(dtype: DataType, first: int = 0) -> tuple[Arg, Arg]:
    return (ScalarArg(first, dtype.accumulator), ScalarArg(first + 1, dtype.accumulator))


class _Scratch:
    """The workspace, handed out piece by piece."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, count: int, dtype: DataType) -> WorkspaceArg:
        arg = WorkspaceArg(self.size, dtype)
        self.size += _up(count * dtype.itemsize, 256) * 256
        return arg


def _vectors(rows: int, w: int) -> int:
    """Return the vectors of a CPU work-group's scratch, as grid_sample_cpu.cl counts them."""
    return (rows + 3) * (w + 2) + 2


def _cpu_lanes(problem: _Sampler) -> int:
    """Return the channels of a CPU's vectors: a cache line where they lie side by side.

    PoCL 3.0 converts 16 halves wrongly.
    """
    c = problem.x.dims[1]
    if c >= 16 and problem.x.strides[1] == 1 and problem.dtype is DataType.FLOAT:
        return 16
    return 1 if c == 1 else 4 if c <= 4 else 8


def _packs(problem: _Sampler, info: DeviceInfo) -> bool:
    """Tell whether CPU kernels copy x to scratch: images of moderate size with enough points do."""
    _, _, h, w = problem.x.dims
    enough = h * w <= _READS * problem.grid.dims[1] * problem.grid.dims[2]
    return info.schedule == "cpu" and enough and _vectors(h, w) * _cpu_lanes(problem) <= _WHOLE


def _cpu_defines(geometry: _Geometry, problem: _Sampler, part: str) -> Defines:
    defines: Defines = {**_types(problem), "VW": _cpu_lanes(problem), part: 1}
    if geometry.p == 1:
        defines["ONE_ROW"] = 1
    if geometry.p == 1 and geometry.y[3] == 1:
        defines["Y_RUNS"] = 1
    image = problem.x if part != "SCATTER" else problem.tensors[problem.index("dx")]
    if image.strides[3] == 1 or image.dims[3] == 1:
        defines["X_RUNS"] = 1
    return defines


def _shares(jobs: int, points: int, info: DeviceInfo) -> tuple[int, int]:
    """Return into how many shares, of how many points, an image's points go so that every core has work."""
    shares = max(1, min(_up(2 * info.compute_units, max(jobs, 1)), points // 256))
    share = _up(points, shares)
    return _up(points, share), share


def _cpu_groups(jobs: int, info: DeviceInfo) -> int:
    return min(jobs, _CPU_GROUPS * info.compute_units)


class GridSampler(Engine):
    """Both directions, any strides: y and dgrid by points, dx by pixels from sorted points, or in their order."""

    name = "bilinear"
    wide = True
    problems = (SpatialTfSamplerForward, SpatialTfSamplerBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, (SpatialTfSamplerForward, SpatialTfSamplerBackward))
        x, grid = problem.x.dims, problem.grid.dims
        if max(x[2:]) > 1 << 22:
            return "the image is wider than float32 can count in parts of a pixel"
        if max((x[2] + 3) * (x[3] + 3), grid[1] * grid[2]) >= 1 << 31:
            return "an image, or its grid, has more pixels than 31 bits count"
        needed = self.workspace(problem, info)
        if needed > info.max_allocation > 0:
            return f"needs {needed} bytes of workspace, the device allocates {info.max_allocation}"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        launches = 1 if isinstance(problem, SpatialTfSamplerForward) else 2 if info.schedule == "cpu" else 7
        return roofline(problem, info, 0.3) + launches * LAUNCH_SECONDS

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        return _describe(problem, info)[1]

    def prepare(self, problem: Problem, device: Device) -> Plan:
        steps, size = _describe(problem, device.info)
        launches = tuple(step.launch(device) for step in steps)
        return Plan(problem, self, size, device.bind(launches), launches)


@dataclass(frozen=True)
class _Step:
    """A launch whose kernel is not compiled yet."""

    file: str
    kernel: str
    defines: Defines
    groups: int
    block: tuple[int]
    args: tuple[Arg, ...]

    def launch(self, device: Device) -> Launch:
        kernel = device.compile(self.file, self.kernel, self.defines)
        return Launch(kernel, (self.groups,), self.block, self.args)


def _describe(problem: Problem, info: DeviceInfo) -> tuple[list[_Step], int]:
    """Return the launches and the bytes of workspace."""
    assert isinstance(problem, (SpatialTfSamplerForward, SpatialTfSamplerBackward))
    geometry, scratch = _geometry(problem), _Scratch()
    steps: list[_Step] = []
    if isinstance(problem, SpatialTfSamplerForward):
        if problem.y.size:
            steps.append(_forward(problem, geometry, info, scratch))
        return steps, scratch.size
    if problem.dgrid.size:
        steps.append(_grid_gradient(problem, geometry, info, scratch))
    if problem.dx.size:
        steps += (_scatter if info.schedule == "cpu" else _gather)(problem, geometry, info, scratch)
    return steps, scratch.size


def _forward(problem: SpatialTfSamplerForward, geometry: _Geometry, info: DeviceInfo, scratch: _Scratch) -> _Step:
    tensors = (TensorArg(0), TensorArg(1), TensorArg(2))
    real = problem.dtype.accumulator
    g = geometry
    if _packs(problem, info):
        blocks = g.n * _up(g.c, _cpu_lanes(problem))
        shares, share = _shares(blocks, g.points, info)
        groups = _cpu_groups(blocks * shares, info)
        images = scratch.take(groups * _vectors(g.h, g.w) * _cpu_lanes(problem), real)
        args = (*tensors, images, *_scalars(real), *g.args(), *ints(blocks * shares, shares, share))
        defines = _cpu_defines(g, problem, "FORWARD")
        return _Step(_CPU_FILE, "sampler_forward_cpu", defines, groups, (1,), args)
    defines = {**_tile(problem, (problem.x, problem.y), info, 1), "FORWARD": 1}
    tiles, blocks, block = _covered(defines, g.points, g.c)
    args = (*tensors, *_scalars(real), *g.args(), *words(tiles, blocks))
    return _Step(_FILE, "sampler_forward", defines, tiles * blocks * g.n, block, args)


def _grid_gradient(
    problem: SpatialTfSamplerBackward, geometry: _Geometry, info: DeviceInfo, scratch: _Scratch
) -> _Step:
    tensors = (TensorArg(0), TensorArg(1), TensorArg(2), TensorArg(4))
    real = problem.dtype.accumulator
    g = geometry
    if _packs(problem, info):
        shares, share = _shares(g.n, g.points, info)
        groups = _cpu_groups(g.n * shares, info)
        images = scratch.take(groups * (_vectors(g.h, g.w) * _cpu_lanes(problem) + 2 * share), real)
        rest = (*g.places(*g.dgrid), *ints(g.n * shares, shares, share))
        args: tuple[Arg, ...] = (*tensors, images, *_scalars(real, 2), *g.args(), *rest)
        defines = _cpu_defines(g, problem, "GRID_GRADIENT")
        return _Step(_CPU_FILE, "sampler_grid_cpu", defines, groups, (1,), args)
    defines = {**_tile(problem, (problem.x, problem.dy), info, _SHARING), "GRID_GRADIENT": 1}
    tiles, _, block = _covered(defines, g.points, g.c)
    args = (*tensors, *_scalars(real, 2), *g.args(), *g.places(*g.dgrid), *words(tiles))
    return _Step(_FILE, "sampler_grid", defines, tiles * g.n, block, args)


def _scatter(
    problem: SpatialTfSamplerBackward, geometry: _Geometry, info: DeviceInfo, scratch: _Scratch
) -> list[_Step]:
    """Return the CPU's way to dx: a work-group sums up some rows of some channels."""
    g, real = geometry, problem.dtype.accumulator
    blocks = g.n * _up(g.c, _cpu_lanes(problem))
    bands = max(_up(2 * info.compute_units, blocks), _up(_vectors(g.h, g.w) * _cpu_lanes(problem), _BAND))
    band = _up(g.h, min(bands, g.h))
    bands = _up(g.h, band)
    groups = _cpu_groups(blocks * bands, info)
    sums = scratch.take(groups * _vectors(band, g.w) * _cpu_lanes(problem), real)
    sizes = g.args(strides(problem.dx))
    args = (TensorArg(1), TensorArg(2), TensorArg(3), sums, *_scalars(real), *sizes, *ints(blocks * bands, bands, band))
    defines = _cpu_defines(g, problem, "SCATTER")
    return [_Step(_CPU_FILE, "sampler_scatter_cpu", defines, groups, (1,), args)]


def _gather(problem: SpatialTfSamplerBackward, geometry: _Geometry, info: DeviceInfo, scratch: _Scratch) -> list[_Step]:
    """Return the GPU's way to dx: points are sorted by their cells, pixels gather."""
    g, real = geometry, problem.dtype.accumulator
    cells = (g.h + 1) * (g.w + 1)
    counters, points = g.n * (cells + 1), g.n * g.points
    starts = scratch.take(counters, DataType.FLOAT)
    slots = scratch.take(points, DataType.FLOAT)
    order = scratch.take(points, DataType.FLOAT)
    us, vs = scratch.take(points, real), scratch.take(points, real)
    bins = (starts, slots, order, us, vs)
    steps = _local_bins(problem, g, info, bins) or _bins(problem, g, bins)
    defines = _tile(problem, (problem.dx, problem.dy), info, 1)
    along, blocks, group = _covered(defines, g.h * g.w, g.c)
    args = (TensorArg(1), TensorArg(3), starts, order, us, vs, *_scalars(real))
    rest = (*g.args(strides(problem.dx)), *words(along, blocks))
    steps.append(_Step(_GATHER, "sampler_gather", defines, along * blocks * g.n, group, (*args, *rest)))
    return steps


_Bins = tuple[Arg, Arg, Arg, Arg, Arg]


def _local_bins(problem: SpatialTfSamplerBackward, g: _Geometry, info: DeviceInfo, bins: _Bins) -> list[_Step]:
    """Return the launch that sorts every image's points in a work-group of its own; none where that does not fit."""
    cells, group = (g.h + 1) * (g.w + 1), min(_LOCAL_GROUP, info.max_work_group)
    counters = max(2, _up(cells, group)) * group
    counters = max(2 * group, 1 << (counters - 1).bit_length())  # few kernels serve all sizes
    fits = counters <= _LOCAL_CELLS and (counters + 3 * group) * 4 < info.local_memory
    if not g.points or g.points > _LOCAL_POINTS or not fits:
        return []
    defines: Defines = {**_types(problem), "LOCAL_BINS": 1, "WG": group, "CELLS": counters, "VW": 1}
    args = (TensorArg(2), *bins, *g.bin_args())
    return [_Step(_BINS, "bins_local", defines, g.n, (group,), args)]


def _bins(problem: SpatialTfSamplerBackward, g: _Geometry, bins: _Bins) -> list[_Step]:
    """Return the launches that sort the points of images of any size."""
    starts, slots, order, us, vs = bins
    cells, points, grid = (g.h + 1) * (g.w + 1), g.n * g.points, TensorArg(2)
    counters = g.n * (cells + 1)
    defines: Defines = {**_types(problem), "WG": _BINS_GROUP, "VW": 1}

    def step(kernel: str, groups: int, *args: Any) -> _Step:
        return _Step(_BINS, kernel, defines, groups, (_BINS_GROUP,), args)

    steps = [step("bins_clear", _up(counters, _BINS_GROUP), starts, *g.places(counters))]
    if points:
        each, tiles, sizes = _up(points, _BINS_GROUP), _up(cells, _BINS_GROUP), g.bin_args()
        steps += [
            step("bins_count", each, grid, starts, slots, *sizes, *g.places(points)),
            step("bins_scan", g.n, starts, *ints(g.h, g.w)),
            step("bins_fill", each, grid, starts, slots, order, *sizes, *g.places(points)),
            step("bins_order", g.n * tiles, grid, starts, order, us, vs, *sizes, *words(tiles)),
        ]
    return steps


ENGINES = (GridSampler(),)
