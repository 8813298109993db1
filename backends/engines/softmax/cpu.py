"""Softmax on CPUs: long rows in blocks, and columns side by side."""

from __future__ import annotations

from portadnn.enums import DataType, SoftmaxAlgorithm, SoftmaxMode
from portadnn.ops.softmax import SoftmaxBackward, SoftmaxForward
from portadnn.problem import Problem

from ...base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from ..layouts import offset_expression, place_defines, stream_defines
from ..tiles import Tile, make_tile, storage_defines

_FILE = "opencl/softmax/forward_cpu.cl"
_BACKWARD_FILE = "opencl/softmax/backward_cpu.cl"
_LANES = {DataType.FLOAT: 16, DataType.DOUBLE: 4, DataType.HALF: 8, DataType.BFLOAT16: 8}
_SHORTEST = 8192  # numbers of a row: shorter ones are kept in an array
_BLOCK = 4096  # numbers of a row at a time
_MOST_BLOCKS = 1024
_COLUMNS = 128  # fewer where many rows of them would not stay in a cache
_CACHED = 1 << 16  # numbers
_COLUMNS_BACKWARD = 4096  # whole rows of an image, mostly: what is read is one run then
_CACHED_BACKWARD = 1 << 18  # numbers of y, and of dy, that a core's share of the last cache holds


def _tile(problem: SoftmaxForward | SoftmaxBackward, info: DeviceInfo) -> Tile:
    first, last = problem.tensors[0], problem.tensors[-1]
    kept = (0,) if problem.mode is SoftmaxMode.INSTANCE else (0, *range(2, len(first.dims)))
    return make_tile((first, last), kept, info)


def _length(tile: Tile) -> int:
    """Return how many numbers lie side by side in both tensors; 0 without any."""
    run = (tile.reduce if tile.along_reduce else tile.outer)[-1]
    return run.size * tile.width if run.strides == (tile.width,) * 2 else 0


def _columns(tile: Tile, rows: int, lanes: int, backward: bool, info: DeviceInfo) -> int:
    """Return how many columns of one of the `rows` of columns a work-group takes."""
    if backward:
        length = _length(tile)
        share = -(-length * rows // (4 * info.compute_units))
        most = min(_COLUMNS_BACKWARD, _CACHED_BACKWARD // tile.reduce_units, share, length + lanes - 1)
    else:
        most = min(_COLUMNS, _CACHED // tile.reduce_units)
    return max(most // lanes * lanes, 2 * lanes)


class CpuSoftmax(Engine):
    """Forward along long rows, both directions across columns."""

    name = "softmax_cpu"
    problems = (SoftmaxForward, SoftmaxBackward)
    wide = True

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, (SoftmaxForward, SoftmaxBackward))
        if info.schedule != "cpu":
            return "it is a CPU schedule"
        if problem.tensors[0].size == 0:
            return "there is nothing to do"
        tile = _tile(problem, info)
        length = _length(tile)
        if not tile.along_reduce:
            return None if length >= _LANES[problem.dtype] else "its columns do not lie side by side"
        if isinstance(problem, SoftmaxBackward):
            return "it has no gradients along rows"
        if len(tile.reduce) > 1 or length == 0:
            return "its rows are not contiguous"
        if length < _SHORTEST:
            return f"rows of {length} fit an array"
        return "fewer rows than cores" if tile.outer_units < info.compute_units else None

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in the layout."""
        assert isinstance(problem, (SoftmaxForward, SoftmaxBackward))
        backward = isinstance(problem, SoftmaxBackward)
        tile = _tile(problem, device.info)
        lanes, length = _LANES[problem.dtype], _length(tile)
        outer = tile.outer if tile.along_reduce else tile.outer[:-1]
        rows = 1
        for axis in outer:
            rows *= axis.size
        defines: dict[str, int | float | str] = {"VW": lanes, "LENGTH": f"{length}u"}
        defines.update(storage_defines(problem.tensors[0]), **place_defines(problem))
        for i, name in enumerate(("Y", "DX") if backward else ("X", "Y")):
            defines[f"{name}_OUTER(i)"] = offset_expression(outer, i, "i")
            defines[f"{name}_REDUCE(r)"] = offset_expression(tile.reduce, i, "r")
        if tile.along_reduce:
            block = max(_BLOCK, -(-length // _MOST_BLOCKS)) // lanes + 1
            defines.update(ROWS=1, BLOCK=f"{block}u")
            groups = rows
        else:
            columns = _columns(tile, rows, lanes, backward, device.info)
            blocks = -(-length // columns)
            defines.update(COLUMNS=columns, BLOCKS=f"{blocks}u", REDUCE=f"{tile.reduce_units}u")
            groups = rows * blocks
        defines["ALGORITHM"] = problem.algorithm.name
        if backward:
            defines.update(stream_defines(problem.tensors))
            kernel = device.compile(_BACKWARD_FILE, "softmax_backward", defines)
        else:
            log = problem.algorithm is SoftmaxAlgorithm.LOG
            defines["RECOMPUTE"] = int(log or problem.dtype is not problem.dtype.accumulator)
            kernel = device.compile(_FILE, "softmax_rows" if tile.along_reduce else "softmax_columns", defines)
        real = problem.dtype.accumulator
        tensors = tuple(TensorArg(i) for i in range(len(problem.tensors)))
        launch = Launch(kernel, (groups,), (1,), (*tensors, ScalarArg(0, real), ScalarArg(1, real)))
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (CpuSoftmax(),)
