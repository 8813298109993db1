"""What Winograd's algorithms share: which convolutions they take, and a direction as the kernels see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portadnn.enums import ConvolutionMode, DataType
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData
from portadnn.problem import TensorSpec

from ...base import ConstantArg, DeviceInfo, Schedule
from ..layouts import strides


def declined(problem: Convolution, info: DeviceInfo, schedule: Schedule = "gpu") -> str | None:
    """Return why a problem is none for Winograd's algorithm on devices of a schedule, if so."""
    if info.schedule != schedule:
        return f"made for {schedule.upper()}s"
    if schedule == "cpu" and info.backend != "opencl":
        return "written in OpenCL C only"
    if len(problem.padding) != 2:
        return "made for 2-D convolutions"
    if problem.filter.dims[2:] != (3, 3):
        return "made for 3 x 3 filters"
    if problem.stride != (1, 1) or problem.dilation != (1, 1):
        return "made for stride 1 and dilation 1"
    return None


def ints(*values: int) -> tuple[ConstantArg, ...]:
    """Return kernel arguments."""
    return tuple(ConstantArg(np.int32(value)) for value in values)


@dataclass(frozen=True)
class Direction:
    """A direction as the kernels see it: a side that is transformed in tiles, one in outputs of 2 x 2, and a filter.

    Attributes
    ----------
    wide, narrow : TensorSpec
        The image that overlapping tiles are taken of, and the other one.
    start : tuple of int
        Input coordinates of output 0 and tap 0.
    channels, filters : int
        Of a group, on the wide and on the narrow side.
    taps : tuple of int
        Strides of group, filter, channel, row and column in the filter's memory, and the first tap's offset.
    """

    wide: TensorSpec
    narrow: TensorSpec
    start: tuple[int, int]
    groups: int
    channels: int
    filters: int
    taps: tuple[int, int, int, int, int, int]

    @classmethod
    def of(cls, problem: Convolution) -> Direction:
        """Describe a problem."""
        k, c, r, s = strides(problem.filter)
        groups = problem.groups
        filters, channels = problem.filter.dims[0] // groups, problem.filter.dims[1]
        flipped = problem.mode is ConvolutionMode.CONVOLUTION
        group = k * filters
        if not isinstance(problem, ConvolutionBackwardData):
            taps = (group, k, c, -r, -s, 2 * r + 2 * s) if flipped else (group, k, c, r, s, 0)
            start = (-problem.padding[0], -problem.padding[1])
            return cls(problem.image, problem.result, start, groups, channels, filters, taps)
        taps = (group, c, k, r, s, 0) if flipped else (group, c, k, -r, -s, 2 * r + 2 * s)
        start = (problem.padding[0] - 2, problem.padding[1] - 2)
        return cls(problem.result, problem.image, start, groups, filters, channels, taps)

    def tiles(self, size: int) -> tuple[int, int, int]:
        """Return how many tiles of `size` x `size` outputs: in all, per column, per row."""
        n, _, p, q = self.narrow.dims
        return n * -(-p // size) * -(-q // size), -(-p // size), -(-q // size)

    def geometry(self, size: int) -> dict[str, int]:
        """Return the numbers of winograd/winograd.h, in the order of the kernels' parameters."""
        tiles, tiles_h, tiles_w = self.tiles(size)
        wide, narrow = strides(self.wide), strides(self.narrow)
        return {
            "TILES": tiles,
            "TILES_H": tiles_h,
            "TILES_W": tiles_w,
            **dict(zip(("IN_N", "IN_C", "IN_H", "IN_W"), wide, strict=True)),
            "EXTENT_H": self.wide.dims[2],
            "EXTENT_W": self.wide.dims[3],
            "START_H": self.start[0],
            "START_W": self.start[1],
            **dict(zip(("OUT_N", "OUT_C", "OUT_H", "OUT_W"), narrow, strict=True)),
            "SIZE_H": self.narrow.dims[2],
            "SIZE_W": self.narrow.dims[3],
            "CHANNELS": self.channels,
            "FILTERS": self.filters,
        }

    @property
    def pairs(self) -> bool:
        """Tell whether the middle two columns of every tile, and both of an output, are an aligned pair of floats."""
        (*wide, step), (*narrow, narrow_step) = strides(self.wide), strides(self.narrow)
        return (
            self.wide.dtype is DataType.FLOAT
            and self.start[1] == -1
            and step == narrow_step == 1
            and not any(number % 2 for number in (self.wide.dims[3], self.narrow.dims[3], *wide, *narrow))
            and self.wide.alignment % 8 == self.narrow.alignment % 8 == 0
        )

    def together(self, spec: TensorSpec) -> bool:
        """Tell whether channels are neighbours in memory."""
        return strides(spec)[1] == 1 and spec.dims[1] > 1
