"""The sampler's gradients where any layout goes: dgrid by points and, on GPUs, dx by pixels from sorted points."""

from __future__ import annotations

from portadnn.enums import DataType
from portadnn.ops.spatial_sampler import SpatialTfSamplerBackward

from ...base import Arg, DeviceInfo, TensorArg, WorkspaceArg
from ...parameters import compiled_in, numbers, tensor, tensors
from ..layouts import strides
from ..places import bakes
from .places import (
    FILE,
    Defines,
    Geometry,
    Scratch,
    Step,
    channels_at_once,
    covered,
    ints,
    scalars,
    tile,
    types,
    up,
    words,
)

_GATHER = "shared/grid/gather.cl"
_BINS = "shared/grid/bins.cl"
_SMALL = "shared/grid/small.cl"
_GROUP = 256
_SCAN_GROUP = 128  # work-items that sum up a row of counters, ...
_EACH = 8  # ... so many of them each; those of bins_clear, too
_SHARING = 8  # work-items of a point that share its channels, for dgrid, at most
_FILLED = 8 * 2048  # work-items for each multiprocessor that keep it busy
_LOCAL_GROUP = 1024  # work-items that sort an image whose counters fit into local memory
_LOCAL_CELLS = 8 << 10  # counters there, at most
_LOCAL_POINTS = 16 << 10  # points of an image that one work-group sorts
_SMALL_GROUP = 512  # work-items that make both gradients of a small image, ...
_SMALL_CHANNELS = 8  # ... with so many channels at most

_Bins = tuple[WorkspaceArg, WorkspaceArg, WorkspaceArg]  # starts, slots, sorted points


def grid_gradient(
    problem: SpatialTfSamplerBackward, g: Geometry, info: DeviceInfo, counters: tuple[Arg, ...] = ()
) -> Step:
    """Return the launch that makes dgrid, and counts the points of every cell if it is given counters and slots."""
    sharing = 1
    while sharing < _SHARING and g.n * g.points * sharing < _FILLED * info.compute_units:
        sharing *= 2
    defines = {**tile(problem, g, (problem.x, problem.dy), info, sharing), "GRID_GRADIENT": 1}
    if counters:
        defines["COUNTS"] = 1
    tiles, _, block = covered(defines, g.points, g.c)
    given = [
        *(tensor("const T", name, TensorArg(i), restrict=True) for i, name in enumerate(("x", "dy", "grid"))),
        tensor("T", "dgrid", TensorArg(4), restrict=True),
        *numbers("real", ("alpha", "beta"), scalars(problem.dtype, 2)),
        *g.parameters(),
        *g.step_parameters("d_n d_h d_w d_2", g.dgrid),
        *numbers("u32", ("tiles",), words(tiles)),
        *tensors("int", ("starts", "slots") if counters else (), counters),
    ]
    return Step(FILE, "sampler_grid", defines, tiles * g.n, block, parameters=given)


def gradients(problem: SpatialTfSamplerBackward, g: Geometry, info: DeviceInfo, scratch: Scratch) -> list[Step]:
    """Return a GPU's launches for both gradients."""
    if not problem.dx.size:
        return [grid_gradient(problem, g, info)] if problem.dgrid.size else []
    small = _small(problem, g, info)
    if small:
        return [small]
    real = problem.dtype.accumulator
    counters = g.n * (g.h + 1) * (g.w + 2)
    starts = scratch.take(counters + g.n, DataType.FLOAT)  # and what rows have taken of each image's places
    slots = scratch.take(g.n * g.points, DataType.FLOAT)
    sorted_points = scratch.take(g.n * g.points * (4 if real is DataType.FLOAT else 3), real)
    bins = (starts, slots, sorted_points)
    local = _local_bins(problem, g, info, bins)
    steps = [grid_gradient(problem, g, info), local] if local else _bins(problem, g, info, bins)
    defines = tile(problem, g, (problem.dx, problem.dy), info, 1)
    along, blocks, group = covered(defines, g.h * g.w, g.c)
    width = 0 if "CHANNELS_LAST" in defines else _rectangle(g.w)
    if width:
        defines["TILE_W"] = width
        along = up(g.w, width) * up(g.h, group[0] // width)
    args = (TensorArg(1), TensorArg(3), starts, sorted_points, *scalars(problem.dtype))
    rest = (*g.args(strides(problem.dx)), *words(along, blocks))
    return [*steps, Step(_GATHER, "sampler_gather", defines, along * blocks * g.n, group, (*args, *rest))]


def _rectangle(w: int) -> int:
    """Return the width of the rectangles that cover pixels of images that wide; 0 where they would waste work-items."""
    return next((width for width in (32, 16) if up(w, width) * width <= 1.07 * w), 0)


def _small(problem: SpatialTfSamplerBackward, g: Geometry, info: DeviceInfo) -> Step | None:
    """Return the launch that makes both gradients of small images, a work-group each; None where they are not small."""
    group = min(_SMALL_GROUP, info.max_work_group)
    counters = next((size for size in (2 * group, 4 * group) if (g.h + 1) * (g.w + 2) <= size), 0)
    rounds = 2  # of a single one no loop is made
    point = 16 if problem.dtype.accumulator is DataType.FLOAT else 24
    local = 4 * counters + 4 * group + group * rounds * (4 + point)
    if not 0 < g.points <= group * rounds or g.c > _SMALL_CHANNELS or not counters or local >= info.local_memory:
        return None
    at_once = channels_at_once(g.c, _SMALL_CHANNELS)
    shape: Defines = {"WG": group, "ROUNDS": rounds, "CELLS": counters, "CHANNELS": at_once, "VW": 1}
    defines = {**types(problem, g), **shape, "IN_FLIGHT": min(at_once, 4)}
    blends = (*scalars(problem.dtype), *scalars(problem.dtype, 2))
    given = [
        *(tensor("const T", name, TensorArg(i)) for i, name in enumerate(("x", "dy", "grid"))),
        *(tensor("T", name, TensorArg(3 + i)) for i, name in enumerate(("dx", "dgrid"))),
        *numbers("real", ("alpha", "beta", "alpha_dgrid", "beta_dgrid"), blends),
        *g.parameters(),
        *g.step_parameters("d_n d_h d_w d_2", g.dgrid),
        *g.step_parameters("dx_n dx_c dx_h dx_w", strides(problem.dx)),
    ]
    if bakes(problem, info):
        given = compiled_in(given)
    return Step(_SMALL, "sampler_small", defines, g.n, (group,), parameters=given)


def _local_bins(problem: SpatialTfSamplerBackward, g: Geometry, info: DeviceInfo, bins: _Bins) -> Step | None:
    """Return the launch that sorts every image's points in a work-group of its own; None where that does not fit."""
    cells, group = (g.h + 1) * (g.w + 2), min(_LOCAL_GROUP, info.max_work_group)
    counters = max(2, up(cells, group)) * group
    counters = max(2 * group, 1 << (counters - 1).bit_length())  # few kernels serve all sizes
    fits = counters <= _LOCAL_CELLS and (counters + 3 * group) * 4 < info.local_memory
    if not g.points or g.points > _LOCAL_POINTS or not fits:
        return None
    defines: Defines = {**types(problem, g), "LOCAL_BINS": 1, "WG": group, "CELLS": counters, "VW": 1}
    return Step(_BINS, "bins_local", defines, g.n, (group,), (TensorArg(2), *bins, *g.bin_args()))


def _bins(problem: SpatialTfSamplerBackward, g: Geometry, info: DeviceInfo, bins: _Bins) -> list[Step]:
    """Return the launches that sort the points of images of any size, and make dgrid on the way."""
    starts, slots, sorted_points = bins
    grid, points, rows = TensorArg(2), g.n * g.points, g.n * (g.h + 1)
    counters = rows * (g.w + 2)
    shape = types(problem, g)

    def step(kernel: str, groups: int, group: int, *args: Arg) -> Step:
        return Step(_BINS, kernel, {**shape, "WG": group, "EACH": _EACH, "VW": 1}, groups, (group,), args)

    cleared = counters + g.n
    clear = step("bins_clear", up(cleared, _GROUP * _EACH), _GROUP, starts, *g.places(cleared))
    if not points:
        return [clear]
    tiles, sizes = up((g.h + 1) * (g.w + 2), _GROUP), g.bin_args()
    taken = WorkspaceArg(starts.offset + 4 * counters, DataType.FLOAT)
    return [
        clear,
        grid_gradient(problem, g, info, (starts, slots)),
        step("bins_scan", rows, _SCAN_GROUP, starts, taken, *ints(g.h, g.w)),
        step("bins_fill", up(points, _GROUP), _GROUP, grid, starts, slots, sorted_points, *sizes, *g.places(points)),
        step("bins_order", g.n * tiles, _GROUP, grid, starts, sorted_points, *sizes, *words(tiles)),
    ]
