"""Softmax, forward and backward: rows kept in registers where they fit, else two launches over slices of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portadnn.enums import SoftmaxMode
from portadnn.ops.softmax import SoftmaxBackward, SoftmaxForward
from portadnn.problem import Problem

from ...base import (
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
    host_seconds,
    roofline,
)
from ..layouts import place_defines
from ..tiles import Tile, make_tile, storage_defines

_KEPT = 32  # numbers of a row that one GPU work-item keeps: more would cost occupancy
_KEPT_CPU = 32768  # bytes of a row that a CPU work-item keeps in its array
_CHUNK = 24 << 20  # bytes that both launches of the sliced way treat at a time, so that the second finds them cached
_CHUNK_CPU = 1 << 20
_MOST_CHUNKS = 32
_ROUNDS = 4  # as in softmax/softmax.h
_NUMBERS = 16  # that a work-item keeps at least, where rows have them
_LINE = 32  # work-items whose narrow loads are one run of memory


@dataclass(frozen=True)
class _Layout:
    """How one problem is launched: `kept` vectors per work-item, or 0 for the sliced way in `chunks`."""

    tile: Tile
    kept: int
    chunks: int = 1

    @property
    def part_bytes(self) -> int:
        return -(-self.tile.parts * 8 // 256) * 256


class Softmax(Engine):
    """All algorithms, modes and layouts."""

    name = "softmax"
    wide = True
    problems = (SoftmaxForward, SoftmaxBackward)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Estimate the time, of small problems that of the host."""
        assert isinstance(problem, (SoftmaxForward, SoftmaxBackward))
        layout = _layout(problem, info)
        launches = 1 if layout.kept else 2 * layout.chunks
        return max(roofline(problem, info, launches=launches), host_seconds(launches, info))

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, (SoftmaxForward, SoftmaxBackward))
        layout = _layout(problem, info)
        if layout.kept:
            return 0
        return layout.part_bytes * (2 if isinstance(problem, SoftmaxForward) else 1)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, (SoftmaxForward, SoftmaxBackward))
        launches: tuple[Launch, ...] = ()
        if problem.tensors[-1].size:
            layout = _layout(problem, device.info)
            launches = _fused(problem, layout, device) if layout.kept else _sliced(problem, layout, device)
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


def _layout(problem: SoftmaxForward | SoftmaxBackward, info: DeviceInfo) -> _Layout:
    kept_axes = (0,) if problem.mode is SoftmaxMode.INSTANCE else (0, *range(2, len(problem.tensors[0].dims)))
    forward = isinstance(problem, SoftmaxForward)
    specs = problem.tensors if forward else (problem.tensors[0], problem.tensors[2])
    cpu = info.schedule == "cpu"
    tile = make_tile(specs, kept_axes, info)
    real = problem.dtype.accumulator.itemsize
    budget = (_KEPT_CPU if cpu else _KEPT * 4) // (real * tile.width * (1 if forward else 2))
    if 0 in (tile.outer_units, tile.reduce_units):
        return _Layout(tile, 1)
    rounds = _ROUNDS if tile.along_reduce else 2 * _ROUNDS
    if tile.along_reduce and not cpu:  # as many numbers where vectors are narrow, but neighbours read a line of memory
        rounds = max(rounds, min(_NUMBERS // tile.width, tile.reduce_units // _LINE))
    shared = tile.shared(min(rounds, max(budget, 1)), info, 1024)
    kept = -(-tile.reduce_units // shared.sharing)
    if kept <= budget:
        return _Layout(shared, kept)
    tile = tile.shared(2 * _ROUNDS, info)
    nbytes = sum(problem.tensors[i].nbytes for i in range(len(problem.inputs)))
    chunks = min(-(-nbytes // (_CHUNK_CPU if cpu else _CHUNK)), _MOST_CHUNKS, tile.groups)
    groups = -(-tile.groups // chunks)
    return _Layout(tile.sliced(-(-8 * info.compute_units // groups), 2 * _ROUNDS), 0, chunks)


def _defines(problem: SoftmaxForward | SoftmaxBackward, layout: _Layout) -> dict[str, int | float | str]:
    names = ("X", "Y") if isinstance(problem, SoftmaxForward) else ("Y", "DX")
    defines: dict[str, int | float | str] = {"ALGORITHM": problem.algorithm.name, "K": max(layout.kept, 1)}
    defines.update(storage_defines(problem.tensors[0]), **place_defines(problem), **layout.tile.defines(names))
    return defines


def _scalars(problem: Problem) -> tuple[Arg, ...]:
    real = problem.dtype.accumulator
    return (ScalarArg(0, real), ScalarArg(1, real))


def _fused(problem: SoftmaxForward | SoftmaxBackward, layout: _Layout, device: Device) -> tuple[Launch, ...]:
    file = "shared/softmax/forward.cl" if isinstance(problem, SoftmaxForward) else "shared/softmax/backward.cl"
    kernel = device.compile(file, problem.op, _defines(problem, layout))
    tensors = tuple(TensorArg(i) for i in range(len(problem.tensors)))
    tile = layout.tile
    return (Launch(kernel, (tile.groups,), (tile.block,), (*tensors, *_scalars(problem))),)


def _sliced(problem: SoftmaxForward | SoftmaxBackward, layout: _Layout, device: Device) -> tuple[Launch, ...]:
    real = problem.dtype.accumulator
    inputs: tuple[Arg, ...] = tuple(TensorArg(i) for i in range(len(problem.inputs)))
    output = TensorArg(len(problem.inputs))
    parts: tuple[Arg, ...] = (WorkspaceArg(0, real),)
    if isinstance(problem, SoftmaxForward):
        parts = (*parts, WorkspaceArg(layout.part_bytes, real))
        file, names = "shared/softmax/forward_sliced.cl", ("softmax_partial", "softmax_finish")
    else:
        file, names = "shared/softmax/backward_sliced.cl", ("softmax_backward_partial", "softmax_backward_finish")
    defines = _defines(problem, layout)
    partial, finish = (device.compile(file, name, defines) for name in names)
    tile = layout.tile
    step = -(-tile.groups // layout.chunks)
    launches = []
    for first in range(0, tile.groups, step):
        grid, block = (min(step, tile.groups - first) * tile.slices,), (tile.block,)
        start = ConstantArg(np.int32(first))
        launches.append(Launch(partial, grid, block, (*inputs, *parts, start)))
        launches.append(Launch(finish, grid, block, (*inputs, output, *parts, start, *_scalars(problem))))
    return tuple(launches)


ENGINES = (Softmax(),)
