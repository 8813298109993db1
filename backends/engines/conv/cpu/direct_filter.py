"""Filter gradient on CPUs without a workspace: direct sums from scratch on the stack, for few channels the fast way."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.enums import ConvolutionBwdFilterAlgo, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardFilter
from portadnn.problem import Problem

from ....base import Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg
from ...rounding import ceil_div, round_up, split_evenly
from .common import ConvCpu, Tile
from .direct import MOST_SCRATCH, SCRATCH, TILES_PER_CORE, Window

_FILE = "opencl/conv/direct_filter_cpu.cl"
_SUMS = 12 * 1024  # reals of sums between bands
_PIXELS = 256  # of a band, if it may be that large


@dataclass(frozen=True)
class Blocks:
    """How a problem is cut into tiles: bands of pixels, and filters and channels of a work-group."""

    window: Window
    tile: Tile
    filters: int
    channels: int

    @property
    def grid(self) -> tuple[int, int, int]:
        """Groups, blocks of channels and blocks of filters."""
        geometry = self.window.geometry
        return (
            geometry.groups,
            ceil_div(geometry.defines["CHANNELS"], self.channels),
            ceil_div(geometry.m, self.filters),
        )

    @property
    def sums(self) -> int:
        """Reals of sums."""
        pairs = round_up(self.channels * self.window.taps, self.tile.rows)
        return round_up(self.filters, self.tile.vectors) * pairs * self.tile.lanes

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Everything that the kernel has to know."""
        _, blocks_ch, blocks_m = self.grid
        return {
            **self.window.defines(problem),
            **{name: int(value) for name, value in self.tile.defines().items()},
            "N": problem.image.dims[0],
            "OUT_SPAN": problem.result.span,
            "BLOCK_CH": self.channels,
            "BLOCKS_CH": blocks_ch,
            "BLOCK_M": self.filters,
            "BLOCKS_M": blocks_m,
        }


def _tile(problem: Convolution, info: DeviceInfo, filters: int, pairs: int) -> Tile:
    """Return the register tile: (channel, tap) pairs by filters, at most twelve vectors of sums."""
    lanes = Tile.of(problem.dtype, info, 1).lanes
    vectors = 4 if filters > 2 else filters
    most = 12 // vectors if vectors > 1 else 9
    rows = min(range(most, 0, -1), key=lambda rows: ceil_div(pairs, rows) * (rows * vectors + vectors + 1))
    return Tile(lanes, vectors, rows)


def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a problem into tiles: as many channels as scratch has room for, unless cores would be idle."""
    lanes = Tile.of(problem.dtype, info, 1).lanes
    window = Window.of(problem, lanes)
    geometry = window.geometry
    channels = max(1, geometry.defines["CHANNELS"])
    tile = _tile(problem, info, geometry.m, channels * window.taps)
    rows = geometry.defines["PIXELS_H"]
    bands = [window.with_band(ceil_div(rows, parts)) for parts in range(1, rows + 1)]
    fitting = (w for w in bands if w.channel_scratch <= SCRATCH and w.band * w.columns <= _PIXELS)
    window = next(fitting, bands[-1])
    filters = min(geometry.m, 16)
    room = min(SCRATCH // window.channel_scratch, _SUMS // (round_up(filters, tile.vectors) * window.taps * lanes))
    blocks = Blocks(window, tile, filters, split_evenly(channels, room))
    wanted = TILES_PER_CORE * info.compute_units
    while filters > tile.vectors and blocks.grid[0] * blocks.grid[1] * blocks.grid[2] < wanted:
        filters = round_up(ceil_div(filters, 2), tile.vectors)
        blocks = Blocks(window, tile, filters, blocks.channels)
    while blocks.channels > 1 and blocks.grid[0] * blocks.grid[1] * blocks.grid[2] < wanted:
        blocks = Blocks(window, tile, filters, ceil_div(blocks.channels, 2))
    return blocks


class ConvDirectFilterCpu(ConvCpu):
    """Backward filter without a workspace: every work-group goes through all images for a block of the filter."""

    name = "direct_filter_cpu"
    problems = (ConvolutionBackwardFilter,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionBwdFilterAlgo.ALGO_1

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is None and problem.filter.size:
            blocks = blocks_of(problem, info)
            needed = max(blocks.window.channel_scratch, blocks.sums)
            if needed > MOST_SCRATCH:
                reason = f"the dilated window needs {needed} numbers of scratch, there are {MOST_SCRATCH}"
        return reason

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if not problem.filter.size:
            return 0.0
        blocks = blocks_of(problem, info)
        window, tile = blocks.window, blocks.tile
        groups, blocks_ch, blocks_m = blocks.grid
        bands = problem.image.dims[0] * window.bands
        vectors = window.band * ceil_div(window.columns, tile.lanes)
        tiles = ceil_div(blocks.filters, tile.vectors) * ceil_div(blocks.channels * window.taps, tile.rows)
        product = tiles * (vectors * window.cycles(tile) + 2 * tile.rows * tile.vectors + 10)
        copies = window.copy_cycles(problem.image, tile.lanes) * blocks.channels
        copies += window.band * (10 + 2 * ceil_div(window.columns, tile.lanes)) * blocks.filters
        return window.seconds(problem, info, groups * blocks_ch * blocks_m, bands * (product + copies))

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.filter.size == 0:
            return Plan(problem, self, 0, device.bind(()))
        blocks = blocks_of(problem, device.info)
        real = problem.dtype.accumulator
        kernel = device.compile(_FILE, "conv_direct_filter_cpu", blocks.defines(problem))
        args = (TensorArg(0), TensorArg(1), TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        groups, blocks_ch, blocks_m = blocks.grid
        launch = Launch(kernel, (groups * blocks_ch * blocks_m,), (1,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (ConvDirectFilterCpu(),)
