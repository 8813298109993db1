"""Convolution of channels-last tensors on CPUs, forward and data gradient: vectors of the result's channels.

Nothing is transposed: a number of the image meets a vector of weights. Weights are packed before; the image is copied
with zeros around it, or read where it lies (1x1 filters).
"""

from __future__ import annotations

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionFwdAlgo, DataType, DnnEnum
from portadnn.ops.convolution.calls import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.problem import Problem

from ....base import LAUNCH_SECONDS, Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from ...rounding import round_up
from .channels_last_blocks import Blocks, blocks_of, group_channels
from .channels_last_text import texts
from .common import COUNTER_BYTES, WORK_GROUPS_PER_CORE, ConvCpu, Tile
from .gemm import Sum

_FILE, _PACK = "opencl/conv/channels_last_cpu.cl", "opencl/conv/channels_last_pack_cpu.cl"
_MOST_COPY = 256 * 1024


class ConvChannelsLastCpu(ConvCpu):
    """Forward and backward data: one launch packs the filter, one does the rest."""

    name = "channels_last_cpu"
    problems = (ConvolutionForward, ConvolutionBackwardData)

    def algo(self, problem: Problem) -> DnnEnum | None:
        backward = isinstance(problem, ConvolutionBackwardData)
        return ConvolutionBwdDataAlgo.ALGO_1 if backward else ConvolutionFwdAlgo.IMPLICIT_PRECOMP_GEMM

    def why_not(self, problem: Problem, info: DeviceInfo) -> str | None:
        assert isinstance(problem, Convolution)
        reason = super().why_not(problem, info)
        if reason is not None or problem.tensors[2].size == 0:
            return reason
        if any(spec.dims[1] > 1 and spec.strides[1] != 1 for spec in (problem.image, problem.result)):
            return "it takes channels that lie side by side"
        total = Sum.of(problem)
        if total.depth == 0:
            return "there is nothing to add up"
        lanes = Tile.of(problem.dtype, info, 1).lanes
        if total.rows < lanes // 4 and not group_channels(total, problem.groups, lanes):
            return f"it takes at least {lanes // 4} channels of the result in a group"
        _, scratch = blocks_of(problem, info).scratch
        return f"the window needs {scratch} numbers of scratch" if scratch > _MOST_COPY else None

    def seconds(self, problem: Problem, info: DeviceInfo) -> float:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return 0.0
        clock = info.flops / (4 * max(info.simd_width, 1))  # of all cores together
        if problem.dtype.accumulator is DataType.FLOAT and Tile.of(problem.dtype, info, 1).lanes < info.simd_width:
            clock *= 0.9
        return max(blocks_of(problem, info).clocks() / clock, problem.bytes() / info.bandwidth) + 2 * LAUNCH_SECONDS

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return _memory(problem, blocks_of(problem, info), info)[1] if problem.tensors[2].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        blocks = blocks_of(problem, device.info)
        main_defines, pack_defines, sizes = texts(blocks, problem)
        start, workspace, work_groups = _memory(problem, blocks, device.info)
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        counter, packed = WorkspaceArg(0), WorkspaceArg(COUNTER_BYTES, real)
        pack = device.compile(_PACK, "conv_channels_last_pack", pack_defines)
        main = device.compile(_FILE, "conv_channels_last", main_defines)
        args = (TensorArg(source), TensorArg(2), packed, WorkspaceArg(start, real), counter)
        launches = (
            Launch(pack, blocks.pack_grid, (1, 1, 1), (TensorArg(weights), packed, counter, *sizes)),
            Launch(main, (work_groups,), (1,), (*args, ScalarArg(0, real), ScalarArg(1, real), *sizes)),
        )
        return Plan(problem, self, workspace, device.bind(launches), launches)


def _memory(problem: Convolution, blocks: Blocks, info: DeviceInfo) -> tuple[int, int, int]:
    """Return where work-groups' scratch begins, the bytes of the workspace, and how many work-groups there are."""
    size = problem.dtype.accumulator.itemsize
    work_groups = min(blocks.tiles, WORK_GROUPS_PER_CORE * info.compute_units)
    start = COUNTER_BYTES + round_up(blocks.packed * size, 256)
    return start, start + work_groups * blocks.scratch[0] * size, work_groups


ENGINES = (ConvChannelsLastCpu(),)
