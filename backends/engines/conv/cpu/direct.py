"""Convolution on CPUs without a workspace, forward and data gradient: direct sums from scratch on the stack.

It is what there is for callers who offer no memory, and the fast way for few channels in a group: depthwise layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionFwdAlgo, ConvolutionMode, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.problem import Problem, TensorSpec

from ....base import LAUNCH_SECONDS, Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg
from ...rounding import ceil_div, round_up, split_evenly
from ..geometry import Geometry, axes, image_sum
from .common import ConvCpu, Tile

_FILE = "opencl/conv/direct_cpu.cl"
SCRATCH = 6 * 1024  # reals of copied input, half of an L1 cache; they lie on the stack, as do the sums
MOST_SCRATCH = 48 * 1024  # where one row of one channel takes more
_SUMS = 12 * 1024
_DEPTH = 512  # products summed per visit of a register tile
TILES_PER_CORE = 4


@dataclass(frozen=True)
class Taps:
    """The taps along one axis: at most `taps`; tap i + `period` lies `shift` pixels behind tap i."""

    taps: int
    period: int
    shift: int

    @classmethod
    def of(cls, geometry: Geometry, axis: str) -> Taps:
        """Read one axis of a sum."""
        defines = geometry.defines
        step, tap, size = (abs(defines[f"{word}_{axis}"]) for word in ("STEP", "TAP", "SIZE"))
        taps = ceil_div(size, defines[f"HOP_{axis}"])
        period = step // math.gcd(step, tap)
        return cls(taps, min(period, max(taps, 1)), period * tap // step)

    @property
    def reach(self) -> int:
        """Pixels between the first and the last tap of the same remainder."""
        return (self.taps - 1) // self.period * self.shift


@dataclass(frozen=True)
class Window:
    """A sum, and the band of pixels whose input is in scratch at a time; the fields are macros of conv/direct_cpu.h.

    Attributes
    ----------
    band, columns : int
        Rows of pixels, and pixels of each.
    slack : int
        Reals behind each channel, which copies of whole vectors may overwrite.
    """

    geometry: Geometry
    axes: tuple[Taps, Taps, Taps]
    band: int
    columns: int
    slack: int

    @classmethod
    def of(cls, problem: Convolution, lanes: int) -> Window:
        """Read a problem: a band of one row, or of a part of one where scratch is too small."""
        geometry = image_sum(problem)
        d, h, w = (Taps.of(geometry, axis) for axis in "DHW")
        pixels = geometry.defines["PIXELS_W"]
        most = SCRATCH // max(1, d.taps * h.taps * w.period) - w.reach
        return cls(geometry, (d, h, w), 1, split_evenly(pixels, max(lanes, most)), lanes)

    def with_band(self, band: int) -> Window:
        """Return the window with another number of rows."""
        return replace(self, band=band)

    @property
    def taps(self) -> int:
        """Taps of the largest phase."""
        return math.prod(axis.taps for axis in self.axes)

    @property
    def pitch(self) -> int:
        """Reals from one row of scratch to the next."""
        return self.columns + self.axes[2].reach

    @property
    def copied_rows(self) -> int:
        """Rows of scratch of one channel."""
        d, h, w = self.axes
        return d.taps * h.period * w.period * (self.band + h.reach)

    @property
    def channel_scratch(self) -> int:
        """Reals of one channel's copy."""
        return self.copied_rows * self.pitch + self.slack

    @property
    def bands(self) -> int:
        """Bands and segments of an image, of all its planes."""
        d, h, w = (self.geometry.defines[f"PIXELS_{axis}"] for axis in "DHW")
        return d * ceil_div(h, self.band) * ceil_div(w, self.columns)

    def cycles(self, tile: Tile) -> float:
        """Estimate the clocks of a step of the register tile: two sums at a time, or two loads."""
        return max(tile.rows * tile.vectors, tile.rows + tile.vectors) / 2 + 1.5

    def copy_cycles(self, source: TensorSpec, lanes: int) -> float:
        """Estimate the clocks to fill one channel's scratch."""
        step = source.strides[-1] * self.geometry.defines["STEP_W"] if source.dims[-1] > 1 else 1
        each = 2.0 * step / lanes if step <= 2 else 2.0
        return self.copied_rows * (10 + self.pitch * each)

    def seconds(self, problem: Convolution, info: DeviceInfo, tiles: int, cycles: float) -> float:
        """Estimate the time of `tiles` work-groups of as many clocks each."""
        clock = info.flops / (4 * max(info.simd_width, 1) * max(info.compute_units, 1))
        rounds = ceil_div(tiles, max(info.compute_units, 1))
        return max(rounds * (cycles + 150) / clock, problem.bytes() / info.bandwidth) + LAUNCH_SECONDS

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Return the macros."""
        pixels_h, pixels_w = (self.geometry.defines[f"PIXELS_{axis}"] for axis in "HW")
        image = problem.result if isinstance(problem, ConvolutionBackwardData) else problem.image
        return {
            f"DTYPE_{problem.dtype.name}": 1,
            **({"FLIP": 1} if problem.mode is ConvolutionMode.CONVOLUTION else {}),
            **self.geometry.defines,
            **axes("MAX_TAPS", tuple(axis.taps for axis in self.axes)),
            **axes("PERIOD", tuple(axis.period for axis in self.axes)),
            **axes("SHIFT", tuple(axis.shift for axis in self.axes)),
            **axes("CHECK", (1, 1, 1)),
            "GEMM_M": self.geometry.m,
            "GROUPS": self.geometry.groups,
            "PHASES": self.geometry.phases,
            "IN_SPAN": image.span,
            "BAND": self.band,
            "BANDS": ceil_div(pixels_h, self.band),
            "COLUMNS": self.columns,
            "SEGMENTS": ceil_div(pixels_w, self.columns),
            "PITCH": self.pitch,
        }


@dataclass(frozen=True)
class Blocks:
    """How a problem is cut into tiles.

    Attributes
    ----------
    channels, filters : int
        Of a group, that are in scratch at a time.
    """

    window: Window
    tile: Tile
    channels: int
    filters: int

    @property
    def sums_pitch(self) -> int:
        """Places in a tile, in whole register tiles."""
        return round_up(self.window.band * self.window.pitch, self.tile.columns)

    @property
    def blocks_m(self) -> int:
        """Blocks of filters."""
        return ceil_div(self.window.geometry.m, self.filters)

    def tiles(self, problem: Convolution) -> int:
        """Work-groups of the launch."""
        geometry = self.window.geometry
        return problem.image.dims[0] * geometry.groups * geometry.phases * self.blocks_m * self.window.bands

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Everything that the kernel has to know."""
        return {
            **self.window.defines(problem),
            **{name: int(value) for name, value in self.tile.defines().items()},
            "BLOCK_CH": self.channels,
            "BLOCK_M": self.filters,
            "BLOCKS_M": self.blocks_m,
            "DEPTH": _DEPTH,
        }


def _bands(rows: int) -> Iterator[int]:
    """Yield the sizes of bands that divide rows evenly, from all of them down to one."""
    seen = 0
    for parts in range(1, rows + 1):
        band = ceil_div(rows, parts)
        if band != seen:
            yield band
        seen = band


def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a problem into tiles: as many rows as scratch has room for, unless cores would be idle."""
    geometry = image_sum(problem)
    tile = Tile.of(problem.dtype, info, geometry.m)
    if tile.rows <= 2:
        tile = replace(tile, vectors=4)
    blocks = Blocks(Window.of(problem, tile.lanes), tile, 1, min(tile.rows, max(1, geometry.m)))
    some = round_up(min(geometry.m, 64), tile.rows)
    for band in _bands(geometry.defines["PIXELS_H"]):
        window = blocks.window.with_band(band)
        blocks = replace(blocks, window=window)
        if window.channel_scratch <= SCRATCH and some * blocks.sums_pitch <= _SUMS:
            busy = blocks.tiles(problem) >= TILES_PER_CORE * info.compute_units
            if busy or band * window.columns <= tile.columns:
                break
    filters = max(tile.rows, min(geometry.m, _SUMS // blocks.sums_pitch) // tile.rows * tile.rows)
    filters = round_up(split_evenly(geometry.m, filters), tile.rows)
    channels = split_evenly(geometry.defines["CHANNELS"], SCRATCH // blocks.window.channel_scratch)
    return replace(blocks, filters=filters, channels=channels)


class ConvDirectCpu(ConvCpu):
    """Forward and backward data without a workspace; one engine for each of the guide's algorithms that it serves."""

    problems: tuple[type[Problem], ...]

    def __init__(self, algo: DnnEnum) -> None:
        self._algo = algo
        self.name = "direct_gemm_cpu" if algo is ConvolutionFwdAlgo.IMPLICIT_GEMM else "direct_cpu"
        self.problems = (ConvolutionBackwardData if isinstance(algo, ConvolutionBwdDataAlgo) else ConvolutionForward,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is None and problem.tensors[2].size:
            scratch = blocks_of(problem, info).window.channel_scratch
            if scratch > MOST_SCRATCH:
                reason = f"the dilated window needs {scratch} numbers of scratch, there are {MOST_SCRATCH}"
        return reason

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if not problem.tensors[2].size:
            return 0.0
        blocks = blocks_of(problem, info)
        window, tile = blocks.window, blocks.tile
        source = problem.result if isinstance(problem, ConvolutionBackwardData) else problem.image
        depth = window.geometry.defines["CHANNELS"] * window.taps
        panels = ceil_div(blocks.filters, tile.rows)
        visits = panels * blocks.sums_pitch // tile.columns * ceil_div(depth, _DEPTH)
        product = visits * (min(depth, _DEPTH) * window.cycles(tile) + 2 * tile.rows * tile.vectors + 10)
        copies = window.copy_cycles(source, tile.lanes) * window.geometry.defines["CHANNELS"]
        step = problem.tensors[2].strides[-1] * window.geometry.defines["PHASES_W"]
        stores = blocks.filters * window.band * (10 + window.columns * (2 / tile.lanes if step == 1 else 2))
        return window.seconds(problem, info, blocks.tiles(problem), product + copies + stores + 2 * panels * depth)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        blocks = blocks_of(problem, device.info)
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        kernel = device.compile(_FILE, "conv_direct_cpu", blocks.defines(problem))
        args = (TensorArg(weights), TensorArg(source), TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (blocks.tiles(problem),), (1,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (
    ConvDirectCpu(ConvolutionFwdAlgo.DIRECT),
    ConvDirectCpu(ConvolutionFwdAlgo.IMPLICIT_GEMM),
    ConvDirectCpu(ConvolutionBwdDataAlgo.ALGO_1),
)
