"""Convolution on GPUs without a matrix: the guide's DIRECT, depthwise and small grouped layers in all directions."""

from __future__ import annotations

import math

from portadnn.enums import (
    ConvolutionBwdDataAlgo,
    ConvolutionBwdFilterAlgo,
    ConvolutionFwdAlgo,
    ConvolutionMode,
    DnnEnum,
)
from portadnn.ops.convolution.calls import (
    Convolution,
    ConvolutionBackwardData,
    ConvolutionBackwardFilter,
    ConvolutionForward,
)
from portadnn.problem import Problem, TensorSpec

from ...base import (
    LAUNCH_SECONDS,
    Device,
    DeviceInfo,
    Engine,
    Kernel,
    Launch,
    Plan,
    ScalarArg,
    TensorArg,
    WorkspaceArg,
)
from .geometry import Geometry, axes, forward, image_sum

_FILE = "shared/conv/direct.cl"
FILTER_FILE = "shared/conv/direct_filter.cl"
_GROUP = 256
_ROWS = 4  # pixels of a work-item, one below the other
_UNROLLED = 40  # multiplications of a column of pixels and a tap column
_REGISTERS = 32  # taps that stay in registers
_TAPS = 9  # sums of a work-item of the filter gradient
_WAIT = 360e-9  # seconds; fitted with the estimate's other numbers on 40 layers on an H100
_SCATTERED = 5  # times as long where neighbouring work-items' pixels lie in lines of their own (measured on an H100)
_MOST_GROUPS = (1 << 31) - 1


def _up(a: int, b: int) -> int:
    return -(-a // b)


def channels_last(*specs: TensorSpec) -> bool:
    """Tell whether several channels lie side by side in all tensors."""
    return all(spec.dims[1] > 1 and spec.strides[1] == 1 for spec in specs)


def _common(problem: Convolution, geometry: Geometry) -> dict[str, int]:
    return {
        f"DTYPE_{problem.dtype.name}": 1,
        **({"FLIP": 1} if problem.mode is ConvolutionMode.CONVOLUTION else {}),
        **geometry.defines,
        **axes("CHECK", (1, 1, 1)),
        "GEMM_M": geometry.m,
        "GROUPS": geometry.groups,
        "PHASES": geometry.phases,
    }


class _Direct(Engine):
    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        if info.schedule != "gpu":
            return "made for GPUs"
        if info.max_work_group < _GROUP:
            return f"it needs work-groups of {_GROUP}"
        return None

    def _estimate(self, problem: Convolution, info: DeviceInfo, steps: float, waits: float) -> float:
        """Return the time of `steps` instructions of all work-items, which hide waits where they are many.

        `waits` is how often a work-item waits for memory, one time after the other.
        """
        needed = max(math.hypot(2 * steps / info.flops, waits * _WAIT), problem.bytes() / (0.7 * info.bandwidth))
        return needed + LAUNCH_SECONDS


class ConvDirect(_Direct):
    """Forward and data gradient; every work-item makes a column of pixels."""

    problems: tuple[type[Problem], ...]

    def __init__(self, algo: DnnEnum) -> None:
        self._algo = algo
        data = isinstance(algo, ConvolutionBwdDataAlgo)
        self.name = "direct_backward_data" if data else "direct_forward"
        if algo is ConvolutionFwdAlgo.IMPLICIT_GEMM:
            self.name = "direct_gemm_forward"
        self.problems = (ConvolutionBackwardData if data else ConvolutionForward,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return self._algo

    def defines(self, problem: Convolution) -> dict[str, int]:
        """Everything that the kernel has to know."""
        geometry = image_sum(problem)
        known = geometry.defines
        taps = [_up(known[f"SIZE_{axis}"], known[f"HOP_{axis}"]) for axis in "DHW"]
        pixels = [known[f"PIXELS_{axis}"] for axis in "DHW"]
        block_m = min(4, geometry.m)
        at_once = min(max(taps[1], 1), 8)
        step, tap = known["STEP_H"], abs(known["TAP_H"])
        rows = 1
        while rows < _ROWS and rows < pixels[1] and 2 * rows * at_once * block_m <= _UNROLLED * 2 and step + tap <= 4:
            rows *= 2
        preload = known["CHANNELS"] == 1 and math.prod(taps) * block_m <= _REGISTERS
        source, target = problem.image, problem.result
        fast = problem.groups > 1 and block_m == 1 and known["CHANNELS"] == 1 and channels_last(source, target)
        run = 8 if fast else 1
        tiles_p, runs = _up(pixels[1], rows), _up(pixels[2], run)
        blocks_m = _up(geometry.m, block_m)
        columns = problem.image.dims[0] * pixels[0] * tiles_p * runs
        return {
            **_common(problem, geometry),
            **axes("MAX_TAPS", tuple(taps)),
            **({"PRELOAD": 1} if preload else {}),
            **({"CHANNEL_FAST": 1} if fast else {}),
            "TAPS_AT_ONCE": max(taps[1], 1) if preload else at_once,
            "TP": rows,
            "RUN": run,
            "BLOCK_M": block_m,
            "BLOCKS_M": blocks_m,
            "TILES_P": tiles_p,
            "IMAGES": problem.image.dims[0],
            "ITEMS_DIRECT": columns * blocks_m * geometry.groups * geometry.phases,
        }

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is None and problem.tensors[2].size and self.defines(problem)["ITEMS_DIRECT"] > _MOST_GROUPS:
            return "it has more columns of pixels than 32-bit indices reach"
        return reason

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if not problem.tensors[2].size:
            return 0.0
        known = self.defines(problem)
        rows_in = (known["TP"] - 1) * known["STEP_H"] + (known["TAPS_AT_ONCE"] - 1) * abs(known["TAP_H"]) + 1
        products = known["TP"] * known["BLOCK_M"] * known["TAPS_AT_ONCE"]
        loads = 0 if "PRELOAD" in known else 6 * known["BLOCK_M"] * known["TAPS_AT_ONCE"]
        visits = known["CHANNELS"] * known["MAX_TAPS_D"] * known["MAX_TAPS_W"]
        visits *= _up(known["MAX_TAPS_H"], known["TAPS_AT_ONCE"])
        items = known["ITEMS_DIRECT"] * known["RUN"]
        steps = visits * (8 * rows_in + products + loads) + 40
        scattered = "CHANNEL_FAST" not in known and channels_last(problem.image, problem.result)
        times = _SCATTERED if scattered else 1
        return self._estimate(problem, info, items * steps * times, visits * known["RUN"] * times)

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        defines = self.defines(problem)
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        kernel = device.compile(_FILE, "conv_direct", {**defines, "ITEMS_DIRECT": f"{defines['ITEMS_DIRECT']}u"})
        args = (TensorArg(weights), TensorArg(source), TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        launch = Launch(kernel, (_up(defines["ITEMS_DIRECT"], _GROUP),), (_GROUP,), args)
        return Plan(problem, self, 0, device.bind([launch]), (launch,))


class ConvDirectFilter(_Direct):
    """Filter gradient: a work-group adds up the pixels of a filter's channel, or of 32 that lie side by side."""

    name = "direct_backward_filter"
    problems = (ConvolutionBackwardFilter,)

    def algo(self, problem: Problem) -> DnnEnum | None:
        return ConvolutionBwdFilterAlgo.ALGO_1

    def defines(self, problem: Convolution, info: DeviceInfo) -> dict[str, int]:
        """Everything that the kernels have to know."""
        geometry = forward(problem)
        pairs = math.prod(problem.filter.dims[:2])
        taps = math.prod(problem.filter.dims[2:])
        lanes = 32 if pairs >= 32 and channels_last(problem.image, problem.result) else 1
        tap_blocks = _up(taps, _TAPS)
        at_once = _up(taps, tap_blocks)
        pixels = problem.result.dims[0] * math.prod(problem.result.dims[2:])
        tiles = _up(pairs, lanes) * tap_blocks
        slices = max(1, min(_up(4 * info.compute_units, tiles), pixels // (4 * _GROUP // lanes)))
        each = _up(pixels, slices)
        return {
            **_common(problem, geometry),
            "FILTERS": geometry.m,
            "PAIRS": pairs,
            "LANES": lanes,
            "SLICES": _up(pixels, each) if pixels else 1,
            "SLICE": each,
            "TAP_BLOCKS": tap_blocks,
            "TAPS_AT_ONCE": at_once,
            "PIXEL_COUNT": pixels,
        }

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        local = _TAPS * _GROUP * problem.dtype.accumulator.itemsize
        if reason is None and local > info.local_memory:
            return f"needs {local} bytes of local memory, the device has {info.local_memory}"
        return reason

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        if not problem.filter.size:
            return 0
        slices = self.defines(problem, info)["SLICES"]
        return slices * problem.filter.size * problem.dtype.accumulator.itemsize if slices > 1 else 0

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if not problem.filter.size:
            return 0.0
        known = self.defines(problem, info)
        steps = known["PIXEL_COUNT"] * known["PAIRS"] * known["TAP_BLOCKS"] * (30 + 9 * known["TAPS_AT_ONCE"])
        groups = _up(known["PAIRS"], known["LANES"]) * known["TAP_BLOCKS"] * known["SLICES"]
        steps += groups * _GROUP * (40 + 16 * known["TAPS_AT_ONCE"])  # sums that join in local memory
        waits = known["SLICE"] / (_GROUP / known["LANES"]) + 16
        return self._estimate(problem, info, steps, waits) + (known["SLICES"] > 1) * LAUNCH_SECONDS

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.filter.size == 0:
            return Plan(problem, self, 0, device.bind(()))
        known = self.defines(problem, device.info)
        real = problem.dtype.accumulator
        defines: dict[str, int | float | str] = dict(known)
        defines |= {name: f"{known[name]}u" for name in ("PAIRS", "SLICE", "PIXEL_COUNT")}
        target = (TensorArg(2), ScalarArg(0, real), ScalarArg(1, real))
        parts = WorkspaceArg(0, real)
        split = known["SLICES"] > 1
        grid = _up(known["PAIRS"], known["LANES"]) * known["TAP_BLOCKS"] * known["SLICES"]
        kernel = device.compile(FILTER_FILE, "conv_direct_filter", defines)
        args = (TensorArg(0), TensorArg(1), *((parts,) if split else target))
        launches = [Launch(kernel, (grid,), (_GROUP,), args)]
        if split:
            finish, count = self.finish(problem, device, known["SLICES"])
            launches.append(Launch(finish, (_up(count, _GROUP),), (_GROUP,), (parts, *target)))
        return Plan(problem, self, self.workspace(problem, device.info), device.bind(launches), tuple(launches))

    @classmethod
    def finish(cls, problem: Convolution, device: Device, slices: int) -> tuple[Kernel, int]:
        """Return the kernel that adds up parts[slice][tap][pair] and blends them into dw, and its work-items."""
        known = cls().defines(problem, device.info) | {"SLICES": slices}
        defines: dict[str, int | float | str] = dict(known)
        defines |= {name: f"{known[name]}u" for name in ("PAIRS", "SLICE", "PIXEL_COUNT")}
        return device.compile(FILTER_FILE, "finish", defines), problem.filter.size


ENGINES = (
    ConvDirect(ConvolutionFwdAlgo.DIRECT),
    ConvDirect(ConvolutionFwdAlgo.IMPLICIT_GEMM),
    ConvDirect(ConvolutionBwdDataAlgo.ALGO_1),
    ConvDirectFilter(),
)
