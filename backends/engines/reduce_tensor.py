"""Reductions of a tensor over some of its dims: two ordered stages, in one launch where the last group can end them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from portadnn.enums import DataType, NanPropagation, ReduceTensorOp
from portadnn.ops.reduce import ReduceTensor
from portadnn.problem import Problem, TensorSpec

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
from .layouts import Axis, coalesce, offset_expression
from .tiles import SUM_BLOCK, Tile, storage_defines, vector_lanes, vector_width

Defines = dict[str, int | float | str]

_EXTREMES = (ReduceTensorOp.MIN, ReduceTensorOp.MAX, ReduceTensorOp.AMAX)
_ROUNDS = 4  # as in tensor/reduce_tensor.cl
_EXACT = 1 << 24  # integers that a float counts exactly: places in a slice of a reduction with indices
_FINISH = (8, 32)  # results of a GPU work-group of the second stage, and work-items of each
_CPU_GRAIN = 1 << 16  # numbers of a CPU work-group: there is work for many cores
_CPU_LONGEST = 1 << 11  # numbers added up in one lane: sums of sums round less
_CPU_SEGMENT = 1 << 13  # numbers of a unit along a run
_CPU_BLOCK = 8  # vectors of a block across, as in tensor/reduce_tensor_cpu.cl
_CPU_FINISH = 256  # results of a CPU work-group of the second stage


@dataclass(frozen=True)
class Space:
    """The iteration space of a reduction, simplified.

    Attributes
    ----------
    outer : tuple of Axis
        Kept dims, with the strides of c, of the indices (or 0) and of a.
    reduce : tuple of Axis
        Reduced dims, with the strides of a: in the order of memory, or in logical order where there are indices.
    along : bool
        Whether the last of the reduced axes, not of the kept ones, is the one with neighbours in memory.
    """

    outer: tuple[Axis, ...]
    reduce: tuple[Axis, ...]
    along: bool

    @property
    def results(self) -> int:
        """Numbers in c."""
        return math.prod(axis.size for axis in self.outer)

    @property
    def count(self) -> int:
        """Numbers behind each."""
        return math.prod(axis.size for axis in self.reduce)


def space_of(problem: ReduceTensor) -> Space:
    """Merge dims where the layouts allow it."""
    a, c = problem.a, problem.c
    indices = problem.indices or TensorSpec(DataType.INT32, c.dims, (0,) * len(c.dims))
    kept = [axis for axis in range(len(a.dims)) if axis not in problem.reduced]
    outer = _merged((c, indices, a), kept)
    if problem.indices is None:
        reduce = _merged((a,), problem.reduced)
    else:
        reduce = _in_logical_order(a, problem.reduced)
    return Space(outer, reduce, _nearness(reduce) < _nearness(outer))


def _merged(specs: Sequence[TensorSpec], axes: Sequence[int]) -> tuple[Axis, ...]:
    dims = tuple(specs[-1].dims[axis] for axis in axes)
    if 0 in dims:
        return (Axis(0, (1,) * len(specs)),)
    picked = [TensorSpec(s.dtype, dims, tuple(s.strides[axis] for axis in axes), s.alignment) for s in specs]
    return tuple(coalesce(dims, picked))


def _in_logical_order(a: TensorSpec, axes: Sequence[int]) -> tuple[Axis, ...]:
    merged: list[Axis] = []
    for axis in axes:
        size, stride = a.dims[axis], a.strides[axis]
        if merged and merged[-1].strides[0] == stride * size:
            merged[-1] = Axis(merged[-1].size * size, (stride,))
        else:
            merged.append(Axis(size, (stride,)))
    return tuple(merged) or (Axis(1, (1,)),)


def _nearness(axes: Sequence[Axis]) -> int:
    """Rank how contiguous a is along axes; a single element is as far apart as can be."""
    return axes[-1].strides[-1] if axes[-1].size > 1 else 1 << 40


class Reduction(Engine):
    """All operations, dims and layouts."""

    name = "reduce_tensor"
    problems = (ReduceTensor,)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        return None

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, ReduceTensor)
        return _schedule(problem, info).workspace if problem.c.size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, ReduceTensor)
        launches = _launches(problem, device) if problem.c.size else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)


@dataclass(frozen=True)
class _Schedule:
    """How the two stages are launched."""

    file: str
    defines: Defines
    slices: int
    parts: int  # numbers in the workspace
    place_bytes: int  # where places begin in the workspace; 0 without indices
    workspace: int
    groups: int
    block: int
    finish_groups: int
    finish_block: int


def _schedule(problem: ReduceTensor, info: DeviceInfo) -> _Schedule:
    space = space_of(problem)
    return _gpu_schedule(problem, space, info) if info.schedule == "gpu" else _cpu_schedule(problem, space, info)


def _workspace(problem: ReduceTensor, slices: int, parts: int) -> tuple[int, int]:
    """Return where places begin in the workspace (0 without indices), and its size."""
    if slices == 1:
        return 0, 0
    size = parts * problem.dtype.accumulator.itemsize
    if problem.indices is None:
        return 0, size
    first = -(-size // 256) * 256
    return first, first + 4 * parts


def _gpu_schedule(problem: ReduceTensor, space: Space, info: DeviceInfo) -> _Schedule:
    a = problem.a
    outer, reduce = space.outer, space.reduce
    fast, slow = (reduce, outer) if space.along else (outer, reduce)
    width = 1
    if a.size:
        width = vector_width(_of_a(fast), _of_a(slow), (a,), vector_lanes(a.dtype, info), aligned=True)
    c_step, i_step = outer[-1].strides[0], outer[-1].strides[1]
    if width > 1 and space.along:
        reduce = _in_vectors(reduce, width)
    elif width > 1:
        outer = _in_vectors(outer, width)
    tile = Tile(space.along, width, width > 1, outer, reduce).shared(2 * _ROUNDS, info)
    if tile.outer_units and tile.reduce_units:
        longest = 8 * SUM_BLOCK * _ROUNDS * tile.sharing  # more would round too much
        slices = max(-(-8 * info.compute_units // tile.groups), -(-tile.reduce_units // longest))
        if problem.indices is not None:
            slices = max(slices, -(-tile.reduce_units // (_EXACT // 2)))
        tile = tile.sliced(slices, 4 * _ROUNDS)
    defines = {**_defines(problem), **tile.defines(())}
    defines.update({"A_OUTER(o)": offset_expression(outer, 2, "o"), "A_REDUCE(r)": offset_expression(reduce, 0, "r")})
    defines.update({"C_OUTER(o)": offset_expression(outer, 0, "o"), "C_STEP": f"{c_step}u"})
    if problem.indices is not None:
        defines.update({"I_OUTER(o)": offset_expression(outer, 1, "o"), "I_STEP": f"{i_step}u"})
    results, sharing = _FINISH
    defines.update(FINISH_RESULTS=results, FINISH_SHARING=sharing)
    return _Schedule(
        "shared/tensor/reduce_tensor.cl",
        defines,
        tile.slices,
        tile.parts,
        *_workspace(problem, tile.slices, tile.parts),
        tile.groups * tile.slices,
        tile.block,
        -(-space.results // results),
        results * sharing,
    )


def _of_a(axes: Sequence[Axis]) -> list[Axis]:
    """Return the axes with the strides of a alone."""
    return [Axis(axis.size, axis.strides[-1:]) for axis in axes]


def _in_vectors(axes: tuple[Axis, ...], width: int) -> tuple[Axis, ...]:
    last = axes[-1]
    return (*axes[:-1], Axis(last.size // width, tuple(stride * width for stride in last.strides)))


def _cpu_schedule(problem: ReduceTensor, space: Space, info: DeviceInfo) -> _Schedule:
    width = vector_lanes(problem.dtype, info)
    outer, reduce = space.outer, space.reduce
    defines: Defines = {**_defines(problem), "VW": width}
    fast = reduce[-1] if space.along or outer[-1].strides[2] != 1 else outer[-1]
    along = fast is reduce[-1]
    inner = max(fast.size, 1)
    if along:
        segments = -(-inner // _CPU_SEGMENT)
        segment = -(-inner // segments)
        segment = segment if segments == 1 else -(-segment // (4 * width)) * 4 * width
        segments = -(-inner // segment)
        units, unit_size, outer_units = space.count // inner * segments, segment, space.results
        defines.update({"ALONG": 1, "SEGMENT": f"{segment}u", "SEGMENTS": f"{segments}u"})
        defines.update({"A_STEP": fast.strides[0], "A_OUTER(o)": offset_expression(outer, 2, "o")})
        defines["A_REDUCE(r)"] = offset_expression(reduce[:-1], 0, "r")
    else:
        block = _CPU_BLOCK * width
        blocks = -(-inner // block)
        units, unit_size, outer_units = space.count, min(block, inner), space.results // inner * blocks
        defines.update({"BLOCK": f"{block}u", "BLOCKS": f"{blocks}u"})
        defines["A_OUTER(o)"] = offset_expression(outer[:-1], 2, "o")
        defines["A_REDUCE(r)"] = offset_expression(reduce, 0, "r")
    most = _CPU_GRAIN // unit_size
    if outer_units >= 2 * info.compute_units:  # enough to share out; only long sums are cut
        most *= 4
    length = max(1, min(units, most if along else min(most, _CPU_LONGEST)))
    slices = max(1, -(-units // length))
    chunk = max(1, min(-(-outer_units // (2 * info.compute_units)), _CPU_GRAIN // max(1, unit_size * length)))
    parts = slices * space.results
    defines.update(
        {
            "INNER": f"{inner}u",
            "UNITS": f"{units}u",
            "LENGTH": f"{length}u",
            "SLICES": slices,
            "OUTER": f"{outer_units}u",
            "CHUNK": f"{chunk}u",
            "CHUNK_FINISH": f"{_CPU_FINISH}u",
            "RESULTS_COUNT": f"{space.results}u",
            "C_OUTER(o)": offset_expression(outer, 0, "o"),
        }
    )
    if problem.indices is not None:
        defines["I_OUTER(o)"] = offset_expression(outer, 1, "o")
    return _Schedule(
        "opencl/tensor/reduce_tensor_cpu.cl",
        defines,
        slices,
        parts,
        *_workspace(problem, slices, parts),
        -(-outer_units // chunk) * slices,
        1,
        -(-space.results // _CPU_FINISH),
        1,
    )


def _defines(problem: ReduceTensor) -> Defines:
    keeps_nan = problem.nan_propagation is NanPropagation.PROPAGATE_NAN and problem.operation in _EXTREMES
    name = f"{problem.operation.name}{'_NAN' if keeps_nan else ''}"
    defines: Defines = {"OP": name, **storage_defines(problem.a)}
    if problem.skip_nan:
        defines["SKIP_NAN"] = 1
    if problem.operation is ReduceTensorOp.AVG:
        defines["COUNT"] = f"{problem.count}"
    if problem.indices is not None:
        defines.update(INDICES=1, NAN_WINS=int(keeps_nan))
    return defines


def _launches(problem: ReduceTensor, device: Device) -> tuple[Launch, ...]:
    schedule = _schedule(problem, device.info)
    real = problem.dtype.accumulator
    results: tuple[Arg, ...] = (TensorArg(problem.index("c")),)
    parts: tuple[Arg, ...] = (WorkspaceArg(0, real),)
    if problem.indices is not None:
        results = (*results, TensorArg(problem.index("indices")))
        parts = (*parts, WorkspaceArg(schedule.place_bytes, DataType.INT32))
    results = (*results, ScalarArg(0, real), ScalarArg(1, real))
    tiles = schedule.groups // schedule.slices
    fenced = schedule.slices > 1 and tiles <= MOST_COUNTERS and problem.indices is None
    fenced = fenced and device.info.schedule == "gpu" and "grid_fence" in device.info.features
    defines: Defines = {**schedule.defines, **({"GRID_FENCED": 1} if fenced else {})}
    partial = device.compile(schedule.file, "reduce_partial", defines)
    grid, block = (schedule.groups,), (schedule.block,)
    if schedule.slices == 1:
        return (Launch(partial, grid, block, (TensorArg(0), *results)),)
    if fenced:
        return (Launch(partial, grid, block, (TensorArg(0), *parts, CountersArg(tiles), *results)),)
    finish = device.compile(schedule.file, "reduce_finish", schedule.defines)
    return (
        Launch(partial, grid, block, (TensorArg(0), *parts)),
        Launch(finish, (schedule.finish_groups,), (schedule.finish_block,), (*parts, *results)),
    )


ENGINES = (Reduction(),)
