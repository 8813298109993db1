"""Bilinear sampling and its gradients: the spatial transformer's sampler, forward and backward."""

from __future__ import annotations

from portadnn.enums import DataType
from portadnn.ops.spatial_sampler import SpatialTfSamplerBackward, SpatialTfSamplerForward
from portadnn.problem import Problem

from ...base import Arg, Device, DeviceInfo, Engine, Plan, TensorArg, roofline
from ...parameters import compiled_in, numbers
from ...parameters import tensors as tensors_of
from ..layouts import strides
from ..places import bakes
from .gather import gradients, grid_gradient
from .places import (
    FILE,
    Defines,
    Geometry,
    Sampler,
    Scratch,
    Step,
    covered,
    ints,
    scalars,
    tile,
    types,
    up,
    words,
)

_CPU_FILE = "opencl/grid/sample_cpu.cl"
_BAND = 3 << 20  # numbers of scratch of a CPU work-group that sums up dx
_WHOLE = 3 << 20  # numbers of an image's scratch from which on a CPU reads x where it lies
_READS = 6  # pixels copied that cost as much as a point read where it lies
_CPU_GROUPS = 4  # work-groups for each core, each with scratch of its own


def _vectors(rows: int, w: int) -> int:
    """Return the vectors of a CPU work-group's scratch, as grid/sample_cpu.cl counts them."""
    return (rows + 3) * (w + 2) + 2


def _cpu_lanes(problem: Sampler) -> int:
    """Return the channels of a CPU's vectors: a cache line where they lie side by side.

    PoCL 3.0 converts 16 halves wrongly.
    """
    c = problem.x.dims[1]
    if c >= 16 and problem.x.strides[1] == 1 and problem.dtype is DataType.FLOAT:
        return 16
    return 1 if c == 1 else 4 if c <= 4 else 8


def _packs(problem: Sampler, info: DeviceInfo) -> bool:
    """Tell whether CPU kernels copy x to scratch: images of moderate size with enough points do."""
    _, _, h, w = problem.x.dims
    enough = h * w <= _READS * problem.grid.dims[1] * problem.grid.dims[2]
    return info.schedule == "cpu" and enough and _vectors(h, w) * _cpu_lanes(problem) <= _WHOLE


def _cpu_defines(geometry: Geometry, problem: Sampler, part: str) -> Defines:
    defines: Defines = {**types(problem, geometry), "VW": _cpu_lanes(problem), part: 1}
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
    shares = max(1, min(up(2 * info.compute_units, max(jobs, 1)), points // 256))
    share = up(points, shares)
    return up(points, share), share


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
        return roofline(problem, info, 0.3, launches=len(_describe(problem, info)[0]))

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        return _describe(problem, info)[1]

    def prepare(self, problem: Problem, device: Device) -> Plan:
        steps, size = _describe(problem, device.info)
        launches = tuple(step.launch(device) for step in steps)
        return Plan(problem, self, size, device.bind(launches), launches)


def _describe(problem: Problem, info: DeviceInfo) -> tuple[list[Step], int]:
    """Return the launches and the bytes of workspace."""
    assert isinstance(problem, (SpatialTfSamplerForward, SpatialTfSamplerBackward))
    geometry, scratch = Geometry.of(problem), Scratch()
    steps: list[Step] = []
    if isinstance(problem, SpatialTfSamplerForward):
        if problem.y.size:
            steps.append(_forward(problem, geometry, info, scratch))
        return steps, scratch.size
    if info.schedule == "gpu":
        return gradients(problem, geometry, info, scratch), scratch.size
    if problem.dgrid.size:
        steps.append(_grid_gradient(problem, geometry, info, scratch))
    if problem.dx.size:
        steps.append(_scatter(problem, geometry, info, scratch))
    return steps, scratch.size


def _forward(problem: SpatialTfSamplerForward, geometry: Geometry, info: DeviceInfo, scratch: Scratch) -> Step:
    tensors = (TensorArg(0), TensorArg(1), TensorArg(2))
    real = problem.dtype.accumulator
    g = geometry
    if _packs(problem, info):
        blocks = g.n * up(g.c, _cpu_lanes(problem))
        shares, share = _shares(blocks, g.points, info)
        groups = _cpu_groups(blocks * shares, info)
        images = scratch.take(groups * _vectors(g.h, g.w) * _cpu_lanes(problem), real)
        args = (*tensors, images, *scalars(real), *g.args(), *ints(blocks * shares, shares, share))
        defines = _cpu_defines(g, problem, "FORWARD")
        return Step(_CPU_FILE, "sampler_forward_cpu", defines, groups, (1,), args)
    defines = {**tile(problem, g, (problem.x, problem.y), info, 1), "FORWARD": 1}
    tiles, blocks, block = covered(defines, g.points, g.c)
    given = [
        *tensors_of("const T", ("x", "grid"), tensors[:2], restrict=True),
        *tensors_of("T", ("y",), tensors[2:], restrict=True),
        *numbers("real", ("alpha", "beta"), scalars(real)),
        *g.parameters(),
        *numbers("u32", ("tiles", "blocks"), words(tiles, blocks)),
    ]
    if bakes(problem, info):
        given = compiled_in(given)
    return Step(FILE, "sampler_forward", defines, tiles * blocks * g.n, block, parameters=given)


def _grid_gradient(problem: SpatialTfSamplerBackward, geometry: Geometry, info: DeviceInfo, scratch: Scratch) -> Step:
    tensors = (TensorArg(0), TensorArg(1), TensorArg(2), TensorArg(4))
    real = problem.dtype.accumulator
    g = geometry
    if _packs(problem, info):
        shares, share = _shares(g.n, g.points, info)
        groups = _cpu_groups(g.n * shares, info)
        images = scratch.take(groups * (_vectors(g.h, g.w) * _cpu_lanes(problem) + 2 * share), real)
        rest = (*g.places(*g.dgrid), *ints(g.n * shares, shares, share))
        args: tuple[Arg, ...] = (*tensors, images, *scalars(real, 2), *g.args(), *rest)
        defines = _cpu_defines(g, problem, "GRID_GRADIENT")
        return Step(_CPU_FILE, "sampler_grid_cpu", defines, groups, (1,), args)
    return grid_gradient(problem, g, info)


def _scatter(problem: SpatialTfSamplerBackward, geometry: Geometry, info: DeviceInfo, scratch: Scratch) -> Step:
    """Return the CPU's way to dx: a work-group sums up some rows of some channels."""
    g, real = geometry, problem.dtype.accumulator
    blocks = g.n * up(g.c, _cpu_lanes(problem))
    bands = max(up(2 * info.compute_units, blocks), up(_vectors(g.h, g.w) * _cpu_lanes(problem), _BAND))
    band = up(g.h, min(bands, g.h))
    bands = up(g.h, band)
    groups = _cpu_groups(blocks * bands, info)
    sums = scratch.take(groups * _vectors(band, g.w) * _cpu_lanes(problem), real)
    sizes = g.args(strides(problem.dx))
    args = (TensorArg(1), TensorArg(2), TensorArg(3), sums, *scalars(real), *sizes, *ints(blocks * bands, bands, band))
    defines = _cpu_defines(g, problem, "SCATTER")
    return Step(_CPU_FILE, "sampler_scatter_cpu", defines, groups, (1,), args)


ENGINES = (GridSampler(),)
