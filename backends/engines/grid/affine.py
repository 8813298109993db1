"""Grids of affine transformations and the gradient of their matrices: the spatial transformer's grid generator."""

from __future__ import annotations

from portadnn.ops.spatial_transformer import SpatialTfGridGeneratorBackward, SpatialTfGridGeneratorForward
from portadnn.problem import ALIGNMENT, Problem, TensorSpec

from ...base import (
    MOST_COUNTERS,
    CountersArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    TensorArg,
    WorkspaceArg,
    roofline,
)
from ...parameters import Parameter, bind, compiled_in, declare, number, numbers, tensor
from ..layouts import place_arg, place_defines, strides
from ..places import bakes
from ..tiles import storage_defines
from .places import words

_STRIDES = ["g_n", "g_h", "g_w", "g_2", "t_n", "t_r", "t_k"]
_GROUP = 256
_FINISH = {"gpu": 64, "cpu": 1}
_POINTS = 2048  # of a slice at least
_Generator = SpatialTfGridGeneratorForward | SpatialTfGridGeneratorBackward


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _sizes(problem: _Generator, grid: TensorSpec, theta: TensorSpec) -> list[Parameter]:
    places = (place_arg(problem, s) for spec in (grid, theta) for s in strides(spec))
    return [*numbers("u32", ("h", "w"), words(*grid.dims[1:3])), *numbers("idx_t", _STRIDES, places)]


class AffineGrid(Engine):
    """Both directions, any strides."""

    name = "affine"
    wide = True
    problems = (SpatialTfGridGeneratorForward, SpatialTfGridGeneratorBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, (SpatialTfGridGeneratorForward, SpatialTfGridGeneratorBackward))
        if max(problem.grid_spec.dims[1:3]) > 1 << 24:
            return "float32 cannot count that many pixels"
        if problem.grid_spec.dims[1] * problem.grid_spec.dims[2] >= 1 << 31:
            return "an image has more pixels than 31 bits count"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        return roofline(problem, info)

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, (SpatialTfGridGeneratorForward, SpatialTfGridGeneratorBackward))
        if isinstance(problem, SpatialTfGridGeneratorForward):
            return 0
        if _slices(problem, info)[0] == 1:
            return 0
        return problem.dgrid.dims[0] * _slices(problem, info)[0] * 6 * problem.dtype.accumulator.itemsize

    def prepare(self, problem: Problem, device: Device) -> Plan:
        if isinstance(problem, SpatialTfGridGeneratorForward):
            launches = _forward(problem, device) if problem.grid.size else ()
        else:
            assert isinstance(problem, SpatialTfGridGeneratorBackward)
            launches = _backward(problem, device) if problem.dtheta.size else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _forward(problem: SpatialTfGridGeneratorForward, device: Device) -> tuple[Launch, ...]:
    grid, info = problem.grid, device.info
    n, h, w, _ = grid.dims
    defines = {**storage_defines(grid), **place_defines(problem), "VW": 1}
    if info.schedule == "cpu":
        items, group = n * h, 1
        defines["ROWS"] = 1
    else:
        width, group = _width(grid), _GROUP
        items = n * h * w if width == 1 else n * h * w * 2 // width
        defines.update(VW=width, **({"VECTOR_ALIGNED": 1} if width > 1 else {}))
    given = [tensor("const T", "theta", TensorArg(0)), tensor("T", "grid", TensorArg(1))]
    given += [*_sizes(problem, grid, problem.theta), number("idx_t", "items", place_arg(problem, items))]
    if bakes(problem, info):
        given = compiled_in(given)
    kernel = device.compile("shared/grid/affine.cl", "affine_grid", {**defines, "GROUP": group, **declare(given)})
    return (Launch(kernel, (_up(items, group),), (group,), bind(given)),)


def _width(grid: TensorSpec) -> int:
    """Return the lanes of aligned vectors that hold whole points of one row; 1 for none."""
    width = 16 // grid.dtype.itemsize
    while width > 1 and (grid.alignment < ALIGNMENT or not grid.is_packed() or grid.dims[2] % (width // 2)):
        width //= 2
    return width if width * grid.dtype.accumulator.itemsize >= 16 else 1  # no vectors of two floats


def _slices(problem: SpatialTfGridGeneratorBackward, info: DeviceInfo) -> tuple[int, int]:
    """Return how many slices an image's points are cut into, and points of each."""
    n, h, w, _ = problem.dgrid.dims
    points = h * w
    if not points:
        return 0, 1
    wanted = (8 if info.schedule == "gpu" else 2) * info.compute_units
    slices = max(1, min(_up(wanted, max(n, 1)), points // _POINTS))
    length = _up(points, slices)
    return _up(points, length), length


def _backward(problem: SpatialTfGridGeneratorBackward, device: Device) -> tuple[Launch, ...]:
    dgrid, dtheta, schedule = problem.dgrid, problem.dtheta, device.info.schedule
    group, finish = _GROUP if schedule == "gpu" else 1, _FINISH[schedule]
    defines = {
        **storage_defines(dgrid),
        **place_defines(problem),
        "GROUP": group,
        "FINISH": finish,
        "VW": 1,
    }
    slices, length = _slices(problem, device.info)
    images, fenced = dgrid.dims[0], _fenced(problem, device.info)
    workspace, sizes = WorkspaceArg(0, problem.dtype.accumulator), _sizes(problem, dgrid, dtheta)
    result, sums = tensor("T", "dtheta", TensorArg(1)), tensor("real", "sums", workspace)
    launches: list[Launch] = []
    if slices:
        given = [tensor("const T", "dgrid", TensorArg(0))]
        if slices == 1:
            defines["ONE_SLICE"] = 1
            given.append(result)
        elif fenced:
            defines["GRID_FENCED"] = 1
            given += [result, sums, tensor("int", "arrived", CountersArg(images))]
        else:
            given.append(sums)
        given += [*sizes, *numbers("u32", ("slices", "length"), words(slices, length))]
        if bakes(problem, device.info):
            given = compiled_in(given)
        kernel = device.compile("shared/grid/affine_backward.cl", "affine_theta", {**defines, **declare(given)})
        launches.append(Launch(kernel, (images * slices,), (group,), bind(given)))
    if slices == 1 or (slices and fenced):
        return tuple(launches)
    items = dtheta.size
    read = workspace if slices else TensorArg(1)  # no points: nothing is read
    given = [tensor("const real", "sums", read), result, *sizes]
    given += numbers("u32", ("slices", "items"), words(slices, items))
    kernel = device.compile("shared/grid/affine_finish.cl", "affine_theta_finish", {**defines, **declare(given)})
    launches.append(Launch(kernel, (_up(items, finish),), (finish,), bind(given)))
    return tuple(launches)


def _fenced(problem: SpatialTfGridGeneratorBackward, info: DeviceInfo) -> bool:
    """Tell whether the last work-group of an image adds up its slices."""
    return info.schedule == "gpu" and "grid_fence" in info.features and problem.dgrid.dims[0] <= MOST_COUNTERS


ENGINES = (AffineGrid(),)
