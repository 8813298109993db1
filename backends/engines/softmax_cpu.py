"""Softmax on CPUs: long rows in blocks, and columns side by side."""

from __future__ import annotations

from portadnn.enums import DataType, SoftmaxAlgorithm, SoftmaxMode
from portadnn.ops.softmax import SoftmaxForward
from portadnn.problem import Problem

from ..base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from .layouts import offset_expression, place_defines
from .tiles import Tile, make_tile, storage_defines

_FILE = "opencl/softmax_cpu.cl"
_LANES = {DataType.FLOAT: 16, DataType.DOUBLE: 4, DataType.HALF: 8, DataType.BFLOAT16: 8}
_SHORTEST = 8192  # numbers of a row: shorter ones are kept in an array
_BLOCK = 4096  # numbers of a row at a time
_MOST_BLOCKS = 1024
_COLUMNS = 128  # fewer where many rows of them would not stay in a cache
_CACHED = 1 << 16  # numbers


def _tile(problem: SoftmaxForward, info: DeviceInfo) -> Tile:
    kept = (0,) if problem.mode is SoftmaxMode.INSTANCE else (0, *range(2, len(problem.x.dims)))
    return make_tile((problem.x, problem.y), kept, info)


def _length(tile: Tile) -> int:
    """Return how many numbers lie side by side in both tensors; 0 without any."""
    run = (tile.reduce if tile.along_reduce else tile.outer)[-1]
    return run.size * tile.width if run.strides == (tile.width,) * 2 else 0


class CpuSoftmax(Engine):
    """Forward, along long rows or across columns."""

    name = "softmax_cpu"
    problems = (SoftmaxForward,)
    wide = True

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, SoftmaxForward)
        if info.schedule != "cpu":
            return "it is a CPU schedule"
        if problem.x.size == 0:
            return "there is nothing to do"
        tile = _tile(problem, info)
        length = _length(tile)
        if not tile.along_reduce:
            return None if length >= _LANES[problem.dtype] else "its columns do not lie side by side"
        if len(tile.reduce) > 1 or length == 0:
            return "its rows are not contiguous"
        if length < _SHORTEST:
            return f"rows of {length} fit an array"
        return "fewer rows than cores" if tile.outer_units < info.compute_units else None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in the layout."""
        assert isinstance(problem, SoftmaxForward)
        tile = _tile(problem, device.info)
        lanes, length = _LANES[problem.dtype], _length(tile)
        outer = tile.outer if tile.along_reduce else tile.outer[:-1]
        rows = 1
        for axis in outer:
            rows *= axis.size
        defines: dict[str, int | float | str] = {"VW": lanes, "LENGTH": f"{length}u"}
        defines.update(storage_defines(problem.x), **place_defines(problem))
        for i, name in enumerate("XY"):
            defines[f"{name}_OUTER(i)"] = offset_expression(outer, i, "i")
            defines[f"{name}_REDUCE(r)"] = offset_expression(tile.reduce, i, "r")
        if tile.along_reduce:
            block = max(_BLOCK, -(-length // _MOST_BLOCKS)) // lanes + 1
            defines.update(ROWS=1, BLOCK=f"{block}u")
            groups = rows
        else:
            columns = max(min(_COLUMNS, _CACHED // tile.reduce_units // lanes * lanes), 2 * lanes)
            blocks = -(-length // columns)
            defines.update(COLUMNS=columns, BLOCKS=f"{blocks}u", REDUCE=f"{tile.reduce_units}u")
            groups = rows * blocks
        if problem.algorithm is not SoftmaxAlgorithm.ACCURATE:
            defines[f"ALGO_{problem.algorithm.name}"] = 1
        if problem.algorithm is SoftmaxAlgorithm.LOG or problem.dtype is not problem.dtype.accumulator:
            defines["RECOMPUTE"] = 1
        kernel = device.compile(_FILE, "softmax_rows" if tile.along_reduce else "softmax_columns", defines)
        real = problem.dtype.accumulator
        args = (TensorArg(0), TensorArg(1), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (groups,), (1,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (CpuSoftmax(),)
