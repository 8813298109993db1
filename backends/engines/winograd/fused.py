"""Winograd's F(2x2, 3x3), fused, for GPUs: 3 x 3 convolutions and their gradients with 16 products for 36."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionFwdAlgo,
    DataType,
    DnnEnum,
)
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.ops.convolution.fused import ConvolutionBiasActivationForward
from portadnn.problem import Problem

from ...base import (
    LAUNCH_SECONDS,
    Arg,
    ConstantArg,
    CountersArg,
    Device,
    DeviceInfo,
    Engine,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
    host_seconds,
)
from ..conv.epilogue import (
    BackwardDataWithEpilogue,
    ForwardWithEpilogue,
    epilogue_args,
    epilogue_defines,
    output,
    sums_of,
)
from ..conv.geometry import z_defines
from ..pieces import LAUNCH, LONG, PIECE_COUNTERS, price, shares_pieces
from .geometry import Direction, declined, ints

Defines = dict[str, int | float | str]

PLANES = 16
BAKED = 1 << 26  # operations from which a kernel of its own, with the geometry compiled in, is worth its compilation
SUMMED = 32  # terms from which a sum of transformed data stays within the tolerance of a plain sum
FEW_FACTOR = 2.0  # what fewer may exceed it by; measured, docs/kernels.md
_MOST_EACH = 8  # filters and channels that a work-item transforms where the product's work-groups do it
_SHORT = 1.3  # time with numbers of two bytes, in that of float32: median of six on an H200 (OpenCL), 1.1 to 1.45
_OVERHEAD = 2.0  # slices that starting and finishing a work-group takes as long as


@dataclass(frozen=True)
class Tile:
    """Sizes of a work-group's tile in all 16 planes (winograd/winograd.h).

    Attributes
    ----------
    bm, bn, bk, tm, tn : int
        As in gemm/tile.h.
    columns : int
        Of a work-item's `tn` columns, how many a convolution exchanges at a time.
    planes_each : int
        Planes of a work-item.
    resident : int
        Work-groups that shall share a multiprocessor.
    share : float
        Of the device's multiply-adds, how many the loops reach.
    fits : int
        Work-groups that share a multiprocessor though they need not; for the estimate.
    """

    bm: int
    bn: int
    bk: int
    tm: int
    tn: int
    columns: int = 4
    planes_each: int = 1
    resident: int = 1
    share: float = 1.0
    fits: int = 1

    @property
    def items(self) -> int:
        """Work-items of a work-group."""
        return PLANES // self.planes_each * (self.bm // self.tm) * (self.bn // self.tn)

    def reals(self, pitch_a: int, pitch_b: int) -> int:
        """Local memory of a work-group: a slice, or, of a convolution, the columns exchanged at a time."""
        exchange = PLANES * self.bn // self.tn * self.columns * (self.bm + 4)
        return max(PLANES * self.bk * (pitch_a + pitch_b), exchange)


# Shares as measured on an H200. With two work-groups of 128 registers a work-item prefetched filters would spill.
TILES = {
    DataType.FLOAT: (
        Tile(32, 64, 8, 8, 8, columns=2, planes_each=2, share=0.5),
        Tile(32, 32, 8, 8, 8, columns=4, share=0.47),
        Tile(16, 16, 8, 4, 4, columns=4, share=0.365, fits=2),
    ),
    DataType.DOUBLE: (Tile(16, 16, 8, 4, 4, columns=4, share=0.2),),
}


class Winograd(Engine):
    """What the directions share."""

    transforms = True
    _launch = LAUNCH_SECONDS
    _long = LONG  # seconds from which two launches are as good as one

    def tile(self, problem: Convolution, info: DeviceInfo) -> Tile | None:
        """Return the tile with the least estimated time; None where none fits the device."""
        real = problem.dtype.accumulator
        fitting = [
            tile
            for tile in self._tiles()[real]
            if tile.reals(*self._pitches(problem, tile)) * real.itemsize <= info.local_memory
            and tile.items <= info.max_work_group
        ]
        return min(fitting, key=lambda tile: self._clocks(problem, tile, info), default=None)

    def _tiles(self) -> dict[DataType, tuple[Tile, ...]]:
        return TILES

    def _in_one_launch(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> bool:
        """Tell whether the product's work-groups do what comes before or after it, too."""
        return shares_pieces(info) and self._device_seconds(problem, tile, info) < self._long

    def _device_seconds(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> float:
        """Estimate the time on the device; waiting for the pieces of a launch takes as long as another launch."""
        clocks = self._clocks(problem, tile, info) * (2 if problem.dtype is DataType.DOUBLE else 1)
        seconds = clocks * 256 * max(info.compute_units, 1) / info.flops
        if problem.image.dtype.itemsize == 2:
            seconds *= _SHORT
        return seconds + 2 * self._workspace(problem, info) / info.bandwidth + 2 * self._launch

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = declined(problem, info)
        if reason is None and sums_of(problem) is not None:
            reason = "it takes no sums of its results"
        if reason is None and self.tile(problem, info) is None:
            reason = "no tile fits the device's work-group size and local memory"
        if reason is None and self._workspace(problem, info) > info.max_allocation:
            reason = (
                f"needs {self._workspace(problem, info)} bytes of workspace, the device gives {info.max_allocation}"
            )
        return reason

    def error_factor(self, problem: Problem) -> float:
        """Return 1 where sums are long enough to drown what single products of transformed data are off."""
        assert isinstance(problem, Convolution)
        return 1.0 if self._summed(Direction.of(problem)) >= SUMMED else FEW_FACTOR

    def _summed(self, direction: Direction) -> int:
        return direction.channels

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        tile = self.tile(problem, info)
        assert tile is not None
        launches = 1 if self._in_one_launch(problem, tile, info) else 2
        seconds = self._device_seconds(problem, tile, info)
        return max(seconds + price(launches, seconds), host_seconds(launches, info))

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return self._workspace(problem, info) if problem.tensors[-1].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        launches = self._launches(problem, device) if problem.tensors[-1].size else ()
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), launches)

    def _defines(self, problem: Convolution, tile: Tile) -> Defines:
        pitch_a, pitch_b = self._pitches(problem, tile)
        defines: Defines = {
            f"DTYPE_{problem.dtype.name}": 1,
            "BM": tile.bm,
            "BN": tile.bn,
            "BK": tile.bk,
            "TM": tile.tm,
            "TN": tile.tn,
            "A_PITCH": pitch_a,
            "B_PITCH": pitch_b,
            "PLANES_EACH": tile.planes_each,
            "COLUMNS": tile.columns,
        }
        if tile.resident > 1:
            defines["RESIDENT"] = tile.resident
        if Direction.of(problem).pairs:
            defines["PAIRS"] = 1
        return defines

    def _geometry(self, problem: Convolution) -> tuple[dict[str, int], tuple[ConstantArg, ...]]:
        """Return the geometry as defines of the kernel, or as its last arguments."""
        geometry = Direction.of(problem).geometry(2)
        return (geometry, ()) if problem.flops() >= BAKED else ({}, ints(*geometry.values()))

    def _pitches(self, problem: Convolution, tile: Tile) -> tuple[int, int]:
        raise NotImplementedError

    def _workspace(self, problem: Convolution, info: DeviceInfo) -> int:
        raise NotImplementedError

    def _launches(self, problem: Convolution, device: Device) -> tuple[Launch, ...]:
        raise NotImplementedError

    def _clocks(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> float:
        """Estimate the clocks of the product."""
        raise NotImplementedError


def grid_clocks(groups: int, slices: int, tile: Tile, info: DeviceInfo) -> float:
    """Estimate the clocks of a grid: waves of resident work-groups, each with slices and a fixed part."""
    slice_clocks = tile.bm * tile.bn * PLANES * tile.bk / (128 * tile.share)
    resident = max(tile.resident, tile.fits)
    full, rest = divmod(-(-groups // max(info.compute_units, 1)), resident)
    waves = full * resident + (0.5 * resident + 0.5 * rest if rest else 0)  # half a wave hides less
    return waves * slice_clocks * (slices + _OVERHEAD)


def _pack_each(pieces: int, groups: int) -> int:
    """Return how many pairs of filter and channel a work-item transforms at a time: few while work-groups suffice."""
    return 1 if pieces <= groups else 2 if pieces <= 2 * groups else 4


class WinogradConvolve(Winograd):
    """Forward or data gradient: the filter is transformed into the workspace first, in the same launch if possible."""

    FILE = "shared/winograd/convolve.cl"
    _launch = LAUNCH

    def _in_one_launch(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> bool:
        direction = Direction.of(problem)
        slices, blocks = self._blocks(direction, tile)
        groups = min(blocks * -(-direction.tiles(2)[0] // tile.bm), 2 * info.compute_units)
        few = slices * blocks * tile.bk * tile.bn <= _MOST_EACH * groups * tile.items
        return few and super()._in_one_launch(problem, tile, info)

    def _pitches(self, problem: Convolution, tile: Tile) -> tuple[int, int]:
        direction = Direction.of(problem)
        return tile.bm + 4 * direction.together(direction.wide), tile.bn

    def _blocks(self, direction: Direction, tile: Tile) -> tuple[int, int]:
        """Return the number of slices, and of blocks of filters in all groups."""
        return -(-direction.channels // tile.bk), direction.groups * -(-direction.filters // tile.bn)

    def _workspace(self, problem: Convolution, info: DeviceInfo) -> int:
        tile, direction = self.tile(problem, info), Direction.of(problem)
        assert tile is not None
        slices, blocks = self._blocks(direction, tile)
        return slices * blocks * PLANES * tile.bk * tile.bn * problem.dtype.accumulator.itemsize

    def _clocks(self, problem: Convolution, tile: Tile, info: DeviceInfo) -> float:
        direction = Direction.of(problem)
        slices, blocks = self._blocks(direction, tile)
        return grid_clocks(blocks * -(-direction.tiles(2)[0] // tile.bm), slices, tile, info)

    def _launches(self, problem: Convolution, device: Device) -> tuple[Launch, ...]:
        tile, direction = self.tile(problem, device.info), Direction.of(problem)
        assert tile is not None
        slices, blocks = self._blocks(direction, tile)
        real = problem.dtype.accumulator
        defines = self._defines(problem, tile)
        geometry, arguments = self._geometry(problem)
        layout = {
            **({"CHANNELS_TOGETHER": 1} if direction.together(direction.wide) else {}),
            **({"STORE_CHANNELS": 1} if direction.together(direction.narrow) else {}),
        }
        names = problem.tensor_names()
        image = TensorArg(names.index("dy" if isinstance(problem, ConvolutionBackwardData) else "x"))
        transformed: tuple[Arg, ...] = (WorkspaceArg(0, real),)
        sizes = ints(direction.groups, direction.filters, direction.channels, *direction.taps)
        filters = (TensorArg(names.index("w")), *transformed)
        elements = slices * blocks * tile.bk * tile.bn
        grid = (blocks * -(-direction.tiles(2)[0] // tile.bm),)
        launches = []
        defines |= {**layout, **geometry, **epilogue_defines(problem)}
        if isinstance(problem, ConvolutionBiasActivationForward):
            defines |= z_defines(problem)
        if slices and self._in_one_launch(problem, tile, device.info):
            each = _pack_each(-(-elements // tile.items), min(grid[0], device.info.compute_units))
            defines |= {"FUSED_PACK": 1, "PACK_EACH": each}
            pieces = -(-elements // (tile.items * each))
            transformed = (*filters, CountersArg(PIECE_COUNTERS), *ints(pieces), *sizes)
        elif slices:
            kernel = device.compile(self.FILE, "winograd_filter", defines)
            launches.append(Launch(kernel, (-(-elements // 256),), (256,), (*filters, *sizes)))
        kernel = device.compile(self.FILE, "winograd_convolve", defines)
        scalars = (ScalarArg(0, real), ScalarArg(1, real))
        args = (*transformed, image, output(problem), *scalars, *epilogue_args(problem), *arguments)
        launches.append(Launch(kernel, grid, (tile.items,), args))
        return tuple(launches)


class WinogradForward(WinogradConvolve):
    """Forward."""

    name = "winograd_forward"
    problems = (ConvolutionForward, ConvolutionBiasActivationForward, ForwardWithEpilogue)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionFwdAlgo.WINOGRAD


class WinogradBackwardData(WinogradConvolve):
    """Data gradient: a convolution of dy with the flipped filter."""

    name = "winograd_backward_data"
    problems = (ConvolutionBackwardData, BackwardDataWithEpilogue)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionBwdDataAlgo.WINOGRAD


ENGINES = (WinogradForward(), WinogradBackwardData())
