"""Convolution on CPUs through OpenCL: implicit GEMM with one work-item per work-group and explicit vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from portadnn.enums import ConvolutionBwdDataAlgo, ConvolutionFwdAlgo, DnnEnum
from portadnn.ops.convolution import Convolution, ConvolutionBackwardData, ConvolutionForward
from portadnn.problem import Problem

from ..base import Device, DeviceInfo, Launch, Plan, ScalarArg, TensorArg, WorkspaceArg
from .conv_cpu_common import (
    COUNTER_BYTES,
    WORK_GROUPS_PER_CORE,
    Axes,
    ConvCpu,
    Defines,
    Geometry,
    Image,
    Tile,
    ceil_div,
    per_axis,
    round_up,
    split_evenly,
)
from .conv_cpu_filter import ConvCpuFilter

BLOCK_DEPTH = 256  # products summed per visit of a register tile: one panel of b stays in the L1 cache
BLOCK_COLUMNS = 256
BLOCK_ROWS = 512
BLOCK_ELEMENTS = 32 * 1024  # of block b, which stays in the L2 cache
FILE = "opencl/conv_cpu.cl"


@dataclass(frozen=True)
class Sum:
    """Forward or backward data as the one sum that the kernel computes; see conv_cpu.cl.

    Attributes
    ----------
    source, target : Image
        What is read and what is written.
    depth, rows : int
        Channels of `source` and of `target` in a group.
    phases : tuple
        Strides of `target` between positions: its pixels fall into that many phases per axis.
    tap_step, tap_shift, source_step : tuple
        From one tap of a phase to the next: in the filter and in `source`; from one position to the next in `source`.
    grid : tuple
        Positions per axis in the largest phase.
    """

    geometry: Geometry
    source: Image
    target: Image
    depth: int
    rows: int
    phases: Axes
    tap_step: Axes
    tap_shift: Axes
    source_step: Axes
    grid: Axes

    @classmethod
    def of(cls, problem: Convolution) -> Sum:
        """Read a problem."""
        g = Geometry.of(problem)
        one: Axes = (1, 1, 1)
        source, target = g.image, g.result
        phases, tap_step, tap_shift, source_step = one, one, g.dilation, g.stride
        if isinstance(problem, ConvolutionBackwardData):
            source, target = target, source
            common = [math.gcd(s, d) for s, d in zip(g.stride, g.dilation, strict=True)]
            d, h, w = (s // c for s, c in zip(g.stride, common, strict=True))
            tap_step = (d, h, w)
            d, h, w = (-s // c for s, c in zip(g.dilation, common, strict=True))
            phases, tap_shift, source_step = g.stride, (d, h, w), one
        d, h, w = (ceil_div(size, phase) for size, phase in zip(target.size, phases, strict=True))
        depth, rows = source.channels // problem.groups, target.channels // problem.groups
        return cls(g, source, target, depth, rows, phases, tap_step, tap_shift, source_step, (d, h, w))

    @property
    def max_taps(self) -> int:
        """Taps of the phase that has the most."""
        return math.prod(ceil_div(t, s) for t, s in zip(self.geometry.taps, self.tap_step, strict=True))

    def defines(self, problem: Convolution) -> Defines:
        """Return the geometry as defines."""
        k_stride, c_stride = problem.filter.strides[:2]
        backward = isinstance(problem, ConvolutionBackwardData)
        return {
            **self.geometry.defines(problem),
            **({"BACKWARD_DATA": 1} if backward else {}),
            "M": self.rows,
            "CH": self.depth,
            "MAX_TAPS": self.max_taps,
            "SRC_SPAN": self.source.span,
            "DST_STEP_W": self.phases[2] * self.target.strides[2],
            "W_GROUP": problem.filter.dims[0] // problem.groups * k_stride,
            "W_M": c_stride if backward else k_stride,
            "W_CH": k_stride if backward else c_stride,
            **self.source.defines("S"),
            **self.target.defines("D"),
            **per_axis("SRC", self.source.size),
            **per_axis("DST", self.target.size),
            **per_axis("GRID", self.grid),
            **per_axis("PHASES", self.phases),
            **per_axis("TAP_STEP", self.tap_step),
            **per_axis("TAP_SHIFT", self.tap_shift),
            **per_axis("SRC_STEP", self.source_step),
        }


@dataclass(frozen=True)
class Blocks:
    """How a sum is cut into tiles, and the memory that takes."""

    defines: Defines
    pack_grid: Axes
    work_groups: int
    scratch_start: int
    workspace: int


def tile_rows(rows: int, columns: int, most: int, tile: Tile, units: int) -> int:
    """Return how many of `rows` rows of `columns` to take at once: the least work of the busiest core."""

    def cost(count: int) -> tuple[int, int]:
        work = round_up(count * columns, tile.columns) + tile.columns // 2
        return ceil_div(ceil_div(rows, count), units) * work, -count

    return min(range(1, max(1, min(rows, most // columns)) + 1), key=cost)


def blocks_of(problem: Convolution, info: DeviceInfo) -> Blocks:
    """Cut a forward or backward-data convolution into blocks."""
    total = Sum.of(problem)
    taps, planes = total.max_taps, math.prod(total.phases) * problem.groups
    tile = Tile.of(problem.dtype, info, total.rows)
    block = split_evenly(total.depth, BLOCK_DEPTH // taps)
    if total.source.channel_stride == 1:  # channels are copied side by side, whole vectors of them
        block = round_up(block, tile.lanes)
    tile_m = round_up(split_evenly(total.rows, BLOCK_ROWS), tile.rows)
    columns = max(tile.columns, min(BLOCK_COLUMNS, BLOCK_ELEMENTS // (block * taps)))
    cols = split_evenly(total.grid[2], columns)
    grid_rows = total.target.n * total.grid[0] * total.grid[1]
    rows = tile_rows(grid_rows, cols, columns, tile, info.compute_units)
    m_blocks = ceil_div(total.rows, tile_m)
    row_blocks, segments = ceil_div(grid_rows, rows), ceil_div(total.grid[2], cols)
    tiles = planes * m_blocks * row_blocks * segments
    pitch = round_up(rows * cols, tile.columns) + 16  # + 16: rows of b fall into different sets of the L1 cache
    scratch_b = round_up(block * taps * pitch, 64)
    scratch = round_up(scratch_b + tile_m * pitch, 64)
    m_padded = round_up(total.rows, tile.rows)
    work_groups = min(tiles, WORK_GROUPS_PER_CORE * info.compute_units)
    size = problem.dtype.accumulator.itemsize
    packed = round_up(planes * total.depth * taps * m_padded * size, 256)
    defines: Defines = {
        **total.defines(problem),
        **tile.defines(),
        "M_PADDED": m_padded,
        "TILE_M": tile_m,
        "M_BLOCKS": m_blocks,
        "BLOCK_CH": block,
        "TILES": tiles,
        "TILE_ROWS": rows,
        "TILE_COLS": cols,
        "GRID_ROWS": grid_rows,
        "ROW_BLOCKS": row_blocks,
        "SEGMENTS": segments,
        "PITCH": pitch,
        "SCRATCH": scratch,
        "SCRATCH_B": scratch_b,
    }
    pack_grid = (m_padded // tile.rows, max(1, ceil_div(total.depth, block)), planes)
    scratch_start = COUNTER_BYTES + packed
    return Blocks(defines, pack_grid, work_groups, scratch_start, scratch_start + work_groups * scratch * size)


class ConvCpuGemm(ConvCpu):
    """Forward and backward data: one launch packs the filter, one does the rest."""

    problems = (ConvolutionForward, ConvolutionBackwardData)

    def algo(self, problem: Problem) -> DnnEnum | None:
        backward = isinstance(problem, ConvolutionBackwardData)
        return ConvolutionBwdDataAlgo.ALGO_1 if backward else ConvolutionFwdAlgo.IMPLICIT_GEMM

    def workspace(self, problem: Problem, info: DeviceInfo) -> int:
        assert isinstance(problem, Convolution)
        return blocks_of(problem, info).workspace if problem.tensors[2].size else 0

    def prepare(self, problem: Problem, device: Device) -> Plan:
        assert isinstance(problem, Convolution)
        if problem.tensors[2].size == 0:
            return Plan(problem, self, 0, device.bind(()))
        blocks = blocks_of(problem, device.info)
        real = problem.dtype.accumulator
        source, weights = (1, 0) if isinstance(problem, ConvolutionBackwardData) else (0, 1)
        counter, packed = WorkspaceArg(0), WorkspaceArg(COUNTER_BYTES, real)
        pack = device.compile(FILE, "conv_cpu_pack", blocks.defines)
        gemm = device.compile(FILE, "conv_cpu_gemm", blocks.defines)
        args = (
            TensorArg(source),
            TensorArg(2),
            packed,
            WorkspaceArg(blocks.scratch_start, real),
            counter,
            ScalarArg(0, real),
            ScalarArg(1, real),
        )
        launches = (
            Launch(pack, blocks.pack_grid, (1, 1, 1), (TensorArg(weights), packed, counter)),
            Launch(gemm, (blocks.work_groups,), (1,), args),
        )
        return Plan(problem, self, blocks.workspace, device.bind(launches), launches)


ENGINES = (ConvCpuGemm(), ConvCpuFilter())
