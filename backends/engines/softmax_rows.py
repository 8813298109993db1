"""Softmax of long contiguous rows on GPUs without clusters: a work-group for each row, which it reads twice."""

from __future__ import annotations

from portadnn.enums import SoftmaxAlgorithm, SoftmaxMode
from portadnn.ops.softmax import SoftmaxForward
from portadnn.problem import Problem

from ..base import Device, DeviceInfo, Engine, Launch, Plan, ScalarArg, TensorArg
from .layouts import place_defines
from .tiles import Tile, make_tile, storage_defines

GROUP = 1024
KEPT = 32  # bytes of a row that a work-item keeps, in numbers of 4 bytes: half of its registers
ROUNDS = 4  # as in softmax.cl
SHORTEST = 32 * GROUP  # numbers of a row: shorter ones fit the registers of a work-group
EVEN = 0.7  # share of the multiprocessors that must have work at every time


def _tile(problem: SoftmaxForward, info: DeviceInfo) -> Tile:
    kept_axes = (0,) if problem.mode is SoftmaxMode.INSTANCE else (0, *range(2, len(problem.x.dims)))
    return make_tile((problem.x, problem.y), kept_axes, info)


def _evenness(rows: int, units: int) -> float:
    """Return the share of time that multiprocessors work, with one row on each at a time."""
    return rows / (-(-rows // units) * units)


class RowSoftmax(Engine):
    """Forward softmax whose second reading of a row finds most of it in the cache."""

    name = "softmax_rows"
    problems = (SoftmaxForward,)
    wide = True

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, SoftmaxForward)
        if info.schedule != "gpu" or info.max_work_group < GROUP:
            return f"it needs work-groups of {GROUP} on a GPU"
        if problem.x.size == 0:
            return "there is nothing to do"
        tile = _tile(problem, info)
        if not tile.along_reduce or tile.width == 1:
            return "its rows are not contiguous and aligned"
        row = tile.reduce_units * tile.width
        if row <= SHORTEST:
            return f"rows of {row} fit one work-group"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Estimate the time; too few rows leave multiprocessors idle."""
        assert isinstance(problem, SoftmaxForward)
        busy = _evenness(_tile(problem, info).outer_units, info.compute_units)
        return super().seconds(problem, info) / (1 if busy >= EVEN else busy)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in the row and how much of it a work-item keeps."""
        assert isinstance(problem, SoftmaxForward)
        tile = _tile(problem, device.info).shared(1, device.info, GROUP)
        rounds = -(-tile.reduce_units // tile.sharing)
        kept = KEPT * 4 // (problem.dtype.accumulator.itemsize * tile.width)
        kept += (rounds - kept) % ROUNDS - ROUNDS if (rounds - kept) % ROUNDS else 0
        defines: dict[str, int | float | str] = {"FORWARD_ROWS": 1, "K": kept, "ROUNDS_OF_ROW": rounds}
        defines.update(storage_defines(problem.x), **place_defines(problem), **tile.defines(("X", "Y")))
        if problem.algorithm is not SoftmaxAlgorithm.ACCURATE:
            defines[f"ALGO_{problem.algorithm.name}"] = 1
        kernel = device.compile("shared/softmax.cl", "softmax_rows", defines)
        real = problem.dtype.accumulator
        args = (TensorArg(0), TensorArg(1), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (tile.groups,), (tile.block,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (RowSoftmax(),)
