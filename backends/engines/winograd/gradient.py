"""Winograd's filter gradient for GPUs: 16 products for 36, of which the sum over tiles is split."""

from __future__ import annotations

from portadnn.enums import ConvolutionBwdFilterAlgo, DataType, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardFilter
from portadnn.problem import Problem

from ...base import (
    Arg,
    CountersArg,
    Device,
    DeviceInfo,
    Launch,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from ..conv.epilogue import output
from ..pieces import PIECE_COUNTERS
from .fused import PLANES, Tile, Winograd, grid_clocks
from .geometry import Direction, ints

_MOST_SPLITS = 256
# Shares as measured on an H200, where it runs faster with two work-groups of 128 registers a work-item
GRADIENT_TILES = {
    DataType.FLOAT: (Tile(32, 32, 8, 8, 8, resident=2, share=0.45), Tile(16, 16, 8, 4, 4, share=0.25)),
    DataType.DOUBLE: (Tile(16, 16, 8, 4, 4, share=0.2),),
}


class WinogradBackwardFilter(Winograd):
    """Filter gradient; the sum over tiles is split and added up in a fixed order."""

    name = "winograd_backward_filter"
    problems = (ConvolutionBackwardFilter,)
    FILE = "shared/winograd/gradient.cl"
    _long = 30e-6  # where compilers cannot be told to save registers, the sum leaves room for one work-group, not two

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionBwdFilterAlgo.WINOGRAD

    def _tiles(self) -> dict[DataType, tuple[Tile, ...]]:
        return GRADIENT_TILES

    def _summed(self, direction: Direction) -> int:
        return direction.tiles(2)[0]

    def _pitches(self, problem: Convolution, tile: Tile) -> tuple[int, int]:
        gap = 0 if self._together(problem) else 4
        return tile.bm + gap, tile.bn + gap

    @staticmethod
    def _together(problem: Convolution) -> bool:
        direction = Direction.of(problem)
        return direction.together(direction.wide)

    def _blocks(self, direction: Direction, tile: Tile) -> tuple[int, int]:
        """Return the work-groups of a split, and the reals of its part."""
        blocks_c, blocks_k = -(-direction.channels // tile.bm), -(-direction.filters // tile.bn)
        blocks = direction.groups * blocks_c * blocks_k
        return blocks, blocks * PLANES * tile.bm * tile.bn

    def splits(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> int:
        """Return the number of parts with the least estimated time."""
        return min(self._options(problem, tile, info))[1]

    def _options(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> list[tuple[float, int]]:
        direction = Direction.of(problem)
        slices = max(-(-direction.tiles(2)[0] // tile.bk), 1)
        blocks, reals = self._blocks(direction, tile)
        bytes_per_clock = 16 * max(info.compute_units, 1)
        options = []
        for splits in range(1, min(_MOST_SPLITS, slices) + 1):
            clocks = grid_clocks(blocks * splits, -(-slices // splits), tile, info)
            parts = 2 * splits * reals * problem.dtype.accumulator.itemsize
            options.append((clocks + parts / bytes_per_clock, splits))
        return options

    def _workspace(self, problem: Convolution, info: DeviceInfo) -> int:
        tile = self.tile(problem, info)
        assert tile is not None
        _, reals = self._blocks(Direction.of(problem), tile)
        return self.splits(problem, tile, info) * reals * problem.dtype.accumulator.itemsize

    def _clocks(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> float:
        return min(self._options(problem, tile, info))[0]

    def _launches(self, problem: Convolution, device: Device) -> tuple[Launch, ...]:
        tile, direction = self.tile(problem, device.info), Direction.of(problem)
        assert tile is not None
        splits = self.splits(problem, tile, device.info)
        blocks, _ = self._blocks(direction, tile)
        real = problem.dtype.accumulator
        geometry, arguments = self._geometry(problem)
        defines = {**self._defines(problem, tile), **geometry}
        if self._together(problem):
            defines["CHANNELS_TOGETHER"] = 1
        parts, blended = WorkspaceArg(0, real), (output(problem), ScalarArg(0, real), ScalarArg(1, real))
        inside = self._in_one_launch(problem, tile, device.info)
        each = self._sum_each(direction, blocks * splits if inside else 0, device.info)
        pieces = direction.groups * -(-direction.channels // each) * -(-direction.filters // 16)
        counts, sizes = ints(direction.groups, splits), ints(direction.filters, direction.channels, *direction.taps)
        end: tuple[Arg, ...] = ()
        if inside:
            defines["FUSED_SUM"] = 1
            end = (CountersArg(PIECE_COUNTERS), *blended, *ints(pieces), *sizes)
        kernel = device.compile(self.FILE, "winograd_gradient", {**defines, "EACH": each if inside else 1})
        args: tuple[Arg, ...] = (TensorArg(0), TensorArg(1), parts, *end, *counts, *arguments)
        multiply = Launch(kernel, (blocks * splits,), (tile.items,), args)
        if inside:
            return (multiply,)
        kernel = device.compile(self.FILE, "winograd_gradient_sum", {**defines, "EACH": each})
        return multiply, Launch(kernel, (pieces,), (256,), (parts, *blended, *counts, *sizes))

    @staticmethod
    def _sum_each(direction: Direction, work_groups: int, info: DeviceInfo) -> int:
        """Return of how many channels a work-group adds the parts at a time: more while there are others enough.

        `work_groups` do that beside the product; none: a launch of its own does.
        """
        if work_groups:
            pieces = {each: -(-direction.channels // each) for each in (1, 4, 16)}
            runs = direction.groups * -(-direction.filters // 16)
            return next((each for each in pieces if pieces[each] * runs <= work_groups), 16)
        return 4 if direction.groups * direction.channels * direction.filters >= 256 * info.compute_units else 1


ENGINES = (WinogradBackwardFilter(),)
