"""The gradient of a convolution's bias: a reduction over everything but the channels."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from portadnn.ops.convolution.calls import ConvolutionBackwardBias
from portadnn.problem import Problem

from ..base import (
    MOST_COUNTERS,
    Arg,
    CountersArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from .layouts import place_defines
from .tiles import SUM_BLOCK, Tile, make_tile, storage_defines

_FILE = "shared/tensor/bias_gradient.cl"
_ROUNDS = 4  # loads in flight of a work-item that has many
_AT_ONCE = 40  # registers for those of one that has few
_PANEL = 4096  # channels
_GROUPS = 5  # work-groups for each multiprocessor, which runs all of them at a time (measured on an H200)
_BLOCKS = (512, 256, 1024)  # work-items of a group for long rows
_FEW = 16  # registers for loads with which a multiprocessor has room for, and needs, _LIGHT work-items; else _HEAVY
_LIGHT, _HEAVY = 1536, 1024
_COST = 0.125  # of a work-item beside its vectors, in vectors
_JOIN = 3000  # of joining slices, in vectors of a multiprocessor: about 0.5 us on an H200
_MOST_POSTS = 16  # slices that a channel's last work-group takes from the others; more go by the workspace
_FINISH = {"gpu": (8, 32), "cpu": (1, 1)}  # channels of a work-group of the second stage, and work-items of each


class BiasGradient(Engine):
    """Two ordered stages, in one launch where the last work-group can add up, or one suffices for a channel."""

    name = "reduction"
    wide = True
    problems = (ConvolutionBackwardBias,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        tile = _tile(problem, info)
        if 0 in (tile.outer_units, tile.reduce_units) or _posts(tile, problem, info):
            return 0
        if tile.slices == 1 and not _panel(tile, info):
            return 0
        return tile.parts * problem.dtype.accumulator.itemsize

    def prepare(self, problem: Problem, device: Device) -> Plan:
        launches = _launches(problem, device) if problem.tensors[-1].size else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _run(tile: Tile, info: DeviceInfo) -> int:
    """Return the vectors of a run that a CPU's work-item folds at a time; 0 where it goes vector by vector."""
    apart = tile.along_reduce and len(tile.reduce) > 1 and tile.reduce[-1].strides == (tile.width,)
    return tile.reduce[-1].size if apart and info.schedule == "cpu" else 0


def _panel(tile: Tile, info: DeviceInfo) -> bool:
    """Tell whether a CPU's work-item takes all channels at once: they lie side by side, and their sums fit a cache."""
    lanes = tile.outer_units * tile.width
    together = not tile.along_reduce and len(tile.outer) == 1 and tile.outer[0].strides == (tile.width,)
    return together and tile.width > 1 and lanes <= _PANEL and info.schedule == "cpu"


class Posts(NamedTuple):
    """The counters of a launch whose work-groups send each other their parts: how many, and where the parts begin."""

    counters: int
    begin: int


def _posts(tile: Tile, problem: Problem, info: DeviceInfo) -> Posts | None:
    """Return the counters by which slices of a row are joined; None where they go by the workspace, or are none."""
    if "grid_fence" not in info.features or not tile.along_reduce or tile.across > 1:
        return None
    begin = -(-tile.groups // 2) * 2  # parts are words of 64 bits
    counters = begin + 2 * tile.groups * tile.slices * problem.dtype.accumulator.itemsize // 4
    return Posts(counters, begin) if 1 < tile.slices <= _MOST_POSTS and counters <= MOST_COUNTERS else None


def _in_slices(tile: Tile, slices: int) -> Tile:
    """Return the tile with that many slices, as long as each other."""
    length = -(-tile.reduce_units // slices)
    return replace(tile, slices=-(-tile.reduce_units // length), length=length)


def _words(tile: Tile, problem: Problem) -> int:
    """Return the registers of a vector of sums."""
    return tile.width * problem.dtype.accumulator.itemsize // 4


def _loads(tile: Tile, problem: Problem, info: DeviceInfo) -> int:
    """Return how many vectors a work-item reads at a time: on a GPU all it has, or half, where registers hold them."""
    each, words = -(-tile.length // tile.sharing), _words(tile, problem)
    for share in (each, -(-each // 2)):
        if info.schedule == "gpu" and share * words <= _AT_ONCE:
            return max(share, 1)
    return 2 * _ROUNDS if words == 1 else _ROUNDS


def _room(tile: Tile, problem: Problem, info: DeviceInfo) -> int:
    """Return the work-items for which a multiprocessor is to have registers."""
    return _HEAVY if _loads(tile, problem, info) * _words(tile, problem) > _FEW else _LIGHT


def _long_rows(whole: Tile, problem: Problem, info: DeviceInfo) -> Tile | None:
    """Return the tile of a GPU for rows longer than a work-group reads at once; None where rows are shorter.

    Of all sizes of work-groups and numbers of slices, those with which the busiest multiprocessor has least to do.
    """
    least = 4 if "grid_fence" in info.features else 4 * _ROUNDS  # vectors of a work-item: a second launch takes long
    best, lowest = None, 0.0
    for block in _BLOCKS:
        tile = whole.shared(2 * _ROUNDS, info, block)
        if tile.across > 1 or tile.sharing < block:
            continue
        most = min(_LIGHT // block * info.compute_units // tile.groups, tile.reduce_units // (least * block))
        for slices in range(1, max(most, 1) + 1):
            option = _in_slices(tile, slices)
            items = -(-tile.groups * option.slices // info.compute_units) * block
            room = _room(option, problem, info)
            cost = (option.length / block + _COST) * max(items, room) + (_JOIN if slices > 1 else 0)
            if best is None or (cost < lowest and items <= room):
                best, lowest = option, cost
    return best


def _tile(problem: Problem, info: DeviceInfo) -> Tile:
    """Return the tile; where there are runs, its reduce units are runs."""
    dy = problem.tensors[0]
    whole = make_tile((dy,), (1,), info)
    if whole.along_reduce and info.schedule == "gpu" and 0 not in (whole.outer_units, whole.reduce_units):
        long_rows = _long_rows(whole, problem, info)
        if long_rows is not None:
            return long_rows
    tile = whole.shared(2 * _ROUNDS, info)
    groups = (_GROUPS if info.schedule == "gpu" else 8) * info.compute_units
    if _run(tile, info) >= _ROUNDS:
        tile = replace(tile, reduce=tile.reduce[:-1])
        return tile.sliced(-(-groups // max(tile.groups, 1)), 1)
    if 0 in (tile.outer_units, tile.reduce_units):
        return tile
    least = (2 if "grid_fence" in info.features else 4) * _ROUNDS  # without a second launch shorter slices pay, too
    return tile.sliced(groups if _panel(tile, info) else -(-groups // tile.groups), least)


def _launches(problem: Problem, device: Device) -> tuple[Launch, ...]:
    dy, db = problem.tensors
    tile = _tile(problem, device.info)
    real = problem.dtype.accumulator
    scalars = (ScalarArg(0, real), ScalarArg(1, real))
    channels, sharing = _FINISH[device.info.schedule]
    defines: dict[str, int | float | str] = {"DB_STRIDE": f"{db.strides[1]}u"}
    defines.update(FINISH_CHANNELS=channels, FINISH_SHARING=sharing, ROUNDS=_loads(tile, problem, device.info))
    long_rows = tile.along_reduce and tile.across == 1
    defines["RESIDENT"] = max(1, _room(tile, problem, device.info) // tile.block) if long_rows else 1
    run = _run(make_tile((dy,), (1,), device.info), device.info)
    if run >= _ROUNDS:
        defines["RUN"] = run
    defines.update(storage_defines(dy), **place_defines(problem), **tile.defines(("DY",)))
    rounds = 4 if _panel(tile, device.info) else _loads(tile, problem, device.info) * tile.sharing
    if tile.length * (run if "RUN" in defines else 1) > SUM_BLOCK * rounds:
        defines["LONG_SUMS"] = 1
    if _panel(tile, device.info) and tile.reduce_units:
        defines["PANEL"] = 1
        panel, finish = (device.compile(_FILE, name, defines) for name in ("bias_panel", "bias_finish"))
        sums = WorkspaceArg(0, real)
        return (
            Launch(panel, (tile.slices,), (1,), (TensorArg(0), sums)),
            Launch(finish, (-(-db.size // channels),), (channels * sharing,), (sums, TensorArg(1), *scalars)),
        )
    posts = _posts(tile, problem, device.info)
    fenced = "grid_fence" in device.info.features and tile.slices > 1 and tile.groups <= MOST_COUNTERS
    if posts:
        defines["POSTED"] = posts.begin
    elif fenced:
        defines["GRID_FENCED"] = 1
    partial = device.compile(_FILE, "bias_partial", defines)
    grid, block = (tile.groups * tile.slices,), (tile.block,)
    if tile.slices == 1:
        return (Launch(partial, grid, block, (TensorArg(0), TensorArg(1), *scalars)),)
    if posts:
        args: tuple[Arg, ...] = (TensorArg(0), TensorArg(1), CountersArg(posts.counters), *scalars)
        return (Launch(partial, grid, block, args),)
    sums = WorkspaceArg(0, real)
    if fenced:
        args = (TensorArg(0), TensorArg(1), sums, CountersArg(tile.groups), *scalars)
        return (Launch(partial, grid, block, args),)
    finish = device.compile(_FILE, "bias_finish", defines)
    return (
        Launch(partial, grid, block, (TensorArg(0), sums)),
        Launch(finish, (-(-db.size // channels),), (channels * sharing,), (sums, TensorArg(1), *scalars)),
    )


ENGINES = (BiasGradient(),)
