"""Depthwise convolution of channels-last tensors on CPUs, in all directions: vectors of channels, nothing copied."""

from __future__ import annotations

import math

from portadnn.enums import DnnEnum
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem

from .... import algorithms
from ....base import LAUNCH_SECONDS, Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg
from ...rounding import ceil_div, round_up, split_evenly
from .common import ConvCpu, Tile
from .direct import MOST_SCRATCH, TILES_PER_CORE, Window

_FILE = "opencl/conv/depthwise_cpu.cl"
_BLOCK = 64  # channels: a few cache lines of each pixel


class ConvDepthwiseCpu(ConvCpu):
    """One filter for each channel, channels side by side."""

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
        lanes = _lanes(problem, info)
        if channels < lanes or any(spec.strides[1] != 1 for spec in (problem.image, problem.result)):
            return f"it takes at least {lanes} channels that lie side by side"
        scratch = math.prod(problem.filter.dims[2:]) * round_up(min(channels, _BLOCK), lanes)
        return f"the window needs {scratch} numbers of scratch" if scratch > MOST_SCRATCH else None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        whole = problem.dtype is problem.dtype.accumulator
        share = 0.1 if whole else 0.03
        return max(problem.flops() / (share * info.flops), problem.bytes() / info.bandwidth) + LAUNCH_SECONDS

    def defines(self, problem: Convolution, info: DeviceInfo) -> dict[str, int]:
        """Everything that the kernel has to know."""
        lanes, channels = _lanes(problem, info), problem.groups
        images = problem.image.dims[0]
        most = _BLOCK
        if isinstance(problem, ConvolutionBackwardFilter):  # only channels are shared by cores
            most = max(lanes, min(_BLOCK, channels // (2 * info.compute_units)))
        block = round_up(split_evenly(channels, most), lanes)
        blocks = ceil_div(channels, block)
        window = Window.of(problem, lanes)
        planes = images * window.geometry.phases * window.geometry.defines["PIXELS_D"] * blocks
        bands = ceil_div(TILES_PER_CORE * info.compute_units, max(planes, 1))
        band = ceil_div(window.geometry.defines["PIXELS_H"], bands)
        defines = {
            **window.with_band(band).defines(problem),
            "VW": lanes,
            "NV": 1,
            "MR": 1,
            "IMAGES": images,
            "CHANNELS_IN_ALL": channels,
            "BLOCK": block,
            "BLOCKS": blocks,
        }
        if isinstance(problem, ConvolutionBackwardFilter):
            defines["FILTER_GRADIENT_SUM"] = 1
        return defines

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        defines = self.defines(problem, device.info)
        real = problem.dtype.accumulator
        if isinstance(problem, ConvolutionBackwardFilter):
            grid = defines["BLOCKS"]
        else:
            planes = problem.image.dims[0] * defines["PHASES"] * defines["PIXELS_D"]
            grid = planes * defines["BANDS"] * defines["BLOCKS"]
        first, second = (1, 0) if isinstance(problem, ConvolutionForward) else (0, 1)
        kernel = device.compile(_FILE, "conv_depthwise_cpu", defines)
        args = (TensorArg(first), TensorArg(second), TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (grid,), (1,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


def _lanes(problem: Convolution, info: DeviceInfo) -> int:
    return Tile.of(problem.dtype, info, 1).lanes


ENGINES = (ConvDepthwiseCpu(),)
