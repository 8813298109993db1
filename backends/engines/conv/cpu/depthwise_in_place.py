"""Depthwise convolution of channels-last tensors on CPUs, forward and data gradient: images are read where they lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward

from ....base import DeviceInfo
from ...rounding import ceil_div, split_evenly
from .common import Tile, contiguous
from .direct import MOST_SCRATCH, TILES_PER_CORE, Window

FILE = "opencl/conv/depthwise_in_place_cpu.cl"
_MOST_PIXELS = {True: 14, False: 7}  # in registers at a time, by whether there are 32
_MOST_COLUMNS = 16  # taps of a row, all of which are spelt out
_TAPS = 4 * 1024  # reals of a work-group's taps, which stay in the L1 cache


def _fits(geometry: dict[str, int], pixels: int) -> bool:
    """Tell whether only the first tile of so many pixels leaves the image on the left, only the last on the right."""
    out, taps = geometry["OUT_W"], geometry["SIZE_W"]
    last = ceil_div(out, pixels) * pixels - pixels - 1  # pixel before the last tile
    if last < 0:
        return True
    if "DATA_GRADIENT" in geometry:
        padding, phases = geometry["PADDING_W"], geometry["PHASES_W"]
        left = pixels + padding - (taps - 1) * geometry["DILATION_W"]
        return pixels % phases == 0 and left >= 0 and last + padding < geometry["EXTENT_W"] * phases
    start, step, reach = geometry["START_W"], geometry["STEP_W"], (taps - 1) * geometry["TAP_W"]
    return pixels * step + start >= 0 and last * step + start + reach < geometry["EXTENT_W"]


def of_filter(problem: Convolution) -> dict[str, int]:
    """Return what conv/depthwise_taps.h has to know beside the geometry."""
    weights = problem.filter
    return {
        "FILTER_IN_ORDER": int(contiguous(weights.dims[2:], weights.strides[2:])),
        "FILTER_SPAN": weights.span,
    }


@dataclass(frozen=True)
class InPlace:
    """How a problem is cut.

    Attributes
    ----------
    lanes, pixels : int
        Of a register tile.
    blocks, chunk : int
        Vectors of channels, in all and of a work-group.
    band : int
        Rows of the result, of a work-group.
    """

    window: Window
    images: int
    channels: int
    lanes: int
    pixels: int
    chunk: int
    band: int

    @property
    def blocks(self) -> int:
        """Vectors of channels."""
        return ceil_div(self.channels, self.lanes)

    @property
    def grid(self) -> int:
        """Work-groups."""
        sizes = self.window.geometry.defines
        bands = ceil_div(sizes["OUT_H"], self.band)
        return self.images * sizes["OUT_D"] * bands * ceil_div(self.blocks, self.chunk)

    def seconds(self, problem: Convolution, info: DeviceInfo) -> float:
        """Estimate the time."""
        sizes = self.window.geometry.defines
        taps = math.prod(sizes[f"SIZE_{axis}"] for axis in "DHW")
        tiles = ceil_div(sizes["OUT_W"], self.pixels)
        products = taps / self.window.geometry.phases * (sizes["OUT_W"] + tiles) / 2
        clocks = self.band * self.chunk * (products + sizes["OUT_W"] + 10 * tiles) + 8 * taps * self.chunk
        return self.window.seconds(problem, info, self.grid, clocks)

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Return everything that the kernel has to know."""
        return {
            **self.window.defines(problem),
            **of_filter(problem),
            "VW": self.lanes,
            "MR": self.pixels,
            "IMAGES": self.images,
            "CHANNELS_IN_ALL": self.channels,
            "BLOCKS": self.blocks,
            "CHUNK": self.chunk,
            "CHUNKS": ceil_div(self.blocks, self.chunk),
            "BAND": self.band,
            "BANDS": ceil_div(self.window.geometry.defines["OUT_H"], self.band),
        }


def cut(problem: Convolution, info: DeviceInfo) -> InPlace | None:
    """Cut a depthwise problem into tiles and work-groups, or return None where another schedule has to take it."""
    if not isinstance(problem, (ConvolutionForward, ConvolutionBackwardData)):
        return None
    if (
        problem.dtype is not problem.dtype.accumulator
        or problem.image.strides[1] != 1
        or problem.result.strides[1] != 1
    ):
        return None
    lanes = Tile.of(problem.dtype, info, 1).lanes
    window = Window.of(problem, lanes)
    sizes = window.geometry.defines
    most = min(_MOST_PIXELS[info.simd_width >= 16], sizes["OUT_W"])
    fitting = [pixels for pixels in range(most, 0, -1) if _fits(sizes, pixels)]
    taps = problem.filter.size // problem.groups
    if not fitting or sizes["SIZE_W"] > _MOST_COLUMNS or taps * lanes > MOST_SCRATCH:
        return None
    pixels = min(fitting, key=lambda mr: (ceil_div(sizes["OUT_W"], mr), mr))
    blocks = ceil_div(problem.groups, lanes)
    chunk = split_evenly(blocks, max(1, _TAPS // (taps * lanes)))
    shares = problem.image.dims[0] * sizes["OUT_D"] * ceil_div(blocks, chunk)
    parts = min(sizes["OUT_H"], ceil_div(TILES_PER_CORE * info.compute_units, shares))
    band = split_evenly(sizes["OUT_H"], ceil_div(sizes["OUT_H"], parts))
    return InPlace(window, problem.image.dims[0], problem.groups, lanes, pixels, chunk, band)
