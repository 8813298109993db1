"""Normalisations, forward and backward: rows kept in registers where they fit, else launches over slices of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portadnn.ops.batch_norm import (
    BatchNormalizationBackward,
    BatchNormalizationForwardInference,
    BatchNormalizationForwardTraining,
)
from portadnn.problem import Problem

from ..base import Arg, ConstantArg, Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from .norm_layout import Defines, Layout, make_layout, shape_of
from .tiles import Tile, storage_defines

_FORWARD, _BACKWARD = "shared/norm_forward.cl", "shared/norm_backward.cl"
_KEPT = 32  # numbers of a row that one GPU work-item keeps: more would cost occupancy
_KEPT_CPU = 32768  # bytes of a row that a CPU work-item keeps in its array
_CHUNK = 24 << 20  # bytes that the launches of the sliced way treat at a time, so that the last finds them cached
_CHUNK_CPU = 1 << 20
_MOST_CHUNKS = 32
_ROUNDS = 4  # as in norm.h
SAVED = ("saved_mean", "saved_inv_variance")
RUNNING = ("running_mean", "running_variance")


@dataclass(frozen=True)
class _Way:
    """How a problem is launched: `kept` vectors per work-item, or 0 for the sliced way in `chunks`."""

    layout: Layout
    kept: int
    chunks: int = 1

    @property
    def tile(self) -> Tile:
        return self.layout.tile

    @property
    def chunk(self) -> int:
        """Tiles of a chunk."""
        return -(-self.tile.groups // self.chunks)


class Workspace:
    """Arrays of the problem's accumulator one after another in the workspace."""

    def __init__(self, problem: Problem) -> None:
        self.dtype = problem.dtype.accumulator
        self.size = 0

    def take(self, numbers: int) -> WorkspaceArg:
        """Return the argument of an array of so many numbers."""
        start = self.size
        self.size += -(-numbers * self.dtype.itemsize // 256) * 256
        return WorkspaceArg(start, self.dtype)


class Normalization(Engine):
    """All modes and layouts."""

    name = "normalization"
    problems = (BatchNormalizationForwardTraining, BatchNormalizationForwardInference, BatchNormalizationBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        space = Workspace(problem)
        _areas(problem, _way(problem, info), space)
        return space.size

    def prepare(self, problem: Problem, device: Device) -> Plan:
        launches = _launches(problem, device)
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _way(problem: Problem, info: DeviceInfo) -> _Way:
    layout = make_layout(shape_of(problem), info)
    tile = layout.tile
    cpu = info.schedule == "cpu"
    if isinstance(problem, BatchNormalizationForwardInference):
        tile = tile.shared(2 * _ROUNDS, info)
        return _Way(layout.with_tile(_sliced(tile, tile.groups, info)), 0)
    backward = isinstance(problem, BatchNormalizationBackward)
    real = problem.dtype.accumulator.itemsize
    budget = (_KEPT_CPU if cpu else _KEPT * 4) // (real * tile.width * (2 if backward else 1))
    if 0 in (tile.outer_units, tile.reduce_units):
        return _Way(layout.with_tile(tile.shared(1, info)), 1)
    rounds = _ROUNDS if tile.along_reduce else 2 * _ROUNDS
    shared = tile.shared(min(rounds, max(budget, 1)), info, 1024)
    kept = -(-tile.reduce_units // shared.sharing)
    if kept <= budget:
        return _Way(layout.with_tile(shared), kept)
    tile = tile.shared(2 * _ROUNDS, info)
    nbytes = sum(spec.nbytes for name, spec in layout.shape.data.items() if name not in ("Y", "DX"))
    chunks = 1
    if tile.along_reduce or cpu:  # neighbouring columns share lines of memory
        chunks = min(-(-nbytes // (_CHUNK_CPU if cpu else _CHUNK)), _MOST_CHUNKS, tile.groups)
    groups = -(-tile.groups // chunks)
    return _Way(layout.with_tile(_sliced(tile, groups, info)), 0, chunks)


def _sliced(tile: Tile, groups: int, info: DeviceInfo) -> Tile:
    """Return the tile in slices, so that `groups` of them at a time fill the device."""
    if 0 in (tile.outer_units, tile.reduce_units):
        return tile
    return tile.sliced(-(-8 * info.compute_units // groups), 2 * _ROUNDS)


def _areas(problem: Problem, way: _Way, space: Workspace) -> tuple[list[Arg], list[Arg], list[Arg]]:
    """Return parts of moments (means, squares, pivots), statistics (pivots, rests, inverses), and parts of sums."""
    if way.kept or isinstance(problem, BatchNormalizationForwardInference):
        return [], [], []
    parts = way.tile.parts
    means = squares = pivots = None
    moments: list[Arg] = []
    stats: list[Arg] = []
    sums: list[Arg] = []
    backward = isinstance(problem, BatchNormalizationBackward)
    if not backward or "saved_inv_variance" not in problem.names:
        means, squares = space.take(parts), space.take(parts)
        pivots = space.take(parts // way.tile.slices)
        moments = [means, squares, pivots]
        if backward:
            stats = [space.take(way.layout.shape.groups) for _ in range(3)]
    if backward:
        sums = [space.take(parts), space.take(parts)]
    return moments, stats, sums


def arguments(problem: Problem, *names: str) -> list[Arg]:
    """Return the arguments of those tensors that the problem has."""
    return [TensorArg(problem.index(name)) for name in names if name in problem.names]


def numbers(problem: Problem, *names: str) -> list[Arg]:
    """Return the arguments of those run-time numbers."""
    scalars = list(problem.scalars)
    return [ScalarArg(scalars.index(name), problem.dtype.accumulator) for name in names]


def _launches(problem: Problem, device: Device) -> tuple[Launch, ...]:
    way = _way(problem, device.info)
    if way.tile.outer_units == 0:
        return ()
    defines: Defines = {**way.layout.defines(), **storage_defines(way.layout.shape.data["X"])}
    if isinstance(problem, BatchNormalizationForwardInference):
        return _inference(problem, way, defines, device) if way.tile.reduce_units else ()
    if isinstance(problem, BatchNormalizationForwardTraining):
        return _training(problem, way, defines, device)
    return _gradients(problem, way, defines, device)


def _inference(problem: Problem, way: _Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    kernel = device.compile(_FORWARD, "norm_inference", {**defines, "INFERENCE": 1})
    args = [*arguments(problem, *problem.names), *numbers(problem, "alpha", "beta", "epsilon")]
    tile = way.tile
    return (Launch(kernel, (tile.groups * tile.slices,), (tile.block,), tuple(args)),)


def forward_arguments(problem: Problem) -> tuple[list[Arg], Defines, list[Arg]]:
    """Return the tensors of a forward kernel, the defines that tell of them, and its numbers but the usual three."""
    running = arguments(problem, *RUNNING)
    saved = arguments(problem, *SAVED)
    defines: Defines = {}
    if running:
        defines["HAS_RUNNING"] = 1
    if saved:
        defines["HAS_SAVED"] = 1
    tensors = arguments(problem, "x", "scale", "bias", "y") + running + saved
    return tensors, defines, numbers(problem, "exponential_average_factor") if running else []


def backward_arguments(problem: Problem) -> tuple[list[Arg], list[Arg], list[Arg], Defines, list[Arg]]:
    """Return inputs, saved statistics and outputs of a backward kernel, the defines that tell of them, and factors."""
    saved = arguments(problem, *SAVED)
    count = shape_of(problem).count
    defines: Defines = {"COUNT": f"{max(count, 1)}u", "PARAMETER_GRADIENTS": 1}  # sums over nothing are 0, not 0 / 0
    if saved:
        defines["HAS_SAVED"] = 1
    blends = numbers(problem, "alpha_data_diff", "beta_data_diff", "alpha_param_diff", "beta_param_diff")
    return arguments(problem, "x", "dy", "scale"), saved, arguments(problem, "dx", "dscale", "dbias"), defines, blends


def _training(problem: Problem, way: _Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    tensors, more, factor = forward_arguments(problem)
    defines.update(more)
    blends = numbers(problem, "alpha", "beta", "epsilon") + factor
    tile = way.tile
    if way.kept:
        kernel = device.compile(_FORWARD, "norm_forward", {**defines, "FUSED": 1, "K": way.kept})
        return (Launch(kernel, (tile.groups,), (tile.block,), (*tensors, *blends)),)
    moments, _, _ = _areas(problem, way, Workspace(problem))
    partial = device.compile(_FORWARD, "norm_partial", {**defines, "PARTIAL": 1})
    apply = device.compile(_FORWARD, "norm_apply", {**defines, "APPLY": 1})
    launches = []
    for first in range(0, tile.groups, way.chunk):
        grid, block = (min(way.chunk, tile.groups - first) * tile.slices,), (tile.block,)
        start = ConstantArg(np.int32(first))
        launches.append(Launch(partial, grid, block, (*arguments(problem, "x"), *moments, start)))
        launches.append(Launch(apply, grid, block, (*tensors, *moments, start, *blends)))
    return tuple(launches)


def _gradients(problem: Problem, way: _Way, defines: Defines, device: Device) -> tuple[Launch, ...]:
    inputs, saved, outputs, more, blends = backward_arguments(problem)
    defines.update(more)
    epsilon = numbers(problem, "epsilon")
    tile = way.tile
    if way.kept:
        kernel = device.compile(_BACKWARD, "norm_backward", {**defines, "FUSED": 1, "K": way.kept})
        return (Launch(kernel, (tile.groups,), (tile.block,), (*inputs, *saved, *outputs, *blends, *epsilon)),)
    moments, stats, sums = _areas(problem, way, Workspace(problem))
    if not saved:
        defines["HAS_STATS"] = 1
        partial = device.compile(_FORWARD, "norm_partial", {**defines, "PARTIAL": 1})
        finish = device.compile(_BACKWARD, "norm_moments", {**defines, "MOMENTS": 1})
    add = device.compile(_BACKWARD, "norm_backward_partial", {**defines, "BACKWARD_PARTIAL": 1})
    apply = device.compile(_BACKWARD, "norm_backward_apply", {**defines, "BACKWARD_APPLY": 1})
    launches = []
    for first in range(0, tile.groups, way.chunk):
        groups = min(way.chunk, tile.groups - first)
        grid, block = (groups * tile.slices,), (tile.block,)
        start = ConstantArg(np.int32(first))
        if not saved:
            launches.append(Launch(partial, grid, block, (*arguments(problem, "x"), *moments, start)))
            launches.append(Launch(finish, (groups,), block, (*moments, *stats, start, *epsilon)))
        known = saved or stats
        launches.append(Launch(add, grid, block, (*inputs, *known, *sums, start)))
        launches.append(Launch(apply, grid, block, (*inputs, *known, *outputs, *sums, start, *blends)))
    return tuple(launches)


ENGINES = (Normalization(),)
