"""Softmax of long contiguous rows on GPUs without clusters: a work-group for each row, which it reads twice."""

from __future__ import annotations

from portadnn.enums import SoftmaxMode
from portadnn.ops.softmax import SoftmaxForward
from portadnn.problem import ALIGNMENT, Problem

from ...base import (
    LAUNCH_SECONDS,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    host_seconds,
)
from ..layouts import place_defines
from ..tiles import Tile, make_tile, storage_defines, vector_lanes

GROUP = 1024
KEPT = 32  # bytes of a row that a work-item keeps, in numbers of 4 bytes: half of its registers
ROUNDS = 4  # as in softmax/softmax.h
SHORTEST = 32 * GROUP  # numbers of a row: shorter ones fit the registers of a work-group
REACHED = 0.499  # of the bandwidth: clusters, estimated at 0.5, come first


def _tile(problem: SoftmaxForward, info: DeviceInfo) -> Tile:
    kept_axes = (0,) if problem.mode is SoftmaxMode.INSTANCE else (0, *range(2, len(problem.x.dims)))
    return make_tile((problem.x, problem.y), kept_axes, info)


def _odd(problem: SoftmaxForward, tile: Tile, info: DeviceInfo) -> bool:
    """Tell whether rows of single numbers lie in whole aligned vectors but for their ends, in x just as in y."""
    lanes = vector_lanes(problem.dtype, info)
    alike = all((first - second) % lanes == 0 for first, second in (axis.strides for axis in tile.outer))
    aligned = all(spec.alignment == ALIGNMENT for spec in problem.tensors)
    return len(tile.reduce) == 1 and tile.reduce[0].strides == (1, 1) and alike and aligned


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
        if not tile.along_reduce or (tile.width == 1 and not _odd(problem, tile, info)):
            return "its rows are not contiguous and aligned"
        row = tile.reduce_units * tile.width
        if row <= SHORTEST:
            return f"rows of {row} fit one work-group"
        return None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        """Estimate the time: multiprocessors take a row each, and few of them do not fill the bandwidth."""
        assert isinstance(problem, SoftmaxForward)
        rows, units = _tile(problem, info).outer_units, info.compute_units
        row = problem.bytes() / max(rows, 1) / info.bandwidth
        full, rest = divmod(rows, units)
        last = max(rest * row / REACHED, units * row) if rest else 0.0
        return max(full * units * row / REACHED + last + LAUNCH_SECONDS, host_seconds(1, info))

    def prepare(self, problem: Problem, device: Device) -> Plan:
        """Bake in the row and how much of it a work-item keeps."""
        assert isinstance(problem, SoftmaxForward)
        tile = _tile(problem, device.info)
        odd = tile.width == 1
        tile = tile.shared(1, device.info, GROUP)
        width = vector_lanes(problem.dtype, device.info) if odd else tile.width
        units = -(-(tile.reduce_units + width - 1) // width) if odd else tile.reduce_units
        rounds = -(-units // tile.sharing)
        kept = KEPT * 4 // (problem.dtype.accumulator.itemsize * width)
        kept += (rounds - kept) % ROUNDS - ROUNDS if (rounds - kept) % ROUNDS else 0
        defines: dict[str, int | float | str] = {
            "ALGORITHM": problem.algorithm.name,
            "K": kept,
            "ROUNDS_OF_ROW": rounds,
        }
        defines.update(storage_defines(problem.x), **place_defines(problem), **tile.defines(("X", "Y")))
        if odd:
            defines.update(VW=width, VECTOR_ALIGNED=1, ODD_ROW=f"{tile.reduce_units}u")
        kernel = device.compile("shared/softmax/rows.cl", "softmax_rows", defines)
        real = problem.dtype.accumulator
        args = (TensorArg(0), TensorArg(1), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (tile.groups,), (tile.block,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (RowSoftmax(),)
