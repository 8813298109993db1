"""Depthwise convolution on CPUs, all directions: vectors of channels, whether these lie side by side or pixels do."""

from __future__ import annotations

from dataclasses import dataclass

from portadnn.enums import DnnEnum
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem, TensorSpec

from .... import algorithms
from ....base import Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg
from ...rounding import ceil_div, round_up, split_evenly
from . import depthwise_in_place
from .common import ConvCpu, Tile
from .depthwise_in_place import of_filter
from .direct import MOST_SCRATCH, TILES_PER_CORE, Window

_FILE = "opencl/conv/depthwise_cpu.cl"
_SCRATCH = 24 * 1024  # reals that a band takes on the stack, at home in the L2 cache
_PIXELS = 8  # in registers at a time
_MOST_COLUMNS = 14  # of the taps of a filter gradient
_SUMS = {True: 20, False: 12}  # taps in registers at a time, by whether there are 32
_COPY = {True: 2.5, False: 8.0}  # clocks of a vector of channels, by whether they lie side by side
_TRANSPOSED_GRADIENT = 1.75  # times as long as its parts, of a filter gradient whose dy is transposed


def _span(geometry: dict[str, int], axis: str) -> tuple[int, int]:
    """Return where along one axis the taps of pixel 0 of any phase begin and end; see phase_of in conv/geometry.h."""
    size, tap = geometry[f"SIZE_{axis}"], geometry[f"TAP_{axis}"]
    if "DATA_GRADIENT" not in geometry:
        return geometry[f"START_{axis}"], geometry[f"START_{axis}"] + (size - 1) * tap
    hop, phases = geometry[f"HOP_{axis}"], geometry[f"PHASES_{axis}"]
    ends = [0]
    for phase in range(phases):
        for first in range(min(hop, size)):
            start, rest = divmod(phase + geometry[f"PADDING_{axis}"] - first * geometry[f"DILATION_{axis}"], phases)
            if rest == 0:
                ends += [start, start + (ceil_div(size - first, hop) - 1) * tap]
                break
    return min(ends), max(ends)


@dataclass(frozen=True)
class Blocks:
    """How a problem is cut: the register tile, and what a band of rows takes on the stack.

    Attributes
    ----------
    blocks : int
        Vectors of channels.
    planes, rows, columns : int
        Of the image that a band meets, with the zeros around it; columns from `low_w` on.
    low_h, low_w : int
        What the first pixel of a band and of a row meets first.
    """

    window: Window
    tile: Tile
    blocks: int
    planes: int
    rows: int
    columns: int
    low_h: int
    low_w: int

    @property
    def scratch(self) -> int:
        """Reals of the image, and of the result."""
        defines = self.window.geometry.defines
        result = self.window.band * defines["PHASES_H"] * max(defines["OUT_W"], defines["PIXELS_W"])
        return (self.planes * self.rows * self.columns + result) * self.tile.lanes

    def grid(self, problem: Convolution) -> int:
        """Return how many work-groups there are."""
        if isinstance(problem, ConvolutionBackwardFilter):
            return self.blocks
        defines = self.window.geometry.defines
        bands = ceil_div(defines["PIXELS_H"], self.window.band)
        return self.blocks * problem.image.dims[0] * defines["OUT_D"] * bands

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Return everything that the kernel has to know."""
        gradient = isinstance(problem, ConvolutionBackwardFilter)
        target = problem.image if isinstance(problem, ConvolutionBackwardData) else problem.result
        return {
            **self.window.defines(problem),
            **{name: int(value) for name, value in self.tile.defines().items()},
            **({"FILTER_GRADIENT_SUM": 1} if gradient else {}),
            **of_filter(problem),
            "IMAGES": problem.image.dims[0],
            "CHANNELS_IN_ALL": problem.groups,
            "BLOCKS": self.blocks,
            "X_PLANES": self.planes,
            "X_ROWS": self.rows,
            "X_COLUMNS": self.columns,
            "LOW_H": self.low_h,
            "LOW_W": self.low_w,
            "OUT_SPAN": target.span,
        }


def _cut(problem: Convolution, info: DeviceInfo, band: int) -> Blocks:
    """Cut a problem into bands of so many rows of pixels."""
    lanes = Tile.of(problem.dtype, info, 1).lanes
    window = Window.of(problem, lanes).with_band(band)
    defines = window.geometry.defines
    (low_h, high_h), (low_w, high_w) = _span(defines, "H"), _span(defines, "W")
    columns, beyond, planes = defines["PIXELS_W"], 0, 1
    if isinstance(problem, ConvolutionBackwardFilter):
        width, height = defines["SIZE_W"], defines["SIZE_H"]
        taps = min(4, split_evenly(height, max(1, _SUMS[info.simd_width >= 16] // max(1, width))))
        tile = Tile(lanes, taps, width)
        beyond = (round_up(height, taps) - height) * defines["TAP_H"]  # rows of taps that no result takes
    else:
        tile, planes = Tile(lanes, 1, split_evenly(columns, _PIXELS)), window.axes[0].taps
        columns = round_up(columns, tile.rows)
    rows = (band - 1) * defines["STEP_H"] + high_h - low_h + 1 + beyond
    met = high_w + (columns - 1) * defines["STEP_W"] + 1
    whole = max(defines["EXTENT_W"], met) - low_w
    return Blocks(window, tile, ceil_div(problem.groups, lanes), planes, rows, whole, low_h, low_w)


def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a problem into bands: as large as scratch has room for, unless cores would be idle."""
    blocks = _cut(problem, info, 1)
    defines = blocks.window.geometry.defines
    pixels = defines["PIXELS_H"]
    parts = 1
    if not isinstance(problem, ConvolutionBackwardFilter):
        shares = problem.image.dims[0] * defines["OUT_D"] * blocks.blocks
        parts = min(pixels, ceil_div(TILES_PER_CORE * info.compute_units, max(1, shares)))
    while True:
        found = _cut(problem, info, split_evenly(pixels, ceil_div(pixels, parts)))
        if found.scratch <= _SCRATCH or found.window.band == 1:
            return found
        parts += 1


def _lies_well(spec: TensorSpec) -> bool:
    """Tell whether channels lie side by side, or the pixels of a row."""
    return spec.strides[1] == 1 or spec.strides[-1] == 1 or spec.dims[-1] == 1


class ConvDepthwiseCpu(ConvCpu):
    """One filter for each channel."""

    name = "depthwise_cpu"
    problems = (ConvolutionForward, ConvolutionBackwardData, ConvolutionBackwardFilter)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return algorithms.direct(problem)

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is not None:
            return reason
        channels = problem.groups
        if problem.filter.dims[0] != channels or problem.filter.dims[1] != 1:
            return "it takes one filter for each channel"
        lanes = Tile.of(problem.dtype, info, 1).lanes
        if channels < lanes or not (_lies_well(problem.image) and _lies_well(problem.result)):
            return f"it takes at least {lanes} channels, which lie side by side or whose pixels do"
        if problem.tensors[2].size == 0:
            return None
        if isinstance(problem, ConvolutionBackwardFilter) and problem.filter.dims[-1] > _MOST_COLUMNS:
            return f"it takes filters of at most {_MOST_COLUMNS} columns"
        if depthwise_in_place.cut(problem, info):
            return None
        scratch = _cut(problem, info, 1).scratch
        return f"the window needs {scratch} numbers of scratch" if scratch > MOST_SCRATCH else None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return 0.0
        in_place = depthwise_in_place.cut(problem, info)
        if in_place:
            return in_place.seconds(problem, info)
        blocks = blocks_of(problem, info)
        window, tile = blocks.window, blocks.tile
        defines = window.geometry.defines
        bands = ceil_div(defines["PIXELS_H"], window.band)
        taps = problem.filter.size // problem.groups
        copies = _COPY[problem.image.strides[1] == 1], _COPY[problem.result.strides[1] == 1]
        image, result = copies[::-1] if isinstance(problem, ConvolutionBackwardData) else copies
        copied = blocks.planes * blocks.rows * (defines["EXTENT_W"] * image + blocks.columns - defines["EXTENT_W"])
        if isinstance(problem, ConvolutionBackwardFilter):
            pixels = window.band * defines["PIXELS_W"]
            clocks = copied + pixels * (result + (taps + ceil_div(defines["SIZE_H"], tile.vectors)) / 2 + 1) + 20 * taps
            bands *= problem.image.dims[0] * defines["PIXELS_D"]
            clocks *= 1.0 if result == _COPY[True] else _TRANSPOSED_GRADIENT
            return window.seconds(problem, info, blocks.blocks, bands * clocks)
        rows = window.band * defines["PHASES_H"]
        tiles = ceil_div(defines["PIXELS_W"], tile.rows) * defines["PHASES_W"]
        products = taps / window.geometry.phases * (tile.rows + 1) / 2 + tile.rows + 10
        clocks = copied + rows * (tiles * products + defines["OUT_W"] * result) + 8 * taps
        groups = blocks.blocks * problem.image.dims[0] * defines["OUT_D"] * bands
        return window.seconds(problem, info, groups, clocks)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        in_place = depthwise_in_place.cut(problem, device.info)
        if in_place:
            kernel = device.compile(depthwise_in_place.FILE, "conv_depthwise_in_place", in_place.defines(problem))
            grid = in_place.grid
        else:
            blocks = blocks_of(problem, device.info)
            kernel = device.compile(_FILE, "conv_depthwise_cpu", blocks.defines(problem))
            grid = blocks.grid(problem)
        real = problem.dtype.accumulator
        first, second = (1, 0) if isinstance(problem, ConvolutionForward) else (0, 1)
        args = (TensorArg(first), TensorArg(second), TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (grid,), (1,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


ENGINES = (ConvDepthwiseCpu(),)
